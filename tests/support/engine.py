"""A private Docker engine for tests: its own socket and data, nothing of the host's network rules touched.

from support.engine import docker_engine  # in a conftest: a fixture for the whole session

def test_…(docker_engine: DockerEngine) -> None:
    docker_engine.client.containers.run(docker_engine.base, "true")

The images outlive the session (in nav-eval's cache folder), so that only the first run builds them. One engine
owns the folder at a time: tests that use it are in tests/containers, which run in one process (`support.scheduling`).
"""

import ctypes
import fcntl
import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import docker
import pytest
from docker.errors import APIError, DockerException, ImageNotFound

from nav_eval.cache import get_cache_folder
from support.load import Deadline

ROOT = Path(__file__).resolve().parents[2]
AIRGAP = ROOT / "deploy" / "airgap"
START_SECONDS = 60.0
MOST_BYTES = 25 << 30  #: of old layers, before the folder is begun anew
PARENT_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG
PACKAGES = ("dockerd=docker.io", "docker=docker.io", "debootstrap", "zstd", "iptables", "docker-compose")


class DockerEngine:
    """One dockerd. It ends with the process that started it, however that ends."""

    def __init__(self, data: Path, *, options: Sequence[str] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="nve-"))  # short: a socket's path has 107 characters at most
        self.folder.chmod(0o755)  # like /var/run: workers in containers are not root, and find the socket by its folder
        self.socket = self.folder / "docker.sock"
        self.url = f"unix://{self.socket}"
        self.data = data
        self._options = tuple(options)
        self._process: subprocess.Popen[bytes] | None = None
        self._client: docker.DockerClient | None = None
        self._built: set[str] = set()
        self._has_gvisor = False
        self._settings.write_text("{}")  # not the host's own

    @property
    def _settings(self) -> Path:
        return self.folder / "daemon.json"

    @property
    def client(self) -> docker.DockerClient:
        if self._client is None:
            self._client = docker.DockerClient(base_url=self.url, timeout=120)
        return self._client

    @property
    def environment(self) -> Mapping[str, str]:
        """What the docker command and docker-compose need to talk to this engine."""
        return {**os.environ, "DOCKER_HOST": self.url, "DOCKER_BUILDKIT": "0", "COMPOSE_DOCKER_CLI_BUILD": "0"}

    @property
    def options(self) -> tuple[str, ...]:
        return self._options

    @property
    def log(self) -> str:
        return (self.folder / "log.txt").read_text(errors="replace")

    def start(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        command = [
            "dockerd",
            f"--config-file={self._settings}",
            f"--host={self.url}",
            f"--data-root={self.data}",
            f"--exec-root={self.folder / 'exec'}",
            f"--pidfile={self.folder / 'pid'}",
            "--bridge=none",  # networks of compose files still get bridges of their own
            "--iptables=false",  # what a container may reach is decided by the flags under test, not by the host
            "--ip-masq=false",
            *self._options,
        ]
        with (self.folder / "log.txt").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=_end_with_parent)  # noqa: PLW1509
        self._wait_until_it_answers()

    def stop(self) -> None:
        """Politely: the engine ends its containers and its containerd first."""
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def crash(self) -> None:
        """As by kill -9 or the kernel: containers are not told, and its containerd dies with it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None
        self._client = None
        self._end_containerd()

    def _end_containerd(self) -> None:
        """It dies with its engine, but a moment later: one that starts meanwhile would wait for it."""
        mark = self.folder / "exec" / "containerd" / "containerd.pid"
        with suppress(FileNotFoundError, ProcessLookupError, ValueError):
            containerd = int(mark.read_text())
            os.kill(containerd, signal.SIGKILL)
            while Path(f"/proc/{containerd}/exe").exists():
                time.sleep(0.05)
        mark.unlink(missing_ok=True)

    def start_again(self, *options: str) -> None:
        """After a crash or a stop, with other options."""
        self._options = options
        self.start()

    def close(self) -> None:
        self.stop()
        for namespace in (self.folder / "exec" / "netns").glob("*"):  # the engine leaves them mounted
            subprocess.run(["umount", str(namespace)], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def docker(self, *arguments: str, timeout: float = 600, check: bool = True) -> str:
        """What the docker command says."""
        return self.run(["docker", *arguments], timeout=timeout, check=check)

    def run(
        self,
        command: Sequence[str],
        *,
        timeout: float = 600,
        check: bool = True,
        cwd: Path = ROOT,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """The output of a command that finds this engine in its environment."""
        done = subprocess.run(
            command,
            env={**self.environment, **(environment or {})},
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}")
        return done.stdout

    def build(self, *names: str, timeout: float = 1500) -> None:
        """Make images as `deploy/airgap` does, once per session; what has not changed is taken from the last one.

        With NAV_EVAL_TEST_KEEP_IMAGES=1, images that are there are taken as they are: for working on tests.
        """
        if os.environ.get("NAV_EVAL_TEST_KEEP_IMAGES") == "1":
            names = tuple(name for name in names if not self.has_image(image_tag(name)))
        if missing := [name for name in names if name not in self._built]:
            self.run([str(AIRGAP / "build.sh"), *missing], timeout=timeout)
            self._built.update(missing)

    def add_gvisor(self) -> None:
        """Agents may be run in gVisor from now on. Set up as docs/security.md says, without a restart."""
        if self._has_gvisor:
            return
        self.run([str(ROOT / "deploy" / "gvisor.sh"), str(get_cache_folder() / "gvisor"), str(self._settings)])
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)
        deadline = Deadline(START_SECONDS)
        while "runsc" not in self.client.info()["Runtimes"]:
            assert not deadline.is_over, self.log[-3000:]
            time.sleep(0.05)
        self._has_gvisor = True

    def put_data(self, volume: str, folder: Path) -> None:
        """The files of a folder in a volume, where simulators look for scenes and episodes."""
        target = "/srv/nav-eval/data"
        self.client.volumes.create(volume)
        mount = docker.types.Mount(target=target, source=volume, type="volume")
        helper = self.client.containers.create(image_tag("simulator"), ["true"], network_mode="none", mounts=[mount])
        helper.put_archive(target, packed({file.name: file.read_bytes() for file in folder.iterdir()}))
        helper.remove()

    def clear(self) -> None:
        """Remove what earlier runs may have left: containers, volumes, networks, submissions. Our own images stay."""
        for container in self.client.containers.list(all=True, ignore_removed=True):
            with suppress(APIError):
                container.remove(force=True, v=True)
        for image in self.client.images.list("nav-eval/submission"):
            with suppress(APIError):
                self.client.images.remove(image.id, force=True)
        self.client.networks.prune()
        for volume in self.client.volumes.list():
            with suppress(APIError):
                volume.remove(force=True)

    def has_image(self, name: str) -> bool:
        try:
            self.client.images.get(name)
        except ImageNotFound:
            return False
        return True

    def _wait_until_it_answers(self) -> None:
        deadline = Deadline(START_SECONDS)
        while True:
            try:
                self.client.ping()
                return
            except (DockerException, OSError):
                self._client = None
                if deadline.is_over or self._process is None or self._process.poll() is not None:
                    pytest.fail(f"dockerd did not start:\n{self.log[-3000:]}")
                time.sleep(0.1)


def packed(files: Mapping[str, bytes | str]) -> bytes:
    """A tar of files that anybody may read."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            header = tarfile.TarInfo(name)
            header.size, header.mode = len(data), 0o755
            archive.addfile(header, io.BytesIO(data))
    return buffer.getvalue()


