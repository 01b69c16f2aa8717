"""What the demo refuses."""

from nav_eval.errors import NavEvalError


class DemoError(NavEvalError):
    """The demo cannot go on; the message says why and what to do."""
