"""`submit` and `watch`: from an image on this machine to a verdict, with a bar to look at."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from nav_eval_sdk.client import ChallengeClient, Submission
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.http_client import get_cache_dir

WIDTH = 30
PAUSE = 0.1  #: seconds between two drawings


class ProgressBar:
    """How far something is, of how much."""

    def __init__(self, title: str, total: float, *, unit: str = "", out: TextIO | None = None) -> None:
        self._title = title
        self._total = total
        self._unit = unit
        self._out = out or sys.stderr
        self._started = time.monotonic()
        self._drawn = 0.0
        self._shown = self._out.isatty()
        self._tenth = 0

    def update(self, done: float, note: str = "") -> None:
        now = time.monotonic()
        if not self._shown:
            self._write_line(done, note)
        elif now - self._drawn >= PAUSE or done >= self._total:
            self._drawn = now
            self._out.write(f"\r{self.line(done, note)}\x1b[K")
            self._out.flush()

    def _write_line(self, done: float, note: str) -> None:
        """Into a file: a line for every tenth, without a bar; nothing for what is done at once."""
        tenth = int(10 * done / self._total) if self._total else 10
        if tenth > self._tenth and self._total >= 1:
            self._tenth = tenth
            amount = f"{done:,.0f} of {self._total:,.0f}{self._unit and ' ' + self._unit}"
            self._out.write(f"{self._title}: {amount}{note and ', ' + note}\n")
            self._out.flush()

    def line(self, done: float, note: str = "") -> str:
        share = min(1.0, done / self._total) if self._total else 1.0
        bar = "█" * int(share * WIDTH) + "░" * (WIDTH - int(share * WIDTH))
        left = self._left(share)
        amount = f"{done:,.0f}/{self._total:,.0f}{self._unit and ' ' + self._unit}"
        return f"{self._title} {bar} {share:4.0%} {amount}{left}{note and '  ' + note}"

    def close(self) -> None:
        if self._shown:
            self._out.write("\n")
            self._out.flush()

    def _left(self, share: float) -> str:
        if not 0.0 < share < 1.0:
            return ""
        seconds = (time.monotonic() - self._started) * (1 - share) / share
        return f"  {seconds // 60:.0f}:{seconds % 60:02.0f} left"


BLOCK = 1 << 20
LONGEST_NAME = 200  #: that a server takes


def submit(
    client: ChallengeClient, what: str, *, competition: str, phase: str, name: str = "", note: str = ""
) -> Submission:
    """Submit an image of this machine, or an archive that `docker save` wrote."""
    with open_archive(what) as archive:
        size = archive.stat().st_size
        digest = hash_archive(archive)
        submission = client.create_submission(
            competition=competition,
            phase=phase,
            sha256=digest,
            size=size,
            name=name or Path(what).name[:LONGEST_NAME],
            note=note,
        )
        print(f"Submission {submission.submission_id}", file=sys.stderr)
        bar = ProgressBar("Uploading", size / 1e6, unit="MB")
        client.upload(
            submission,
            archive,
            sha256=digest,
            memory=get_cache_dir() / "uploads.json",
            notice=lambda done: bar.update(done / 1e6),
        )
        bar.close()
    return submission


def watch(client: ChallengeClient, submission_id: str) -> Submission:
    """Say what happens until nothing more does."""
    bar: ProgressBar | None = None
    said = ""
    for event in client.events(submission_id):
        if event.kind == "status" and event.data.get("status") != said:
            said = str(event.data.get("status"))
            print(f"{said}{_format_position(event.data)}", file=sys.stderr)
        elif event.kind == "progress":
            done, total = float(event.data.get("done", 0)), float(event.data.get("total", 0))
            bar = bar or ProgressBar("Evaluating", total, unit="episodes")
            bar.update(done, str(event.data.get("note", "")))
        elif event.kind == "canary":
            print(_format_canary(event.data), file=sys.stderr)
        elif event.kind == "log":
            print(event.data.get("text", ""), file=sys.stderr)
    if bar is not None:
        bar.close()
    return client.submission(submission_id)


def format_verdict(submission: Submission) -> str:
    """The end of a submission, in a sentence or two."""
    document = submission.document
    if submission.status == "completed":
        scores = document.get("scores") or {}
        return "completed: " + ", ".join(f"{name} {_format_number(value)}" for name, value in scores.items())
    head = ": ".join(str(part) for part in (submission.status, document.get("cause")) if part)
    told = " ".join(_end_sentence(str(part)) for part in (document.get("message"), document.get("advice")) if part)
    return f"{head}: {told}" if told else head


def _end_sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _format_number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _format_canary(data: dict[str, Any]) -> str:
    """The agent was started and tried on one episode."""
    if data.get("passed"):
        seconds = data.get("seconds")
        return f"the agent answers{f' ({seconds:g} s)' if isinstance(seconds, (int, float)) else ''}"
    return f"the agent does not answer: {data.get('detail') or data.get('cause') or ''}"


@contextmanager
def open_archive(what: str) -> Iterator[Path]:
    """The archive itself, or the image of that name as one, for as long as it is needed."""
    if Path(what).is_file():
        check_archive(Path(what))
        yield Path(what)
        return
    docker = shutil.which("docker") or shutil.which("podman")
    is_path = what.endswith(ARCHIVE_SUFFIXES) or what.startswith((".", "/", "~"))
    if Path(what).is_dir() and (is_path or docker is None):
        raise SdkError(_describe_folder(what))
    if is_path:
        raise SdkError(f"There is no file {what}; write one with `docker save --output {Path(what).name} IMAGE`.")
    if docker is None:
        raise SdkError(
            f"{what!r} is no file here, so it must be an image, and there is no docker or podman to save it with: "
            "install one of them, or give the archive that `docker save` wrote elsewhere."
        )
    with tempfile.TemporaryDirectory(prefix="nav-eval-") as scratch:
        archive = Path(scratch) / "image.tar"
        print(f"Saving {what} …", file=sys.stderr)
        done = subprocess.run(  # noqa: S603
            [docker, "save", "--output", str(archive), what], capture_output=True, text=True, check=False
        )
        if done.returncode and Path(what).is_dir():  # a project and its image often have the same name
            raise SdkError(_describe_folder(what))
        if done.returncode:
            raise SdkError(f"docker cannot save {what!r}: {done.stderr.strip()[-500:]}")
        yield archive


def _describe_folder(what: str) -> str:
    return (
        f"{what} is a folder. Build an image of it and submit that by its name; where agents run without Docker, "
        f"`nav-eval-sdk pack {what} --out image.tar` makes an archive."
    )


ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".zip")
INDEXES = {"manifest.json", "index.json", "oci-layout"}


def check_archive(file: Path) -> None:
    """Refuse what cannot be an image before anything is uploaded; zstd archives are left to the server."""
    with file.open("rb") as stream:
        if stream.read(4) == b"\x28\xb5\x2f\xfd":
            return
    try:
        with tarfile.open(file) as archive:
            names = {name[2:] if name.startswith("./") else name for name in archive.getnames()}
    except (tarfile.TarError, EOFError, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(" :(")  # the lines below it list every compression there is
        raise SdkError(
            f"{file} is no archive of an image ({reason}); write it with `docker save --output {file.name}`."
        ) from error
    if not INDEXES & names:
        raise SdkError(
            f"{file} is an archive without an image in it (no manifest.json): `docker save IMAGE` writes one, "
            "`docker export` and `tar` of a folder do not."
        )


def hash_archive(file: Path) -> str:
    digest, done = hashlib.sha256(), 0
    bar = ProgressBar("Reading", file.stat().st_size / 1e6, unit="MB")
    with file.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
            done += len(block)
            bar.update(done / 1e6)
    bar.close()
    return digest.hexdigest()


def _format_position(data: dict[str, object]) -> str:
    return f" (number {data['position']} in the queue)" if data.get("position") else ""
