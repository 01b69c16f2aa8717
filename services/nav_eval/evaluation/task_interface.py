"""What a benchmark offers to agents, in the words of the protocol: geometry of cameras and motion included."""

from collections.abc import Mapping
from dataclasses import replace

from nav_eval.agents.messages import ANSWER, ActionSpec, BodySpec, MotionSpec, StopMeaning, TaskInterface
from nav_eval.config.schema import ActionConfig, BenchmarkConfig, TaskConfig
from nav_eval.config.schema.task import GOALS
from nav_eval.simulator.motion import ASK, MAX_TILT, TELEPORT, VELOCITY_CONTROL, get_motion
from nav_eval.tasks import TASKS

MAX_PIXEL = 16384.0


def make_task_interface(benchmark: BenchmarkConfig, *, robot: str | None = None) -> TaskInterface:
    """The task as an agent is told about it; cameras and body are those of `robot`, or of the first one.

    Where there are rigs to choose among, it is the first one's, with all of them beside it.
    """
    rigs = {rig.name: _make_interface(benchmark.with_rig(rig.name), robot) for rig in benchmark.rigs}
    return replace(next(iter(rigs.values())), rigs=rigs) if rigs else _make_interface(benchmark, robot)


def _make_interface(benchmark: BenchmarkConfig, robot: str | None) -> TaskInterface:
    task, moves = benchmark.task, TASKS.get(benchmark.task.type).uses_motion
    velocity = task.action(VELOCITY_CONTROL)
    return TaskInterface(
        name=task.type,
        sensors={name: sensor.spec for name, sensor in benchmark.sensors(robot).items()},
        actions=_list_actions(task),
        max_steps=benchmark.evaluation.max_steps,
        stop_meaning=StopMeaning(TASKS.get(task.type).stop_meaning),
        success_metres=benchmark.evaluation.success_distance if moves else 0.0,
        control_rate_hz=0.0 if velocity is None else 1.0 / velocity.params["time_step"],
        body=_make_body_spec(benchmark, robot) if moves else None,
    )


def _make_body_spec(benchmark: BenchmarkConfig, robot: str | None) -> BodySpec:
    walker = benchmark.robot(robot)
    slides = benchmark.simulator.physics.allow_sliding
    return BodySpec(radius=walker.radius, height=walker.height, slides=slides, max_tilt_degrees=MAX_TILT)


def _list_actions(task: TaskConfig) -> Mapping[str, ActionSpec]:
    """What can be done, and the answer where the task has one."""
    kind = TASKS.get(task.type)
    done = {
        action.name: ActionSpec(
            arguments=_get_bounds(action, task),
            motion=_make_motion_spec(action),
            takes_text=action.name == ASK,
            budget=int(action.params["budget"]) if action.name == ASK else 0,
        )
        for action in (task.actions if kind.uses_motion else ())
    }
    is_answered = kind.answers_in_words or not kind.uses_motion
    return {**done, **({ANSWER: ActionSpec(takes_text=kind.answers_in_words)} if is_answered else {})}


def _get_bounds(action: ActionConfig, task: TaskConfig) -> Mapping[str, tuple[float, float]]:
    if action.name == VELOCITY_CONTROL:
        fastest, quickest = action.params["max_linear_speed"], action.params["max_angular_speed"]
        return {"linear_velocity": (-fastest, fastest), "angular_velocity": (-quickest, quickest)}
    if action.name in GOALS or action.name == TELEPORT:
        return _get_goal_bounds(action)
    return action.bounds if task.allow_action_args else {}


def _get_goal_bounds(action: ActionConfig) -> Mapping[str, tuple[float, float]]:
    most, turn = action.params["max_distance"], (-180.0, 180.0)
    metric = {"forward": (-most, most), "left": (-most, most)}
    if action.name == "waypoint":
        return {**metric, "distance": (0.0, most), "bearing": turn, "heading": turn}
    if action.name == "pixel_goal":
        return {"u": (0.0, MAX_PIXEL), "v": (0.0, MAX_PIXEL), "heading": turn}
    return metric if action.name == TELEPORT else {"heading": turn}


def _make_motion_spec(action: ActionConfig) -> MotionSpec | None:
    if action.name == VELOCITY_CONTROL:
        return MotionSpec(seconds=action.params["time_step"])
    motion = get_motion(action)
    return None if motion is None else MotionSpec(**motion)
