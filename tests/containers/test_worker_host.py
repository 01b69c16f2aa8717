"""Two engines: the hub without a worker, and a host that joined it through the tunnel and does all the work."""

import json
import os
import socket
import ssl
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_compose import Stack, free_port

from nav_eval.cache import get_cache_folder
from nav_eval.config import load_benchmark
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval_sdk.submission import submit
from support.engine import ROOT, DockerEngine, image_tag

HUB_IMAGES = ("postgres", "redis", "gateway", "simulator", "haproxy", "nginx")
WORKER_IMAGES = ("worker", "simulator", "haproxy")
BENCHMARK = """
benchmark:
  extends: demo_vln
  name: Room
  dataset: {data_path: data/val.json.gz, scene_path: data, generate: null, episode_ids: [a, b]}
  evaluation: {max_steps: 10}
"""
COMPETITION = """
competition:
  name: cup
  title: The Cup
  registration: open
  phases:
    - name: dev
      benchmark: room
      shards: 1
      verify: none
      limits: {memory_gb: 1, cpus: 1, shm_gb: 0.1, pids: 64, start_seconds: 120, step_seconds: 60}
"""
FILES = {"benchmarks/room.yaml": BENCHMARK, "competitions/cup.yaml": COMPETITION}
HUB_NAME = "hub.example.org"
WORKER_HOST = ROOT / "deploy" / "worker-host"


class WorkerHost:
    """Another host, as an organiser sets it up: one compose file and the folder that join.sh made."""

    def __init__(self, engine: DockerEngine, hub: Stack, *, secrets: Path) -> None:
        self.engine = engine
        self.environment = {
            "COMPOSE_PROJECT_NAME": f"{hub.site}far",
            "NAV_EVAL_SITE": hub.site,
            "NAV_EVAL_SECRETS": str(secrets),
            "NAV_EVAL_CONFIGS": str(hub.folder / "configs"),
            "HUB_ADDRESS": hub.environment["TUNNEL_LISTEN"],
            "HUB_NAME": HUB_NAME,
            "DOCKER_SOCKET_FOLDER": str(engine.socket.parent),
            "DOCKER_GID": str(engine.socket.stat().st_gid),
        }

    def compose(self, *arguments: str, check: bool = True) -> str:
        return self.engine.run(
            ["docker-compose", *arguments], cwd=WORKER_HOST, environment=self.environment, timeout=300, check=check
        )


@pytest.fixture(scope="module")
def far_engine(docker_engine: DockerEngine) -> Iterator[DockerEngine]:
    """A second engine with its own images, networks and volumes; the first one's lock covers it, too."""
    docker_engine.build("worker", *HUB_IMAGES)
    pool = "--default-address-pool=base=10.213.0.0/16,size=24"
    engine = DockerEngine(get_cache_folder() / "engine" / "far", options=[pool])
    engine.start()
    try:
        engine.clear()
        for name in WORKER_IMAGES:
            carry(image_tag(name), docker_engine, engine)
        yield engine
    finally:
        engine.clear()
        engine.client.images.prune()
        engine.close()


def carry(image: str, source: DockerEngine, target: DockerEngine) -> None:
    """docker save | docker load, unless it is there."""
    if target.has_image(image) and target.client.images.get(image).id == source.client.images.get(image).id:
        return
    with subprocess.Popen(["docker", "save", image], env=source.environment, stdout=subprocess.PIPE) as saving:
        subprocess.run(["docker", "load", "-q"], env=target.environment, stdin=saving.stdout, check=True)


