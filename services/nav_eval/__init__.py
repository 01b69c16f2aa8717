"""nav-eval, the engine: what an evaluation is. No web, no queue, no database."""

__version__ = "0.2.0"

REPLAYABLE_VERSIONS = frozenset({"0.1.0", "0.2.0"})
"""Engines whose runs this one replays to the last bit: motion, tasks and scores are the same in all of them."""
