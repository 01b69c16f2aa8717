"""What the agent is told about its task: the instruction, and the goal as a point, a category or a picture.

Never more than the task allows.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from nav_eval.config_model import Aliases, Flag, Hfov, Pixels
from nav_eval.dataset.episode import Episode
from nav_eval.errors import ConfigError, DatasetError
from nav_eval.records.geometry import measure_distance
from nav_eval.sensors.base import TEXT, Bounds, Sensor, SensorContext, SensorSpec, SensorValue, TextValue
from nav_eval.sensors.position import get_place_bounds, to_cartesian, to_frame, to_polar


class InstructionSensor(Sensor):
    """What the agent is told."""

    kind: Literal["instruction"] = "instruction"
    type: Literal["text"] = "text"
    include_tokens: Flag = True
    """Send the instruction's words as well."""

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype=TEXT)

    def list_texts(self, episodes: Sequence[Episode]) -> set[str]:
        return {episode.instruction.text for episode in episodes if episode.instruction is not None}

    def read(self, name: str, context: SensorContext) -> TextValue:
        instruction = context.episode.instruction
        if instruction is None:
            return TextValue("")
        return TextValue(instruction.text, instruction.tokens if self.include_tokens else ())


class PointGoalSensor(Sensor):
    """Where the goal is, for PointNav."""

    kind: Literal["pointgoal"] = "pointgoal"
    goal_format: Literal["polar", "cartesian"] = "polar"
    dimensionality: Literal[2, 3] = 2
    updates: Flag = True
    """Measured from where the agent is now (Habitat's `pointgoal_with_gps_compass`), not from the start."""

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="float32", shape=(self.dimensionality,))

    @property
    def bounds(self) -> Bounds:
        return get_place_bounds(self.dimensionality, polar=self.goal_format == "polar")

    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        goals = context.episode.goals
        if not goals:
            raise DatasetError(
                f"Episode {context.episode.episode_id!r} has no goal, but the task has a pointgoal sensor."
            )
        start = context.start.position
        nearest = min((goal.position for goal in goals), key=lambda place: measure_distance(start, place))
        measure = to_polar if self.goal_format == "polar" else to_cartesian
        frame = context.now if self.updates else context.start
        return measure(to_frame(frame, nearest), dimensions=self.dimensionality)


class ObjectGoalSensor(Sensor):
    """Which category to find, for ObjectNav."""

    kind: Literal["objectgoal"] = "objectgoal"
    goal_spec: Literal["category_name", "category_id"] = "category_name"

    @property
    def spec(self) -> SensorSpec:
        if self.goal_spec == "category_id":
            return SensorSpec(kind=self.kind, dtype="int32", shape=(1,))
        return SensorSpec(kind=self.kind, dtype=TEXT)

    @property
    def bounds(self) -> Bounds:
        return Bounds(0, np.iinfo(np.int32).max)

    def list_texts(self, episodes: Sequence[Episode]) -> set[str]:
        return {episode.public.object_category or "" for episode in episodes}

    def read(self, name: str, context: SensorContext) -> SensorValue:
        category = context.episode.public.object_category
        if category is None:
            raise DatasetError(f"Episode {context.episode.episode_id!r} names no category to find.")
        if self.goal_spec == "category_name":
            return TextValue(category)
        if category not in context.category_ids:
            raise DatasetError(
                f"Episode {context.episode.episode_id!r} asks for {category!r}, "
                "which the scene's annotation does not name."
            )
        return np.array([context.category_ids[category]], dtype=np.int32)


class CategoriesSensor(Sensor):
    """The names behind the numbers that semantic cameras show: one per line, the first is number 0."""

    kind: Literal["categories"] = "categories"

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype=TEXT)

    def read(self, name: str, context: SensorContext) -> TextValue:
        names = [""] * (max(context.category_ids.values(), default=0) + 1)
        for category, number in context.category_ids.items():
            names[number] = category
        return TextValue("\n".join(names))


class ImageGoalSensor(Sensor):
    """The picture of the goal, for ImageNav."""

    aliases: ClassVar[Aliases] = {"fov": "hfov"}
    is_rendered: ClassVar[bool] = True

    kind: Literal["imagegoal"] = "imagegoal"
    width: Pixels | None = None
    """As the episode says when not given."""
    height: Pixels | None = None
    hfov: Hfov | None = None

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="uint8", shape=(self.height or 0, self.width or 0, 3))

    def fit_spec(self, name: str, episodes: Sequence[Episode]) -> SensorSpec:
        stated = {(goal.image.height, goal.image.width) for e in episodes for goal in e.goals[:1] if goal.image}
        sizes = {(self.height or height, self.width or width) for height, width in stated or {(0, 0)}}
        if len(sizes) > 1 or 0 in next(iter(sizes)):
            raise ConfigError(
                f"The episodes do not agree on the size of their goal pictures; set {name}.width and .height."
            )
        return SensorSpec(kind=self.kind, dtype="uint8", shape=(*sizes.pop(), 3))

    def read(self, name: str, context: SensorContext) -> NDArray[np.uint8]:
        """What the goal looks like, through the camera that the episode states."""
        image = next((goal.image for goal in context.episode.goals if goal.image is not None), None)
        if image is None:
            raise DatasetError(
                f"Episode {context.episode.episode_id!r} has no goal picture, but the task has an imagegoal sensor."
            )
        stated = {"width": self.width, "height": self.height, "hfov": self.hfov}
        chosen = {key: value for key, value in stated.items() if value is not None}
        return context.pictures.draw_goal(msgspec.structs.replace(image, **chosen))
