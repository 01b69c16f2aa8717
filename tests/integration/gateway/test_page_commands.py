"""The four commands on a competition's page do what it says, as they stand there."""

import html
import io
import os
import re
import shlex
import shutil
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from nav_eval_sdk import cli
from nav_eval_store.submissions.lifecycle import SubmissionState
from support.challenge import Challenge
from support.gateway import Server

pytestmark = pytest.mark.integration

DOCKER = """#!/bin/sh
# `docker save --output FILE IMAGE`; building is somebody else's test
test "$1" = save && printf '[]' > manifest.json && tar --create --file "$3" manifest.json
"""


@pytest.fixture
def commands(gateway: Server, cup: Challenge) -> list[list[str]]:
    """As they are copied from the page, cut at `&&`."""
    del cup
    page = httpx.get(f"{gateway.url}/competitions/cup", headers={"Accept": "text/html"}).text
    steps = re.search(r'<ol class="steps">(.*?)</ol>', page, re.DOTALL)
    assert steps is not None
    found = [html.unescape(code) for code in re.findall(r"<code>(.*?)</code>", steps[1])]
    assert len(found) == 4
    return [shlex.split(part) for command in found for part in command.split("&&")]


def run(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    return int(ended.value.code or 0)


def test_the_four_commands(
    gateway: Server,
    cup: Challenge,
    commands: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("NAV_EVAL_TOKEN", "NAV_EVAL_SERVER"):
        monkeypatch.delenv(name, raising=False)
    install, init, build, check, login, submit = commands
    assert install[:2] == ["pip", "install"]
    assert run(init[1:]) == 0
    assert build == ["docker", "build", "-t", "my-agent", "my-agent"]
    assert (tmp_path / build[-1] / "Dockerfile").exists()
    assert cli._make_parser().parse_args(check[1:]).target == build[3]

    with gateway.captain(f"sdk-{os.urandom(4).hex()}") as captain:
        token = captain.headers["authorization"].removeprefix("Bearer ")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{token}\n"))  # no terminal: the token comes on the input
    assert run(login[1:]) == 0
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/docker").write_text(DOCKER)
    (tmp_path / "bin/docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert shutil.which("docker") == str(tmp_path / "bin/docker")
    assert submit[-1] == "--watch"
    assert run(submit[1:-1]) == 0  # what follows is watched in other tests
    submission = cup.get(UUID(capsys.readouterr().out.split()[-1]))
    assert (submission.title, submission.state) == ("my-agent", SubmissionState.VALIDATING)
