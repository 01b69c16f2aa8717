"""One number for everything that makes up a scene.

Two scene files have the same digest exactly when reading them gives the same scene: it covers the
scene file, the buffers and pictures that it names, its stage config and its annotation, and the
naming convention that decides which way is up. It does not cover where the files lie.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from nav_eval.scene.reading.annotations import find_annotation
from nav_eval.scene.reading.files import MissingFile, SceneFolder
from nav_eval.scene.reading.gltf.container import named_files
from nav_eval.scene.reading.limits import ReadLimits
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.reading.mtl import parse_mtl
from nav_eval.scene.reading.orientation import dataset_named_like
from nav_eval.scene.reading.stage_config import config_names


def scene_digest(path: Path | str, *, limits: ReadLimits | None = None) -> str:
    """SHA-256, in hexadecimal, over all files that make up the scene."""
    path = Path(path)
    folder = SceneFolder(path, limits or ReadLimits())
    content = folder.read_main()
    annotation = find_annotation(path)
    conventions = (path.suffix.lower(), dataset_named_like(path), annotation and annotation.kind)
    digest = hashlib.sha256(f"{conventions}\n".encode())
    _add(digest, "", content)
    for name in dict.fromkeys(_companions(path, content, folder)):
        try:
            _add(digest, name, folder.read(name))
        except MissingFile:
            _add(digest, name, b"missing")
    return digest.hexdigest()


def _add(digest: "hashlib._Hash", name: str, content: bytes) -> None:
    digest.update(f"{name!r} {hashlib.sha256(content).hexdigest()}\n".encode())


def _companions(path: Path, content: bytes, folder: SceneFolder) -> Iterator[str]:
    """The other files, by the names under which the scene knows them."""
    yield from (name for name in config_names(path) if (path.parent / name).is_file())
    annotation = find_annotation(path)
    yield from annotation.names if annotation else ()
    if path.suffix.lower() in (".glb", ".gltf"):
        yield from named_files(content, source=str(path), limits=folder.limits)
    elif path.suffix.lower() == ".obj":
        yield from _obj_files(content, folder, ReadLog(str(path)))
    elif path.suffix.lower() == ".ply":
        header = content[: content.find(b"end_header")].decode("latin-1").splitlines()
        yield from (line.split(maxsplit=2)[2] for line in header if line.startswith("comment TextureFile "))


def _obj_files(content: bytes, folder: SceneFolder, log: ReadLog) -> Iterator[str]:
    for line in content.decode("utf-8", errors="replace").splitlines():
        keyword, _, name = line.strip().partition(" ")
        if keyword != "mtllib":
            continue
        yield name.strip()
        try:
            library = folder.read(name.strip()).decode("utf-8", errors="replace")
        except MissingFile:
            continue
        yield from (m.diffuse_map for m in parse_mtl(library, log).values() if m.diffuse_map)
