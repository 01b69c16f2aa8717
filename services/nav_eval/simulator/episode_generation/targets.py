"""Things that an agent can be sent to: with words that mean them and places that count as being there."""

from dataclasses import dataclass

from nav_eval.dataset.episode import Goal, Vec3
from nav_eval.scene.model import SceneObject
from nav_eval.simulator.episode_generation.descriptions import Reference
from nav_eval.simulator.episode_generation.site import Site
from nav_eval.simulator.episode_generation.words import is_target


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Target:
    """Something to go to."""

    thing: SceneObject
    reference: Reference
    goals: tuple[Goal, ...]  #: places beside every thing that the words may mean
    room: str  #: kind of room; empty where the scene does not say

    @property
    def category(self) -> str:
        return self.thing.category

    @property
    def positions(self) -> list[Vec3]:
        return [goal.position for goal in self.goals]


def targets_of(site: Site) -> list[Target]:
    """Every target of a scene. Things that look alike are one target: the words mean all of them."""
    found: dict[tuple[int, ...], Target] = {}
    for thing in site.around.semantics.objects:
        reference = site.around.describer.describe(thing) if is_target(thing) else None
        if reference is None:
            continue
        meant = tuple(other.object_id for other in reference.things)
        if meant not in found:
            goals = tuple(goal for other in reference.things for goal in goals_beside(other, site))
            if goals:
                room = site.around.describer.room_kind(thing.region) or ""
                found[meant] = Target(thing=thing, reference=reference, goals=goals, room=room)
    return list(found.values())


def goals_beside(thing: SceneObject, site: Site) -> list[Goal]:
    """One goal per place, so that every side of a bed counts."""
    return [
        Goal(position=place, object_id=str(thing.object_id), category=thing.category)
        for place in site.places_beside(thing)
    ]