def address_of_this_host() -> str:
    """One that containers of any engine reach: nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


@pytest.fixture(scope="module")
def hub(
    docker_engine: DockerEngine,
    far_engine: DockerEngine,
    room_data: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("hub")
    for parent in (folder, *folder.parents):  # containers have other users than the tests
        if str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    for name, text in FILES.items():
        (folder / "configs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "configs" / name).write_text(text)
    site = f"test{uuid.uuid4().hex[:6]}"
    docker_engine.put_data(f"{site}-data", room_data)
    stack = Stack(docker_engine, folder, site)
    for authority, worker in (("tunnel", "gpu-1"), ("strangers", "gpu-1")):
        command = [str(WORKER_HOST / "certificates.sh"), str(folder / authority), HUB_NAME, worker]
        subprocess.run(command, check=True, capture_output=True)
    stack.environment = {
        **stack.environment,
        "COMPOSE_FILE": f"docker-compose.yml{os.pathsep}deploy/worker-host/hub.yml",
        "TUNNEL_LISTEN": f"{address_of_this_host()}:{free_port()}",
        "TUNNEL_CERTIFICATES": str(folder / "tunnel"),
    }
    try:
        stack.compose("up", "-d", "--no-build", "--scale", "worker=0")
        stack.wait_until_ready()
        yield stack
    finally:
        stack.down()


@pytest.fixture(scope="module")
def worker_host(far_engine: DockerEngine, hub: Stack, room_data: Path) -> Iterator[WorkerHost]:
    far_engine.put_data(f"{hub.site}-data", room_data)
    secrets = hub.folder / "joined"
    join = [
        str(WORKER_HOST / "join.sh"),
        str(hub.folder / "secrets"),
        str(hub.folder / "tunnel"),
        "gpu-1",
        str(secrets),
    ]
    subprocess.run(join, check=True)
    host = WorkerHost(far_engine, hub, secrets=secrets)
    try:
        host.compose("up", "-d")
        yield host
    finally:
        print(host.compose("logs", "--tail=60", check=False))  # shown when a test fails
        host.compose("down", "--volumes", "--timeout", "5", check=False)


def test_the_work_is_done_on_the_host_that_joined(
    hub: Stack, worker_host: WorkerHost, tmp_path: Path, room_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = tmp_path / "agent.tar"
    hub.engine.build("agent")
    hub.engine.docker("save", "-o", str(archive), image_tag("agent"))
    client = hub.team("ada")
    before = admitted(hub.engine)
    submission = submit(client, str(archive), competition="cup", phase="dev")
    final = hub.wait(client, submission.submission_id, until=lambda found: found.is_final, seconds=200)
    assert final.status == "completed", hub.story(final)

    assert admitted(hub.engine) == before  # the hub has run nothing
    assert len(admitted(worker_host.engine)) == 1
    row = next(row for row in client.leaderboard("cup", "dev")["rows"] if row["team"] == "Team ada")
    subprocess.run([sys.executable, "-m", "nav_eval_sdk", "init", str(tmp_path / "agent")], check=True)
    at_home = evaluated_at_home(tmp_path / "agent", room_data, tmp_path)
    shown = {key: value for key, value in row["scores"].items() if key in at_home}
    assert shown
    assert shown == {key: at_home[key] for key in shown}


def admitted(engine: DockerEngine) -> set[str]:
    """The images of teams that an engine holds."""
    return {str(image.id) for image in engine.client.images.list("nav-eval/submission")}


def evaluated_at_home(project: Path, room_data: Path, tmp_path: Path) -> dict[str, float]:
    """The same agent without containers."""
    place = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}"]
    same = ["evaluation.max_steps=10", "dataset.generate=null", "dataset.episode_ids=[a,b]"]
    benchmark = load_benchmark("demo_vln", overrides=[*place, *same], environ={})
    report = EvaluationOrchestrator(cache=tmp_path / "cache").run_benchmark(
        benchmark, agent=f"{project / 'agent.py'}:MyAgent", out=tmp_path / "run"
    )
    return {name: statistics.mean for name, statistics in report.aggregated.items()}


BLOBS = """
import io, json
from nav_eval_store.errors import NotFound
from nav_eval_store.settings import StoreSettings
blobs = StoreSettings.from_environment().open_blobs()
def refused(action):
    try:
        action()
    except (NotFound, ValueError) as error:
        return type(error).__name__
def broken():
    yield b"half"
    raise ValueError
