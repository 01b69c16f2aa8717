"""Does a results.json follow from the lines of its run? All of it is made again and compared, key by key."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

import nav_eval
from nav_eval.evaluation.aggregation import build_report
from nav_eval.evaluation.differences import MISSING, Difference, compare_values
from nav_eval.evaluation.report import encode_report
from nav_eval.evaluation.run_folder import RunManifest, make_header
from nav_eval.records.results import EpisodeOutcome, EpisodeResult, read_document

TIMESTAMP = "timestamp"  #: nothing in a run says when it was
LATER_KEYS = frozenset({"agent"})  #: reports of earlier versions have none
TITLES = {
    "aggregated": "statistics of",
    "scores": "score",
    "counts": "number of",
    "digests": "digest of",
    "groups": "group",
    "failures": "number of failures by",
    "config": "configuration",
}


def compare_report(
    file: Path, manifest: RunManifest, results: Sequence[EpisodeResult], *, partial: bool
) -> Iterator[Difference]:
    """Where a results.json says something else than the lines of its run."""
    if not file.exists():
        if not partial:
            found = "there (--partial accepts a run without its report)"
            yield Difference(where=file.name, what="the report", stated="missing", found=found)
        return
    stated = read_document(file, dict[str, Any])
    found = msgspec.json.decode(encode_report(build_report(results, header=make_header(manifest))))
    stated_lines, found_lines = stated.pop("episodes", []), found.pop("episodes")
    yield from _check_timestamp(file.name, stated.pop(TIMESTAMP, ""), found.pop(TIMESTAMP))
    if manifest.engine_version != nav_eval.__version__:
        for key in LATER_KEYS - stated.keys():
            found.pop(key, None)
    for key in sorted({**stated, **found}):
        title = TITLES.get(key, key)
        yield from compare_values(file.name, title, stated.get(key, MISSING), found.get(key, MISSING))
    yield from _compare_lines(file.name, stated_lines, found_lines)


def _check_timestamp(where: str, stated: object, today: str) -> Iterator[Difference]:
    """Any date may be true, but it is a date."""
    try:
        datetime.fromisoformat(str(stated))
    except ValueError:
        yield Difference(where=where, what=TIMESTAMP, stated=str(stated), found=f"a date, such as {today}")


def _compare_lines(where: str, stated: Any, found: list[dict[str, Any]]) -> Iterator[Difference]:  # noqa: ANN401
    """A report may leave out what only a replay needs; what it shows of an episode is what its line says."""
    lines = {line["episode_id"]: line for line in found}
    named = [line for line in stated if isinstance(line, dict)] if isinstance(stated, list) else []
    shown = {str(line.get("episode_id")): line for line in named}
    if not isinstance(stated, list) or len(shown) != len(stated) or list(shown) != list(lines):
        yield Difference(where=where, what="list of episodes", stated=", ".join(shown), found=", ".join(lines))
    needed = {field.encode_name for field in msgspec.structs.fields(EpisodeOutcome)}
    for name in [name for name in lines if name in shown]:
        line = {key: value for key, value in lines[name].items() if key in needed or key in shown[name]}
        yield from compare_values(where, f"episode {name!r}", shown[name], line)
