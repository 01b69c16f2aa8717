"""Code that owns the loop, as an agent: the same decisions as `Walker` of fifteen_lines.py, from a `while True`."""

import zlib

from nav_eval_sdk.env import EvaluatorEnv, NoMoreEpisodes

env = EvaluatorEnv(name="loop")
try:
    while True:
        observation, info = env.reset()
        value = zlib.crc32(info["instruction"].encode())
        over = False
        while not over:
            for name in sorted(name for name, reading in observation.items() if not isinstance(reading, str)):
                value = zlib.crc32(observation[name].tobytes(), value)
            name = "stop" if info["step"] == 19 else ["move_forward", "turn_left", "turn_right"][value % 3]
            action = info["actions"].index(name) if info["step"] % 2 else name
            observation, reward, terminated, truncated, info = env.step(action)
            assert reward == 0.0
            over = terminated or truncated
except NoMoreEpisodes:
    print("the evaluation is over")
