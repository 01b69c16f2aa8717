"""From a run's folder to a dataset: chosen episodes, replayed where pictures are wanted, written as they come."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nav_eval.dataset.trajectory import TrajectoryDataset, task_text
from nav_eval.errors import RecordError
from nav_eval.evaluation.export.registry import EXPORTERS, Exported, ExportSetup
from nav_eval.evaluation.trajectories import RunTrajectories

FPS = 10


class OutExists(RecordError):
    """There is something where the dataset should go; give another --out, or remove it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far an export is."""

    episodes: int
    of_episodes: int
    steps: int
    of_steps: int


def export_run(
    run: Path,
    *,
    form: str,
    out: Path,
    where: str | None = None,
    sensors: Sequence[str] | None = None,
    limit: int | None = None,
    fps: int = FPS,
    name: str | None = None,
    cache: Path | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Write a run in another form. `out` appears when it is complete, or not at all."""
    exporter = EXPORTERS.get(form)
    about = RunTrajectories(run)
    chosen = tuple(exporter.sensors(about.benchmark) if sensors is None else sensors)
    source = RunTrajectories(run, sensors=chosen, cache=cache)
    dataset = source.dataset
    dataset = dataset.filter(where) if where else dataset
    dataset = dataset[:limit]
    if not len(dataset):
        raise RecordError(f"{run} has no trajectory to export" + (f" for which {where!r} holds." if where else "."))
    try:
        with _appearing(out) as part:
            setup = ExportSetup(
                out=part,
                name=name or out.name.partition(".")[0],
                benchmark=source.benchmark,
                about={**source.manifest.agent, **source.manifest.digests, "engine": source.manifest.engine_version},
                sensors=chosen,
                fps=fps,
                texts=tuple(sorted({task_text(head) for head in dataset.heads})),
            )
            walk = _Walk(dataset, on_progress)
            exporter.write(setup, walk.episodes())
    finally:
        source.close()
    return walk.progress


class _Walk:
    """The episodes of a dataset, counted as they go by."""

    def __init__(self, dataset: TrajectoryDataset, on_progress: Callable[[Progress], None]) -> None:
        self._dataset = dataset
        self._on_progress = on_progress
        self.progress = Progress(episodes=0, of_episodes=len(dataset), steps=0, of_steps=dataset.steps)

    def episodes(self) -> Iterator[Exported]:
        for index in range(len(self._dataset)):
            trajectory = self._dataset[index]
            yield Exported(trajectory, self._dataset.frames(index))
            self.progress = Progress(
                episodes=index + 1,
                of_episodes=self.progress.of_episodes,
                steps=self.progress.steps + trajectory.length,
                of_steps=self.progress.of_steps,
            )
            self._on_progress(self.progress)


@contextmanager
def _appearing(out: Path) -> Iterator[Path]:
    """A place to write to that becomes `out` when all went well."""
    if out.exists():
        raise OutExists(f"{out} exists already; give another --out, or remove it.")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.part")
    _remove(part)
    try:
        yield part
        part.rename(out)
    except BaseException:
        _remove(part)
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
