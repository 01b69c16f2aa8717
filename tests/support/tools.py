"""Programs that tests need: installed where that is possible, required in CI, a reason to skip anywhere else."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

HOST_PACKAGES = Path(__file__).resolve().parents[2] / "deploy" / "host-packages.sh"


def absent(reason: str) -> NoReturn:
    """A machine that cannot have it must not be CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def program(command: str, *, package: str) -> str:
    """The path of a command of a Debian package."""
    found = shutil.which(command) or (install(package) and shutil.which(command))
    return found or absent(f"{command} is not installed (Debian: apt-get install {package})")


def browser() -> str:
    """Chromium without its own windows: nobody sees them in tests, and they cost twice what the pages do."""
    return program("chromium-headless-shell", package="chromium-headless-shell")


def install(package: str) -> bool:
    """Whether it is there now; only root may."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    return subprocess.run([str(HOST_PACKAGES), package], capture_output=True, check=False).returncode == 0
