"""Whether a configuration can be used: what pydantic objects to, in sentences that name the place, the value and
what is allowed; and whether the files that a benchmark names are there.

A path that does not exist is wrong, with two exceptions: what is generated when missing, and what
comes from a download that nobody has made yet. The second can only be told for the places where the
well-known datasets go, so these are listed, with where they come from.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from nav_eval.config.layers import ConfigLayer, KeyPath, format_key_path, format_value
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.errors import ConfigError
from nav_eval.suggestions import suggest_close_match

Context = Mapping[str, Any]
_NOWHERE = object()

_PHRASES: dict[str, Callable[[Context], str]] = {
    "int_type": lambda _: "must be a whole number",
    "int_from_float": lambda _: "must be a whole number",
    "float_type": lambda _: "must be a number",
    "bool_type": lambda _: "must be true or false",
    "string_type": lambda _: "must be a text",
    "greater_than": lambda ctx: f"must be greater than {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"must be at least {ctx['ge']:g}",
    "less_than": lambda ctx: f"must be less than {ctx['lt']:g}",
    "less_than_equal": lambda ctx: f"must be at most {ctx['le']:g}",
    "finite_number": lambda _: "must be a finite number",
    "literal_error": lambda ctx: f"must be {_format_choices(ctx['expected'])}",
    "tuple_type": lambda _: "must be a list",
    "list_type": lambda _: "must be a list",
    "too_short": lambda ctx: f"must have at least {ctx['min_length']} {_format_entries(ctx['min_length'])}",
    "too_long": lambda ctx: f"must have at most {ctx['max_length']} {_format_entries(ctx['max_length'])}",
    "dict_type": lambda _: "must be a mapping (indented `key: value` lines)",
    "model_type": lambda _: "must be a mapping (indented `key: value` lines)",
    "model_attributes_type": lambda _: "must be a mapping (indented `key: value` lines)",
    "string_too_short": lambda _: "must not be empty",
    "string_too_long": lambda ctx: f"must have at most {ctx['max_length']} characters",
    "string_pattern_mismatch": lambda ctx: f"has characters that are not allowed; it must match {ctx['pattern']}",
    "union_tag_invalid": lambda ctx: f"has {ctx['discriminator']} {ctx['tag']!r}; it must be {ctx['expected_tags']}",
    "union_tag_not_found": lambda ctx: f"needs a {ctx['discriminator']}",
    "timezone_aware": lambda _: "needs a time zone, e.g. 2026-09-01T00:00:00Z",
    "datetime_type": lambda _: "must be a date and time, e.g. 2026-09-01T00:00:00Z",
    "datetime_parsing": lambda _: "must be a date and time, e.g. 2026-09-01T00:00:00Z",
    "datetime_from_date_parsing": lambda _: "must be a date and time, e.g. 2026-09-01T00:00:00Z",
}


def describe_errors(error: ValidationError, layer: ConfigLayer, *, kind: str, source: str) -> str:
    """Every objection, each once: one sentence, or a list with a heading."""
    sentences: dict[KeyPath, list[str]] = {}
    for entry in error.errors(include_url=False):
        if _is_consequence(entry):
            continue
        path = _find_key_path(entry, layer)
        phrase = _describe_problem(entry)
        if phrase not in sentences.setdefault(path, []):
            sentences[path].append(phrase)
    lines = [
        f"{layer.origin(path) or source}: {_describe_subject(path, layer, kind, phrases[0])}{', or '.join(phrases)}"
        for path, phrases in sentences.items()
    ]
    finished = [line if line.endswith((".", "?")) else f"{line}." for line in lines]
    if len(finished) == 1:
        return finished[0]
    return f"{source} has {len(finished)} problems:\n" + "\n".join(f"  {line}" for line in finished)


def _is_consequence(entry: ErrorDetails) -> bool:
    """A list counts as too short for pydantic when its entries are wrong, which is said already."""
    return entry["type"] == "too_short" and bool(len(entry["input"]) >= entry["ctx"]["min_length"])


def _describe_problem(entry: ErrorDetails) -> str:
    context = entry.get("ctx", {})
    if entry["type"] == "missing":
        return "is missing" if isinstance(entry["loc"][-1], str) else f"needs entry number {entry['loc'][-1] + 1}"
    if entry["type"] in _PHRASES:
        phrase = _PHRASES[entry["type"]](context)
        return phrase + _suggest_fix(entry)
    message: str = entry["msg"]
    return message


def _suggest_fix(entry: ErrorDetails) -> str:
    value = entry["input"]
    if entry["type"] == "string_type" and isinstance(value, int | float) and not isinstance(value, bool):
        return f'; put it in quotes: "{value}"'
    if entry["type"] == "literal_error" and isinstance(value, str):
        choices = entry["ctx"]["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        return f".{hint}" if (hint := suggest_close_match(value, choices)) else ""
    return ""


def _find_key_path(entry: ErrorDetails, layer: ConfigLayer) -> KeyPath:
    """Pydantic's location without the union tags in it, which are no keys of the file."""
    path: list[str | int] = []
    node: object = layer.tree
    for part in entry["loc"]:
        if (child := _get_child(node, part)) is not _NOWHERE:
            path.append(part)
            node = child
    if entry["type"] == "missing" and isinstance(entry["loc"][-1], str):
        path.append(entry["loc"][-1])
    if entry["type"] == "unknown_key":
        path.append(entry["ctx"]["key"])
    return tuple(path)


