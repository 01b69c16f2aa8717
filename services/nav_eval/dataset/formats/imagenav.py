"""Image goals, two kinds: `imagenav`.

Instance ImageNav (v3) names an object and one of its pictures; every picture has a camera of its own.
Plain ImageNav is PointNav whose goal is shown as a picture taken at the goal. Habitat turns that
camera by Python's salted `hash`, so it differs from process to process; here the direction is a hash
of the episode id that stays.
"""

import hashlib
import math
from collections.abc import Iterator
from typing import Annotated

import msgspec

from nav_eval.dataset.episode import (
    Episode,
    Goal,
    GoalImage,
    PrivateEpisode,
    PublicEpisode,
    check_episodes,
    check_goals,
)
from nav_eval.dataset.formats.habitat import DatasetPart, RawEpisode, RawGoal, RawViewPoint, read_parts
from nav_eval.dataset.json_records import decode_record
from nav_eval.dataset.loader import DatasetRequest, register_dataset
from nav_eval.records.geometry import Pose, Quaternion, Vec3, make_yaw_rotation

CAMERA_HEIGHT, CAMERA_HFOV, CAMERA_WIDTH, CAMERA_HEIGHT_PX = 1.25, 90.0, 640, 480
"""Habitat's default colour camera, which takes the picture of a plain image goal."""

_Pixels = Annotated[int, msgspec.Meta(ge=1, le=8192)]


class _RawImage(msgspec.Struct, kw_only=True, gc=False):
    position: Vec3
    rotation: Quaternion
    hfov: Annotated[float, msgspec.Meta(gt=0, lt=180)]
    image_dimensions: tuple[_Pixels, _Pixels]

    def image(self) -> GoalImage:
        height, width = self.image_dimensions
        return GoalImage(pose=Pose(self.position, self.rotation), hfov=self.hfov, width=width, height=height)


class _RawInstance(msgspec.Struct, kw_only=True, gc=False):
    position: Vec3
    image_goals: tuple[_RawImage, ...]
    object_id: str | int | None = None
    object_category: str | None = None
    view_points: tuple[RawViewPoint, ...] = ()

    def goal(self, image: GoalImage) -> Goal:
        return Goal(
            position=self.position,
            object_id=None if self.object_id is None else str(self.object_id),
            category=self.object_category,
            view_points=tuple(view.pose() for view in self.view_points),
            image=image,
        )


class _RawImageEpisode(RawEpisode, kw_only=True, gc=False):
    goals: tuple[RawGoal, ...] = ()
    goal_object_id: str | int | None = None
    goal_image_id: Annotated[int, msgspec.Meta(ge=0)] | None = None


class _Document(msgspec.Struct, kw_only=True, gc=False):
    episodes: list[_RawImageEpisode]
    goals: dict[str, msgspec.Raw] = {}


_INSTANCE_DECODER = msgspec.json.Decoder(_RawInstance)


@register_dataset("imagenav")
def load_imagenav(request: DatasetRequest) -> Iterator[Episode]:
    """`{split}.json.gz`, or `content/*.json.gz` beside it."""
    for part, document, raws in read_parts(request, _Document, _RawImageEpisode):
        reader = _Reader(part, document.goals)
        yield from check_episodes(map(reader.episode, raws), part.source.path)


class _Reader:
    """Turns the records of one file into episodes; an object is decoded once and shared."""

    def __init__(self, part: DatasetPart, instances: dict[str, msgspec.Raw]) -> None:
        self._part = part
        self._raw_instances = instances
        self._instances: dict[str, _RawInstance] = {}
        self._goals: dict[tuple[str, int], Goal] = {}

    def episode(self, raw: _RawImageEpisode) -> Episode:
        goal = self._plain_goal(raw) if raw.goal_object_id is None else self._instance_goal(raw)
        return Episode(
            public=PublicEpisode(episode_id=self._part.episode_id(raw.episode_id)),
            private=PrivateEpisode(
                scene_id=raw.scene(),
                start=raw.start(),
                goals=(goal,),
                shortest_path_length=raw.shortest_path_length(self._part.place),
                info=raw.info or {},
            ),
        )

    def _plain_goal(self, raw: _RawImageEpisode) -> Goal:
        if not raw.goals:
            raise self._part.place.episode(raw.episode_id).refuse(
                "has neither goal_object_id (an instance to find) nor goals (a place to find); give one of them."
            )
        x, y, z = raw.goals[0].position
        image = GoalImage(
            pose=Pose((x, y + CAMERA_HEIGHT, z), make_yaw_rotation(_draw_direction(str(raw.episode_id)))),
            hfov=CAMERA_HFOV,
            width=CAMERA_WIDTH,
            height=CAMERA_HEIGHT_PX,
        )
        return Goal(position=raw.goals[0].position, radius=raw.goals[0].radius, image=image)

    def _instance_goal(self, raw: _RawImageEpisode) -> Goal:
        scene = raw.scene_id.rsplit("/", 1)[-1].split(".")[0]
        key, image = f"{scene}_{raw.goal_object_id}", raw.goal_image_id or 0
        if (key, image) not in self._goals:
            self._goals[key, image] = self._make_goal(key, image, raw)
        return self._goals[key, image]

    def _make_goal(self, key: str, image: int, raw: _RawImageEpisode) -> Goal:
        place = self._part.place.episode(raw.episode_id)
        if key not in self._raw_instances:
            raise place.refuse(f"goal_object_id is {raw.goal_object_id!r}, but goals has no {key!r}.")
        instance = self._instance(key)
        if image >= len(instance.image_goals):
            raise place.refuse(f"goal_image_id is {image}; goals[{key!r}] has {len(instance.image_goals)} images.")
        return instance.goal(instance.image_goals[image].image())

    def _instance(self, key: str) -> _RawInstance:
        if key not in self._instances:
            place = self._part.place.at(f"goals[{key!r}]")
            instance = decode_record(self._raw_instances[key], _INSTANCE_DECODER, place=place)
            check_goals(tuple(instance.goal(image.image()) for image in instance.image_goals), place)
            self._instances[key] = instance
        return self._instances[key]


def _draw_direction(episode_id: str) -> float:
    """Radians in [0, 2π), the same in every process."""
    number = int.from_bytes(hashlib.blake2b(episode_id.encode(), digest_size=8).digest(), "big")
    return 2 * math.pi * number / 2**64
