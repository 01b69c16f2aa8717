"""What every generated episode promises, checked by playing it with the benchmark's own actions and rules."""

import math
import re
from collections.abc import Callable
from itertools import pairwise

import pytest

from nav_eval.dataset.episode import Episode
from nav_eval.records.geometry import get_yaw
from nav_eval.scene.model import SceneObject
from nav_eval.simulator.motion import AgentState, Body
from nav_eval.tasks.base import Moved, TaskResult, build_task, find_target_points
from nav_eval_worlds.episodes import GENERATED_TASKS
from nav_eval_worlds.episodes.site import Site

pytestmark = pytest.mark.slow

WALKED = [task for task in GENERATED_TASKS if task not in ("localization", "eqa")]  # its questions need several houses

EpisodesOf = Callable[..., list[Episode]]
SiteOf = Callable[[str], Site]


def played(episode: Episode, site: Site) -> tuple[list[AgentState], TaskResult]:
    """The expert's actions under the real rules."""
    task = build_task(site.benchmark.task, site.benchmark.evaluation)
    progress = task.start(episode, site.ground)
    body = Body(site.benchmark.task, site.ground, sliding=site.benchmark.simulator.physics.allow_sliding)
    states = [body.start(episode.private.start)]
    for action in episode.private.expert_actions:
        assert not progress.over
        states.append(body.apply(states[-1], action, {}))
        progress.advance(Moved(action=action, position=states[-1].position, collided=states[-1].collided))
    assert progress.over
    return states, progress.result()