def _describe_subject(path: KeyPath, layer: ConfigLayer, kind: str, phrase: str) -> str:
    if not path:
        return f"the {kind} "
    if phrase.startswith("unknown key"):
        return f"{format_key_path(path)}: "
    node: object = layer.tree
    for part in path:
        node = _get_child(node, part)
    return (
        f"{format_key_path(path)} "
        if node is _NOWHERE or isinstance(node, dict)
        else f"{format_key_path(path)} = {format_value(node)} "
    )


def _get_child(node: object, part: str | int) -> object:
    if isinstance(node, dict):
        return node.get(part, _NOWHERE)
    if isinstance(node, list) and isinstance(part, int) and part < len(node):
        return node[part]
    return _NOWHERE


def _format_choices(expected: str) -> str:
    return expected if " or " not in expected else f"one of {expected}"


def _format_entries(count: int) -> str:
    return "entry" if count == 1 else "entries"


_SPLIT = r"(train|val_train_seen|val_seen|val_unseen|val|val_mini|minival|test|test_challenge|joint_train_envdrop)"


@dataclass(frozen=True, slots=True)
class DatasetDownload:
    """A dataset that people get from elsewhere."""

    folder: str  #: where it goes, relative to the working directory
    files: str  #: what the paths inside look like
    what: str


_VLN_CE = "github.com/jacobkrantz/VLN-CE"
_HABITAT_LAB = "github.com/facebookresearch/habitat-lab"
_LH_VLN = "huggingface.co/datasets/Starry123/LHPR-VLN"
_SQA3D = "zenodo.org/record/7792397"

DOWNLOADS = (
    DatasetDownload("data/datasets/vln/R2R", rf"{_SPLIT}(_gt)?\.json\.gz", f"R2R_VLNCE ({_VLN_CE})"),
    DatasetDownload(
        "data/datasets/vln/RxR", rf"{_SPLIT}/{_SPLIT}_(guide|follower)(_gt)?\.json\.gz", f"RxR_VLNCE ({_VLN_CE})"
    ),
    DatasetDownload("data/datasets/objectnav", r".*\.json\.gz", f"Habitat's ObjectNav episodes ({_HABITAT_LAB})"),
    DatasetDownload(
        "data/datasets/instance_imagenav", r".*\.json\.gz", f"Habitat's ImageNav episodes ({_HABITAT_LAB})"
    ),
    DatasetDownload("data/datasets/pointnav", r".*\.json\.gz", f"Habitat's PointNav episodes ({_HABITAT_LAB})"),
    DatasetDownload("data/datasets/lh_vln", r"(episode_task|task)(/.*)?", f"LHPR-VLN ({_LH_VLN})"),
    DatasetDownload(
        "data/datasets/sqa3d",
        r"v1_balanced_(localization|questions|sqa_annotations)_(train|val|test)_scannetv2\.json",
        f"SQA3D ({_SQA3D})",
    ),
    DatasetDownload("data/scene_datasets", r".*", "the scenes of the dataset (HM3D, MP3D, ScanNet, …)"),
)


def check_paths(config: BenchmarkConfig, layer: ConfigLayer, *, source: str) -> list[str]:
    """A note for every path that is not there yet; an error for one that is wrong."""
    notes = []
    for key, path in _list_paths(config):
        if Path(path).exists():
            continue
        where = layer.origin(("dataset", key)) or source
        if config.dataset.generate is not None and key != "gt_path":
            notes.append(f"{source}: dataset.{key}: {path} does not exist yet; it is generated when first used.")
        elif (download := _find_download(path)) is not None:
            notes.append(f"{source}: dataset.{key}: {path} is not there yet; it comes with {download.what}.")
        else:
            raise ConfigError(f"{where}: dataset.{key} = {path} does not exist.{_describe_neighbours(Path(path))}")
    return notes


def _list_paths(config: BenchmarkConfig) -> Iterator[tuple[str, str]]:
    dataset = config.dataset
    yield from (("data_path", path) for path in dataset.data_paths)
    yield from (("gt_path", path) for path in dataset.gt_paths)
    yield "scene_path", dataset.scene_path


def _find_download(path: str) -> DatasetDownload | None:
    """The download that would bring `path`, if nothing of it is here."""
    wanted = PurePosixPath(path)
    for download in DOWNLOADS:
        folder = PurePosixPath(download.folder)
        if (wanted == folder or folder in wanted.parents) and not Path(folder).exists():
            inside = str(wanted.relative_to(folder))
            return download if inside == "." or re.fullmatch(download.files, inside) else None
    return None


def _describe_neighbours(path: Path) -> str:
    """What stands beside a file that is not there."""
    if path.parent.is_dir():
        names = sorted(entry.name for entry in path.parent.iterdir())
        return (
            suggest_close_match(path.name, names) or f" In {path.parent} there is: {', '.join(names[:8]) or 'nothing'}."
        )
    missing = next(folder for folder in reversed(path.parents) if not folder.exists())
    return f" Not even the folder {missing} exists."
