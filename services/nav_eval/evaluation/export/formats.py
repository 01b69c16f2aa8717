"""The built-in formats. Each loads its library when it is used: none of them is needed to evaluate."""

from collections.abc import Iterable

from nav_eval.dataset.trajectory_files import JsonFile
from nav_eval.errors import ConfigError
from nav_eval.evaluation.export.registry import (
    Exported,
    Exporter,
    ExportSetup,
    Write,
    all_cameras,
    colour_cameras,
    no_sensors,
    register_exporter,
)


class LibraryMissing(ConfigError):
    """A format needs a library that is not installed."""


def write_jsonl(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    """A line per trajectory."""
    file = JsonFile(setup.out, as_lines=True)
    try:
        for trajectory, _ in episodes:
            file.write(trajectory)
    finally:
        file.close()


def write_hdf5(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    """One file, as robomimic reads it."""
    from nav_eval.dataset.trajectory_hdf5 import Hdf5File

    file = Hdf5File(setup.out, vectors=setup.vectors, about=setup.benchmark.name)
    try:
        successes = []
        for number, (trajectory, frames) in enumerate(episodes):
            file.write(trajectory, frames)
            successes += [number] if trajectory.success else []
        file.mask("success", successes)
    finally:
        file.close()


def write_lerobot_v3(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    from nav_eval.evaluation.export.lerobot.v3 import write

    write(setup, episodes)


def write_lerobot_v21(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    from nav_eval.evaluation.export.lerobot.v21 import write

    write(setup, episodes)


def write_minari(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    from nav_eval.evaluation.export.minari_dataset import write

    write(setup, episodes)


def write_rrd(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    from nav_eval.evaluation.export.rerun_recording import write

    write(setup, episodes)


def _needing(extra: str, write: Write) -> Write:
    """A missing library is said with the command that installs it."""

    def checked(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
        try:
            write(setup, episodes)
        except ModuleNotFoundError as error:
            raise LibraryMissing(
                f"This format needs {error.name}, which is not installed: pip install 'nav-eval[{extra}]'."
            ) from error

    return checked


register_exporter("jsonl", Exporter(write=write_jsonl, sensors=no_sensors))
register_exporter("hdf5", Exporter(write=_needing("export", write_hdf5), sensors=all_cameras))
register_exporter("lerobot-v3", Exporter(write=_needing("export", write_lerobot_v3), sensors=colour_cameras))
register_exporter("lerobot-v2.1", Exporter(write=_needing("export", write_lerobot_v21), sensors=colour_cameras))
register_exporter("minari", Exporter(write=_needing("export", write_minari), sensors=colour_cameras))
register_exporter("rrd", Exporter(write=_needing("rerun", write_rrd), sensors=colour_cameras))
