"""What the agent is told about its goal: never more than the task allows."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import CategoriesSensor, InstructionSensor, ObjectGoalSensor, PointGoalSensor
from nav_eval.errors import DatasetError
from nav_eval.geometry import straight_line
from nav_eval.simulator.sensors.base import Moment, Sensor, SensorValue, TextValue, register_sensor
from nav_eval.simulator.sensors.position import cartesian, polar, seen_from


@register_sensor("instruction")
class InstructionText(Sensor):
    """The words of the episode."""

    def __init__(self, config: InstructionSensor) -> None:
        self._with_tokens = config.include_tokens

    def read(self, moment: Moment) -> TextValue:
        instruction = moment.episode.instruction
        if instruction is None:
            return TextValue("")
        return TextValue(instruction.text, instruction.tokens if self._with_tokens else ())


@register_sensor("pointgoal")
class PointGoal(Sensor):
    """Where the goal is, from the start or from where the agent stands now."""

    def __init__(self, config: PointGoalSensor) -> None:
        self._measure = polar if config.goal_format == "polar" else cartesian
        self._dimensions = config.dimensionality
        self._updates = config.updates

    def read(self, moment: Moment) -> NDArray[np.float32]:
        goals = moment.episode.goals
        if not goals:
            raise DatasetError(
                f"Episode {moment.episode.episode_id!r} has no goal, but the task has a pointgoal sensor."
            )
        nearest = min((goal.position for goal in goals), key=lambda place: straight_line(moment.start.position, place))
        frame = moment.now if self._updates else moment.start
        return self._measure(seen_from(frame, nearest), dimensions=self._dimensions)


@register_sensor("categories")
class CategoryNames(Sensor):
    """What the numbers of the semantic cameras stand for, one name per line; the first line is number 0."""

    def __init__(self, config: CategoriesSensor) -> None:
        """There is nothing to choose."""

    def read(self, moment: Moment) -> TextValue:
        names = [""] * (max(moment.category_ids.values(), default=0) + 1)
        for name, number in moment.category_ids.items():
            names[number] = name
        return TextValue("\n".join(names))


@register_sensor("objectgoal")
class ObjectGoal(Sensor):
    """Which category to find, by name or by its number in the scene's annotation."""

    def __init__(self, config: ObjectGoalSensor) -> None:
        self._as_id = config.goal_spec == "category_id"

    def read(self, moment: Moment) -> SensorValue:
        category = moment.episode.public.object_category
        if category is None:
            raise DatasetError(f"Episode {moment.episode.episode_id!r} names no category to find.")
        if not self._as_id:
            return TextValue(category)
        if category not in moment.category_ids:
            raise DatasetError(
                f"Episode {moment.episode.episode_id!r} asks for {category!r}, "
                "which the scene's annotation does not name."
            )
        return np.array([moment.category_ids[category]], dtype=np.int32)
