"""The whole challenge on a real engine: images, compose file, a team's first day, and what is killed on the way."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound
from docker.models.containers import Container

from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval_sdk.client import API, ChallengeClient, Submission
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.http_client import HttpClient
from nav_eval_sdk.submission import hash_archive, submit
from support.engine import ROOT, DockerEngine, image_tag
from support.load import Deadline, measure_slowdown

BENCHMARK = """
benchmark:
  extends: demo_vln
  name: Room
  dataset: {data_path: data/val.json.gz, scene_path: data, generate: null}
  evaluation: {max_steps: 25}
"""
COMPETITION = """
competition:
  name: cup
  title: The Cup
  registration: open
  phases:
    - name: dev
      benchmark: room
      shards: 2
      verify: all
      visibility: {scores: public, replays: public, episodes: team}
      quota: {per_day: 100, concurrent: 4}
      limits: {memory_gb: 1, cpus: 1, shm_gb: 0.1, pids: 256, start_seconds: 90, step_seconds: 30}
"""
SMALL_BENCHMARK = """
benchmark:
  extends: demo_lh_vln
  name: A small demo
  dataset:
    data_path: data/small/{split}.json.gz
    scene_path: data/small/scenes/
    generate: {houses: 1, seed: 12, episodes: 2, split: val_unseen, subtasks: [2, 2]}
  evaluation: {max_steps: 120}
"""
SMALL_DEMO = """
competition:
  name: demo
  title: The demo, without its twelve long episodes
  registration: open
  phases:
    - name: dev
      benchmark: small
      verify: all
      quota: {per_day: 100, concurrent: 2}
      limits: {memory_gb: 1, cpus: 1, start_seconds: 90, step_seconds: 30}