blobs.put("tests/a/1", b"hello")
blobs.put("tests/a/1", io.BytesIO(b"hello again"))
blobs.put("tests/b", bytes(3_000_000))
print(json.dumps({
    "read": blobs.get("tests/a/1").decode(),
    "part": b"".join(blobs.stream("tests/a/1", start=6, stop=9, chunk=2)).decode(),
    "large": blobs.get("tests/b") == bytes(3_000_000),
    "listed": sorted((blob.key, blob.size) for blob in blobs.list("tests")),
    "one": [blob.key for blob in blobs.list("tests/b")],
    "sizes": [blobs.size("tests/b"), blobs.exists("tests/b"), blobs.exists("tests"), blobs.exists("tests/c")],
    "missing": [refused(lambda: blobs.get("tests/c")), refused(lambda: blobs.size("tests/c"))],
    "half": [refused(lambda: blobs.put("tests/half", broken())), blobs.exists("tests/half")],
}))
"""


def test_blobs_of_the_hub_are_read_and_added_as_in_a_folder(worker_host: WorkerHost, hub: Stack) -> None:
    said = worker_host.compose("exec", "-T", "worker", "python", "-c", BLOBS)
    assert json.loads(said.splitlines()[-1]) == {
        "read": "hello again",
        "part": "aga",
        "large": True,
        "listed": [["tests/a/1", 11], ["tests/b", 3_000_000]],
        "one": ["tests/b"],
        "sizes": [3_000_000, True, False, False],
        "missing": ["NotFound", "NotFound"],
        "half": ["ValueError", False],
    }
    kept = hub.compose("exec", "-T", "gateway", "cat", "/var/lib/nav-eval/blobs/tests/a/1")
    assert kept == "hello again"


def ask_for(hub: Stack, service: str, *, words: bytes, authority: str | None) -> bytes:
    """What the tunnel's port answers to somebody with a certificate of `authority`."""
    host, _, port = hub.environment["TUNNEL_LISTEN"].rpartition(":")
    context = ssl.create_default_context(cafile=str(hub.folder / "tunnel" / "ca.crt"))
    context.set_alpn_protocols([service])
    if authority is not None:
        context.load_cert_chain(hub.folder / authority / "gpu-1.pem")
    with (
        socket.create_connection((host, int(port)), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname=HUB_NAME) as secure,
    ):
        secure.sendall(words)
        return secure.recv(100)


PING = b"PING\r\n"
GET = b"GET / HTTP/1.0\r\n\r\n"
SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"


@pytest.mark.parametrize(
    ("service", "words", "answer"),
    [("redis", PING, b"-NOAUTH"), ("blobs", GET, b"HTTP/1.1 200"), ("postgres", SSL_REQUEST, b"N")],
)
def test_who_shows_a_certificate_of_ours_reaches_the_service(
    hub: Stack, service: str, words: bytes, answer: bytes
) -> None:
    assert ask_for(hub, service, words=words, authority="tunnel").startswith(answer)


@pytest.mark.parametrize(("service", "words"), [("redis", PING), ("blobs", GET), ("postgres", SSL_REQUEST)])
@pytest.mark.parametrize("authority", [None, "strangers"])
def test_others_get_no_further_than_the_handshake(
    hub: Stack, service: str, words: bytes, authority: str | None
) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        ask_for(hub, service, words=words, authority=authority)


def test_other_services_of_the_hub_cannot_be_asked_for(hub: Stack) -> None:
    assert ask_for(hub, "gateway", words=GET, authority="tunnel") == b""


def test_nothing_is_answered_in_plain_text(hub: Stack) -> None:
    host, _, port = hub.environment["TUNNEL_LISTEN"].rpartition(":")
    for words in (PING, GET, SSL_REQUEST):
        with socket.create_connection((host, int(port)), timeout=20) as plain:
            plain.sendall(words)
            try:
                answer = plain.recv(100)
            except ConnectionError:
                continue
            assert answer[:1] in (b"", b"\x15")  # nothing, or a TLS alert


def test_a_worker_host_may_add_blobs_and_delete_none(hub: Stack) -> None:
    def status(request: str, body: str = "") -> int:
        words = f"{request} HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        return int(ask_for(hub, "blobs", words=words, authority="tunnel").split()[1])

    assert status("PUT /notes/1", "hello") == 201
    assert status("DELETE /notes/1") == 405
    assert status("GET /.writing/") == 403
    assert status("GET /../etc/passwd") == 400
    assert status("HEAD /notes/1") == 200
