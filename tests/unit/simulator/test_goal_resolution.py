"""Category and region become places."""

from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.scene.model import SceneObject, Semantics
from nav_eval.scene.navigation import OpenPlane
from nav_eval.simulator.scene_manager import resolve_goals


def thing(number: int, category: str, region: str, x: float) -> SceneObject:
    return SceneObject(object_id=number, category=category, region=region, center=(x, 0.8, 0.0), size=(0.5, 0.5, 0.5))


SEMANTICS = Semantics(
    objects=(
        thing(1, "towel", "1", 1.0),
        thing(2, "towel", "1", 2.0),
        thing(3, "towel", "2", 3.0),
        thing(4, "sofa/couch", "2", 4.0),
    )
)


def episode(*subtasks: Subtask) -> Episode:
    private = PrivateEpisode(scene_id="s", start=Pose((0.0, 0.0, 0.0)), subtasks=subtasks)
    return Episode(public=PublicEpisode(episode_id="e"), private=private)


def goals_of(subtask: Subtask) -> list[str | None]:
    resolved = resolve_goals(episode(subtask), SEMANTICS, OpenPlane())
    return [goal.object_id for goal in resolved.subtasks[0].goals]


def test_every_object_of_the_category_in_the_region_counts() -> None:
    assert goals_of(Subtask(target="towel", region="1")) == ["1", "2"]


def test_without_a_region_all_of_them_count() -> None:
    assert goals_of(Subtask(target="towel")) == ["1", "2", "3"]


def test_task_texts_leave_slashes_out() -> None:
    assert goals_of(Subtask(target="sofacouch", region="2")) == ["4"]


def test_what_is_not_there_stays_empty() -> None:
    assert goals_of(Subtask(target="piano", region="1")) == []


class FloorWithAHole(OpenPlane):
    """Ground at height 0 left of x = 1.5; nothing beyond."""

    def snap_point(self, point: Vec3) -> Vec3 | None:
        return (point[0], 0.0, point[2]) if point[0] < 1.5 else None


def test_goals_stand_on_the_ground_and_those_without_any_do_not_count() -> None:
    resolved = resolve_goals(episode(Subtask(target="towel")), SEMANTICS, FloorWithAHole())
    assert [goal.position for goal in resolved.subtasks[0].goals] == [(1.0, 0.0, 0.0)]


def test_goals_that_a_dataset_gives_are_kept() -> None:
    given = episode(Subtask(target="towel", region="1", goals=(Goal(position=(9.0, 0.0, 9.0)),)))
    assert resolve_goals(given, SEMANTICS, OpenPlane()) is given
