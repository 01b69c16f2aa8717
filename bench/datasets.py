"""Loading episodes, fully checked and typed, against bare `orjson.loads` of the same gzip file."""

import gzip
import json
import math
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from nav_eval.dataset.json_file import MIB, FileLimits
from nav_eval.dataset.loader import DatasetRequest, load_dataset, stream_episodes

EPISODES = 10_000
WORDS = 2_700
PADDED = 200
ROUNDS = 3


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        data, experts = Path(folder) / "train.json.gz", Path(folder) / "experts.json.gz"
        _write_files(data, experts)
        plain = DatasetRequest(format="r2r", path=data)
        with_experts = DatasetRequest(format="r2r", path=data, gt_path=experts)
        streamed = DatasetRequest(format="r2r", path=data, limits=FileLimits(whole=MIB))
        seconds = _fastest(
            bare=lambda: orjson.loads(_unpacked(data)),
            bare_with_gt=lambda: [orjson.loads(_unpacked(path)) for path in (data, experts)],
            load=lambda: load_dataset(plain),
            load_with_gt=lambda: load_dataset(with_experts),
            stream=lambda: [None for _ in stream_episodes(streamed)],
        )
        megabytes = len(_unpacked(data)) / 1e6
    return {
        "r2r_load_ratio": seconds["bare"] / seconds["load"],
        "r2r_load_with_gt_ratio": seconds["bare_with_gt"] / seconds["load_with_gt"],
        "r2r_stream_ratio": seconds["bare"] / seconds["stream"],
        "r2r_megabytes": megabytes,
        **{f"{name}_seconds": value for name, value in seconds.items()},
    }


def _unpacked(path: Path) -> bytes:
    with gzip.open(path) as file:
        return file.read()


def _fastest(**actions: Callable[[], object]) -> dict[str, float]:
    """The best CPU time of each; the rounds are interleaved, so that a busy machine is unfair to none."""
    best = dict.fromkeys(actions, math.inf)
    for _ in range(ROUNDS):
        for name, action in actions.items():
            started = time.process_time()
            action()
            best[name] = min(best[name], time.process_time() - started)
    return best


def _write_files(data: Path, experts: Path) -> None:
    rng = random.Random(7)
    words = ["<pad>", "<unk>", *(f"word{number}" for number in range(WORDS))]
    episodes = [_episode(rng, number, words) for number in range(1, EPISODES + 1)]
    indices = {word: index for index, word in enumerate(words)}
    vocabulary = {"word_list": words, "word2idx_dict": indices, "stoi": indices, "itos": words, "PAD_INDEX": 0}
    _write(data, {"episodes": episodes, "instruction_vocab": vocabulary})
    _write(experts, {str(number): _expert(rng) for number in range(1, EPISODES + 1)})


def _write(path: Path, document: object) -> None:
    with gzip.open(path, "wt", compresslevel=6) as file:
        json.dump(document, file)


def _episode(rng: random.Random, number: int, words: list[str]) -> dict[str, object]:
    path = [_point(rng) for _ in range(rng.randint(5, 7))]
    tokens = [rng.randrange(2, len(words)) for _ in range(rng.randint(12, 60))]
    half = rng.uniform(-math.pi, math.pi) / 2
    return {
        "episode_id": number,
        "trajectory_id": number // 3,
        "scene_id": "mp3d/zsNo4HB9uLZ/zsNo4HB9uLZ.glb",
        "start_position": path[0],
        "start_rotation": [-0.0, math.sin(half), 0.0, math.cos(half)],
        "info": {"geodesic_distance": rng.uniform(5, 20)},
        "goals": [{"position": path[-1], "radius": 3.0}],
        "instruction": {
            "instruction_text": " ".join(words[token] for token in tokens),
            "instruction_tokens": tokens + [0] * (PADDED - len(tokens)),
        },
        "reference_path": path,
    }


def _expert(rng: random.Random) -> dict[str, object]:
    moves = rng.randint(25, 60)
    actions = [rng.choice([1, 1, 2, 3]) for _ in range(2 * moves)] + [0]
    return {"locations": [_point(rng) for _ in range(moves)], "actions": actions, "forward_steps": moves - 1}


def _point(rng: random.Random) -> list[float]:
    return [rng.uniform(-20, 20), rng.uniform(0, 3), rng.uniform(-20, 20)]
