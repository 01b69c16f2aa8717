"""A team's first day, from inside the example agent's own image: register, submit, watch, read the board.

There is no Docker in here. The image packs itself: its own files are the one layer of the archive that it submits.

usage: demo.py SERVER COMPETITION PHASE
"""

import hashlib
import io
import json
import os
import secrets
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import IO, Any

from nav_eval_sdk.client import API, ChallengeClient
from nav_eval_sdk.http_client import HttpClient
from nav_eval_sdk.submission import submit, watch

LEFT_OUT = ("proc", "sys", "dev", "tmp", "run", "var/cache", "etc/hosts", "etc/hostname", "etc/resolv.conf")
COMMAND = ["python", "agent.py"]


def main(server: str, competition: str, phase: str) -> int:
    client = ChallengeClient(server, register(server, competition))
    with tempfile.TemporaryDirectory() as scratch:
        archive = pack_self(Path(scratch) / "agent.tar")
        submission = submit(client, str(archive), competition=competition, phase=phase, name="example agent")
    result = watch(client, submission.submission_id)
    print(table(client.leaderboard(competition, phase)))
    return 0 if result.status == "completed" else 1


def table(board: dict[str, Any]) -> str:
    """The leaderboard, for a terminal."""
    lines = [["rank", "team", *board["columns"]]]
    for row in board["rows"]:
        scores = (row["scores"].get(column) for column in board["columns"])
        lines.append([str(row["rank"]), row["team"], *("-" if score is None else f"{score:.3f}" for score in scores)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def register(server: str, competition: str) -> str:
    """A user with a team; the user's token."""
    name, password = f"demo-{secrets.token_hex(3)}", secrets.token_urlsafe(16)
    everybody = HttpClient(server)
    everybody.json("POST", f"{API}/users", {"name": name, "email": f"{name}@example.org", "password": password})
    login = {"name": name, "password": password, "token_name": "demo"}
    token: str = everybody.json("POST", f"{API}/login", login)["token"]
    HttpClient(server, token).json("POST", f"{API}/competitions/{competition}/teams", {"name": f"Team {name}"})
    return token


def pack_self(target: Path) -> Path:
    """This container's image as `docker save` would write it."""
    with tempfile.TemporaryFile(dir=target.parent) as layer:
        with tarfile.open(fileobj=layer, mode="w") as files:
            files.add("/", arcname="", filter=_kept)
        digest = _sha256(layer)
        environment = [f"{key}={os.environ[key]}" for key in ("PATH", "LANG") if key in os.environ]
        config = json.dumps(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {"Cmd": COMMAND, "Env": environment, "WorkingDir": "/agent", "User": "10001:10001"},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            }
        ).encode()
        name = hashlib.sha256(config).hexdigest()
        manifest = json.dumps([{"Config": f"{name}.json", "RepoTags": ["example:latest"], "Layers": ["layer.tar"]}])
        with tarfile.open(target, "w") as archive:
            _add(archive, "layer.tar", layer, layer.seek(0, os.SEEK_END))
            _add(archive, f"{name}.json", io.BytesIO(config), len(config))
            _add(archive, "manifest.json", io.BytesIO(manifest.encode()), len(manifest))
    return target


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    path = entry.name.lstrip("/")
    if any(path == out or path.startswith(f"{out}/") for out in LEFT_OUT):
        return None
    readable = entry.issym() or os.access(f"/{path}", os.R_OK)
    return entry if readable and (entry.isfile() or entry.isdir() or entry.issym() or entry.islnk()) else None


def _add(archive: tarfile.TarFile, name: str, data: IO[bytes], size: int) -> None:
    header = tarfile.TarInfo(name)
    header.size = size
    data.seek(0)
    archive.addfile(header, data)


def _sha256(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
