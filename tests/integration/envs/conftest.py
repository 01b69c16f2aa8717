"""The fixtures of tests/unit/envs, for environments in several processes."""

import sys

from support.paths import TESTS

sys.path.insert(0, str(TESTS / "unit/envs"))

from env_fixtures import make_env, room_episodes, task_benchmark

__all__ = ["make_env", "room_episodes", "task_benchmark"]
