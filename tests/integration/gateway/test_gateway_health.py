"""What monitors see: there, ready, and how it is doing."""

import re
from dataclasses import replace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from nav_eval_store.migrations import runner
from nav_eval_store.work import workers
from nav_eval_store.work.broker import Broker
from support.challenge import Challenge
from support.gateway import Server, gateway_settings, serving
from support.paths import ROOT

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(gateway_settings(tmp_path_factory.mktemp("health"))) as server:
        yield server


def get(server: Server, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{server.url}{path}", headers=headers, timeout=30)


def test_it_is_there(server: Server) -> None:
    assert get(server, "/healthz").json()["status"] == "ok"


def test_it_is_ready(server: Server) -> None:
    answer = get(server, "/readyz")
    assert answer.status_code == 200
    assert answer.json()["ready"]
    assert set(answer.json()["checks"]) == {"database", "migrations", "blobs", "broker"}
    assert all(check["ok"] and check["detail"] for check in answer.json()["checks"].values())


def test_it_says_what_is_missing(tmp_path) -> None:
    (tmp_path / "blobs").mkdir()
    settings = gateway_settings(tmp_path)
    settings = replace(settings, broker=Broker("redis://:secret@127.0.0.1:1/0"))
    with serving(settings) as server:
        runner.downgrade(server.database, "-1")
        (tmp_path / "blobs").rmdir()
        (tmp_path / "blobs").write_text("not a folder")
        answer = get(server, "/readyz")
        checks = answer.json()["checks"]
    assert answer.status_code == 503
    assert {name for name, check in checks.items() if not check["ok"]} == {"migrations", "blobs", "broker"}
    assert "nav-eval admin migrate" in checks["migrations"]["detail"]
    assert "refused" in checks["broker"]["detail"]
    assert "secret" not in answer.text


def series(server: Server) -> dict[tuple, float]:
    found = {}
    for family in text_string_to_metric_families(get(server, "/metrics").text):
        for sample in family.samples:
            found[sample.name, *sorted(sample.labels.values())] = sample.value
    return found


def test_requests_are_counted_by_route_and_never_by_id(server: Server) -> None:
    before = series(server)
    for name in ("one", "two", "three"):
        get(server, f"/api/v1/competitions/{name}")
    get(server, "/nowhere/at/all")
    httpx.request("BREW", f"{server.url}/api/v1/competitions")
    after = series(server)
    key = ("nav_eval_http_requests_total", "/api/v1/competitions/{competition}", "404", "GET")
    assert after[key] - before.get(key, 0) == 3
    assert after["nav_eval_http_requests_total", "(none)", "404", "GET"] >= 1
    assert not [key for key in after if "one" in key or "BREW" in key or "/nowhere/at/all" in key]
    count = ("nav_eval_http_request_seconds_count", "/api/v1/competitions/{competition}", "GET")
    assert after[count] - before.get(count, 0) == 3


def test_the_store_is_in_the_figures(tmp_path) -> None:
    with serving(gateway_settings(tmp_path)) as server:
        cup = Challenge(server.database)
        cup.do(lambda s: workers.register_worker(s, "w1", host="h", version="1", slots=3))
        queued = cup.queue(cup.team("Ants"))
        cup.claim_of(queued)
        cup.submit(cup.team("Bees"))
        figures = series(server)
    assert figures[("nav_eval_database_up",)] == 1
    assert figures["nav_eval_submissions", "running"] == 1
    assert figures["nav_eval_submissions", "validating"] == 1
    assert figures["nav_eval_jobs", "held", "shard"] == 1
    assert figures[("nav_eval_jobs_running",)] == 1
    assert figures[("nav_eval_workers_alive",)] == 1
    assert figures[("nav_eval_worker_slots",)] == 3
    assert figures[("nav_eval_last_event_id",)] > 0
    assert 0 <= figures[("nav_eval_oldest_heartbeat_seconds",)] < 60


def test_a_scrape_survives_the_database(tmp_path) -> None:
    with serving(gateway_settings(tmp_path)) as server:
        server.database.engine.dispose()
        (tmp_path / "store.db").rename(tmp_path / "gone.db")
        (tmp_path / "store.db").mkdir()
        for leftover in tmp_path.glob("gone.db-*"):
            leftover.unlink()
        assert "nav_eval_build" in get(server, "/metrics").text


def test_metrics_may_need_a_token(tmp_path) -> None:
    with serving(gateway_settings(tmp_path, metrics_token="for-prometheus")) as server:
        assert get(server, "/metrics").status_code == 401
        assert get(server, "/metrics", Authorization="Bearer wrong").status_code == 401
        assert get(server, "/metrics", Authorization="Bearer for-prometheus").status_code == 200


def test_every_series_is_explained(server: Server) -> None:

    page = (ROOT / "docs/operations.md").read_text()
    names = set(re.findall(r"^# HELP (\S+)", get(server, "/metrics").text, flags=re.M))
    assert names
    assert {name for name in names if f"`{name}" not in page and not name.endswith("_created")} == set()
