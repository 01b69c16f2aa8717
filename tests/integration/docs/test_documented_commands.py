"""Every command of the documentation is typed, page by page, in an empty folder.

The demo benchmarks are the room of tests/conftest.py with small cameras, so that a page takes seconds; what a reader
sees is the same but for the house. `SMALLER`, `MAKE` and `SERVE` are all that is changed about a command.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from documented_commands import blocks_of

from nav_eval.config import load_benchmark
from support.paths import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if any(block.reason is None for block in blocks_of(page))
]
DEMOS = ("demo_lh_vln", "demo_vln", "demo_objectnav")
SECONDS = 600
STILL_RUNS = -1  #: no exit code: a command that should have ended has not

#: fewer of the same
SMALLER = {"--count 100": "--count 4", "--count 20": "--count 1", "--count 5": "--count 1", "--detail 1": "--detail 0"}
#: our own targets are only looked up: they set up and test everything
MAKE = re.compile(r"^make (?P<words>[^#\n]+)", re.MULTILINE)
#: a server serves until it is told to end: here, as soon as it says where
SERVE = re.compile(r"^(?P<command>nav-eval serve\b[^#&\n]*)(?=#|$)", re.MULTILINE)
SERVED = """{command} > .served 2>&1 & SERVER=$!
until grep "serves at http" .served; do kill -0 $SERVER || {{ cat .served; exit 1; }}; sleep 0.1; done
kill $SERVER; wait $SERVER || true
"""


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of somebody who reads along."""
    home = tmp_path_factory.mktemp("reader")
    scripts = Path(sys.executable).parent
    mine = {"HOME": str(home), "NAV_EVAL_CACHE": str(home / "cache"), "COLUMNS": "100"}
    return {**os.environ, **mine, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def desk(room_data: Path, tmp_path: Path) -> Path:
    """The folder that commands are typed in, with the files that pages take for granted."""
    shutil.copy(room_data / "room.glb", tmp_path / "house.glb")
    (tmp_path / "agent_of_yours.py").write_text(
        "class Yours:\n    def act(self, observation):\n        return 'stop'\n"
    )
    (tmp_path / "episodes.jsonl").symlink_to("runs/random/episodes.jsonl")
    return tmp_path


def changed(script: str) -> str:
    for said, done in SMALLER.items():
        script = script.replace(said, done)
    script = script.replace("grpc://localhost:8085", "agent_of_yours.py:Yours")
    script = SERVE.sub(lambda match: SERVED.format(command=choose_port(match["command"].strip())), script)
    return MAKE.sub(lambda match: f"make --dry-run --directory {ROOT} {match['words'].strip()} >/dev/null ", script)


def choose_port(command: str) -> str:
    """A server of these tests takes a free port: other tests serve at the usual one meanwhile."""
    return command if "--port" in command else f"{command} --port 0"


def room_overrides(script: str, room: Path) -> dict[str, str]:
    """Where a demo is played: the room, through small cameras."""
    played = next((name for name in DEMOS if name in script), None)
    if played is None:
        return {}
    sensors = load_benchmark(played, environ={}).task.sensors
    cameras = [name for name, sensor in sensors.items() if hasattr(sensor, "hfov")]
    sizes = {
        f"NAV_EVAL__TASK__SENSORS__{name.upper()}__{side}": "64" for name in cameras for side in ("WIDTH", "HEIGHT")
    }
    place = {"NAV_EVAL__DATASET__DATA_PATH": str(room / "val.json.gz"), "NAV_EVAL__DATASET__SCENE_PATH": str(room)}
    return place | sizes


def typed(script: str, *, desk: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Exit code and output; whatever a script leaves running is ended."""
    with (desk / ".output").open("w+") as output:
        process = subprocess.Popen(
            ["bash", "-euxo", "pipefail", "-c", script],
            cwd=desk,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code = STILL_RUNS
        try:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        return code, output.read()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command(page: Path, reader: dict[str, str], room_data: Path, desk: Path) -> None:
    where = desk  # a reader who types `cd` in one block is there in the next one
    for block in blocks_of(page):
        if block.reason is not None:
            continue
        where_it_is = f"{page.name}, line {block.line}"
        assert "pip install" not in block.script, f"{where_it_is}: it would change the packages of these tests"
        script = changed(block.script)
        code, output = typed(
            f"{script}\npwd > {shlex.quote(str(desk / '.where'))}\n",
            desk=where,
            environment=reader | room_overrides(script, room_data),
        )
        assert code == 0, f"{page.name}, line {block.line}:\n{script}\n{code}: {output[-3000:]}"
        where = Path((desk / ".where").read_text().strip())
