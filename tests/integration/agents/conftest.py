"""Real agents in real processes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_support import HERE


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a Python file of this directory, or a snippet, as a process; all end with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(source: str, **environment: str) -> subprocess.Popen[bytes]:
        file = HERE / source
        if not source.endswith(".py"):
            file = tmp_path / f"agent_{len(started)}.py"
            file.write_text(source)
        process = subprocess.Popen([sys.executable, str(file)], env={**os.environ, **environment})
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
