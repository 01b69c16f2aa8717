"""What a replay shows of each camera: its colours, how far things are, and what they are.

An agent asks for some of these channels; whoever looks at its replay may want the others. So each camera gets twins
with the same lens on the same mount: the simulator draws all of them in one pass, and no pose depends on them.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from nav_eval.config.schema import BenchmarkConfig, RobotConfig
from nav_eval.errors import UnknownName
from nav_eval.sensors import (
    CameraSensor,
    CameraSettings,
    DepthSensor,
    InstanceSensor,
    RgbSensor,
    SemanticSensor,
    Sensor,
)


class ViewKind(StrEnum):
    """What the pixels of a view say."""

    COLOUR = "colour"
    DEPTH = "depth"  #: near is bright
    SEMANTIC = "semantic"  #: a colour per category, black for nothing


_SENSORS: dict[ViewKind, type[CameraSensor]] = {
    ViewKind.COLOUR: RgbSensor,
    ViewKind.DEPTH: DepthSensor,
    ViewKind.SEMANTIC: SemanticSensor,
}


def parse_kinds(names: Iterable[str]) -> tuple[ViewKind, ...]:
    """Kinds by their names."""
    known = {kind.value: kind for kind in ViewKind}
    for name in names:
        if name not in known:
            raise UnknownName(f"Cameras do not show {name!r}. Known: {', '.join(known)}.")
    return tuple(known[name] for name in names)


def find_kind(sensor: object) -> ViewKind:
    if isinstance(sensor, DepthSensor):
        return ViewKind.DEPTH
    return ViewKind.SEMANTIC if isinstance(sensor, SemanticSensor | InstanceSensor) else ViewKind.COLOUR


def name_view(camera: str, sensor: object, kind: ViewKind) -> str:
    """The sensor that shows this kind of a camera: the camera itself, or its twin."""
    return camera if find_kind(sensor) is kind else f"{camera} {kind}"


def add_twins(benchmark: BenchmarkConfig, kinds: Sequence[ViewKind]) -> BenchmarkConfig:
    """The benchmark with robots whose cameras show all of `kinds`; for pictures alone, its digest is another."""
    robots = tuple(_add_twins(benchmark, robot, kinds) for robot in benchmark.scenario_config.robots)
    scenario = benchmark.scenario_config.model_copy(update={"robots": robots})
    return benchmark.model_copy(update={"scenario_config": scenario})


def _add_twins(benchmark: BenchmarkConfig, robot: RobotConfig, kinds: Iterable[ViewKind]) -> RobotConfig:
    suite = benchmark.sensors(robot.name)
    cameras = {name: sensor for name, sensor in suite.items() if isinstance(sensor, CameraSensor)}
    twins: dict[str, Sensor] = {
        name_view(name, camera, kind): _make_twin(camera, kind)
        for name, camera in cameras.items()
        for kind in kinds
        if kind is not find_kind(camera)
    }
    return robot.model_copy(update={"sensors": {**robot.sensors, **twins}})


def _make_twin(camera: CameraSensor, kind: ViewKind) -> CameraSensor:
    """Another channel of the same picture, without the camera's noise."""
    fields = set(CameraSettings.model_fields) - {"noise"}
    return _SENSORS[kind].model_validate({name: getattr(camera, name) for name in fields})
