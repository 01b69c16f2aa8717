"""Houses as files: a GLB, its annotation, and a manifest.

A manifest holds the digest of the generator's source: two manifests with equal digests and seeds describe
equal houses, so an organiser can publish the digest and keep the seeds of the test split secret. Each house says which
version of the generator made it.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

import nav_eval_worlds
from nav_eval.errors import SceneError
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
from nav_eval.scene.formats import compute_scene_digest, write_glb
from nav_eval.scene.semantics import get_semantics_path, write_semantics
from nav_eval_worlds.houses.generation import generate_house
from nav_eval_worlds.houses.house import GeneratedHouse
from nav_eval_worlds.houses.validation import find_problems

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
    generator_version: int = FIRST_GENERATOR
    rooms: int
    area: float
    """Square metres."""
    objects: int
    triangles: int
    licences: tuple[str, ...] = ()
    """Of the models that somebody brought along."""


class HouseManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder of generated houses holds."""

    generator: str
    """Digest of the generator's source."""
    houses: tuple[HouseEntry, ...]


@cache
def compute_source_digest() -> str:
    """Changes whenever the same seed could give another house."""
    digest = hashlib.sha256()
    root = Path(nav_eval_worlds.__file__).parent
    sources = [path for path in root.rglob("*.py") if not OTHER_SOURCES & set(path.relative_to(root).parts)]
    for source in sorted(sources, key=lambda path: path.relative_to(root).as_posix()):
        digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def write_houses(
    folder: Path,
    *,
    count: int,
    seed: int,
    split: str = "seen",
    template: str | None = None,
    detail: int = 0,
    generator: GeneratorVersion = FIRST_GENERATOR,
    assets: Path | None = None,
) -> Iterator[HouseEntry]:
    """Write `count` houses with the seeds from `seed` on, then the manifest; yields each as it is done."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number in range(seed, seed + count):
        house = generate_house(
            number, template=template, split=split, detail=detail, generator=generator, assets=assets
        )
        entries.append(write_house(house, folder, detail=detail))
        yield entries[-1]
    manifest = HouseManifest(generator=compute_source_digest(), houses=tuple(_merge_entries(folder, entries)))
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
    generator = house.scene.semantics.generator
    path = folder / get_house_file(house.seed, house.split, generator=generator)
    write_glb(house.scene, path)
    write_semantics(house.scene.semantics, get_semantics_path(path))
    return HouseEntry(
        file=path.name,
        digest=compute_scene_digest(path),
        seed=house.seed,
        split=house.split,
        template=house.plan.template,
        detail=detail,
        generator_version=generator,
        rooms=len(house.plan.rooms),
        area=round(house.plan.area, 1),
        objects=len(house.scene.semantics.objects),
        triangles=len(house.scene.triangles),
        licences=tuple(sorted({placed.piece.licence for placed in house.furniture} - {""})),
    )


def get_house_file(seed: int, split: str, *, generator: int = FIRST_GENERATOR) -> str:
    """The name of a house's file; houses of one seed differ by split and by generator."""
    made_by = "" if generator == FIRST_GENERATOR else f"g{generator}_"
    return f"house_{made_by}{seed}.glb" if split == "seen" else f"house_{made_by}{split}_{seed}.glb"


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
    if known is not None and known.generator == compute_source_digest():
        new = {**{entry.file: entry for entry in known.houses if (folder / entry.file).exists()}, **new}
    return [new[name] for name in sorted(new)]
