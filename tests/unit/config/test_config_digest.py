"""The digest depends on what a configuration means, and on nothing else."""

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from config_cases import MINIMAL
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.config import BenchmarkConfig, compute_config_digest, compute_rules_digest, resolve, to_canonical_json
from nav_eval.config.schema import DRConfig

FULL: dict[str, Any] = {
    "name": "x",
    "tags": ["a", "b"],
    "task": {
        "type": "vln",
        "actions": ["stop", {"name": "move_forward", "params": {"step_size": 0.25}}],
        "sensors": {"rgb": {"width": 64, "hfov": 90}, "gps": {}},
        "metrics": ["success", "spl"],
    },
    "scenario_config": {"robots": [{"name": "r", "height": 1.5, "sensors": {"rgb": {"yaw": 30}}}]},
    "dataset": {"type": "vln", "data_path": "d/val.json.gz"},
    "evaluation": {"max_steps": 500, "success_distance": 3},
    "output": {"log_dir": "logs"},
}


def digest(tree: dict[str, Any]) -> str:
    return compute_config_digest(BenchmarkConfig.model_validate(tree))


def shuffled(node: Any, rng: random.Random) -> Any:
    if isinstance(node, dict):
        keys = list(node)
        rng.shuffle(keys)
        return {key: shuffled(node[key], rng) for key in keys}
    return [shuffled(entry, rng) for entry in node] if isinstance(node, list) else node


@given(st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(rng: random.Random) -> None:
    assert digest(shuffled(FULL, rng)) == digest(FULL)


def changed(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    tree = copy.deepcopy(FULL)
    node = tree
    for key in path[:-1]:
        node = node.setdefault(key, {}) if isinstance(node, dict) else node[key]
    node[path[-1]] = value
    return tree


SAME = [
    (("evaluation", "success_distance"), 3.0),  # 3 is 3.0
    (("evaluation", "timeout"), 300),  # a default, said aloud
    (("evaluation", "stop_threshold"), 3.0),  # deprecated, says nothing new
    (("task", "actions", 1), "move_forward"),  # the shorthand
    (("task", "actions", 1), {"name": "move_forward"}),
    (("task", "metrics", 0), {"name": "success"}),
    (("task", "sensors", "gps"), None),
    (("task", "sensors", "depth"), False),
    (("dataset", "format"), "r2r"),  # follows from the type
    (("dataset", "split"), "val"),  # follows from the path
    (("dataset", "data_path"), "d/{split}.json.gz"),
    (("dataset", "scene_dataset_path"), "data/scene_datasets/"),
    (("output", "save_videos"), False),
    (("simulator", "backend"), "custom"),
    (("scenario_config", "robots", 0, "model_type"), "navigation"),
    (("scenario_config", "robots", 0, "max_slope"), 45),
]


@pytest.mark.parametrize(("path", "value"), SAME, ids=[".".join(map(str, path)) for path, _ in SAME])
def test_another_way_to_say_the_same(path: tuple[Any, ...], value: object) -> None:
    tree = changed(path, value)
    if path == ("dataset", "data_path"):
        tree["dataset"]["split"] = "val"
    assert digest(tree) == digest(FULL)


OTHER = [
    (("name",), "y"),
    (("tags",), ["b", "a"]),  # a list has an order
    (("evaluation", "success_distance"), 3.0000001),
    (("evaluation", "max_steps"), 501),
    (("task", "actions"), ["stop"]),
    (("task", "sensors", "rgb", "width"), 65),
    (("task", "sensors", "gps"), {"dimensionality": 3}),
    (("dataset", "split"), "other"),
    (("scenario_config", "robots", 0, "sensors", "rgb", "yaw"), 31),
    (("output", "log_dir"), "elsewhere"),
]


@pytest.mark.parametrize(("path", "value"), OTHER, ids=[".".join(map(str, path)) for path, _ in OTHER])
def test_whatever_differs_differs(path: tuple[Any, ...], value: object) -> None:
    assert digest(changed(path, value)) != digest(FULL)


def test_no_two_of_all_these_are_equal() -> None:
    digests = [digest(changed(path, value)) for path, value in OTHER]
    assert len(set(digests)) == len(OTHER)


def test_files_comments_and_inheritance_leave_no_trace(
    write: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = write("one.yaml", MINIMAL)
    write("configs/benchmarks/parent.yaml", MINIMAL.replace("3.0", "1.0") + "  # a comment\n")
    child = write("deep/down/two.yaml", "benchmark: {extends: parent, evaluation: {success_distance: 3}}  # another\n")
    assert resolve(plain, environ={}).digest == resolve(child, environ={}).digest


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), "y"),
        (("output", "log_dir"), "elsewhere"),
        (("evaluation", "workers"), 8),
        (("simulator", "rendering"), {"gpu": 1}),
        (("agent_service",), {"endpoint": "localhost:1"}),
    ],
)
def test_what_cannot_change_a_score_is_no_rule(path: tuple[Any, ...], value: object) -> None:
    one, two = (BenchmarkConfig.model_validate(tree) for tree in (FULL, changed(path, value)))
    assert compute_rules_digest(one) == compute_rules_digest(two)
    assert compute_config_digest(one) != compute_config_digest(two)


@pytest.mark.parametrize(
    "path", [("evaluation", "max_steps"), ("dataset", "seed"), ("scenario_config", "robots", 0, "radius")]
)
def test_what_can_is_one(path: tuple[Any, ...]) -> None:
    one, two = (BenchmarkConfig.model_validate(tree) for tree in (FULL, changed(path, 7)))
    assert compute_rules_digest(one) != compute_rules_digest(two)


def test_a_filter_of_textures_is_a_rule_where_it_is_named() -> None:
    def digest(**rendering: object) -> str:
        return compute_rules_digest(BenchmarkConfig.model_validate(changed(("simulator", "rendering"), rendering)))

    assert digest() == digest(filter="auto")
    assert len({digest(), digest(filter="trilinear"), digest(filter="bilinear")}) == 3


def test_the_canonical_form_means_the_same_again() -> None:
    config = BenchmarkConfig.model_validate(FULL)
    again = BenchmarkConfig.model_validate(yaml.safe_load(to_canonical_json(config)))
    assert compute_config_digest(again) == compute_config_digest(config)
    assert again.sensors() == config.sensors()


def test_negative_zero_is_zero() -> None:
    one, two = (changed(("scenario_config", "robots", 0, "default_position"), [zero, 0, 0]) for zero in (0.0, -0.0))
    assert digest(one) == digest(two)


def test_the_digest_is_written_down() -> None:
    """The form must not change by accident: results of years ago carry it."""
    assert to_canonical_json(DRConfig(level=1, seed=3)) == (
        '{"clutter_scene":false,"level":1,"random_camera":null,"random_lighting":null,'
        '"random_scene":null,"random_textures":null,"scene_mode":0,"seed":3}'
    )
    assert (
        compute_config_digest(DRConfig())
        == "sha256:" + "9ddf1a41e09467688fbc13f66bca33a955d627b4fbc453c6a9972556c3b9cbd1"
    )