"""
FILES = {
    "benchmarks/room.yaml": BENCHMARK,
    "competitions/cup.yaml": COMPETITION,
    "benchmarks/small.yaml": SMALL_BENCHMARK,
    "competitions/demo.yaml": SMALL_DEMO,
}
COMPOSE = os.environ.get(
    "NAV_EVAL_TEST_COMPOSE", "docker-compose"
)  #: or the plugin of Compose v2, which is a command too
WHEELS = ROOT / "deploy" / "docker" / "wheels"
IMAGES = ("postgres", "redis", "gateway", "worker", "simulator", "agent")
LEASE_SECONDS = 12
VERDICT_SECONDS = 60
LARGEST = {"gateway": 390e6, "worker": 390e6, "simulator": 830e6}  # of which FFmpeg, for films to keep: 110e6


class Stack:
    """A challenge that was brought up with Compose."""

    def __init__(self, engine: DockerEngine, folder: Path, site: str) -> None:
        self.engine, self.folder, self.site = engine, folder, site
        self.port = free_port()
        self.server = f"http://127.0.0.1:{self.port}"
        subprocess.run([str(ROOT / "deploy/secrets.sh"), str(folder / "secrets"), str(folder / "env")], check=True)
        self.environment: Mapping[str, str] = {
            "COMPOSE_PROJECT_NAME": site,
            "NAV_EVAL_SITE": site,
            "NAV_EVAL_SECRETS": str(folder / "secrets"),
            "NAV_EVAL_CONFIGS": str(folder / "configs"),
            "NAV_EVAL_COMPETITION": "cup",
            "NAV_EVAL_GENERATE": "",
            "NAV_EVAL_LISTEN": f"127.0.0.1:{self.port}",
            "NAV_EVAL_GATEWAY_PROCESSES": "1",
            "NAV_EVAL_PATIENCE": f"lease={LEASE_SECONDS},backoff=2",
            "DOCKER_SOCKET_FOLDER": str(engine.socket.parent),
            "DOCKER_GID": str(engine.socket.stat().st_gid),
        }

    def compose(self, *arguments: str, timeout: float = 300, check: bool = True, **more: str) -> str:
        environment = {**self.environment, **more}
        return self.engine.run([COMPOSE, *arguments], environment=environment, timeout=timeout, check=check)

    def up(self) -> None:
        self.compose("up", "-d", "--no-build")
        self.wait_until_ready()

    def down(self) -> None:
        with suppress(Exception):
            self.compose("down", "--volumes", "--timeout", "5", check=False)

    def wait_until_ready(self, seconds: float = 600) -> None:
        deadline = Deadline(seconds)
        while True:
            try:
                with HttpClient(self.server).open("GET", "/readyz"):
                    return
            except (SdkError, OSError) as error:
                if deadline.is_over:
                    raise AssertionError(
                        f"not ready: {error}\n{self.compose('logs', '--tail=40', check=False)}"
                    ) from None
                time.sleep(1)

    def story(self, found: Submission) -> str:
        """What is needed to understand a failure."""
        return f"{json.dumps(found.document, indent=1)}\n{self.compose('logs', '--tail=80', 'worker', check=False)}"

    def at_work(self, *parts: str) -> list[Container]:
        """Containers of whatever is played just now."""
        labels = [[f"nav-eval.site={self.site}", f"nav-eval.part={part}"] for part in parts]
        listed = [self.engine.client.containers.list(filters={"label": label}, ignore_removed=True) for label in labels]
        return [container for found in listed for container in found]

    def wait_for_play(self) -> list[Container]:
        """Agent and simulator, once both are there."""
        deadline = Deadline(600)
        while not deadline.is_over:
            found = self.at_work("simulator", "agent")
            if len(found) == 2:
                return found
            time.sleep(0.1)
        raise AssertionError("nobody plays")

    def container(self, service: str) -> Any:
        labels = [f"com.docker.compose.project={self.site}", f"com.docker.compose.service={service}"]
        return self.engine.client.containers.list(filters={"label": labels})[0]

    def team(self, name: str) -> ChallengeClient:
        """Register over HTTP, found a team."""
        password = uuid.uuid4().hex
        everybody = HttpClient(self.server)
        everybody.json("POST", f"{API}/users", {"name": name, "email": f"{name}@example.org", "password": password})
        token = everybody.json("POST", f"{API}/login", {"name": name, "password": password, "token_name": "t"})["token"]
        HttpClient(self.server, token).json("POST", f"{API}/competitions/cup/teams", {"name": f"Team {name}"})
        return ChallengeClient(self.server, token)

    def wait(
        self, client: ChallengeClient, submission: str, *, until: Callable[[Submission], bool], seconds: float
    ) -> Submission:
        deadline = Deadline(seconds)
        while True:
            found = client.submission(submission)
            if until(found) or found.is_final:
                return found
            if deadline.is_over:
                raise AssertionError(self.story(found))
            time.sleep(0.5)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def stack(docker_engine: DockerEngine, room_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    docker_engine.build(*IMAGES)
    folder = tmp_path_factory.mktemp("stack")
    for parent in (folder, *folder.parents):  # containers have other users than the tests
        if parent.owner() == Path.home().owner() and str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    for name, text in FILES.items():
        (folder / "configs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "configs" / name).write_text(text)
    site = f"test{uuid.uuid4().hex[:6]}"
    docker_engine.put_data(f"{site}-data", room_data)
    stack = Stack(docker_engine, folder, site)
    try:
        stack.up()
        yield stack
    finally:
        stack.down()


@pytest.fixture(scope="module")
def archive(docker_engine: DockerEngine, stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`nav-eval-sdk init`, `docker build`, `docker save`, as a team does it."""
    folder = tmp_path_factory.mktemp("team")
    project = folder / "agent"
    subprocess.run([sys.executable, "-m", "nav_eval_sdk", "init", str(project)], check=True)
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-qq",
        "--no-deps",
        "--no-index",
        f"--find-links={WHEELS}",
        "-w",
        str(project / "wheels"),
    ]
    subprocess.run([*wheel, str(ROOT / "sdk")], check=True)
    for name in ("grpcio-", "numpy-", "protobuf-", "typing_extensions-"):
        for file in WHEELS.glob(f"{name}[0-9]*.whl"):
            shutil.copy(file, project / "wheels")
    offline = folder / "Dockerfile"  # this site has no package index
    offline.write_text("FROM nav-eval-base:bookworm\nENV PIP_NO_INDEX=1\n")
    docker_engine.docker("build", "-q", "-t", "test/base:1", "-f", str(offline), str(folder))
    docker_engine.docker(
        "build", "-q", "--network", "none", "-t", "test/agent:1", "--build-arg", "BASE=test/base:1", str(project)
    )
    target = folder / "agent.tar"
    docker_engine.docker("save", "-o", str(target), "test/agent:1")
    return target


