"""The logger that Habitat's users reach for."""

import logging
from logging import DEBUG, ERROR, FATAL, INFO, WARN, WARNING


class LoggingContext:
    """Habitat's switch for its own output; ours listens to Python's logging alone."""

    sim_is_quiet = hab_sim_is_quiet = True

    @staticmethod
    def current() -> "LoggingContext":
        return LoggingContext()

    @staticmethod
    def reinitialize_from_env() -> None:
        """Nothing is read from the environment."""


logger = logging.getLogger("habitat_sim")

__all__ = ["DEBUG", "ERROR", "FATAL", "INFO", "WARN", "WARNING", "LoggingContext", "logger"]
