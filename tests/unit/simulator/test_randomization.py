"""Domain randomisation varies what it may, and nothing that scores."""

from functools import cache

import numpy as np
import pytest

from nav_eval.config.schema import DRConfig
from nav_eval.dataset.episode import Episode, Goal, Instruction, PrivateEpisode, PublicEpisode
from nav_eval.records.geometry import Pose
from nav_eval.scene.model import Scene
from nav_eval.simulator.camera_rig import CameraJitter
from nav_eval.simulator.domain_randomization import DomainDraw, DomainRandomizationManager, randomize_scene
from nav_eval_worlds.houses import generate_house


@cache
def house() -> Scene:
    return generate_house(3).scene


def episode(goal_object: int | None = None) -> Episode:
    goals = () if goal_object is None else (Goal(position=(0.0, 0.0, 0.0), object_id=str(goal_object)),)
    private = PrivateEpisode(scene_id="s", start=Pose((0.0, 0.0, 0.0)), goals=goals)
    return Episode(public=PublicEpisode(episode_id="e"), private=private)


def draw(
    level: int, *, scene_mode: int = 2, seed: int | None = 5, episode_id: str = "e", **switches: bool
) -> DomainDraw | None:
    config = DRConfig(level=level, scene_mode=scene_mode, seed=seed, **switches)
    return DomainRandomizationManager(config, run_seed=9).draw(episode_id)


def test_level_0_draws_nothing() -> None:
    assert draw(0) is None


@pytest.mark.parametrize(
    ("level", "textures", "light", "camera"),
    [(1, True, False, False), (2, True, True, False), (3, True, True, True)],
)
def test_levels_add_up(level: int, textures: bool, light: bool, camera: bool) -> None:
    drawn = draw(level)
    assert drawn is not None
    assert drawn.textures is textures
    assert (drawn.brightness != 1.0) is light
    assert (drawn.camera != CameraJitter()) is camera


def test_switches_override_the_level() -> None:
    drawn = draw(3, random_lighting=False, random_camera=False)
    assert drawn is not None
    assert (drawn.brightness, drawn.camera) == (1.0, CameraJitter())
    assert draw(0, random_camera=True) is not None


def test_a_draw_depends_on_seed_and_episode_alone() -> None:
    manager = DomainRandomizationManager(DRConfig(level=3, seed=5), run_seed=1)
    forwards = [manager.draw(name) for name in "abc"]
    backwards = [DomainRandomizationManager(DRConfig(level=3, seed=5), run_seed=2).draw(name) for name in "cba"]
    assert forwards == backwards[::-1]
    assert len({drawn.seed for drawn in forwards if drawn}) == 3
    assert draw(3, seed=6) != draw(3, seed=5)


def test_without_a_seed_the_run_decides() -> None:
    config = DRConfig(level=1, seed=None)
    first, second = (DomainRandomizationManager(config, run_seed=seed).draw("e") for seed in (1, 2))
    assert first != second


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("scene_mode", [0, 1, 2, 3])
def test_what_blocks_never_changes(level: int, scene_mode: int) -> None:
    drawn = draw(level, scene_mode=scene_mode)
    assert drawn is not None
    scene = randomize_scene(house(), drawn, episode())
    count = len(house().triangles)
    assert np.array_equal(scene.positions[: len(house().positions)], house().positions)
    assert np.array_equal(scene.triangles[:count], house().triangles)
    assert np.array_equal(scene.triangle_object[:count], house().triangle_object)
    assert scene.semantics.objects[: len(house().semantics.objects)] == house().semantics.objects
    assert (len(scene.triangles) > count) is (scene_mode == 3)


def changed_objects(scene: Scene) -> set[int]:
    """Ids of the objects whose surface is not what it was."""
    before, after = house(), scene
    count = len(before.triangles)
    looks = [(m.base_color, m.texture) for m in after.materials]
    old = np.array([looks.index((m.base_color, m.texture)) for m in before.materials])[before.triangle_material]
    new = np.array([looks.index(look) for look in looks])[after.triangle_material[:count]]
    return set(before.triangle_object[old != new].tolist())


def test_scene_mode_says_how_far_it_reaches() -> None:
    shell = {thing.object_id for thing in house().semantics.objects if thing.category in ("wall", "floor", "ceiling")}
    reached = []
    for scene_mode in (0, 1, 2):
        drawn = draw(1, scene_mode=scene_mode)
        assert drawn is not None
        reached.append(changed_objects(randomize_scene(house(), drawn, episode())))
    assert reached[0] <= shell | {0}
    assert reached[0] < reached[1] < reached[2]


