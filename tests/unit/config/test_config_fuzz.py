"""Whatever stands in a file: it loads, or it is refused in our own words."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from config_cases import DATA, REPO
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nav_eval.config import resolve, yaml_writer
from nav_eval.errors import ConfigError

STARTS = [
    DATA / "seeds/benchmarks/vln_challenge_2024.yaml",
    DATA / "seeds/scenarios/franka.yaml",
    DATA / "seeds/tasks/vln.yaml",
    REPO / "configs/benchmarks/demo_lh_vln.yaml",
    REPO / "configs/scenarios/lh_vln.yaml",
    REPO / "configs/scenarios/objects/table_with_cube.yaml",
    REPO / "configs/competitions/demo.yaml",
    REPO / "configs/tasks/lh_vln.yaml",
]
WORDS = st.sampled_from(
    ["", "*", "vln", "default", "rgb", "stop", "local", "\u0000", "../x", "x.yaml", "unix:", "0", "-1"]
)
KEYS = st.sampled_from(
    ["extends", "name", "type", "kind", "position", "look_at", "gravity", "task", "sensors", "0", "fov"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(-1e6, 1e6) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in children for place in places(value, (*path, key)))]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_file_with_nonsense_in_it(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    tree = yaml.safe_load(data.draw(st.sampled_from(STARTS)).read_text(encoding="utf-8"))
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from(places(tree)[1:] or [("task",)]))
        node = tree
        for key in parents:
            node = node[key]
        if data.draw(st.booleans()) and isinstance(node, dict):
            node[data.draw(KEYS)] = data.draw(JUNK)
        else:
            node[last] = data.draw(JUNK)
    path = tmp_path_factory.mktemp("fuzz") / "config.yaml"
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    with contextlib.suppress(ConfigError):
        assert yaml_writer.as_yaml(resolve(path, environ={}))


@settings(max_examples=30, deadline=None)
@given(
    text=st.text("abt.[]{}0=-: \n", max_size=20),
    key=st.sampled_from(["task", "evaluation.max_steps", "scenario_config.robots.0", ""]),
)
def test_overrides_with_nonsense_in_them(text: str, key: str) -> None:
    with contextlib.suppress(ConfigError):
        assert resolve(Path(STARTS[3]), environ={}, overrides=[f"{key}={text}"]).digest
