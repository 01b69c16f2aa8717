"""What a benchmark offers to agents and allows them, in the words of the protocol."""

from collections.abc import Mapping

from nav_eval.agents.interface import TEXT, ActionSpec, SensorSpec, TaskInterface
from nav_eval.agents.messages import ANSWER
from nav_eval.agents.settings import ClientSettings
from nav_eval.config.schema import (
    AgentServiceConfig,
    BenchmarkConfig,
    CompassSensor,
    GpsSensor,
    ImageGoalSensor,
    ObjectGoalSensor,
    PictureSensor,
    PointGoalSensor,
    PoseSensor,
    SensorConfig,
    TaskConfig,
)
from nav_eval.simulator.actions import VELOCITY_CONTROL
from nav_eval.tasks import TASKS

_PICTURES = {"rgb": ("uint8", (3,)), "depth": ("float32", ()), "semantic": ("int32", ()), "instance": ("uint32", ())}


def task_interface(benchmark: BenchmarkConfig, *, robot: str | None = None) -> TaskInterface:
    """The task as an agent is told about it."""
    return TaskInterface(
        name=benchmark.task.type,
        sensors={name: sensor_spec(config) for name, config in benchmark.sensors(robot).items()},
        actions=_actions(benchmark.task),
        max_steps=benchmark.evaluation.max_steps,
    )


def client_settings(benchmark: BenchmarkConfig) -> ClientSettings:
    """How patient a benchmark is."""
    evaluation, service = benchmark.evaluation, benchmark.agent_service or AgentServiceConfig()
    return ClientSettings(
        connect_timeout=service.connect_timeout,
        reset_timeout=service.reset_timeout,
        action_timeout=evaluation.step_timeout,
        episode_timeout=evaluation.timeout,
        retries=evaluation.retries,
        heartbeat_interval=service.heartbeat_interval,
        heartbeat_timeout=service.heartbeat_timeout,
        max_reply_bytes=service.max_message_mb << 20,
    )


def sensor_spec(config: SensorConfig) -> SensorSpec:
    """Kind, dtype and shape of what a sensor delivers."""
    dtype, shape = _dtype_and_shape(config)
    return SensorSpec(kind=config.kind, dtype=dtype, shape=shape)


def _dtype_and_shape(config: SensorConfig) -> tuple[str, tuple[int, ...]]:  # noqa: PLR0911 - one line per kind
    if isinstance(config, PictureSensor):
        dtype, channels = _PICTURES[config.kind]
        return dtype, (config.height, config.width, *channels)
    if isinstance(config, ImageGoalSensor):
        return "uint8", (config.height or 0, config.width or 0, 3)
    if isinstance(config, PoseSensor):
        return "float32", (3, 4) if config.rotation == "matrix" else (7,)
    if isinstance(config, CompassSensor):
        return "float32", (3,) if config.type == "vector" else (1,)
    if isinstance(config, GpsSensor | PointGoalSensor):
        return "float32", (config.dimensionality,)
    if isinstance(config, ObjectGoalSensor) and config.goal_spec == "category_id":
        return "int32", (1,)
    return TEXT, ()


def _actions(task: TaskConfig) -> Mapping[str, ActionSpec]:
    if not TASKS.get(task.type).uses_motion:
        return {ANSWER: ActionSpec()}
    specs = {}
    for action in task.actions:
        bounds: Mapping[str, tuple[float, float]] = action.bounds if task.allow_action_args else {}
        if action.name == VELOCITY_CONTROL:
            fastest, quickest = action.params["max_linear_speed"], action.params["max_angular_speed"]
            bounds = {"linear_velocity": (-fastest, fastest), "angular_velocity": (-quickest, quickest)}
        specs[action.name] = ActionSpec(arguments=bounds)
    return specs
