"""A team's project on its own machine: made (`nav-eval-sdk init`), packed as an image archive without Docker (`pack`),
and evaluated with the engine that the server runs (`test`).

The engine is the `nav-eval` command of this machine, or an engine image. Both are called the same way:
`nav-eval evaluate BENCHMARK --agent ADDRESS --out DIRECTORY`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from nav_eval_sdk.check.command import run_image
from nav_eval_sdk.errors import SdkError

TEMPLATES = Path(__file__).parent / "templates"

#: What each file of the project is made from.
FILES = {
    "agent.py": "agent.py.txt",
    "Dockerfile": "Dockerfile.txt",
    ".dockerignore": "dockerignore.txt",
    "requirements.txt": "requirements.txt",
    "README.md": "README.md.txt",
    ".github/workflows/check.yml": "check.yml.txt",
    "wheels/README": "wheels.txt",
}


def create_project(directory: Path) -> list[Path]:
    """Write the project; refuses to overwrite anything."""
    name = re.sub(r"[^a-z0-9-]+", "-", directory.resolve().name.lower()).strip("-") or "agent"
    targets = [directory / path for path in FILES]
    existing = [path for path in targets if path.exists()]
    if existing:
        raise SdkError(f"{existing[0]} exists already; choose another directory.")
    for path, source in zip(targets, FILES.values()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((TEMPLATES / source).read_text().replace("{{name}}", name))
    return targets


AGENT_FOLDER = "agent"  #: where the folder lies in the image
AGENT_COMMAND = ("python", "agent.py")
EPOCH = "1970-01-01T00:00:00Z"
LEFT_OUT = frozenset({"__pycache__", ".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
TRIED = frozenset({"runs", "data/demo"})  #: what trying an agent leaves behind in its folder
BLOCK = 1 << 20


def pack_folder(folder: Path, out: Path, *, command: Sequence[str] = AGENT_COMMAND, name: str = "") -> Path:
    """Write `folder` to `out` as `docker save` would write an image of it."""
    files = list(_list_files(folder))
    if tuple(command) == AGENT_COMMAND and folder / "agent.py" not in files:
        raise SdkError(f"{folder} has no agent.py; put it there, or say what starts the agent: `-- python main.py`.")
    with tempfile.TemporaryFile(dir=out.parent) as layer:
        _write_layer(layer, folder, files)
        digest = _hash(layer)
        config = _dump_json(_make_config(digest, command))
        config_name, layer_name = f"{hashlib.sha256(config).hexdigest()}.json", f"{digest}.tar"
        tag = name or f"{_make_slug(folder.resolve().name)}:latest"
        manifest = _dump_json([{"Config": config_name, "RepoTags": [tag], "Layers": [layer_name]}])
        with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as archive:
            archive.addfile(_make_member(layer_name, size=layer.seek(0, os.SEEK_END)), _rewind(layer))
            archive.addfile(_make_member(config_name, size=len(config)), io.BytesIO(config))
            archive.addfile(_make_member("manifest.json", size=len(manifest)), io.BytesIO(manifest))
    return out


def _list_files(folder: Path) -> Iterator[Path]:
    """All files, in an order that depends on their names alone."""
    if not folder.is_dir():
        raise SdkError(f"{folder} is no folder; give the one with your agent in it (nav-eval-sdk init makes one).")
    for place, folders, names in os.walk(folder):
        below = Path(place).relative_to(folder)
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and (below / name).as_posix() not in TRIED)
        for path in (Path(place, name) for name in [*folders, *sorted(names)]):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise SdkError(f"{path} is neither a file nor a folder; put a copy of what it stands for there.")
        yield from (Path(place, name) for name in sorted(names) if not name.endswith(".pyc"))


def _write_layer(layer: IO[bytes], folder: Path, files: Sequence[Path]) -> None:
    inside = {path: Path(AGENT_FOLDER, path.relative_to(folder)) for path in files}
    parents = {parent for path in inside.values() for parent in path.parents if parent != Path()} | {Path(AGENT_FOLDER)}
    with tarfile.open(fileobj=layer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for parent in sorted(parents):
            archive.addfile(_make_member(f"{parent.as_posix()}/", kind=tarfile.DIRTYPE, mode=0o755))
        for path in sorted(inside):
            with path.open("rb") as stream:
                mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                archive.addfile(_make_member(inside[path].as_posix(), size=path.stat().st_size, mode=mode), stream)


def _make_member(name: str, *, size: int = 0, kind: bytes = tarfile.REGTYPE, mode: int = 0o644) -> tarfile.TarInfo:
    """A header without time and owner."""
    member = tarfile.TarInfo(name)
    member.size, member.type, member.mode = size, kind, mode
    return member


def _make_config(digest: str, command: Sequence[str]) -> dict[str, Any]:
    environment = ["PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONUNBUFFERED=1"]
    process = {"Entrypoint": list(command), "Env": environment, "WorkingDir": f"/{AGENT_FOLDER}", "User": "10001"}
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{digest}"]}
    return {"architecture": "amd64", "os": "linux", "created": EPOCH, "config": process, "rootfs": rootfs}


def _dump_json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _hash(stream: IO[bytes]) -> str:
    digest = hashlib.sha256()
    _rewind(stream)
    while block := stream.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _rewind(stream: IO[bytes]) -> IO[bytes]:
    stream.seek(0)
    return stream


def _make_slug(text: str) -> str:
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return kept.strip("-") or "agent"


ENGINE_COMMAND = "nav-eval"


def run_evaluation(
    benchmark: str,
    *,
    agent: str | None,
    image: str | None,
    out: Path,
    engine_image: str | None = None,
    extra: Sequence[str] = (),
) -> int:
    """Run the evaluation and return its exit code."""
    if (agent is None) == (image is None):
        raise SdkError("Give either --agent ADDRESS or --image IMAGE.")
    with ExitStack() as stack:
        address = agent if image is None else stack.enter_context(run_image(image)).target
        command = make_engine_command(benchmark, agent=str(address), out=out, engine_image=engine_image)
        return subprocess.run([*command, *extra], check=False).returncode  # noqa: S603


def make_engine_command(benchmark: str, *, agent: str, out: Path, engine_image: str | None) -> list[str]:
    """What to run, on this machine or in the engine's image."""
    if engine_image is None:
        found = shutil.which(ENGINE_COMMAND)
        if found is None:
            raise SdkError("There is no nav-eval here: pip install nav-eval, or give --engine-image.")
        return [found, "evaluate", benchmark, "--agent", agent, "--out", str(out)]
    docker = shutil.which("docker") or shutil.which("podman")
    if docker is None:
        raise SdkError("An engine image needs docker, which is not here; pip install nav-eval instead.")
    out.mkdir(parents=True, exist_ok=True)
    command = [docker, "run", "--rm", "--network=host", f"--volume={out.resolve()}:/out"]
    if agent.startswith("unix:"):
        socket = Path(agent[len("unix:") :]).resolve()
        command += [f"--volume={socket.parent}:/rpc"]
        agent = f"unix:/rpc/{socket.name}"
    return [*command, engine_image, "evaluate", benchmark, "--agent", agent, "--out", "/out"]
