"""The files of a run, to be made better than they are."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nav_eval.evaluation.aggregation import build_report
from nav_eval.evaluation.report import encode_report
from nav_eval.evaluation.run_folder import RunFolder, make_header
from support.paths import TESTS

FORMER = TESTS / "data" / "run_0_1_0"
Json = dict[str, Any]


class Run:
    """The files of a run, to be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: Json = json.loads((folder / "run.json").read_text())
        self.report: Json | None = json.loads((folder / "results.json").read_text())
        self.lines: list[Json] = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]

    def write(self) -> None:
        (self.folder / "run.json").write_text(json.dumps(self.manifest))
        (self.folder / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        (self.folder / "results.json").unlink()
        if self.report is not None:
            (self.folder / "results.json").write_text(json.dumps(self.report))


def copy_run(task: str, tmp_path: Path) -> Run:
    return Run(shutil.copytree(FORMER / task, tmp_path / "run"))


def set_report(*keys: str, to: Any) -> Callable[[Run], None]:
    def forge(run: Run) -> None:
        place = run.report
        for key in keys[:-1]:
            assert place is not None
            place = place[key]
        assert place is not None
        assert keys[-1] not in place or repr(place[keys[-1]]) != repr(to), "this changes nothing"
        place[keys[-1]] = to

    return forge


def set_line(*keys: str | int, to: Any) -> Callable[[Run], None]:
    def forge(run: Run) -> None:
        place: Any = run.lines[1]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return forge


def set_shown_line(*keys: str, to: Any) -> Callable[[Run], None]:
    def forge(run: Run) -> None:
        assert run.report is not None
        place = next(line for line in run.report["episodes"] if line["episode_id"] == "b")
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return forge


def set_manifest(*keys: str, to: Any) -> Callable[[Run], None]:
    def forge(run: Run) -> None:
        place = run.manifest
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return forge


def rebuild_report(forge: Callable[[Run], None]) -> Callable[[Run], None]:
    """A forger who knows how a report is made: it follows from the forged lines."""

    def forge_all(run: Run) -> None:
        forge(run)
        run.write()
        folder = RunFolder(run.folder)
        run.report = json.loads(encode_report(build_report(folder.results(), header=make_header(folder.manifest()))))

    return forge_all
