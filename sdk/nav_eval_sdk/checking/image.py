"""Checking an image: what it is, and how its agent does in a container without network."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nav_eval_sdk.checking.report import FAIL, PASS, WARN, Finding
from nav_eval_sdk.errors import SdkError

LARGE = 20 << 30
USER = "10001:10001"

#: What a challenge gives an agent's container, but for its own limits of memory and CPU.
ISOLATION = (
    "--network=none",
    "--read-only",
    f"--user={USER}",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--pids-limit=512",
    "--init",
    "--no-healthcheck",
    "--tmpfs=/tmp:size=512m,mode=1777",
    "--env=HOME=/tmp",
)


def inspect_image(image: str) -> list[Finding]:
    """What can be said without running it."""
    found = json.loads(_docker("image", "inspect", image))[0]
    config = found.get("Config") or {}
    platform = f"{found.get('Os')}/{found.get('Architecture')}"
    user = str(config.get("User") or "root").split(":")[0]
    size = int(found.get("Size") or 0)
    return [
        _finding(
            "image_platform",
            "it is built for linux/amd64",
            platform == "linux/amd64",
            platform,
            "Build with `docker build --platform linux/amd64 .`",
        ),
        _finding(
            "image_user",
            "it does not run as root",
            user not in ("root", "0"),
            user,
            "Add `USER 10001` to the Dockerfile: the challenge runs it without root whatever the image says.",
            otherwise=WARN,
        ),
        _finding(
            "image_command",
            "it has a command to run",
            bool(config.get("Cmd") or config.get("Entrypoint")),
            " ".join((config.get("Entrypoint") or []) + (config.get("Cmd") or [])),
            'End the Dockerfile with `CMD ["python", "agent.py"]`.',
        ),
        _finding(
            "image_volumes",
            "it declares no volumes",
            not config.get("Volumes"),
            ", ".join(config.get("Volumes") or {}),
            "Remove VOLUME from the Dockerfile: the agent gets a small /tmp and nothing else to write to.",
            otherwise=WARN,
        ),
        _finding(
            "image_size",
            "it is not too large",
            size <= LARGE,
            f"{size / 1e9:.2f} GB",
            "Use a slim base image, delete caches in the layer that makes them, keep weights in one layer.",
            otherwise=WARN,
        ),
    ]


class RunningImage:
    """A container with the agent's socket and the memory to share, as on the server."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.target = f"unix:{directory / 'rpc' / 'agent.sock'}"
        self.memory_dir = str(directory / "obs")

    def logs(self) -> str:
        done = subprocess.run(  # noqa: S603
            [_executable(), "logs", "--tail=30", self.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.stdout.decode(errors="replace")


@contextmanager
def running(image: str, *, memory: str = "8g") -> Iterator[RunningImage]:
    """The image in a container of the challenge's kind; gone afterwards."""
    name = f"nav-eval-check-{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory(prefix="nav-eval-") as scratch:
        directory = Path(scratch)
        directory.chmod(0o755)
        for part, mode in (("rpc", 0o777), ("obs", 0o755)):
            (directory / part).mkdir()
            (directory / part).chmod(mode)
        _docker(
            "run",
            "--detach",
            f"--name={name}",
            *ISOLATION,
            f"--memory={memory}",
            f"--memory-swap={memory}",
            f"--volume={directory / 'rpc'}:/rpc",
            f"--volume={directory / 'obs'}:/obs:ro",
            "--env=NAV_EVAL_SOCKET=/rpc/agent.sock",
            "--env=NAV_EVAL_SHM_DIR=/obs",
            image,
        )
        try:
            yield RunningImage(name, directory)
        finally:
            _docker("rm", "--force", "--volumes", name)


def _finding(name: str, title: str, fine: bool, remark: str, fix: str, *, otherwise: str = FAIL) -> Finding:
    return Finding(name, title, PASS if fine else otherwise, remark, "" if fine else fix)


def _docker(*arguments: str) -> str:
    done = subprocess.run([_executable(), *arguments], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SdkError(f"docker {arguments[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _executable() -> str:
    found: Any = shutil.which("docker") or shutil.which("podman")
    if not found:
        raise SdkError("There is no docker on this machine; check a running agent instead: nav-eval-sdk check grpc://…")
    return str(found)
