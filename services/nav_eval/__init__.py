"""nav-eval, the engine: what an evaluation is. No web, no queue, no database."""

__version__ = "0.1.0"