def test_goals_keep_their_look() -> None:
    drawn = draw(1)
    assert drawn is not None
    changed = changed_objects(randomize_scene(house(), drawn, episode()))
    goal = max(changed)
    assert goal not in changed_objects(randomize_scene(house(), drawn, episode(goal)))


def measure_gaps(scene: Scene, base: Scene) -> list[float]:
    """Metres from the bottom of each added thing straight down to what was there before; negative inside something."""
    corners = base.positions[base.triangles].astype(np.float64)
    lower, upper = corners.min(axis=1), corners.max(axis=1)
    gaps = []
    for thing in scene.semantics.objects[len(base.semantics.objects) :]:
        (x, y, z), bottom = thing.center, thing.center[1] - thing.size[1] / 2
        under = (lower[:, 0] <= x) & (x <= upper[:, 0]) & (lower[:, 2] <= z) & (z <= upper[:, 2])
        heights = []
        for a, b, c in corners[under]:
            area = np.linalg.det([[b[0] - a[0], b[2] - a[2]], [c[0] - a[0], c[2] - a[2]]])
            if abs(area) < 1e-12:
                continue
            u = np.linalg.det([[x - a[0], z - a[2]], [c[0] - a[0], c[2] - a[2]]]) / area
            v = np.linalg.det([[b[0] - a[0], b[2] - a[2]], [x - a[0], z - a[2]]]) / area
            if min(u, v, 1 - u - v) >= -1e-9:
                heights.append(a[1] + u * (b[1] - a[1]) + v * (c[1] - a[1]))
        gaps.append(bottom - max(height for height in heights if height < y + thing.size[1] / 2))
    return gaps


def test_clutter_stands_on_things() -> None:
    drawn = draw(0, clutter_scene=True)
    assert drawn is not None
    scene = randomize_scene(house(), drawn, episode())
    added = scene.semantics.objects[len(house().semantics.objects) :]
    assert len(added) == drawn.clutter
    assert all(thing.category == "clutter" and thing.center[1] > 0.3 and thing.region for thing in added)
    assert all(abs(gap) < 0.005 for gap in measure_gaps(scene, house()))


@pytest.mark.slow
def test_of_five_hundred_things_none_floats() -> None:
    gaps: list[float] = []
    for seed in (3, 4, 5):
        base = generate_house(seed).scene
        for number in range(40):
            drawn = draw(0, clutter_scene=True, seed=seed, episode_id=f"e{number}")
            assert drawn is not None
            gaps += measure_gaps(randomize_scene(base, drawn, episode()), base)
    assert len(gaps) >= 500
    assert [gap for gap in gaps if not -0.005 < gap < 0.01] == []


def test_clutter_is_lit_like_what_it_stands_on() -> None:
    drawn = draw(2, clutter_scene=True)
    assert drawn is not None
    scene = randomize_scene(house(), drawn, episode())
    added = slice(len(house().positions), None)
    assert scene.materials[scene.triangle_material[-1]].unlit
    assert 40 < scene.colors[added, :3].mean() < 230
    assert scene.colors[added, :3].std() > 3


def test_what_the_words_mention_keeps_its_look() -> None:
    walls = {thing.object_id for thing in house().semantics.objects if thing.category == "wall"}
    cushions = {t.object_id for t in house().semantics.objects if t.category in ("cushion", "sofa")}
    drawn = draw(1)
    assert drawn is not None
    plain = changed_objects(randomize_scene(house(), drawn, episode()))
    told = PublicEpisode(
        episode_id="e", instruction=Instruction(text="Find the red cushion in the bedroom with the light pink walls.")
    )
    kept = changed_objects(randomize_scene(house(), drawn, Episode(public=told, private=episode().private)))
    assert walls & plain
    assert not walls & kept
    assert not {thing for thing in cushions if thing in kept} & {
        t.object_id for t in house().semantics.objects if t.category == "cushion"
    }


def test_other_light_is_other_colours() -> None:
    drawn = draw(2)
    assert drawn is not None
    colors = randomize_scene(house(), drawn, episode()).colors
    assert not np.array_equal(colors, house().colors)


def test_the_record_is_plain_data() -> None:
    drawn = draw(3)
    assert drawn is not None
    record = drawn.record()
    assert record["camera"] == {
        "height": drawn.camera.height,
        "pitch": drawn.camera.pitch,
        "hfov": drawn.camera.hfov,
    }
