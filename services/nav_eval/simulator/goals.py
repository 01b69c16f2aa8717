"""Goals that a dataset only names: "a towel in region 1" becomes the places of all such towels.

LH-VLN's files give a category and a region for each sub-task. The scene's annotation says where those
objects are; each is put onto the nearest ground, and objects that no ground is near to do not count.
"""

import msgspec

from nav_eval.dataset.episode import Episode, Goal, Subtask
from nav_eval.scene.model import SceneObject, Semantics
from nav_eval.scene.navigation import Ground


def with_goals(episode: Episode, semantics: Semantics, ground: Ground) -> Episode:
    """The episode with the goals of every sub-task filled in; those that have goals keep them."""
    if all(subtask.goals for subtask in episode.subtasks):
        return episode
    subtasks = tuple(_resolved(subtask, semantics, ground) for subtask in episode.subtasks)
    return msgspec.structs.replace(episode, private=msgspec.structs.replace(episode.private, subtasks=subtasks))


def _resolved(subtask: Subtask, semantics: Semantics, ground: Ground) -> Subtask:
    if subtask.goals:
        return subtask
    goals = [_goal(thing, ground) for thing in semantics.objects if _is_meant(thing, subtask)]
    return msgspec.structs.replace(subtask, goals=tuple(goal for goal in goals if goal is not None))


def _is_meant(thing: SceneObject, subtask: Subtask) -> bool:
    """LH-VLN's task texts leave out the slashes of category names such as "sofa/couch"."""
    named = subtask.target in (thing.category, thing.category.replace("/", ""))
    return named and (subtask.region is None or thing.region == subtask.region)


def _goal(thing: SceneObject, ground: Ground) -> Goal | None:
    place = ground.snap_point(thing.center)
    if place is None:
        return None
    return Goal(position=place, object_id=str(thing.object_id), category=thing.category)
