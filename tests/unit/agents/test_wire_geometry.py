"""The wire tells cameras, motion and times: the same by gRPC and by JSON, in the numbers that the renderer uses."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from nav_eval.agents import json_messages, proto_messages
from nav_eval.agents.client import ClientSettings
from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.records.geometry import Pose
from nav_eval.sensors import CameraSensor
from nav_eval.simulator.camera_rig import Mount
from nav_eval_sdk import Body, DepthRange, Motion, Task
from nav_eval_sdk.grpc_server import decode_task
from nav_eval_sdk.json_messages import decode_task as decode_json_task

SETTINGS = ClientSettings(episode_timeout=120.0)
BENCHMARKS = ["demo_vln", "demo_lh_vln", "demo_localization", "demo_objectnav", "demo_imagenav"]


def told_by_grpc(benchmark: BenchmarkConfig) -> Task:
    interface = make_task_interface(benchmark)
    message = proto_messages.encode_task(interface, SETTINGS)
    return decode_task(type(message).FromString(message.SerializeToString()))


def told_by_json(benchmark: BenchmarkConfig) -> Task:
    document = json_messages.encode_task(make_task_interface(benchmark), SETTINGS)
    return decode_json_task(json.loads(json.dumps(document)))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_protocol_tells_the_same(name: str) -> None:
    benchmark = load_benchmark(name, environ={})
    assert told_by_grpc(benchmark) == told_by_json(benchmark)


def test_what_an_agent_of_demo_vln_is_told() -> None:
    task = told_by_grpc(load_benchmark("demo_vln", environ={}))
    camera = task.sensors["depth"].camera
    assert camera is not None
    assert (camera.width, camera.height, camera.hfov_degrees) == (256, 256, 90.0)
    assert (camera.fx, camera.cx) == (pytest.approx(128.0), 128.0)
    assert camera.make_intrinsics(pixel_centers="whole")[0, 2] == 127.5
    assert camera.depth == DepthRange(0.0, 10.0, normalized=False)
    assert camera.position == (0.0, 1.25, 0.0)
    assert task.sensors["gps"].camera is None
    assert task.motions == {
        "move_forward": Motion(0.25),
        "turn_left": Motion(left_degrees=15.0),
        "turn_right": Motion(left_degrees=-15.0),
    }
    assert (task.stop_meaning, task.success_metres, task.episode_seconds) == ("ends_episode", 3.0, 120.0)
    assert task.body == Body(radius=0.1, height=1.5, slides=True, max_tilt_degrees=90.0)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [("demo_lh_vln", "closes_subtask"), ("demo_localization", "none"), ("demo_objectnav", "ends_episode")],
)
def test_what_stop_means(name: str, meaning: str) -> None:
    assert told_by_grpc(load_benchmark(name, environ={})).stop_meaning == meaning


def test_velocities_have_a_control_rate() -> None:
    actions = "[{name: stop}, {name: velocity_control, params: {time_step: 0.25}}]"
    task = told_by_json(load_benchmark("demo_vln", overrides=[f"task.actions={actions}"], environ={}))
    assert task.control_rate_hz == 4.0
    assert task.motions == {"velocity_control": Motion(seconds=0.25)}


def test_a_normalised_depth_becomes_metres() -> None:
    told = DepthRange(0.5, 4.5, normalized=True)
    assert told.to_metres(np.array([0.0, 0.25, 1.0])).tolist() == [0.5, 1.5, 4.5]


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), (60.0, -20.0, 0.0), (-37.0, 15.0, 8.0)])
def test_intrinsics_and_pose_project_as_the_renderer_does(angles: tuple[float, float, float]) -> None:
    yaw, pitch, roll = angles
    place = (
        f"{{width: 320, height: 200, hfov: 79, position: [0.1, 1.1, -0.2], yaw: {yaw}, pitch: {pitch}, roll: {roll}}}"
    )
    benchmark = load_benchmark("demo_vln", overrides=[f"task.sensors.rgb={place}"], environ={})
    camera = told_by_grpc(benchmark).sensors["rgb"].camera
    sensor = benchmark.sensors()["rgb"]
    assert camera is not None
    assert isinstance(sensor, CameraSensor)
    view = Mount.from_settings(sensor).make_camera(Pose((0.0, 0.0, 0.0)), tilt=0.0)
    point = camera.make_pose() @ [0.3, -0.2, -2.0, 1.0]  # in front of the camera, in the body's frame

    x, y, _, w = view.world_to_clip @ point
    drawn = ((x / w + 1) / 2 * camera.width, (y / w + 1) / 2 * camera.height)

    along_right, along_down, depth = 0.3, 0.2, 2.0
    u, v, _ = camera.make_intrinsics() @ [along_right / depth, along_down / depth, 1.0]
    assert math.dist(drawn, (u, v)) < 1e-9


def test_an_episode_of_another_robot_is_told_its_cameras(room_benchmark: Callable[..., BenchmarkConfig]) -> None:
    benchmark = room_benchmark("demo_lh_vln")
    heights = {
        robot: make_task_interface(benchmark, robot=robot).sensors["rgb_front"].camera.pose.position[1]  # type: ignore[union-attr]
        for robot in ("spot", "stretch")
    }
    assert heights == {"spot": 0.5, "stretch": 1.0}
