"""The small parts of a worker: plans, logs, folders by digest, settings."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.errors import ConfigError
from nav_eval_store.submissions.lifecycle import Deadlines
from nav_eval_store.work.queues import JobQueue
from nav_eval_worker.jobs.canary import LONGEST_SHARD, plan_shards
from nav_eval_worker.runtime import output, process
from nav_eval_worker.runtime.output import CappedLog
from nav_eval_worker.runtime.process import DigestStore
from nav_eval_worker.settings import WorkerSettings, parse_deadlines

DIGEST = f"sha256:{'ab' * 32}"


@given(
    st.integers(1, 300).map(lambda count: [f"ep_{number}" for number in range(count)]),
    st.integers(1, 50),
    st.none() | st.floats(0, 2000),
)
def test_a_plan_has_every_episode_once_and_in_order(episodes, at_least, seconds) -> None:
    shards = plan_shards(episodes, at_least=at_least, seconds_per_episode=seconds)
    assert [episode for shard in shards for episode in shard] == episodes
    sizes = {len(shard) for shard in shards}
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert len(shards) >= min(at_least, len(episodes))


@pytest.mark.parametrize(
    ("episodes", "at_least", "seconds", "shards"),
    [
        (100, 1, None, 1),  # nothing is known yet
        (100, 4, None, 4),  # as the phase says
        (100, 1, LONGEST_SHARD / 10, 10),  # ten episodes fill a shard
        (100, 4, 0.1, 4),  # short, but split among workers
        (3, 8, 1e6, 3),  # no empty shards
        (1, 1, 0.0, 1),
    ],
)
def test_how_many_shards(episodes: int, at_least: int, seconds: float | None, shards: int) -> None:
    ids = [str(number) for number in range(episodes)]
    assert len(plan_shards(ids, at_least=at_least, seconds_per_episode=seconds)) == shards


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(2, 64))
def test_a_log_keeps_its_beginning_and_its_end(chunks: list[bytes], limit: int) -> None:
    log, whole = CappedLog(limit), b"".join(chunks)
    for chunk in chunks:
        log.write(chunk)
    taken = log.take()
    assert log.take() == b""
    assert log.read_tail() == whole  # why a process ended can be read after the rest was taken
    if len(whole) <= limit:
        assert taken == whole
    else:
        assert taken.startswith(whole[: limit // 2])
        assert taken.endswith(whole[-(limit - limit // 2) :])
        assert f"{len(whole) - limit:,} bytes left out".encode() in taken


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"a", b"\n", b"line\n"]), max_size=30), st.integers(2, 64))
def test_a_log_that_is_taken_by_lines_tears_none_and_stays_within_its_budget(chunks: list[bytes], limit: int) -> None:
    log, taken = CappedLog(limit), []
    for chunk in chunks:
        log.write(chunk)
        taken.append(log.take(whole_lines=True))
    assert all(len(each) <= limit + len(output.CUT.format(10**6)) for each in taken)
    rest = log.take()
    assert b"\n" not in rest
    if not any(b"left out" in each for each in taken):
        assert b"".join([*taken, rest]) == b"".join(chunks)


def test_a_line_that_has_begun_waits_for_its_end() -> None:
    log = CappedLog(100)
    log.write(b"one\ntw")
    assert log.take(whole_lines=True) == b"one\n"
    log.write(b"o")
    assert log.take(whole_lines=True) == b""
    log.write(b"\n" + b"x" * 60)  # more than a line may have
    assert log.take(whole_lines=True) == b"two\n" + b"x" * 60


def test_a_digest_store_keeps_what_is_whole(tmp_path: Path) -> None:
    store = DigestStore(tmp_path / "store")
    assert store.find(DIGEST) is None
    with store.make_entry() as folder:
        (folder / "half").write_text("x")  # never kept
    assert list((tmp_path / "store").iterdir()) == []
    for content in ("first", "second"):  # equal digests mean equal content: the first stays
        with store.make_entry() as folder:
            (folder / "whole").write_text(content)
            kept = store.keep(folder, DIGEST)
    assert store.find(DIGEST) == kept
    assert (kept / "whole").read_text() == "first"
    assert store.tidy() == 0
    assert store.tidy(idle_seconds=-1) == 1
    assert store.find(DIGEST) is None


@pytest.mark.parametrize("digest", ["", "sha256:", "../../etc", f"md5:{'a' * 64}", "A" * 64, f"sha256:{'g' * 64}"])
def test_a_digest_store_takes_digests_only(tmp_path: Path, digest: str) -> None:
    with pytest.raises(ValueError, match="no sha256"):
        DigestStore(tmp_path).find(digest)


def test_settings_come_from_the_environment(tmp_path: Path) -> None:
    settings = WorkerSettings.from_environment(
        {
            "NAV_EVAL_HOME": str(tmp_path),
            "NAV_EVAL_RUNTIME": "process",
            "NAV_EVAL_WORKER_NAME": "gpu-1",
            "NAV_EVAL_WORKER_CONCURRENCY": "3",
            "NAV_EVAL_WORKER_EXPRESS": "no",
            "NAV_EVAL_PATIENCE": "lease=5, backoff=0.5",
        }
    )
    assert (settings.name, settings.runtime, settings.concurrency, settings.express) == ("gpu-1", "process", 3, False)
    assert settings.folder == tmp_path / "worker"
    assert settings.deadlines.lease == timedelta(seconds=5)
    assert settings.deadlines.backoff == timedelta(seconds=0.5)
    assert settings.deadlines.queue == Deadlines().queue


def test_the_runtime_that_isolates_nothing_must_be_asked_for(tmp_path: Path) -> None:
    assert WorkerSettings.from_environment({"NAV_EVAL_HOME": str(tmp_path)}).runtime == "docker"


@pytest.mark.parametrize("text", ["lease", "lease=", "lease=soon", "lease=-1", "attempts=9", "sleep=3"])
def test_a_patience_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="NAV_EVAL_PATIENCE"):
        parse_deadlines(text)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_concurrency_that_makes_no_sense_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="NAV_EVAL_WORKER_CONCURRENCY"):
        WorkerSettings.from_environment({"NAV_EVAL_WORKER_CONCURRENCY": value})


@pytest.mark.parametrize(
    ("variables", "queues", "slots"),
    [
        ({}, ["quick", "shards"], 3),  # an engine without GPUs leaves `gpu` to others
        ({"NAV_EVAL_DOCKER_GPUS": "0"}, ["quick", "shards", "gpu"], 3),
        ({"NAV_EVAL_RUNTIME": "process"}, ["quick", "shards", "gpu"], 3),
        ({"NAV_EVAL_WORKER_QUEUES": "quick"}, ["quick"], 2),  # nothing to keep a slot free from
        ({"NAV_EVAL_WORKER_QUEUES": "gpu, shards"}, ["gpu", "shards"], 2),
        ({"NAV_EVAL_WORKER_EXPRESS": "no"}, ["quick", "shards"], 2),
    ],
)
def test_which_queues_and_how_many_jobs(variables: dict[str, str], queues: list[str], slots: int) -> None:
    settings = WorkerSettings.from_environment({"NAV_EVAL_WORKER_CONCURRENCY": "2", **variables})
    assert (list(settings.queues), settings.slots) == ([JobQueue(name) for name in queues], slots)


def test_a_queue_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="there are quick, shards, gpu"):
        WorkerSettings.from_environment({"NAV_EVAL_WORKER_QUEUES": "quick,slow"})


def test_a_simulator_has_no_second_thread_of_algebra_that_waits_in_circles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counting.py").write_text("import os, sys, numpy; print(len(os.listdir('/proc/self/task')))")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    started: list[dict[str, str]] = []
    monkeypatch.setattr(process, "_start", lambda command, *, environment, errors: started.append(environment))
    process._start_program("counting", tmp_path)
    count = [sys.executable, "-m", "counting"]
    assert subprocess.run(count, env=started[0], capture_output=True, text=True, check=True).stdout.strip() == "1"
