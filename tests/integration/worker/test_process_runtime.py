"""Local processes: nothing of a pair outlives it, however it ends."""

import io
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from nav_eval.agents.local_client import LocalAgentClient
from nav_eval.child_process import ProcessNotStarted, ReapedProcess
from nav_eval.evaluation import shard
from nav_eval.evaluation.shard_protocol import (
    EXIT_CODES,
    Ended,
    MessageWriter,
    Played,
    Ready,
    TimeLimits,
    decode_message,
    order_for,
)
from nav_eval.records.results import Cause
from nav_eval_worker.runtime.base import ShardWork
from nav_eval_worker.runtime.process import ProcessRuntime
from support.load import Deadline
from support.worker import image_archive, layer, room_benchmark_config

pytestmark = pytest.mark.integration

FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
if os.fork() == 0:  # a daemon: its own session, its parent gone
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    os._exit(0)
print(child.pid, flush=True)
print(os.getpid(), flush=True)
time.sleep(1000)
"""


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return False


def family() -> tuple[ReapedProcess, list[int]]:
    process = ReapedProcess([sys.executable, "-c", FAMILY], environment=dict(os.environ))
    return process, [int(process.output.readline()) for _ in range(3)]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_stopped_command_takes_its_whole_family_along(at_once: bool) -> None:
    process, pids = family()
    assert all(map(is_alive, pids))
    process.stop(at_once=at_once)
    assert not any(map(is_alive, pids))
    process.stop()  # again is fine


def test_daemons_of_a_command_that_ended_are_ended() -> None:
    process, pids = family()
    os.kill(process.pid, 9)
    end = process.wait(60.0)
    assert end is not None
    assert end.code == -9
    assert not any(map(is_alive, pids))


def test_nothing_survives_a_killed_parent(tmp_path: Path) -> None:
    parent = f"""
