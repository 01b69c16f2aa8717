"""Tasks: what an agent has to do and when it is done. Importing this registers the built-in ones."""

from nav_eval.tasks import localization, long_horizon, navigation, questions
from nav_eval.tasks.base import (
    STOP,
    TASKS,
    Moved,
    Progress,
    Task,
    TaskResult,
    TaskRules,
    TaskStage,
    World,
    register_task,
)

__all__ = [
    "STOP",
    "TASKS",
    "Moved",
    "Progress",
    "Task",
    "TaskResult",
    "TaskRules",
    "TaskStage",
    "World",
    "localization",
    "long_horizon",
    "navigation",
    "questions",
    "register_task",
]
