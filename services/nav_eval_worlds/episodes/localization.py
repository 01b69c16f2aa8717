"""Localization episodes: somebody says what is around them; the answer is where they stand and which way they look.

A description is only kept if it can be answered: of all places and directions in the room that fit the words,
most must be close to the true one.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.records.geometry import Pose, Vec3, make_yaw_rotation
from nav_eval.scene.model import Region, SceneObject
from nav_eval_worlds.episodes.balance import Quota
from nav_eval_worlds.episodes.base import (
    EpisodeAttempt,
    EpisodeGenerator,
    EpisodeTarget,
    GenerationRequest,
    find_targets,
)
from nav_eval_worlds.episodes.footprint import measure_footprint_distance
from nav_eval_worlds.episodes.site import Site, compute_heading, wrap_degrees
from nav_eval_worlds.instructions.templates import SITUATIONS, Phrases
from nav_eval_worlds.instructions.words import get_noun, is_plural, to_instruction, to_sentence

FRAME = "nav_eval"  #: poses are in our own frame, not in SQA3D's
NEAREST, FARTHEST = 0.4, 4.5  #: metres to what is mentioned
LEAST_SIZE = 0.3  #: metres; smaller things are not what one orients oneself by
SIDES = {"front": 0.0, "left": 90.0, "behind": 180.0, "right": -90.0}  #: degrees to the left
PLAINLY = 25.0  #: degrees that a thing may be off its side to be mentioned; what is ahead is dead ahead
LOOSELY = 45.0  #: and that it may be off for a reader who takes the words less strictly
LEAST_CLAIMS = 3  #: with fewer, nobody can tell where it is
TOLERANCE = 0.5  #: metres within which "about" is true
CLOSE, TURNED = 1.0, 30.0  #: metres and degrees within which an answer is right
LEAST_SHARE = 0.8  #: of the poses that fit the words must be that close
SPACING, DIRECTIONS = 0.3, 24  #: of the poses that are tried


class Claim(NamedTuple):
    """Something that the description says."""

    side: str
    target: EpisodeTarget
    metres: float
    """To the thing's footprint."""


class LocalizationGenerator(EpisodeGenerator):
    """Makes the localization episodes of one scene."""

    def __init__(self, sites: Sequence[Site], order: GenerationRequest, quota: Quota) -> None:
        self._site = sites[0]
        self._quota = quota
        self._marks: dict[str, list[EpisodeTarget]] = {}
        for target in find_targets(self._site):
            if _is_mark(target):
                self._marks.setdefault(target.thing.region or "", []).append(target)

    def draw(self, case: EpisodeAttempt, *, strict: bool) -> Episode | None:
        place = self._site.random_place(case.draw.fork("place"))
        region = self._site.around.region_at(place)
        words = None if region is None else self._site.around.describer.room_words(region)
        if region is None or words is None:
            return None
        near = [mark for mark in self._marks.get(region.region_id, []) if self._is_mentionable(place, mark.thing)]
        for front in self._quota.rank(near, coming_from=region.category, draw=case.draw.fork("front")):
            claims = self._claims(place, compute_heading(place, front.thing.center), near, front)
            if len(claims) >= LEAST_CLAIMS and self._can_be_answered(place, claims, region):
                self._quota.note(front, coming_from=region.category)
                return self._episode(place, claims, self._site.around.describer.room_name(words), case)
        return None

    def _is_mentionable(self, place: Vec3, thing: SceneObject) -> bool:
        return NEAREST <= measure_footprint_distance(thing, place[0], place[2]) <= FARTHEST and self._site.sees(
            place, thing
        )

    def _claims(self, place: Vec3, facing: float, near: Sequence[EpisodeTarget], front: EpisodeTarget) -> list[Claim]:
        """What is ahead, and the nearest thing on each other side."""
        claims = [Claim("front", front, measure_footprint_distance(front.thing, place[0], place[2]))]
        used = {get_noun(front.thing)}
        for side in ("left", "right", "behind"):
            beside = [
                Claim(side, mark, measure_footprint_distance(mark.thing, place[0], place[2]))
                for mark in near
                if abs(wrap_degrees(compute_heading(place, mark.thing.center) - facing - SIDES[side])) <= PLAINLY
                and get_noun(mark.thing) not in used
            ]
            if beside:
                claims.append(min(beside, key=lambda claim: (claim.metres, claim.target.thing.object_id)))
                used.add(get_noun(claims[-1].target.thing))
        return claims

    def _can_be_answered(self, place: Vec3, claims: Sequence[Claim], region: Region) -> bool:
        facing = compute_heading(place, claims[0].target.thing.center)
        fitting = [pose for pose in self._poses(region) if _is_consistent(*pose, claims)]
        right = [
            (other, direction)
            for other, direction in fitting
            if math.dist(place, other) < CLOSE and abs(wrap_degrees(direction - facing)) < TURNED
        ]
        return bool(right) and len(right) >= LEAST_SHARE * len(fitting)

    def _poses(self, region: Region) -> Iterator[tuple[Vec3, float]]:
        """Everywhere in the room, in all directions."""
        for i in range(math.ceil((region.upper[0] - region.lower[0]) / SPACING)):
            for j in range(math.ceil((region.upper[2] - region.lower[2]) / SPACING)):
                place = (region.lower[0] + i * SPACING, region.lower[1], region.lower[2] + j * SPACING)
                if region.contains(place) and self._site.ground.is_navigable(place):
                    yield from ((place, 360.0 / DIRECTIONS * turn) for turn in range(DIRECTIONS))

    def _episode(self, place: Vec3, claims: Sequence[Claim], room: str, case: EpisodeAttempt) -> Episode:
        phrases = Phrases(SITUATIONS, case.draw.fork("words"))
        sentences = [
            to_sentence(
                phrases.say(
                    claim.side, thing=claim.target.reference.short, metres=format_metres(claim.metres), room=room
                )
            )
            for claim in claims
        ]
        facing = math.radians(compute_heading(place, claims[0].target.thing.center))
        return Episode(
            public=PublicEpisode(episode_id=case.episode_id, instruction=to_instruction(" ".join(sentences))),
            private=PrivateEpisode(
                scene_id=self._site.around.scene_id,
                start=Pose(place, make_yaw_rotation(facing)),
                robot=self._site.robot.name,
                info={"frame": FRAME, "target": claims[0].target.category, "rooms": [claims[0].target.room]},
            ),
        )


def _is_mark(target: EpisodeTarget) -> bool:
    """Something that one orients oneself by, in a sentence with "is"."""
    return (
        target.reference.is_unique
        and max(target.thing.size) >= LEAST_SIZE
        and not is_plural(target.reference.description.noun)
    )


def format_metres(metres: float) -> str:
    """Half metres are exact enough for "about"."""
    halves = max(1, round(metres * 2))
    if halves == 1:
        return "half a metre"
    if halves == 2:
        return "one metre"
    return f"{halves / 2:g} metres"


def _is_consistent(place: Vec3, facing: float, claims: Sequence[Claim]) -> bool:
    """Whether somebody who stands here could have said this; what is ahead must be nearly dead ahead."""
    for side, target, metres in claims:
        off = abs(wrap_degrees(compute_heading(place, target.thing.center) - facing - SIDES[side]))
        if off > (PLAINLY if side == "front" else LOOSELY):
            return False
        if abs(measure_footprint_distance(target.thing, place[0], place[2]) - metres) > TOLERANCE:
            return False
    return True