class Cut(Exception):
    """The cable, in the middle of an upload."""


def test_a_team_gets_from_init_to_the_leaderboard(
    stack: Stack, archive: Path, room_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    client = stack.team("ada")
    digest, size = hash_archive(archive), archive.stat().st_size
    submission = client.create_submission(competition="cup", phase="dev", sha256=digest, size=size, name=archive.name)

    def cut(done: int) -> None:
        if done > size // 3:
            raise Cut

    with pytest.raises(Cut):
        client.upload(submission, archive, sha256=digest, memory=tmp_path / "nav-eval-sdk" / "uploads.json", notice=cut)
    again = submit(client, str(archive), competition="cup", phase="dev")
    assert again.submission_id == submission.submission_id
    uploaded_at, slowdown = time.monotonic(), measure_slowdown()
    stack.wait(client, again.submission_id, until=lambda found: found.status in ("running", "scoring"), seconds=600)
    verdict_seconds, slowdown = time.monotonic() - uploaded_at, max(slowdown, measure_slowdown())
    print(f"first verdict {verdict_seconds:.1f} s after the upload of {size / 1e6:.0f} MB")
    final = stack.wait(client, again.submission_id, until=lambda found: found.is_final, seconds=600)
    assert final.status == "completed", stack.story(final)
    assert verdict_seconds < VERDICT_SECONDS * slowdown

    board = client.leaderboard("cup", "dev")
    row = next(row for row in board["rows"] if row["team"] == "Team ada")
    assert row["verified"], stack.story(final)
    at_home = evaluated_at_home(archive.parent / "agent", room_data, tmp_path)
    shown = {key: value for key, value in row["scores"].items() if key in at_home}
    assert shown == {key: at_home[key] for key in shown}
    assert shown, f"{sorted(row['scores'])} and {sorted(at_home)} have nothing in common"
    assert film(stack, again.submission_id), stack.story(final)


def film(stack: Stack, submission: str) -> list[str]:
    """The pictures of an episode, as the replay page gets them; they are there soon after the score.

    The first three in an order that is drawn get a film: one of these two does.
    """
    deadline = Deadline(600)
    for episode in cycle("ab"):
        try:
            address = f"/submissions/{submission}/replay/frames?episode={episode}"
            with HttpClient(stack.server).open("GET", address) as answer:
                return list(json.load(answer)[0])
        except SdkError:
            if deadline.is_over:
                raise
            time.sleep(1)
    raise AssertionError


def evaluated_at_home(project: Path, room_data: Path, tmp_path: Path) -> dict[str, Any]:
    """The same agent without containers."""
    place = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}"]
    benchmark: BenchmarkConfig = load_benchmark(
        "demo_vln", overrides=[*place, "evaluation.max_steps=25", "dataset.generate=null"], environ={}
    )
    agent = f"{project / 'agent.py'}:MyAgent"
    report = EvaluationOrchestrator(cache=tmp_path / "cache").run_benchmark(
        benchmark, agent=agent, out=tmp_path / "run"
    )
    return {name: statistics.mean for name, statistics in report.aggregated.items()}


def begun(stack: Stack, archive: Path, name: str) -> tuple[ChallengeClient, str]:
    """A submission of a new team, in the middle of its first shard."""
    client = stack.team(name)
    submission = submit(client, str(archive), competition="cup", phase="dev").submission_id
    stack.wait(client, submission, until=lambda found: found.status == "running", seconds=600)
    return client, submission


def assert_same_scores(stack: Stack, client: ChallengeClient, submission: str, *teams: str) -> None:
    final = stack.wait(client, submission, until=lambda found: found.is_final, seconds=600)
    assert final.status == "completed", stack.story(final)
    rows = {row["team"]: row for row in client.leaderboard("cup", "dev")["rows"]}
    one, other = (rows[f"Team {team}"] for team in teams)
    assert one["scores"] == other["scores"]
    assert one["verified"]
    assert other["verified"]


def test_killed_containers_and_workers_change_no_score(stack: Stack, archive: Path) -> None:
    client, submission = begun(stack, archive, "bob")
    for container in stack.wait_for_play():
        with suppress(NotFound, APIError):  # one goes with the other
            container.kill()
    runs = {container.labels["nav-eval.run"] for container in stack.wait_for_play()}
    os.kill(stack.container("worker").attrs["State"]["Pid"], signal.SIGKILL)
    gone_within(stack, runs, seconds=LEASE_SECONDS + 180)  # the worker itself has to start again first
    assert_same_scores(stack, client, submission, "bob", "ada")


