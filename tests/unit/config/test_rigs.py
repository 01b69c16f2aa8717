"""Rigs: what they change about a task, and that a benchmark without any is what it was."""

import pytest

from nav_eval.config import load_benchmark
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.errors import ConfigError, UnknownName
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.sensors import CameraSensor


def load(*rigs: str) -> BenchmarkConfig:
    return load_benchmark("demo_vln", overrides=[f"rigs=[{', '.join(rigs)}]"], environ={})


@pytest.mark.parametrize(
    ("rig", "size", "hfov", "turn"),
    [
        ("vlnce", (224, 224), 90.0, 15.0),
        ("streamvln", (640, 480), 79.0, 15.0),
        ("internvla", (640, 480), 79.0, 15.0),
        ("navila", (512, 512), 90.0, 15.0),
        ("navid", (640, 480), 90.0, 30.0),
    ],
)
def test_the_published_rigs(rig: str, size: tuple[int, int], hfov: float, turn: float) -> None:
    task = make_task_interface(load(rig).with_rig(rig))
    camera, motion = task.sensors["rgb"].camera, task.actions["turn_left"].motion
    assert camera is not None
    assert motion is not None
    assert ((camera.width, camera.height), camera.hfov, camera.pose.position[1]) == (size, hfov, 1.25)
    assert motion.left_degrees == turn


def test_a_rig_of_colour_alone_takes_depth_away_and_ids_fit_its_lens() -> None:
    sensors = load("streamvln").with_rig().sensors()
    assert "depth" not in sensors
    assert isinstance(sensors["semantic"], CameraSensor)
    assert (sensors["semantic"].width, sensors["semantic"].hfov) == (640, 79.0)


def test_twelve_views_all_around() -> None:
    sensors = load("etpnav").with_rig().sensors()
    yaws = [
        sensor.yaw % 360
        for name, sensor in sensors.items()
        if name.startswith("rgb") and isinstance(sensor, CameraSensor)
    ]
    assert yaws == [float(yaw) for yaw in range(0, 360, 30)]


def test_a_rig_that_looks_down_adds_the_actions() -> None:
    benchmark = load("vlnce", "internvla")
    assert benchmark.with_rig("vlnce").task.action("look_down") is None
    assert benchmark.with_rig("internvla").task.action("look_down") is not None


def test_a_benchmark_without_rigs_says_nothing_about_them() -> None:
    benchmark = load_benchmark("demo_vln", environ={})
    assert "rigs" not in benchmark.model_dump(mode="json")
    assert benchmark.with_rig("anything") is benchmark


def test_the_chosen_rig_stays_chosen_through_a_file() -> None:
    chosen = load("vlnce", "navid").with_rig("navid")
    again = BenchmarkConfig.model_validate(chosen.model_dump(mode="json"))
    assert again.with_rig() == chosen


@pytest.mark.parametrize("rigs", [("vlnce", "vlnce"), ("nothing",)])
def test_rigs_that_cannot_be(rigs: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError):
        load(*rigs)


def test_an_unknown_rig_is_named() -> None:
    with pytest.raises(UnknownName, match="vlnce, navid"):
        load("vlnce", "navid").with_rig("etpnav")


@pytest.mark.parametrize(
    "name", ["demo_vln_rigs", "vln_val_unseen_rigs", "rxr_val_unseen_rigs", "objectnav_hm3d_val_rigs"]
)
def test_the_shipped_variants_load(name: str) -> None:
    benchmark = load_benchmark(name, environ={})
    for rig in benchmark.rigs:
        make_task_interface(benchmark.with_rig(rig.name))
