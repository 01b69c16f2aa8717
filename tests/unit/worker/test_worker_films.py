"""Films are kept as they come, within their time; that none can be made is nobody's fault."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from nav_eval_store import places
from nav_eval_store.blobs import BlobStore
from nav_eval_worker.jobs import films

MAKES_ONE = (
    "import pathlib, sys; o = pathlib.Path(sys.argv[2]); o.mkdir(); "
    "(o / '0.json').write_text('{\"episode_id\": \"a/b\"}')"
)
"""Stands for the program that draws."""


@dataclass
class Shop:
    blobs: BlobStore
    settings: Any = field(default_factory=lambda: SimpleNamespace(films=1, cache=Path("cache")))
    stopping: Event = field(default_factory=Event)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(BlobStore(tmp_path / "blobs"))


def run(monkeypatch: pytest.MonkeyPatch, shop: Shop, folder: Path, program: str) -> tuple[int, Any]:
    monkeypatch.setattr(films, "leashed", lambda command: [sys.executable, "-c", program, *command[3:]])
    brief = SimpleNamespace(submission_id=uuid4())
    folder.mkdir()
    return films.make(cast(Any, shop), cast(Any, brief), folder), brief.submission_id


def test_a_film_is_kept_where_pages_look_for_it(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, submission = run(monkeypatch, shop, tmp_path / "run", MAKES_ONE)
    assert made == 1
    assert b"a/b" in shop.blobs.get(places.film(submission, "a/b"))


@pytest.mark.parametrize("program", ["raise SystemExit('no OpenGL')", f"{MAKES_ONE}; import os; os.abort()"])
def test_a_program_that_fails_leaves_what_it_made(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    made, _ = run(monkeypatch, shop, tmp_path / "run", program)
    assert made == (1 if "abort" in program else 0)


def test_a_worker_that_stops_waits_for_no_film(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.stopping.set()
    begun = time.monotonic()
    run(monkeypatch, shop, tmp_path / "run", "import time; time.sleep(60)")
    assert time.monotonic() - begun < 20


def test_films_can_be_switched_off(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.settings.films = 0
    assert run(monkeypatch, shop, tmp_path / "run", MAKES_ONE)[0] == 0
