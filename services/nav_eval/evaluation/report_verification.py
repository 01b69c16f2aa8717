"""Does a results.json follow from the lines of its run? All of it is made again and compared, key by key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nav_eval.evaluation.aggregation import build_report
from nav_eval.evaluation.report import encode_report
from nav_eval.evaluation.run_folder import EPISODES_FILE, MANIFEST_FILE, RunManifest, make_header
from nav_eval.records.results import EpisodeOutcome, EpisodeResult, read_document

LONGEST_SHOWN = 200  #: characters of a value
UNPROVEN = frozenset({"timestamp"})  #: nothing in a run says when it was
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One thing that is not what the run says."""

    where: str  #: "run", a file, or an episode
    what: str  #: which quantity
    stated: str
    found: str
    step: int | None = None  #: the first step that differs

    def __str__(self) -> str:
        at = "" if self.step is None else f" at step {self.step}"
        return f"{self.where}{at}: {self.what} is {_shorten(self.stated)}, should be {_shorten(self.found)}"


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


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
    for key in UNPROVEN:
        stated.pop(key, None)
        found.pop(key, None)
    for key in LATER_KEYS - stated.keys():
        found.pop(key, None)
    for key in sorted({**stated, **found}):
        title = TITLES.get(key, key)
        yield from _compare_values(file.name, title, stated.get(key, _MISSING), found.get(key, _MISSING))
    yield from _compare_lines(file.name, stated_lines, found_lines)


_MISSING = "missing"


def _compare_values(where: str, what: str, stated: Any, found: Any) -> Iterator[Difference]:  # noqa: ANN401 - JSON
    """The innermost places that differ."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for name in sorted({**stated, **found}):
            yield from _compare_values(where, f"{what} {name}", stated.get(name, _MISSING), found.get(name, _MISSING))
    elif not is_same_value(stated, found):
        yield Difference(where=where, what=what, stated=str(stated), found=str(found))


def is_same_value(stated: object, found: object) -> bool:
    """As JSON would show it: 1, 1.0 and true are three values."""
    return stated == found and type(stated) is type(found)


def find_unknown_keys(run: Path) -> Iterator[Difference]:
    """Keys of run.json and episodes.jsonl that no version of a run has: nothing would ever check what they say."""
    episodes, known = run / EPISODES_FILE, {field.encode_name for field in msgspec.structs.fields(EpisodeResult)}
    for number, line in enumerate(episodes.read_bytes().splitlines() if episodes.exists() else (), start=1):
        for key in msgspec.json.decode(line, type=dict[str, msgspec.Raw]).keys() - known if line.strip() else ():
            yield Difference(where=f"{EPISODES_FILE} line {number}", what=f"key {key}", stated="there", found="none")
    known = {field.encode_name for field in msgspec.structs.fields(RunManifest)}
    for key in read_document(run / MANIFEST_FILE, dict[str, msgspec.Raw]).keys() - known:
        yield Difference(where=MANIFEST_FILE, what=f"key {key}", stated="there", found="none")


def _compare_lines(where: str, stated: Any, found: list[dict[str, Any]]) -> Iterator[Difference]:  # noqa: ANN401
    """A report may leave out what only a replay needs; what it shows of an episode is what its line says."""
    lines = {line["episode_id"]: line for line in found}
    shown = {line.get("episode_id"): line for line in stated if isinstance(line, dict)}
    if len(shown) != len(stated) or set(shown) != set(lines):
        yield Difference(
            where=where, what="list of episodes", stated=", ".join(map(str, shown)), found=", ".join(lines)
        )
    needed = {field.encode_name for field in msgspec.structs.fields(EpisodeOutcome)}
    for name in [name for name in lines if name in shown]:
        line = {key: value for key, value in lines[name].items() if key in needed or key in shown[name]}
        yield from _compare_values(where, f"episode {name!r}", shown[name], line)
