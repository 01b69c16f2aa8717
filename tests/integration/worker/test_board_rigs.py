"""Two submissions with different rigs, from the upload to the board: the row says which."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from nav_eval.records.results import Cause
from support.gateway import gateway_settings, serving
from support.stack import Stack
from support.worker import agent_source, image_archive

pytestmark = pytest.mark.integration

BENCHMARK = """
benchmark:
  extends: demo_vln
  name: Room with rigs
  rigs: [vlnce, navid]
  dataset:
    data_path: {data}/val.json.gz
    scene_path: {data}
    generate: null
  evaluation:
    max_steps: 12
    step_timeout: 5.0
"""
SENSOR = 'sensors = ["pose"]'


@pytest.fixture
def stack(tmp_path: Path, room_data: Path, engine_cache: Path) -> Iterator[Stack]:
    file = tmp_path / "rigs.yaml"
    file.write_text(BENCHMARK.format(data=room_data))
    stack = Stack(
        tmp_path,
        database=f"sqlite:///{tmp_path / 'store.db'}",
        benchmark=file,
        verify="all",
        visibility={"scores": "public"},
    )
    stack.environment |= {"NAV_EVAL_CACHE": str(engine_cache), "NAV_EVAL_WORKER_LOOK": "1"}
    yield stack
    stack.close()


def choose(rig: str) -> bytes:
    return image_archive(agent_source().replace(SENSOR, f'sensors = ["gps"]\n    rig = {rig}'))


def test_the_board_says_which_rig_each_row_has(stack: Stack, tmp_path: Path) -> None:
    chosen = {"ada": "navid", "bob": "vlnce"}
    made = {name: stack.submit(stack.team(name), choose(repr(rig))) for name, rig in chosen.items()}
    with stack.worker():
        for submission in made.values():
            assert stack.completed(submission, seconds=300).provenance["verification"]["equal"]
    with serving(gateway_settings(tmp_path)) as server, server.client() as client:
        board = client.get("/competitions/cup/phases/dev/leaderboard").json()
        assert {row["team"]: row["rig"] for row in board["rows"]} == chosen
        table = csv.DictReader(io.StringIO(client.get("/competitions/cup/phases/dev/leaderboard.csv").text))
        assert {row["team"]: row["rig"] for row in table} == chosen
        answer = client.get(f"/submissions/{made['ada']}").json()
        assert answer["rig"] == "navid"
        page = httpx.get(f"{server.url}/competitions/cup/dev/board?sort=rig").text
        assert page.index(">navid<") < page.index(">vlnce<")
        assert 'aria-sort="ascending"' in page
        assert "<strong>navid</strong>" in httpx.get(f"{server.url}/submissions/{made['ada']}").text


def test_an_agent_that_chooses_otherwise_later_is_refused(stack: Stack) -> None:
    """By a file that its container keeps, or as here by the clock: what was tried must be what is played."""
    mark = stack.folder / "tried"
    rig = f'["vlnce", "navid"][os.path.exists({str(mark)!r}) or bool(open({str(mark)!r}, "w").close())]'
    submission = stack.submit(stack.team("eve"), choose(rig))
    with stack.worker():
        ended = stack.wait(submission, seconds=300)
    assert ended.rig == "vlnce"
    assert {row.cause for row in stack.rows(submission)} == {Cause.PROTOCOL_ERROR}, ended.state
    assert all("one rig" in line["detail"] for line in stack.episodes(submission).values())


def test_a_board_without_rigs_has_no_such_column(make_stack, tmp_path: Path) -> None:
    stack: Stack = make_stack("sqlite", visibility={"scores": "public"})
    submission = stack.submit(stack.team("ada"))
    with stack.worker():
        stack.completed(submission, seconds=300)
    with serving(gateway_settings(tmp_path)) as server, server.client() as client:
        assert client.get("/competitions/cup/phases/dev/leaderboard").json()["rows"][0]["rig"] is None
        assert "rig" not in client.get("/competitions/cup/phases/dev/leaderboard.csv").text.splitlines()[0].split(",")
        assert 'class="rig"' not in httpx.get(f"{server.url}/competitions/cup/dev/board").text
