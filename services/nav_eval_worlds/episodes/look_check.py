"""Whether domain randomisation keeps its word: what an episode mentions and its goals look the same at every level."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from nav_eval.config.schema import DRConfig
from nav_eval.dataset.episode import Episode
from nav_eval.scene.model import Scene, SceneObject
from nav_eval.simulator.domain_randomization import DomainDraw, DomainRandomizationManager, randomize_scene

LEVELS, SCENE_MODES = (1, 2, 3), (0, 1, 2, 3)


def find_broken_words(
    scene: Scene,
    episode: Episode,
    *,
    levels: tuple[int, ...] = LEVELS,
    scene_modes: tuple[int, ...] = SCENE_MODES,
    seed: int = 0,
) -> list[str]:
    """Where a level repaints what the episode speaks of, a sentence each; empty when every level keeps its word."""
    kept = list(_list_named(scene, episode))
    problems = []
    for level, scene_mode in product(levels, scene_modes):
        config = DRConfig(level=level, scene_mode=scene_mode, seed=seed)
        draw = DomainRandomizationManager(config, run_seed=seed).draw(episode.episode_id)
        changed = frozenset() if draw is None else find_repainted(scene, _randomize_surfaces(scene, draw, episode))
        problems += [
            f"{episode.episode_id}: level {level}, scene_mode {scene_mode} repaints the {thing.name or thing.category} "
            f"({thing.object_id}) that the episode speaks of"
            for thing in kept
            if thing.object_id in changed
        ]
    return problems


def _randomize_surfaces(scene: Scene, draw: DomainDraw, episode: Episode) -> Scene:
    """Under its own light: another one takes seconds to trace and changes no surface's colour or pixels."""
    return randomize_scene(scene, replace(draw, brightness=1.0, warmth=0.0), episode)


def find_repainted(before: Scene, after: Scene) -> frozenset[int]:
    """Ids of the objects whose surfaces are not what they were, by colour and pixels."""
    count = len(before.triangles)
    pairs = np.stack([before.triangle_object, before.triangle_material, after.triangle_material[:count]], axis=1)
    return frozenset(
        int(owner)
        for owner, old, new in np.unique(pairs.astype(np.int64), axis=0)
        if not _is_same_look(before, int(old), after, int(new))
    )


def _is_same_look(before: Scene, old: int, after: Scene, new: int) -> bool:
    one, other = before.materials[old], after.materials[new]
    if one.base_color != other.base_color or (one.texture is None) != (other.texture is None):
        return False
    if one.texture is None or other.texture is None:
        return True
    return np.array_equal(before.textures[one.texture].pixels, after.textures[other.texture].pixels)


def _list_named(scene: Scene, episode: Episode) -> Iterator[SceneObject]:
    """Goals, and everything one of whose names is in the text; by the text alone, unlike what keeps the looks."""
    goals = [*episode.goals, *(goal for subtask in episode.subtasks for goal in subtask.goals)]
    ids = {goal.object_id for goal in goals}
    stated = [record for record in episode.private.info.get("statements", ()) if isinstance(record, dict)]
    ids |= {str(part["object_id"]) for record in stated for part in record.values() if _is_object_part(part)}
    text = "" if episode.instruction is None else episode.instruction.text.lower()
    for thing in scene.semantics.objects:
        names = {"walls"} if thing.category == "wall" else {thing.category, thing.name or thing.category}
        is_said = any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)
        if thing.category not in ("floor", "ceiling") and (is_said or str(thing.object_id) in ids):
            yield thing


def _is_object_part(part: object) -> bool:
    return isinstance(part, dict) and "object_id" in part
