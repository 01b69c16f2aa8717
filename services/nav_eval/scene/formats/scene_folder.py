"""The folder that a scene lives in, and how much is read of it.

Scenes come from strangers. Every size that a file claims is compared with `ReadLimits` before memory is set
aside for it, so a few hostile bytes cannot ask for gigabytes. A scene names its buffers and pictures by URI;
only files below the scene's own folder are opened: no absolute paths, no `..`, no URL schemes, no symbolic
links that lead out. Every byte read is counted against the limits.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from nav_eval.errors import SceneError


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLimits:
    """The largest scene that is read; the defaults fit every public scan we know of."""

    file_bytes: int = 4 << 30  #: all files of the scene together
    json_bytes: int = 128 << 20  #: the glTF text, or one annotation file
    text_bytes: int = 512 << 20  #: OBJ and ASCII PLY, which take many times their size while being read
    nodes: int = 1_000_000  #: nodes of the scene graph, instances included
    depth: int = 512  #: nesting of the scene graph
    materials: int = 65_535  #: `Scene.triangle_material` is 16 bits wide
    vertices: int = 60_000_000
    triangles: int = 40_000_000
    image_pixels: int = 16_384 * 8_192  #: one picture; Pillow itself refuses more
    texture_pixels: int = 1 << 30  #: all pictures together; four bytes each once decoded


class SceneTooLarge(SceneError):
    """The scene is larger than the reading limits allow; pass larger `ReadLimits` if you trust the file."""


def check_limit(count: int, *, limit: int, what: str, source: str) -> None:
    """Refuse `count` of something beyond its limit."""
    if count > limit:
        raise SceneTooLarge(f"{source}: {count:,} {what} are more than the limit of {limit:,}. {SceneTooLarge.__doc__}")


class MissingFile(SceneError):
    """A file that the scene names is not there; copy it next to the scene."""


class ForbiddenPath(SceneError):
    """The scene names a file outside its own folder; only files next to it are read."""


class SceneFolder:
    """Reads files next to one scene file, bounded and confined."""

    def __init__(self, path: Path, limits: ReadLimits) -> None:
        self.path = path
        self.limits = limits
        self._root = path.parent.resolve()
        self._bytes_read = 0

    def read_main(self) -> bytes:
        """The scene file itself."""
        if self.path.is_dir():
            raise MissingFile(f"{self.path}: is a folder; name the scene file in it.")
        if not self.path.is_file():
            raise MissingFile(f"{self.path}: there is no such scene file.")
        content = self._read(self.path, name=self.path.name)
        if not content:
            raise SceneError(f"{self.path}: is empty, not a single byte; copy it again.")
        return content

    def read(self, uri: str) -> bytes:
        """What `uri` stands for: a file below the folder, or the data that the URI itself holds."""
        if uri[:5].lower() == "data:":
            return self._decode_data_uri(uri)
        name, path = self.resolve(uri)
        if not path.is_file():
            raise MissingFile(f"{self.path}: the file {name!r} that it refers to is missing. {MissingFile.__doc__}")
        return self._read(path, name=name)

    def read_named(self, uri: str) -> bytes:
        """A picture or material library: many files name those by a path of the machine that they were made on.

        What may not be opened is looked for beside the scene, by its bare name; and where the scene lies in a `meshes`
        folder, as in Gazebo's and ROS' models, below the `materials` folder next to that.
        """
        try:
            return self.read(uri)
        except ForbiddenPath as error:
            name = PurePosixPath(unquote(uri).replace("\\", "/")).name.replace("\0", "")
            for root, path in ((self._root, self._root / name), *self._list_materials(uri)):
                if path.is_file() and path.resolve().is_relative_to(root):
                    return self._read(path, name=uri)
            raise ForbiddenPath(f"{error} Copy {name[:100]!r} next to the scene.") from error

    def _list_materials(self, uri: str) -> Iterator[tuple[Path, Path]]:
        """The folder of a model's materials, and what `uri` names in it."""
        parts = PurePosixPath(uri.replace("\\", "/")).parts
        inside = tuple(part for part in parts if part not in ("..", "."))
        meshes = next((folder for folder in (self._root, *self._root.parents) if folder.name == "meshes"), None)
        if meshes is not None and parts[:1] == ("..",) and inside[:1] == ("materials",) and "\0" not in uri:
            yield meshes.parent / "materials", meshes.parent.joinpath(*inside)

    def resolve(self, uri: str) -> tuple[str, Path]:
        """The plain name and the path that `uri` means, refused if it leaves the folder."""
        name = uri.replace("\\", "/")
        if "://" in name or PurePosixPath(name).is_absolute() or name[1:2] == ":" or "\0" in name:
            raise self._make_forbidden_error(uri)
        # Most writers percent-encode, some do not: a file that really has this name wins.
        for candidate in dict.fromkeys((name, unquote(name))):
            path = self._resolve_inside(candidate, uri)
            if path.is_file():
                return candidate, path
        return unquote(name), self._resolve_inside(unquote(name), uri)

    def _resolve_inside(self, name: str, uri: str) -> Path:
        if "\0" in name or ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            raise self._make_forbidden_error(uri)
        try:
            path = (self._root / name).resolve()
        except (OSError, RuntimeError) as error:  # a name too long for the system, a loop of links
            raise self._make_forbidden_error(uri) from error
        if not path.is_relative_to(self._root):
            raise self._make_forbidden_error(uri)
        return path

    def _make_forbidden_error(self, uri: str) -> ForbiddenPath:
        return ForbiddenPath(f"{self.path}: refuses to open {uri[:200]!r}. {ForbiddenPath.__doc__}")

    def _read(self, path: Path, *, name: str) -> bytes:
        try:
            size = path.stat().st_size
            self._count(size)
            with path.open("rb") as stream:
                content = stream.read(size)
        except OSError as error:
            raise SceneError(f"{self.path}: cannot read {name!r}: {error.strerror}.") from error
        return content

    def _count(self, size: int) -> None:
        self._bytes_read += size
        check_limit(self._bytes_read, limit=self.limits.file_bytes, what="bytes", source=str(self.path))

    def _decode_data_uri(self, uri: str) -> bytes:
        header, comma, payload = uri.partition(",")
        if not comma or not header.lower().endswith(";base64"):
            raise SceneError(f"{self.path}: a data URI is not base64: {uri[:60]!r}…")
        try:
            content = base64.b64decode(unquote(payload), validate=False)
        except (binascii.Error, ValueError) as error:
            raise SceneError(f"{self.path}: a data URI has broken base64 ({error}): {uri[:60]!r}…") from error
        self._count(len(content))
        return content