@pytest.mark.parametrize("task", WALKED)
def test_the_expert_succeeds_with_the_real_actions(task: str, episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    site = site_of(task)
    for episode in episodes_of(task):
        states, result = played(episode, site)
        wanted = ("sr", "isr", "csr", "cgt", "tar", "score") if task == "lh_vln" else ("success",)
        assert {name: result.metrics[name] for name in wanted} == dict.fromkeys(wanted, 1.0)
        assert len(episode.private.expert_actions) < 0.6 * site.benchmark.evaluation.max_steps
        moved = [states[0].position, *(b.position for a, b in pairwise(states) if a.position != b.position)]
        assert episode.private.dense_path == tuple(moved)


@pytest.mark.parametrize("task", WALKED)
def test_starts_face_along_whole_turns(task: str, episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    site = site_of(task)
    for episode in episodes_of(task):
        turns = math.degrees(get_yaw(episode.start_rotation)) / site.turn_angle
        assert turns == pytest.approx(round(turns), abs=1e-6)
        assert site.ground.island(episode.start_position) == 0


def test_long_horizon_legs_add_up(episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    site = site_of("lh_vln")
    assert sorted(len(episode.subtasks) for episode in episodes_of("lh_vln")) == [2, 3, 4]
    for episode in episodes_of("lh_vln"):
        assert sum(s.ground_truth_steps or 0 for s in episode.subtasks) == len(episode.private.expert_actions)
        assert episode.private.expert_actions.count("stop") == len(episode.subtasks)
        _, result = played(episode, site)
        for subtask, record in zip(episode.subtasks, result.subtasks, strict=True):
            assert record.path_length == pytest.approx(subtask.ground_truth_distance)
            assert subtask.ground_truth_distance is not None
            assert subtask.ground_truth_distance >= 2.0
        assert len({subtask.target for subtask in episode.subtasks}) == len(episode.subtasks)


def test_long_horizon_words_mean_exactly_the_goals(episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    """Every phrase is in the text, in order, and leads to the things that the goals stand beside."""
    around = site_of("lh_vln").around
    by_text = {
        reference.text: reference
        for thing in around.semantics.objects
        if (reference := around.describer.describe(thing)) is not None
    }
    for episode in episodes_of("lh_vln"):
        text = episode.instruction.text if episode.instruction else ""
        places = [text.index(said) for said in episode.private.info["references"]]
        assert places == sorted(places)
        for said, subtask in zip(episode.private.info["references"], episode.subtasks, strict=True):
            meant = around.describer.resolve(by_text[said].description)
            assert {goal.object_id for goal in subtask.goals} <= {str(thing.object_id) for thing in meant}
            assert {thing.category for thing in meant} == {subtask.target}
            assert {thing.region for thing in meant} == {subtask.region}


def test_goals_are_beside_their_things_in_the_same_room(episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    site = site_of("lh_vln")
    things = {str(thing.object_id): thing for thing in site.around.semantics.objects}
    for episode in episodes_of("lh_vln"):
        for goal in (goal for subtask in episode.subtasks for goal in subtask.goals):
            thing = things[goal.object_id or ""]
            region = site.around.region_at(goal.position)
            assert region is not None
            assert region.region_id == thing.region
            assert to_footprint(thing, goal.position) <= 1.0


def to_footprint(thing: SceneObject, place: tuple[float, float, float]) -> float:
    x = max(abs(place[0] - thing.center[0]) - thing.size[0] / 2, 0.0)
    z = max(abs(place[2] - thing.center[2]) - thing.size[2] / 2, 0.0)
    return math.hypot(x, z)


@pytest.mark.parametrize("task", ["objectnav", "imagenav"])
def test_view_points_see_their_thing_within_a_metre(task: str, episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    site = site_of(task)
    things = {str(thing.object_id): thing for thing in site.around.semantics.objects}
    for episode in episodes_of(task):
        assert find_target_points(episode.goals, to_view_points=True)
        for goal in episode.goals:
            thing = things[goal.object_id or ""]
            assert goal.category == thing.category
            for pose in goal.view_points[:: max(1, len(goal.view_points) // 5)]:
                assert to_footprint(thing, pose.position) <= 1.0 + 1e-6
                assert site.sees(pose.position, thing)
                towards = math.atan2(pose.position[0] - thing.center[0], pose.position[2] - thing.center[2])
                assert math.cos(get_yaw(pose.rotation) - towards) > 0.999


def test_object_goals_are_all_things_of_the_category(episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    things = site_of("objectnav").around.semantics.objects
    for episode in episodes_of("objectnav"):
        instances = {str(thing.object_id) for thing in things if thing.category == episode.public.object_category}
        assert {goal.object_id for goal in episode.goals} <= instances
        assert len(episode.goals) >= 0.5 * len(instances)


def test_image_goals_have_a_camera_that_sees_the_thing(episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    site = site_of("imagenav")
    things = {str(thing.object_id): thing for thing in site.around.semantics.objects}
    for episode in episodes_of("imagenav"):
        (goal,) = episode.goals
        assert goal.image is not None
        assert episode.public.object_category is None
        visible = site.around.visibility.compute_visible_share(goal.image.pose.position, things[goal.object_id or ""])
        assert visible >= 0.7


def test_situations_are_answered_by_their_truth(episodes_of: EpisodesOf, site_of: SiteOf) -> None:
    benchmark = site_of("localization").benchmark
    for episode in episodes_of("localization"):
        progress = build_task(benchmark.task, benchmark.evaluation).start(episode, site_of("localization").ground)
        progress.answer([episode.private.start])
        assert set(progress.result().metrics.values()) == {1.0}
        assert episode.instruction is not None
        assert len(re.findall(r"metres?\b", episode.instruction.text)) >= 3


@pytest.mark.parametrize("task", ["vln", "lh_vln", "localization"])
def test_instructions_are_clean_sentences(task: str, episodes_of: EpisodesOf) -> None:
    for episode in episodes_of(task):
        assert episode.instruction is not None
        text = episode.instruction.text
        assert re.fullmatch(r"([A-Z][^.{}]*(\d\.\d[^.{}]*)*\. ?)+", text), text
        assert not re.search(r"  | ,|\bthe the\b|\bone of the one\b|None|\?", text), text
        assert 10 <= len(text.split()) <= 120
