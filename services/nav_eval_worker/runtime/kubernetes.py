"""Agents in pods: one pod per shard, with the team's container and a simulator of ours, in a namespace that is closed.

The worker needs no engine and no privilege: it may make, watch and delete pods in that one namespace. An upload is
written anew and pushed to a registry of the site, and nodes pull it by digest. What each line of a pod is for:
`pods.spec`; everything of a run carries its label, so that whatever a killed worker leaves is found by the next one.
"""

import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

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
    make_replay_order,
    make_shard_order,
)
from nav_eval_worker.runtime.containers.spec import OBSERVATIONS, ORDER, ORDER_FILE, RPC, SIMULATOR_HOME
from nav_eval_worker.runtime.pods import spec
from nav_eval_worker.runtime.pods.cluster import Cluster, KubernetesSettings
from nav_eval_worker.runtime.pods.pair import PodPair
from nav_eval_worker.runtime.pods.registry import REPOSITORY, RegistryClient, RegistryImages
from nav_eval_worker.runtime.prepared_episodes import PreparedEpisodes

PREPARE_SECONDS = 3600.0
CACHE = Path(SIMULATOR_HOME) / "cache"


class KubernetesRuntime(Runtime):
    """One namespace of a cluster."""

    name = "kubernetes"

    def __init__(self, folder: Path, *, settings: KubernetesSettings | None = None) -> None:
        """`folder` is for uploads while they are checked, and remembers which scenes are prepared."""
        self._settings = settings or KubernetesSettings.from_environment()
        self._folder = folder
        self._cluster = Cluster(self._settings)
        self._registry = RegistryClient(self._settings.registry, REPOSITORY, login=self._settings.login)
        self._images = RegistryImages(self._registry, folder / "images")

    def check(self) -> None:
        self._cluster.pods(spec.make_labels(self._settings), limit=1)
        self._registry.check()

    def find(self, image_id: str) -> AgentImage | None:
        return self._images.find(image_id)

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits = IMAGE_LIMITS) -> AgentImage:
        return self._images.admit(archive, limits=limits)

    def find_weights(self, digest: str) -> Weights | None:
        return self._images.find_weights(digest)

    def admit_weights(
        self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits = WEIGHTS_LIMITS
    ) -> Weights:
        return self._images.admit_weights(archive, digest=digest, limits=limits)

    @contextmanager
    def run(self, work: ShardWork) -> Iterator[Pair]:
        order = pack_order(_order(work))
        with ExitStack() as stack:
            stack.callback(self._remove, work.run)
            self._prepare(work, order)
            image, volumes = self._image(work)
            pod = spec.make_shard_pod(work, self._settings, image=image, volumes=volumes, size=len(order))
            pair = PodPair(self._cluster, spec.make_name(work, "shard"), log_limit=work.limits.log_kb << 10)
            stack.callback(pair.stop)
            self._cluster.create(pod)
            pair.begin(order, patience=self._settings.start_seconds, has_agent=image is not None)
            yield pair

    @contextmanager
    def replay(self, work: ReplayWork) -> Iterator[Simulation]:
        order = pack_order(_replay_order(work), folder=work.folder)
        with ExitStack() as stack:
            stack.callback(self._remove, work.run)
            simulation = PodPair(self._cluster, spec.make_name(work, "replay"))
            stack.callback(simulation.stop)
            self._cluster.create(spec.make_replay_pod(work, self._settings, size=len(order)))
            simulation.begin(order, patience=self._settings.start_seconds, has_agent=False)
            yield simulation

    def sweep(self, is_active: Callable[[str], bool]) -> int:
        """Pods alone: what the registry keeps, and for how long, is the site's affair."""
        found = self._cluster.pods(spec.make_labels(self._settings))
        runs = {pod["metadata"]["labels"].get(spec.RUN_LABEL, "") for pod in found} - {""}
        dead = [run for run in sorted(runs) if not is_active(run)]
        for run in dead:
            self._remove(run)
        return len(dead)

    def _image(self, work: ShardWork) -> tuple[str | None, tuple[str, ...]]:
        """What nodes pull for the agent, and the paths that it may want to write to."""
        if work.image is None:
            return None, ()
        digest = self._images.with_weights(work.image, work.weights) if work.weights else work.image.handle
        return f"{self._settings.pulled_from}/{REPOSITORY}@{digest}", self._images.volumes(work.image)

    def _prepare(self, work: ShardWork, order: bytes) -> None:
        """Make what these episodes' scenes need, once: beside an agent nothing may be written for others."""
        prepared = PreparedEpisodes(self._folder / "prepared")
        if not self._settings.prepared or prepared.has_all(work):
            return
        pair = PodPair(self._cluster, spec.make_name(work, "prepare"))
        self._cluster.create(spec.make_preparation_pod(work, self._settings, size=len(order)))
        try:
            pair.begin(order, patience=self._settings.start_seconds, has_agent=False)
            if pair.wait(PREPARE_SECONDS) != 0:
                said = pair.simulator_log().decode(errors="replace")
                raise RuntimeUnavailable(f"Preparing the scenes failed: {said}")
        finally:
            pair.stop()
        prepared.add(work)

    def _remove(self, run: str) -> None:
        """Every pod of a run. What cannot be removed now is found by the next sweep."""
        with suppress(RuntimeUnavailable):
            for pod in self._cluster.pods(spec.make_labels(self._settings, run=run)):
                self._cluster.delete(pod["metadata"]["name"])


def pack_order(order: bytes, *, folder: Path | None = None) -> bytes:
    """An order, and a run that goes with it, as the simulator's container unpacks it."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for file in sorted(folder.iterdir()) if folder is not None else ():  # not the folder: it is the cluster's
            archive.add(file, arcname=file.name, filter=_make_readable)
        header = tarfile.TarInfo(ORDER_FILE)
        header.size, header.mode = len(order), 0o444
        archive.addfile(header, io.BytesIO(order))
    return target.getvalue()


def _make_readable(header: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if not (header.isfile() or header.isdir()):
        return None
    header.mode = 0o755 if header.isdir() else 0o644
    return header


def _order(work: ShardWork) -> bytes:
    socket, memory = Path(RPC) / SOCKET_NAME, Path(OBSERVATIONS)
    return msgspec.json.encode(make_shard_order(work, socket=socket, cache=CACHE, shared_memory_dir=memory))


def _replay_order(work: ReplayWork) -> bytes:
    return msgspec.json.encode(make_replay_order(work, run=Path(ORDER), cache=CACHE))
