"""A private engine with our images on it, the room of the other tests in a volume, and agents made of a few lines."""

import io
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.config.schema.competition import LimitsConfig
from nav_eval_worker.runtime.base import AgentImage, ShardWork
from nav_eval_worker.runtime.containers.engine import DockerSettings
from nav_eval_worker.runtime.docker import DockerRuntime
from support.engine import DockerEngine, docker_engine, packed

__all__ = ["docker_engine"]
collect_ignore = ["agents"]

LIMITS = LimitsConfig(memory_gb=0.4, cpus=1.0, shm_gb=0.05, pids=64, log_kb=16, start_seconds=60, step_seconds=20)


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.docker)


@pytest.fixture(scope="session")
def engine(docker_engine: DockerEngine) -> DockerEngine:
    docker_engine.build("simulator", "agent")
    return docker_engine


@pytest.fixture(scope="session")
def room_volume(engine: DockerEngine, room_data: Path) -> str:
    """The room on the engine, as an organiser's data would be."""
    engine.put_data("test-room", room_data)
    return "test-room"


@pytest.fixture
def in_container(room_benchmark: Callable[..., BenchmarkConfig]) -> Callable[..., BenchmarkConfig]:
    """The room's benchmark with the paths that a simulator sees."""

    def make(*overrides: str, name: str = "demo_vln") -> BenchmarkConfig:
        place = ["dataset.data_path=data/val.json.gz", "dataset.scene_path=data"]
        return room_benchmark(name, *place, *overrides)

    return make


@pytest.fixture
def settings(room_volume: str) -> DockerSettings:
    return DockerSettings(
        site=f"test-{uuid.uuid4().hex[:8]}",
        data=room_volume,
        prepared="test-prepared",
        simulator_memory_gb=2.0,
        scratch_mb=64,
    )


@pytest.fixture(scope="session")
def prepared(engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Which scenes are ready in the volume that all tests share: preparing them once is enough."""
    return tmp_path_factory.mktemp("prepared")


@pytest.fixture
def runtime(
    engine: DockerEngine, settings: DockerSettings, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DockerRuntime]:
    monkeypatch.setenv("DOCKER_HOST", engine.url)
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "prepared").symlink_to(prepared)
    runtime = DockerRuntime(tmp_path / "runtime", settings=settings)
    yield runtime
    runtime.sweep(lambda run: False)


@pytest.fixture
def built(engine: DockerEngine) -> Iterator[Callable[..., str]]:
    """Build an image from the example agent and some files; gone after the test."""
    tags: list[str] = []

    def build(dockerfile: str, **files: str) -> str:
        tag = f"test/agent-{uuid.uuid4().hex[:8]}:latest"
        context = packed({"Dockerfile": f"FROM nav-eval-agent:latest\n{dockerfile}", **files})
        engine.client.images.build(
            fileobj=io.BytesIO(context), custom_context=True, tag=tag, network_mode="none", rm=True
        )
        tags.append(tag)
        return tag

    yield build
    for tag in tags:
        engine.client.images.remove(tag, force=True)


@pytest.fixture
def admitted(
    engine: DockerEngine, runtime: DockerRuntime, built: Callable[..., str], tmp_path: Path
) -> Callable[[str], AgentImage]:
    """An agent by its Python source, uploaded as a team would."""

    def admit(source: str, dockerfile: str = "") -> AgentImage:
        tag = built(f"COPY agent.py /agent/agent.py\n{dockerfile}", **{"agent.py": source})
        archive = tmp_path / f"{uuid.uuid4().hex}.tar"
        with archive.open("wb") as file:
            for chunk in engine.client.images.get(tag).save(named=tag):
                file.write(chunk)
        return runtime.admit(archive)

    return admit


@pytest.fixture
def work(tmp_path: Path, in_container: Callable[..., BenchmarkConfig]) -> Callable[..., ShardWork]:
    def make(
        image: AgentImage | None, *, episodes: tuple[str, ...] = ("a",), limits: LimitsConfig = LIMITS, **more: object
    ) -> ShardWork:
        run = uuid.uuid4().hex
        folder = tmp_path / run
        folder.mkdir()
        more.setdefault("benchmark", in_container("evaluation.max_steps=12"))
        return ShardWork(
            run=run, worker="tester", image=image, episode_ids=episodes, limits=limits, folder=folder, **more
        )

    return make
