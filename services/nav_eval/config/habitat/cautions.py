"""What a migrated configuration says that its author may not have meant.

Habitat's defaults and what it leaves to other files make a benchmark that loads and is not the one that was meant. Each
caution is a sentence that says what was understood and what to change.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from nav_eval.config.habitat.mapping import ACTIONS
from nav_eval.config.habitat.values import CHANGES, NO_CAMERA, NO_METRIC, NO_SENSOR, HabitatLeaves, LeftoverValue

LEAST_VLN_SUCCESS = 1.0  #: metres; VLN's benchmarks use 3, and 0.2 is Habitat's default for PointNav
STEPS = ("habitat", "environment", "max_episode_steps")
RXR_FEATURES = ("rxr_instruction", "rxr_instruction_sensor")

#: The sensor that a value belongs to, in the words of either style.
_SENSOR_NAME = re.compile(r"(?:sim_sensors\.|lab_sensors\.|SENSORS: )([^.: ]+)")


class StatedFacts(NamedTuple):
    """What a file says, taken down before anything is carried over."""

    task_type: bool
    dataset_type: bool
    actions: tuple[str, ...]
    unlimited: bool  #: no limit of steps is asked for
    sensors: tuple[str, ...]
    agents: tuple[str, ...]


def note_facts(leaves: HabitatLeaves) -> StatedFacts:
    task = ("habitat", "task")
    return StatedFacts(
        task_type=leaves.has(*task, "type"),
        dataset_type=leaves.has("habitat", "dataset", "type"),
        actions=tuple(leaves.below(*task, "actions")),
        unlimited=leaves.take(*STEPS) == 0,
        sensors=tuple(leaves.below(*task, "lab_sensors")),
        agents=tuple(leaves.below("habitat", "simulator", "agents")),
    )


def list_cautions(tree: dict[str, Any], facts: StatedFacts) -> Iterator[str]:
    """Sentences about a benchmark that was made from a file that states these facts."""
    task, evaluation, dataset = tree["task"], tree["evaluation"], tree["dataset"]
    yield from _check_actions(task, facts)
    yield from _find_radians(task)
    robot = tree["scenario_config"]["robots"][0]["name"]
    if others := [name for name in facts.agents if name != robot]:
        yield f"One agent is evaluated, {robot}; {', '.join(others)} and what they carry are left out."
    if not facts.task_type:
        yield (
            f"The file does not say which task it is for, so it became {task['type']}; if it is laid over "
            "another file, migrate that one, or set task.type."
        )
    if facts.unlimited:
        yield f"The file sets no limit of steps; {evaluation['max_steps']} were taken: set evaluation.max_steps."
    if any(name in RXR_FEATURES for name in facts.sensors):
        yield (
            "RxR's instruction sensor gives features (BERT) in Habitat; here `instruction` is the text itself, and "
            "the agent encodes it."
        )
    distance = evaluation["success_distance"]
    if task["type"] == "vln" and distance < LEAST_VLN_SUCCESS:
        yield (
            f"The success distance is {distance:g} m, Habitat's default for PointNav; VLN-CE counts 3 m: "
            "set evaluation.success_distance=3.0."
        )
    if dataset.get("split") == "train":
        yield "The split is `train`: what an agent scores there says nothing about unseen places; set dataset.split."


def _check_actions(task: dict[str, Any], facts: StatedFacts) -> Iterator[str]:
    kept = [action["name"] for action in task["actions"]]
    if facts.actions and set(kept) <= {"stop"}:
        lost = ", ".join(name for name in facts.actions if name not in kept)
        yield (
            f"Of the task's actions only {', '.join(kept) or 'none'} is left: {lost} have no counterpart here, and "
            "nobody can move. Give task.actions move_forward, turn_left and turn_right, or velocity_control."
        )
    elif unknown := [name for name in facts.actions if name not in ACTIONS]:
        yield (
            f"The actions {', '.join(unknown)} have no counterpart here: an agent that gives one of them ends in a "
            "protocol_error. See that it does not, or add yours as a plug-in."
        )


def _find_radians(task: dict[str, Any]) -> Iterator[str]:
    """Habitat's angles of view and of turns are degrees; its orientations are radians, and easily mixed up."""
    angles = {f"hfov of {name}": camera.get("hfov") for name, camera in task["sensors"].items()}
    for action in task["actions"]:
        params = action.get("params", {})
        angles |= {f"{key} of {action['name']}": params.get(key) for key in ("turn_angle", "tilt_angle")}
    small = [f"{what} is {angle:g}" for what, angle in angles.items() if angle is not None and angle <= math.pi]
    if small:
        yield f"Angles look like radians ({', '.join(small)}), and were taken as degrees, as Habitat takes them."


def list_losses(not_carried: Iterable[LeftoverValue], *, unread: Sequence[str]) -> Iterator[str]:
    """What was not carried over although it decides how agents are judged or what they see."""
    if unread:
        yield f"{', '.join(unread)}: interpolations are not resolved, and defaults were taken: write the values."
    entries = list(not_carried)
    for entry in entries:
        if entry.reason.startswith(CHANGES):
            yield f"{entry}. In this the benchmark is not the one that the file describes."
    if measures := [entry.name.rpartition(" ")[2].rpartition(".")[2] for entry in entries if entry.reason == NO_METRIC]:
        yield f"The measures {', '.join(dict.fromkeys(measures))} have no counterpart here: nobody is judged by them."
    lost = [entry.name for entry in entries if entry.reason in (NO_CAMERA, NO_SENSOR)]
    if names := dict.fromkeys(found[1] for found in map(_SENSOR_NAME.search, lost) if found):
        yield (
            f"The sensors {', '.join(names)} have no counterpart here, and no agent gets them: give task.sensors "
            "cameras of ours in their place, or see that nobody needs them."
        )


def list_missing_files(unresolved: Iterable[LeftoverValue]) -> Iterator[str]:
    """Files that a configuration is built on and that are not here; those of trainers say nothing of an evaluation."""
    for entry in unresolved:
        if "habitat_baselines" not in entry.name:
            yield f"{entry.name} is not here, and what it says is missing: migrate the file that has all of it."
