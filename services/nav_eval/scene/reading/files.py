"""The folder that a scene lives in, and nothing outside it.

A scene names its buffers and pictures by URI. Only files below the scene's own folder are opened:
no absolute paths, no `..`, no URL schemes, no symbolic links that lead out. Every byte read is
counted against the limits.
"""

import base64
import binascii
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from nav_eval.errors import SceneError
from nav_eval.scene.reading.limits import ReadLimits, check_limit


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
        if not self.path.is_file():
            raise MissingFile(f"{self.path}: there is no such scene file.")
        return self._read(self.path, name=self.path.name)

    def read(self, uri: str) -> bytes:
        """What `uri` stands for: a file below the folder, or the data that the URI itself holds."""
        if uri[:5].lower() == "data:":
            return self._decode_data_uri(uri)
        name, path = self.resolve(uri)
        if not path.is_file():
            raise MissingFile(f"{self.path}: the file {name!r} that it refers to is missing. {MissingFile.__doc__}")
        return self._read(path, name=name)

    def resolve(self, uri: str) -> tuple[str, Path]:
        """The plain name and the path that `uri` means, refused if it leaves the folder."""
        name = uri.replace("\\", "/")
        if "://" in name or PurePosixPath(name).is_absolute() or name[1:2] == ":" or "\0" in name:
            raise self._forbidden(uri)
        # Most writers percent-encode, some do not: a file that really has this name wins.
        for candidate in dict.fromkeys((name, unquote(name))):
            path = self._confined(candidate, uri)
            if path.is_file():
                return candidate, path
        return unquote(name), self._confined(unquote(name), uri)

    def _confined(self, name: str, uri: str) -> Path:
        if "\0" in name or ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            raise self._forbidden(uri)
        try:
            path = (self._root / name).resolve()
        except (OSError, RuntimeError) as error:  # a name too long for the system, a loop of links
            raise self._forbidden(uri) from error
        if not path.is_relative_to(self._root):
            raise self._forbidden(uri)
        return path

    def _forbidden(self, uri: str) -> ForbiddenPath:
        return ForbiddenPath(f"{self.path}: refuses to open {uri[:200]!r}. {ForbiddenPath.__doc__}")

    def _read(self, path: Path, *, name: str) -> bytes:
        try:
            self._count(path.stat().st_size)
            with path.open("rb") as stream:
                content = stream.read(self.limits.file_bytes + 1)
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
