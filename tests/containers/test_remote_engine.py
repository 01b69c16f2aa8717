"""An engine on another host, reached over TLS: all that a run needs goes through its interface, no path."""

import io
import json
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nav_eval.evaluation.shard_protocol import Ended, Played, Ready
from nav_eval_worker.runtime.base import RuntimeUnavailable, ShardWork
from nav_eval_worker.runtime.containers.engine import DockerSettings
from nav_eval_worker.runtime.docker import DockerRuntime
from support.archives import File, tar
from support.engine import ROOT, DockerEngine

AGENT = """
from pathlib import Path
from nav_eval_sdk import Agent, serve

class Turner(Agent):
    name = Path("/weights/name").read_text()
    sensors = ["rgb"]
    def act(self, observation):
        return "stop" if observation["rgb"].shape and observation.step > 2 else "turn_left"

if __name__ == "__main__":
    print("ready", flush=True)
    serve(Turner)
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """As docs/security.md says: our script, and the names that Docker's client looks for."""
    folder = tmp_path / "tls"
    subprocess.run([ROOT / "deploy/worker-host/certificates.sh", folder, "localhost", "worker"], check=True)
    for name, source in (("ca.pem", "ca.crt"), ("cert.pem", "worker.pem"), ("key.pem", "worker.pem")):
        shutil.copy(folder / source, folder / name)
    return folder


@pytest.fixture
def upload(engine: DockerEngine, built: Callable[..., str], tmp_path: Path) -> Path:
    """A team's archive."""
    tag = built("COPY agent.py /agent/agent.py\n", **{"agent.py": AGENT})
    archive = tmp_path / "upload.tar"
    with archive.open("wb") as file:
        file.writelines(engine.client.images.get(tag).save(named=tag))
    return archive


@pytest.fixture
def remote(engine: DockerEngine, upload: Path, room_volume: str, certificates: Path) -> Iterator[str]:
    """The same engine, started again so that it listens on a port for those who have a certificate."""
    url = f"tcp://localhost:{free_port()}"
    tls = {"tlscacert": "ca.crt", "tlscert": "hub.pem", "tlskey": "hub.pem"}
    options = [f"--host={url}", "--tlsverify", *(f"--{name}={certificates / file}" for name, file in tls.items())]
    engine.stop()
    listening = DockerEngine(engine.data, options=options)
    try:
        listening.start()
        yield url
    finally:
        listening.close()
        engine.start()


def test_a_pair_plays_on_a_remote_engine(
    remote: str,
    upload: Path,
    certificates: Path,
    settings: DockerSettings,
    work: Callable[..., ShardWork],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", remote)
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(certificates))
    runtime = DockerRuntime(tmp_path / "runtime", settings=settings)
    runtime.check()
    image = runtime.admit(upload)
    weights = runtime.admit_weights(io.BytesIO(tar([File("name", b"turner")])), digest=f"sha256:{'5' * 64}")
    with runtime.run(work(image, weights=weights)) as pair:
        messages = list(pair.messages())
        log, usage = pair.take_log().decode(), pair.usage()
    assert [message.agent["name"] for message in messages if isinstance(message, Ready)] == ["turner"]
    lines = [json.loads(bytes(message.line)) for message in messages if isinstance(message, Played)]
    assert [(line["episode_id"], line["status"], line["num_steps"]) for line in lines] == [("a", "completed", 4)]
    assert messages[-1] == Ended()
    assert "ready" in log
    assert usage.memory_bytes is None or usage.memory_bytes > 1_000_000
    assert runtime.sweep(lambda run: False) == 0

    (certificates / "cert.pem").unlink()
    strangers = tmp_path / "strangers"
    subprocess.run([ROOT / "deploy/worker-host/certificates.sh", strangers, "localhost", "worker"], check=True)
    for name in ("cert.pem", "key.pem"):
        shutil.copy(strangers / "worker.pem", certificates / name)
    with pytest.raises(RuntimeUnavailable):  # a certificate of somebody else's authority
        DockerRuntime(tmp_path / "stranger", settings=settings).check()