def gone_within(stack: Stack, runs: set[str], *, seconds: float) -> None:
    """Nobody starts anything by hand: what was left is removed soon after the lease has run out."""
    began = time.monotonic()
    while left := [name for run in runs for name in left_of(stack, run)]:
        assert time.monotonic() - began < seconds, left
        time.sleep(0.5)
    print(f"what a killed worker left was gone after {time.monotonic() - began:.0f} s")


def left_of(stack: Stack, run: str) -> list[str]:
    label, client = {"label": f"nav-eval.run={run}"}, stack.engine.client
    containers = client.containers.list(all=True, filters=label, ignore_removed=True)
    return [c.name for c in containers] + [v.name for v in client.volumes.list(filters=label)]


def test_a_network_that_is_cut_changes_no_score(stack: Stack, archive: Path) -> None:
    """The worker reaches neither the database nor the broker, for longer than its lease."""
    client, submission = begun(stack, archive, "cyd")
    backend, worker = stack.engine.client.networks.get(f"{stack.site}_backend"), stack.container("worker")
    stack.wait_for_play()
    backend.disconnect(worker)
    time.sleep(LEASE_SECONDS + 8)
    backend.connect(worker)
    assert_same_scores(stack, client, submission, "cyd", "ada")


def test_the_whole_way_in_gvisor(stack: Stack, archive: Path) -> None:
    """Upload, check, play, replay, board: with a setting more, every agent has a kernel of its own."""
    stack.engine.add_gvisor()
    stack.compose("up", "-d", "--no-build", "worker", NAV_EVAL_CONTAINER_RUNTIME="runsc")
    try:
        client, submission = begun(stack, archive, "dan")
        agent = next(found for found in stack.wait_for_play() if found.labels["nav-eval.part"] == "agent")
        assert agent.attrs["HostConfig"]["Runtime"] == "runsc"
        assert_same_scores(stack, client, submission, "dan", "ada")
    finally:
        stack.compose("up", "-d", "--no-build", "worker")


def test_the_demo_is_scored(stack: Stack) -> None:
    """An organiser adds a competition, its houses are made, and a team comes: as docs/deployment.md says."""
    stack.compose("up", "-d", "--no-build", NAV_EVAL_COMPETITION="demo", NAV_EVAL_GENERATE="small")
    said = stack.compose("run", "--rm", "demo", timeout=600)
    print(said)
    board = ChallengeClient(stack.server).leaderboard("demo", "dev")
    rows = [row for row in board["rows"] if row["team"].startswith("Team demo-")]
    assert len(rows) == 1
    assert rows[0]["verified"]
    assert rows[0]["team"] in said


def test_images_are_small_and_say_what_they_are(stack: Stack) -> None:
    for name, largest in LARGEST.items():
        image = stack.engine.client.images.get(f"nav-eval-{name}:latest")
        print(f"{name}: {image.attrs['Size'] / 1e6:.0f} MB")
        assert image.attrs["Size"] < largest
        assert image.attrs["Config"]["User"].split(":")[0] not in ("", "0", "root")
        assert image.labels["org.opencontainers.image.title"].startswith("nav-eval ")


@pytest.mark.parametrize("image", ["gateway", "simulator"])
def test_chinese_can_be_written_on_cards_and_films(stack: Stack, image: str) -> None:
    asked = "from nav_eval.replay import fonts; print(fonts.can_write('去厨房'), bool(fonts.find_font('去厨房')))"
    command = ["run", "--rm", "--entrypoint", "python", image_tag(image), "-c", asked]
    assert stack.engine.docker(*command).split() == ["True", "True"]


def test_services_are_healthy(stack: Stack) -> None:
    deadline = Deadline(600)
    wanted = {"postgres", "redis", "gateway", "worker"}
    while not deadline.is_over:
        health = {name: stack.container(name).attrs["State"]["Health"]["Status"] for name in wanted}
        if set(health.values()) == {"healthy"}:
            return
        time.sleep(2)
    raise AssertionError(json.dumps(health))
