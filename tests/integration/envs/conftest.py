"""The fixtures of tests/unit/envs, for environments in several processes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "unit/envs"))

from env_fixtures import make_env, room_episodes, task_benchmark

__all__ = ["make_env", "room_episodes", "task_benchmark"]
