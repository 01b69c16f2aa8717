"""Agents in containers: strangers' images, each in a container of its own beside a simulator of ours.

The worker alone holds the engine's socket. An upload is written anew before the engine sees it and is run by id;
agent and simulator share two small memories and nothing else; everything of a run carries its label, so that
whatever a killed worker leaves is found and removed by the next one. What each flag is for: `containers.spec`;
what was tried against it: docs/security.md.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import msgspec
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from requests.exceptions import RequestException

from nav_eval_worker.archives import IMAGE_LIMITS, WEIGHTS_LIMITS, ArchiveLimits
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import (
    SOCKET_NAME,
    AgentImage,
    Pair,
    ReplayWork,
    Runtime,
    RuntimeUnavailable,
    ShardWork,
    Simulation,
    Weights,
    Work,
    make_replay_order,
    make_shard_order,
)
from nav_eval_worker.runtime.containers import controls, spec, volumes
from nav_eval_worker.runtime.containers.engine import (
    DockerSettings,
    check_isolation,
    connect,
    translate_engine_errors,
)
from nav_eval_worker.runtime.containers.image_cache import ImageCache
from nav_eval_worker.runtime.containers.pair import DockerPair
from nav_eval_worker.runtime.containers.probe import find_missing_walls
from nav_eval_worker.runtime.prepared_episodes import PreparedEpisodes

PREPARE_SECONDS = 3600.0
EVICT_SECONDS = 600.0
"""Between two looks at the images, which ask the engine about every one."""
CACHE = Path(spec.SIMULATOR_HOME) / "cache"
Filters = dict[str, str | list[str] | bool]


class DockerRuntime(Runtime):
    """One engine, on this host or another."""

    name = "docker"

    def __init__(self, folder: Path, *, settings: DockerSettings | None = None) -> None:
        """`folder` keeps notes about images, and uploads while they are checked."""
        self._settings = settings or DockerSettings.from_environment()
        self._client = connect()
        self._folder = folder
        self._evict_at = 0.0
        self.images = ImageCache(
            self._client, folder / "images", limit=int(self._settings.image_cache_gb * 1_000_000_000)
        )
        self.weights = volumes.WeightsCache(
            self._client,
            folder / "weights",
            helper_image=self._settings.simulator_image,
            limit=int(self._settings.weights_cache_gb * 1_000_000_000),
        )

    def check(self) -> None:
        with translate_engine_errors():
            self._client.ping()
            self._client.images.get(self._settings.simulator_image)
        check_isolation(self._client)

    def probe(self) -> None:
        if missing := find_missing_walls(self._client, self._settings):
            raise RuntimeUnavailable(
                f"A probe cell on this engine has no {', no '.join(missing)}: strangers' code is not run there. "
                "See docs/security.md, `Which engine`."
            )

    def find(self, image_id: str) -> AgentImage | None:
        return self.images.find(image_id)

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits = IMAGE_LIMITS) -> AgentImage:
        return self.images.admit(archive, limits=limits)

    def find_weights(self, digest: str) -> Weights | None:
        return self.weights.find(digest)

    def admit_weights(
        self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits = WEIGHTS_LIMITS
    ) -> Weights:
        return self.weights.admit(archive, digest=digest, limits=limits)

    @contextmanager
    def run(self, work: ShardWork) -> Iterator[Pair]:
        with ExitStack() as stack:
            stack.callback(self._remove, work.run)
            pair = DockerPair(streams=stack.enter_context(_open_streams()), log_limit=work.limits.log_kb << 10)
            stack.callback(pair.stop)
            with translate_engine_errors():
                self._make_volumes(work)
                self._prepare(work)
                simulator = self._create_simulator(work)
                pair.listen_to_simulator(simulator)
            if work.image is not None:
                self._start_agent(work, work.image, pair)
            with translate_engine_errors():
                simulator.start()
            yield pair

    @contextmanager
    def replay(self, work: ReplayWork) -> Iterator[Simulation]:
        with ExitStack() as stack:
            stack.callback(self._remove, work.run)
            simulation = DockerPair(streams=stack.enter_context(_open_streams()))
            stack.callback(simulation.stop)
            with translate_engine_errors():
                self._make_order_volume(work)
                container = self._create(work, spec.make_replayer(work, self._settings), _replay_order(work))
                volumes.put_folder(container, spec.ORDER, work.folder, scratch=self._folder)
                simulation.listen_to_simulator(container)
                container.start()
            yield simulation

    def sweep(self, is_active: Callable[[str], bool]) -> int:
        with translate_engine_errors():
            dead = [run for run in self._runs() if not is_active(run)]
        removed = sum(self._remove(run) for run in dead)
        if time.monotonic() > self._evict_at:
            self._evict_at = time.monotonic() + EVICT_SECONDS
            with translate_engine_errors():
                self.images.evict()
                self.weights.evict()
        return removed

    def _make_volumes(self, work: ShardWork) -> None:
        for part, options in spec.list_shared_volumes(work, self._settings).items():
            mark = spec.make_labels(work, self._settings, part)
            volumes.make_memory(self._client, spec.make_name(work, part), options=options, labels=mark)
        self._make_order_volume(work)

    def _make_order_volume(self, work: Work) -> None:
        mark = spec.make_labels(work, self._settings, "order")
        self._client.volumes.create(spec.make_name(work, "order"), labels=mark)

    def _create_simulator(self, work: ShardWork, *, prepares: bool = False) -> Container:
        return self._create(work, spec.make_simulator(work, self._settings, prepares=prepares), _order(work))

    def _create(self, work: Work, options: Mapping[str, Any], order: bytes) -> Container:
        container = self._client.containers.create(self._settings.simulator_image, **options)
        volumes.put_file(container, spec.ORDER, spec.ORDER_FILE, order)
        return container

    def _start_agent(self, work: ShardWork, image: AgentImage, pair: DockerPair) -> None:
        note = self.images.note(image.id)
        options = spec.make_agent(work, self._settings, volumes=note.volumes if note else ())
        control = spec.make_agent(work, self._settings, volumes=(), part="control")
        with controls.blame_start(lambda: controls.can_start(self._client, self._settings.simulator_image, control)):
            container = self._client.containers.create(image.handle, **options)
            pair.listen_to_agent(container)
            container.start()

    def _prepare(self, work: ShardWork) -> None:
        """Make what these episodes' scenes need, once per host: beside an agent nothing may be written for others."""
        prepared = PreparedEpisodes(self._folder / "prepared")
        if prepared.has_all(work):
            return
        container = self._create_simulator(work, prepares=True)
        try:
            container.start()
            code = container.wait(timeout=PREPARE_SECONDS)["StatusCode"]
            if code:
                raise RuntimeUnavailable(
                    f"Preparing the scenes failed: {container.logs(tail=20).decode(errors='replace')}"
                )
        finally:
            container.remove(force=True, v=True)
        prepared.add(work)

    def _runs(self) -> list[str]:
        """Every run of this site that has anything on the engine."""
        ours_alone: Filters = {"label": [spec.RUN_LABEL, f"{spec.SITE_LABEL}={self._settings.site}"]}
        found = {
            c.labels[spec.RUN_LABEL]
            for c in self._client.containers.list(all=True, filters=ours_alone, ignore_removed=True)
        }
        found |= {v.attrs["Labels"][spec.RUN_LABEL] for v in self._client.volumes.list(filters=ours_alone)}
        return sorted(found)

    def _remove(self, run: str) -> bool:
        """Everything of a run; False if something is left. What cannot be removed now is found by the next sweep.

        After a crash, an engine with live-restore counts mounts that are not there: those volumes, empty by
        then, can be removed only when it has been started once more.
        """
        of_run: Filters = {"label": f"{spec.RUN_LABEL}={run}"}
        try:
            for container in self._client.containers.list(all=True, filters=of_run, ignore_removed=True):
                with suppress(APIError):
                    container.remove(force=True, v=True)
            for volume in self._client.volumes.list(filters=of_run):
                with suppress(APIError, NotFound):
                    volume.remove(force=True)
            return run not in self._runs()
        except (DockerException, RequestException):
            return False


def _order(work: ShardWork) -> bytes:
    socket, memory = Path(spec.RPC) / SOCKET_NAME, Path(spec.OBSERVATIONS)
    return msgspec.json.encode(make_shard_order(work, socket=socket, cache=CACHE, shared_memory_dir=memory))


def _replay_order(work: ReplayWork) -> bytes:
    return msgspec.json.encode(make_replay_order(work, run=Path(spec.ORDER), cache=CACHE))


@contextmanager
def _open_streams() -> Iterator[docker.APIClient]:
    """A connection for what lasts as long as the run."""
    client = connect(timeout=None)
    try:
        yield client.api
    finally:
        client.close()