import os, sys
from nav_eval.agents.local_client import LocalAgentClient
from nav_eval.child_process import ReapedProcess
process = ReapedProcess([sys.executable, "-c", {FAMILY!r}], environment=dict(os.environ))
print(*[int(process.output.readline()) for _ in range(3)], flush=True)
os.kill(os.getpid(), 9)
"""
    ended = subprocess.run([sys.executable, "-c", parent], capture_output=True, check=False)
    assert ended.returncode == -9
    pids = [int(word) for word in ended.stdout.split()]
    assert len(pids) == 3
    deadline = Deadline(5)
    while any(map(is_alive, pids)) and not deadline.is_over:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def test_a_program_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(ProcessNotStarted, match="no-such-program"):
        ReapedProcess(["no-such-program"], environment={"PATH": "/usr/bin:/bin"})


def test_usage_is_known_while_the_family_runs() -> None:
    burn = "x = bytearray(80_000_000); sum(range(10**7)); print('done', flush=True); __import__('time').sleep(1000)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    process = ReapedProcess([sys.executable, "-c", parent], environment=dict(os.environ))
    try:
        assert process.output.readline() == b"done\n"
        used = process.measure()
        assert used.cpu_seconds is not None
        assert used.cpu_seconds > 0.05
        assert used.memory_bytes is not None
        assert used.memory_bytes > 80_000_000
    finally:
        process.stop(at_once=True)


def test_usage_counts_the_whole_family() -> None:
    burn = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(80_000_000); sum(range(10**7))'])"
    )
    process = ReapedProcess([sys.executable, "-c", burn], environment=dict(os.environ))
    end = process.wait(30.0)
    assert end is not None
    assert end.code == 0
    assert (end.cpu_seconds or 0) > 0.1
    assert (end.memory_bytes or 0) > 80_000_000


ECHO = """
import os, sys
from pathlib import Path
import helper
print(Path.cwd().name, sys.argv[1:], helper.WORD, os.environ["MODEL"], os.environ.get("NAV_EVAL_DATABASE"), flush=True)
print(Path(os.environ["NAV_EVAL_WEIGHTS"], "w.bin").read_text(), flush=True)
raise SystemExit(5)
"""


def test_an_image_finds_its_files_variables_and_weights_and_no_secrets(
    tmp_path: Path, room_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAV_EVAL_DATABASE", "postgresql://secret")
    runtime = ProcessRuntime(tmp_path / "worker", cache=tmp_path / "cache")
    archive = image_archive(
        command=("/usr/local/bin/python3", "/opt/run.py", "--model", "/opt/model.bin", "/not/there"),
        environment={"MODEL": "/opt/model.bin", "PYTHONPATH": "/opt/lib", "PATH": "/opt/bin"},
        layers=(layer({"opt/run.py": ECHO, "opt/model.bin": "m", "opt/lib/helper.py": "WORD = 'hello'"}),),
        working_dir="/work",
    )
    image = runtime.admit(io.BytesIO(archive))
    weights = runtime.admit_weights(io.BytesIO(layer({"w.bin": "heavy"})), digest="ab" * 32)
    assert runtime.find(image.id) is not None
    assert runtime.find_weights("ab" * 32) == weights
    folder = tmp_path / "folder"
    folder.mkdir()
    benchmark = room_benchmark_config(tmp_path, room_data)
    work = ShardWork(
        run="r1", worker="w", image=image, weights=weights, benchmark=benchmark, episode_ids=("a",), folder=folder
    )
    with runtime.run(work) as pair:
        end = None
        while end is None:
            end = pair.agent_end()
        words = pair.take_log().decode()
    root = Path(image.handle) / "root"
    arguments = ["--model", str(root / "opt/model.bin"), "/not/there"]
    assert words.splitlines() == [f"work {arguments} hello {root / 'opt/model.bin'} None", "heavy"]
    assert (end.cause, "exit code 5" in end.detail) == (Cause.AGENT_CRASH, True)


def run_shard(order: bytes) -> tuple[int, list]:
    command = [sys.executable, "-m", "nav_eval.evaluation.shard", "-"]
    ended = subprocess.run(command, input=order, capture_output=True, check=False)
    return ended.returncode, [decode_message(line) for line in ended.stdout.splitlines()]


def test_the_simulators_program_tells_what_it_played(tmp_path: Path, room_data: Path, engine_cache: Path) -> None:
    benchmark = room_benchmark_config(tmp_path, room_data)
    order = order_for(benchmark, episode_ids=("c", "a"), agent="baseline:forward", cache=engine_cache)
    code, messages = run_shard(msgspec.json.encode(order))
    assert code == 0
    assert isinstance(messages[0], Ready)
    lines = [msgspec.json.decode(message.line) for message in messages if isinstance(message, Played)]
    assert [line["episode_id"] for line in lines] == ["c", "a"]
    assert [line["instruction"] for line in lines] == ["Go to the table, then to the chair."] * 2  # for the explorer
    assert messages[-1] == Ended()


@pytest.mark.parametrize(
    ("change", "cause", "words"),
    [
        ({"episode_ids": ("a", "nobody")}, Cause.INFRASTRUCTURE, "nobody"),
        ({"config_digest": "sha256:0"}, Cause.INFRASTRUCTURE, "another digest"),
        ({"agent": "unix:/no/such.sock"}, Cause.AGENT_START_TIMEOUT, "does not answer"),
    ],
)
def test_the_simulators_program_says_why_it_cannot(
    tmp_path: Path, room_data: Path, change: dict, cause: Cause, words: str
) -> None:
    benchmark = room_benchmark_config(tmp_path, room_data)
    time_limits = TimeLimits(start=0.5)
    order = order_for(benchmark, episode_ids=("a",), agent="baseline:forward", cache=tmp_path, time_limits=time_limits)
    code, messages = run_shard(msgspec.json.encode(msgspec.structs.replace(order, **change)))
    assert code == EXIT_CODES[cause]
    assert isinstance(messages[-1], Ended)
    assert messages[-1].cause is cause
    assert words in messages[-1].detail


def test_the_end_is_told_before_the_agent_is_left(
    tmp_path: Path, room_data: Path, engine_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that keeps us from closing its connection keeps nobody from hearing of it."""
    benchmark = room_benchmark_config(tmp_path, room_data)
    order = order_for(benchmark, episode_ids=("a",), agent="baseline:forward", cache=engine_cache)
    stream, heard_at_close = io.BytesIO(), []
    monkeypatch.setattr(LocalAgentClient, "close", lambda self: heard_at_close.append(stream.getvalue()))
    assert shard.run(msgspec.json.encode(order), MessageWriter(stream)) == 0
    last = decode_message(heard_at_close[0].splitlines()[-1])
    assert last == Ended()
