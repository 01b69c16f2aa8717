"""`nav-eval-sdk pack`: a folder as an image archive, without Docker.

The image has the folder and the command that starts the agent, and no operating system: it runs where the server
runs agents as local processes with its own Python, as `nav-eval demo` and `nav-eval serve --with-worker` do. For a
public challenge, build a real image. The same folder gives the same bytes, so that it is uploaded and checked once.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from nav_eval_sdk.errors import SdkError

PLACE = "agent"  #: where the folder lies in the image
COMMAND = ("python", "agent.py")
EPOCH = "1970-01-01T00:00:00Z"
LEFT_OUT = frozenset({"__pycache__", ".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
BLOCK = 1 << 20


def pack_folder(folder: Path, out: Path, *, command: Sequence[str] = COMMAND, name: str = "") -> Path:
    """Write `folder` to `out` as `docker save` would write an image of it."""
    files = list(_files(folder))
    if tuple(command) == COMMAND and folder / "agent.py" not in files:
        raise SdkError(f"{folder} has no agent.py; put it there, or say what starts the agent: `-- python main.py`.")
    with tempfile.TemporaryFile(dir=out.parent) as layer:
        _write_layer(layer, folder, files)
        digest = _sha256(layer)
        config = _json(_config(digest, command))
        config_name, layer_name = f"{hashlib.sha256(config).hexdigest()}.json", f"{digest}.tar"
        tag = name or f"{_slug(folder.resolve().name)}:latest"
        manifest = _json([{"Config": config_name, "RepoTags": [tag], "Layers": [layer_name]}])
        with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as archive:
            archive.addfile(_member(layer_name, size=layer.seek(0, os.SEEK_END)), _rewound(layer))
            archive.addfile(_member(config_name, size=len(config)), io.BytesIO(config))
            archive.addfile(_member("manifest.json", size=len(manifest)), io.BytesIO(manifest))
    return out


def _files(folder: Path) -> Iterator[Path]:
    """All files, in an order that depends on their names alone."""
    if not folder.is_dir():
        raise SdkError(f"{folder} is no folder.")
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        for path in (Path(place, name) for name in [*folders, *sorted(names)]):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise SdkError(f"{path} is neither a file nor a folder; put a copy of what it stands for there.")
        yield from (Path(place, name) for name in sorted(names) if not name.endswith(".pyc"))


def _write_layer(layer: IO[bytes], folder: Path, files: Sequence[Path]) -> None:
    inside = {path: Path(PLACE, path.relative_to(folder)) for path in files}
    parents = {parent for path in inside.values() for parent in path.parents if parent != Path()} | {Path(PLACE)}
    with tarfile.open(fileobj=layer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for parent in sorted(parents):
            archive.addfile(_member(f"{parent.as_posix()}/", kind=tarfile.DIRTYPE, mode=0o755))
        for path in sorted(inside):
            with path.open("rb") as stream:
                mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                archive.addfile(_member(inside[path].as_posix(), size=path.stat().st_size, mode=mode), stream)


def _member(name: str, *, size: int = 0, kind: bytes = tarfile.REGTYPE, mode: int = 0o644) -> tarfile.TarInfo:
    """A header without time and owner."""
    member = tarfile.TarInfo(name)
    member.size, member.type, member.mode = size, kind, mode
    return member


def _config(digest: str, command: Sequence[str]) -> dict[str, Any]:
    environment = ["PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONUNBUFFERED=1"]
    process = {"Entrypoint": list(command), "Env": environment, "WorkingDir": f"/{PLACE}", "User": "10001"}
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{digest}"]}
    return {"architecture": "amd64", "os": "linux", "created": EPOCH, "config": process, "rootfs": rootfs}


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _sha256(stream: IO[bytes]) -> str:
    digest = hashlib.sha256()
    _rewound(stream)
    while block := stream.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _rewound(stream: IO[bytes]) -> IO[bytes]:
    stream.seek(0)
    return stream


def _slug(text: str) -> str:
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return kept.strip("-") or "agent"
