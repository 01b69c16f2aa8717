"""What must hold for an episode beyond the types of its fields.

The decoder has checked types, ranges and finiteness. Left are the rules of our world: rotations are
unit quaternions, a scene id is a place inside the scene folder, an instruction says something.
"""

from collections.abc import Iterator
from pathlib import Path

from nav_eval.dataset.decoding import Place
from nav_eval.dataset.episode import Episode, Goal, Quaternion

UNIT_TOLERANCE = 1e-3
"""Files round to as few as five digits."""


def checked(episodes: Iterator[Episode], file: Path) -> Iterator[Episode]:
    """The same episodes, each found sound; `file` is for the message."""
    place = Place(file)
    for episode in episodes:
        check_episode(episode, place)
        yield episode


def check_episode(episode: Episode, place: Place) -> None:
    """Refuse an episode that no simulator could start. Goals are checked where they are made: episodes share them."""
    private, instruction = episode.private, episode.public.instruction
    if not episode.public.episode_id:
        raise place.refuse("an episode has an empty episode_id; give each its own.")
    if instruction is not None and not instruction.text.strip():
        raise _at(episode, place).refuse("the instruction is empty; give a text.")
    if not _is_unit(private.start.rotation):
        raise _at(episode, place).refuse(_not_unit("start_rotation", private.start.rotation))
    if not is_inside(private.scene_id):
        raise _at(episode, place).refuse(
            f"scene_id is {private.scene_id!r}; allowed is a path inside the scene folder, without '..'."
        )


def check_goals(goals: tuple[Goal, ...], place: Place) -> None:
    """Refuse goals whose view points or cameras have no proper rotation."""
    for goal in goals:
        for pose in goal.view_points:
            if not _is_unit(pose.rotation):
                raise place.refuse(_not_unit("a view point's rotation", pose.rotation))
        if goal.image is not None and not _is_unit(goal.image.pose.rotation):
            raise place.refuse(_not_unit("a goal image's rotation", goal.image.pose.rotation))


def is_inside(scene_id: str) -> bool:
    """Whether the id stays inside the folder it will be joined to."""
    if not scene_id or scene_id[0] in "/\\" or "\0" in scene_id:
        return False
    return ".." not in scene_id or ".." not in scene_id.replace("\\", "/").split("/")


def _at(episode: Episode, place: Place) -> Place:
    return place.episode(episode.episode_id)


def _is_unit(rotation: Quaternion) -> bool:
    x, y, z, w = rotation
    return abs(x * x + y * y + z * z + w * w - 1.0) <= 2 * UNIT_TOLERANCE


def _not_unit(field: str, rotation: Quaternion) -> str:
    return f"{field} is {list(rotation)}; allowed is a unit quaternion x, y, z, w."
