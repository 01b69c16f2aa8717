from env_fixtures import make_env, room_episodes, task_benchmark

__all__ = ["make_env", "room_episodes", "task_benchmark"]
