"""Whether the files that a benchmark names are there.

A path that does not exist is wrong, with two exceptions: what is generated when missing, and what
comes from a download that nobody has made yet. The second can only be told for the places where the
well-known datasets go, so these are listed, with where they come from.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nav_eval.config.origin import Layer
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.config.schema.base import did_you_mean
from nav_eval.errors import ConfigError

_SPLIT = r"(train|val_train_seen|val_seen|val_unseen|val|val_mini|minival|test|test_challenge|joint_train_envdrop)"


@dataclass(frozen=True, slots=True)
class Download:
    """A dataset that people get from elsewhere."""

    folder: str  #: where it goes, relative to the working directory
    files: str  #: what the paths inside look like
    what: str


_VLN_CE = "github.com/jacobkrantz/VLN-CE"
_HABITAT_LAB = "github.com/facebookresearch/habitat-lab"
_LH_VLN = "huggingface.co/datasets/Starry123/LHPR-VLN"
_SQA3D = "zenodo.org/record/7792397"

DOWNLOADS = (
    Download("data/datasets/vln/R2R", rf"{_SPLIT}(_gt)?\.json\.gz", f"R2R_VLNCE ({_VLN_CE})"),
    Download("data/datasets/vln/RxR", rf"{_SPLIT}/{_SPLIT}_(guide|follower)(_gt)?\.json\.gz", f"RxR_VLNCE ({_VLN_CE})"),
    Download("data/datasets/objectnav", r".*\.json\.gz", f"Habitat's ObjectNav episodes ({_HABITAT_LAB})"),
    Download("data/datasets/instance_imagenav", r".*\.json\.gz", f"Habitat's ImageNav episodes ({_HABITAT_LAB})"),
    Download("data/datasets/pointnav", r".*\.json\.gz", f"Habitat's PointNav episodes ({_HABITAT_LAB})"),
    Download("data/datasets/lh_vln", r"(episode_task|task)(/.*)?", f"LHPR-VLN ({_LH_VLN})"),
    Download("data/datasets/sqa3d", r"v1_balanced_localization_(train|val|test)_scannetv2\.json", f"SQA3D ({_SQA3D})"),
    Download("data/scene_datasets", r".*", "the scenes of the dataset (HM3D, MP3D, ScanNet, …)"),
)


def check_paths(config: BenchmarkConfig, layer: Layer, *, source: str) -> list[str]:
    """A note for every path that is not there yet; an error for one that is wrong."""
    notes = []
    for key, path in _paths(config):
        if Path(path).exists():
            continue
        where = layer.origin(("dataset", key)) or source
        if config.dataset.generate is not None and key != "gt_path":
            notes.append(f"{source}: dataset.{key}: {path} does not exist yet; it is generated when first used.")
        elif (download := _awaited(path)) is not None:
            notes.append(f"{source}: dataset.{key}: {path} is not there yet; it comes with {download.what}.")
        else:
            raise ConfigError(f"{where}: dataset.{key} = {path} does not exist.{_neighbours(Path(path))}")
    return notes


def _paths(config: BenchmarkConfig) -> Iterator[tuple[str, str]]:
    dataset = config.dataset
    yield from (("data_path", path) for path in dataset.data_paths)
    yield from (("gt_path", path) for path in dataset.gt_paths)
    yield "scene_path", dataset.scene_path


def _awaited(path: str) -> Download | None:
    """The download that would bring `path`, if nothing of it is here."""
    wanted = PurePosixPath(path)
    for download in DOWNLOADS:
        folder = PurePosixPath(download.folder)
        if (wanted == folder or folder in wanted.parents) and not Path(folder).exists():
            inside = str(wanted.relative_to(folder))
            return download if inside == "." or re.fullmatch(download.files, inside) else None
    return None


def _neighbours(path: Path) -> str:
    """What stands beside a file that is not there."""
    if path.parent.is_dir():
        names = sorted(entry.name for entry in path.parent.iterdir())
        return did_you_mean(path.name, names) or f" In {path.parent} there is: {', '.join(names[:8]) or 'nothing'}."
    missing = next(folder for folder in reversed(path.parents) if not folder.exists())
    return f" Not even the folder {missing} exists."