def image_tag(name: str) -> str:
    """How `deploy/airgap/build.sh` calls what it makes."""
    stand_ins = {
        "base": "nav-eval-base:bookworm",
        "haproxy": "haproxy:2.9-alpine",
        "nginx": "nginx:1.27-alpine",
        "postgres": "postgres:16-alpine",
        "redis": "redis:7-alpine",
    }
    return stand_ins.get(name, f"nav-eval-{name}:latest")


def install_engine() -> None:
    """Everything that these tests need from Debian; skipped only where it cannot be installed."""
    if os.geteuid() != 0:
        pytest.skip("a private Docker engine needs root")
    if all(shutil.which(command) for command in ("dockerd", "docker", "debootstrap", "zstd", "iptables")):
        return
    subprocess.run([str(ROOT / "deploy" / "host-packages.sh"), *PACKAGES], check=True)


def _locked(folder: Path) -> IO[bytes]:
    """One engine at a time owns the folder; the next one waits."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _end_with_parent() -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _outgrown(data: Path) -> bool:
    done = subprocess.run(["du", "-sB1", str(data)], capture_output=True, text=True, check=False)
    return bool(done.stdout) and int(done.stdout.split()[0]) > MOST_BYTES


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """A running engine for the whole session, empty but for images."""
    install_engine()
    folder = get_cache_folder() / "engine"
    with _locked(folder):
        if (folder / "data").exists() and _outgrown(folder / "data"):
            shutil.rmtree(folder / "data")
        engine = DockerEngine(folder / "data")
        engine.start()
        try:
            engine.clear()
            yield engine
        finally:
            with suppress(DockerException):
                engine.clear()
            engine.close()
