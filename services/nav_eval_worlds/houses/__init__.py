"""Generated houses: one seed, one house; and houses as files: a GLB, its annotation, and a manifest.

The generator's version is a digest of its own source: two manifests with equal versions and seeds describe
equal houses, so an organiser can publish the version and keep the seeds of the test split secret.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

import nav_eval_worlds
from nav_eval.errors import SceneError
from nav_eval.scene.formats import compute_scene_digest, write_glb
from nav_eval.scene.model import Scene
from nav_eval.scene.semantics import get_semantics_path, write_semantics
from nav_eval_worlds.houses.doors_and_windows import make_openings
from nav_eval_worlds.houses.house import GeneratedHouse, assemble_scene, restyle
from nav_eval_worlds.houses.placement import furnish_house
from nav_eval_worlds.houses.plan import draw_plan
from nav_eval_worlds.houses.plan.model import TEMPLATES, HouseTemplate, choose_template
from nav_eval_worlds.houses.shell import draw_room_styles, make_room_shell, make_staircase
from nav_eval_worlds.houses.validation import find_faults, find_problems
from nav_eval_worlds.randomness import RandomStream, check_split

__all__ = ["TEMPLATES", "GeneratedHouse", "generate_house", "restyle"]


def subdivide_scene(scene: Scene, times: int) -> Scene:
    """Every triangle cut into four at the middles of its sides, `times` times over."""
    for _ in range(times):
        scene = _subdivide_once(scene)
    return scene


def _subdivide_once(scene: Scene) -> Scene:
    triangles = scene.triangles.astype(np.int64)
    sides = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    pairs, number = np.unique(sides, axis=0, return_inverse=True)
    ab, bc, ca = number.reshape(3, -1) + len(scene.positions)
    a, b, c = triangles.T
    finer = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
    return replace(
        scene,
        positions=_append_middles(scene.positions, pairs),
        normals=_normalize_vectors(_append_middles(scene.normals, pairs)),
        uvs=_append_middles(scene.uvs, pairs),
        colors=_append_middles(scene.colors.astype(np.float32), pairs).round().astype(np.uint8),
        triangles=finer.astype(np.uint32),
        triangle_material=np.repeat(scene.triangle_material, 4),
        triangle_object=np.repeat(scene.triangle_object, 4),
        triangle_category=np.repeat(scene.triangle_category, 4),
    )


def _append_middles(values: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float32]:
    middles = (values[pairs[:, 0]] + values[pairs[:, 1]]) * np.float32(0.5)
    return np.concatenate([values, middles])


def _normalize_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    unit: NDArray[np.float32] = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return unit


ATTEMPTS = 8  #: houses of one template to try; the first nearly always is sound


def generate_house(seed: int, *, template: str | None = None, split: str = "seen", detail: int = 0) -> GeneratedHouse:
    """A furnished house; the same arguments give the same bytes everywhere.

    `split` chooses disjoint floor plans, measures, shades and textures; each step of `detail` cuts
    every triangle into four.
    """
    draw = RandomStream(seed, "house", split=check_split(split))
    chosen = choose_template(template, draw.fork("template"))
    house = _generate_sound_house(seed, chosen, draw)
    return replace(house, scene=subdivide_scene(house.scene, detail))


def _generate_sound_house(seed: int, template: HouseTemplate, draw: RandomStream) -> GeneratedHouse:
    """The first attempt without faults. The template stays, so that difficult rooms do not become rare."""
    for attempt in range(ATTEMPTS):
        house = _generate_once(seed, template, draw.fork("attempt", attempt))
        if not find_faults(house):
            break
    return house


def _generate_once(seed: int, template: HouseTemplate, draw: RandomStream) -> GeneratedHouse:
    plan = draw_plan(draw.fork("plan"), template)
    furniture = furnish_house(plan, draw.fork("furniture"))
    styles = draw_room_styles(plan, draw.fork("styles"))
    fixtures = [fixture for room in plan.rooms for fixture in make_room_shell(plan, room, styles[room.room_id])]
    fixtures += make_openings(plan, styles, draw.fork("openings")) + make_staircase(plan, draw.fork("stairs"))
    scene = assemble_scene(plan, fixtures, furniture, draw.fork("scene"))
    return GeneratedHouse(seed=seed, split=draw.split, plan=plan, furniture=tuple(furniture), scene=scene)


MANIFEST = "manifest.json"
OTHER_SOURCES = {"cli.py", "episodes", "generator.py", "instructions"}  #: of this package; no house depends on them


class HouseEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One house of a manifest."""

    file: str
    digest: str
    """Of the GLB and what belongs to it."""
    seed: int
    split: str
    template: str
    detail: int
    rooms: int
    area: float
    """Square metres."""
    objects: int
    triangles: int


class HouseManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder of generated houses holds."""

    generator: str
    """Digest of the generator's source."""
    houses: tuple[HouseEntry, ...]


@cache
def compute_generator_version() -> str:
    """Changes whenever the same seed could give another house."""
    digest = hashlib.sha256()
    root = Path(nav_eval_worlds.__file__).parent
    sources = [path for path in root.rglob("*.py") if not OTHER_SOURCES & set(path.relative_to(root).parts)]
    for source in sorted(sources, key=lambda path: path.relative_to(root).as_posix()):
        digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def write_houses(
    folder: Path, *, count: int, seed: int, split: str = "seen", template: str | None = None, detail: int = 0
) -> Iterator[HouseEntry]:
    """Write `count` houses with the seeds from `seed` on, then the manifest; yields each as it is done."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number in range(seed, seed + count):
        house = generate_house(number, template=template, split=split, detail=detail)
        entries.append(write_house(house, folder, detail=detail))
        yield entries[-1]
    manifest = HouseManifest(generator=compute_generator_version(), houses=tuple(_merge_entries(folder, entries)))
    encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (folder / MANIFEST).write_bytes(encoded + b"\n")


def write_house(house: GeneratedHouse, folder: Path, *, detail: int = 0) -> HouseEntry:
    """Write one house; a house that breaks a promise is refused."""
    broken = find_problems(house)
    if broken:
        raise SceneError(
            f"The house of seed {house.seed} ({house.split}, {house.plan.template}) is not sound: {broken[0]}. "
            "Please report it, and use another seed meanwhile."
        )
    path = folder / get_house_file(house.seed, house.split)
    write_glb(house.scene, path)
    write_semantics(house.scene.semantics, get_semantics_path(path))
    return HouseEntry(
        file=path.name,
        digest=compute_scene_digest(path),
        seed=house.seed,
        split=house.split,
        template=house.plan.template,
        detail=detail,
        rooms=len(house.plan.rooms),
        area=round(house.plan.area, 1),
        objects=len(house.scene.semantics.objects),
        triangles=len(house.scene.triangles),
    )


def get_house_file(seed: int, split: str) -> str:
    """The name of a house's file; seen and unseen houses of one seed are different houses."""
    return f"house_{seed}.glb" if split == "seen" else f"house_{split}_{seed}.glb"


def read_manifest(folder: Path) -> HouseManifest | None:
    """The folder's manifest; None without one."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=HouseManifest)
    except msgspec.MsgspecError as error:
        raise SceneError(f"{path} is no manifest of generated houses: {error}. Move it away.") from error


def _merge_entries(folder: Path, entries: list[HouseEntry]) -> list[HouseEntry]:
    """With the houses that were there before, if the same generator made them."""
    known = read_manifest(folder)
    new = {entry.file: entry for entry in entries}
    if known is not None and known.generator == compute_generator_version():
        new = {**{entry.file: entry for entry in known.houses if (folder / entry.file).exists()}, **new}
    return [new[name] for name in sorted(new)]
