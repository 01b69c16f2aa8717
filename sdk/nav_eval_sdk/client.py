"""A challenge's server, from a team's point of view: submit, watch, read logs and boards.

The paths are documented in docs/sdk.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nav_eval_sdk.http_client import HttpClient, ServerError, Unreachable
from nav_eval_sdk.upload import Upload

API = "/api/v1"
FINAL = ("completed", "failed", "cancelled")
RECONNECTS = 8  #: in a row without an event


@dataclass(frozen=True)
class SubmissionEvent:
    """Something that happened to a submission."""

    kind: str  #: status, progress, episode, log or done
    data: dict[str, Any]
    event_id: str = ""


@dataclass(frozen=True)
class Submission:
    """How a submission stands."""

    submission_id: str
    status: str  #: created, uploading, validating, queued, running, scoring, completed, failed or cancelled
    document: dict[str, Any] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        return self.status in FINAL


class ChallengeClient:
    """One server, one team."""

    def __init__(self, server: str, token: str = "", *, pause: float = 1.0) -> None:
        self._http = HttpClient(server, token)
        self._pause = pause

    def who_am_i(self) -> dict[str, Any]:
        team: dict[str, Any] = self._http.json("GET", f"{API}/me")
        return team

    def create_submission(
        self, *, competition: str, phase: str, sha256: str, size: int, name: str = "", note: str = ""
    ) -> Submission:
        """Reserve a place: it counts against the quota until it is refused or refunded."""
        document = {
            "competition": competition,
            "phase": phase,
            "sha256": sha256,
            "size": size,
            "name": name,
            "note": note,
        }
        return _parse_submission(self._http.json("POST", f"{API}/submissions", document))

    def upload(
        self,
        submission: Submission,
        archive: Path,
        *,
        sha256: str,
        memory: Path | None = None,
        notice: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Send the image; goes on where an earlier attempt stopped."""
        metadata = {"submission_id": submission.submission_id, "filename": archive.name, "sha256": sha256}
        endpoint = str(submission.document.get("upload_url") or f"{API}/uploads")
        Upload(self._http, archive, metadata=metadata, memory=memory).run(endpoint, notice=notice)

    def submission(self, submission_id: str) -> Submission:
        return _parse_submission(self._http.json("GET", f"{API}/submissions/{quote(submission_id, safe='')}"))

    def logs(self, submission_id: str, *, episode: str | None = None) -> Iterator[str]:
        """The agent's log, as far as the phase shows it."""
        query = f"?episode={quote(episode, safe='')}" if episode else ""
        path = f"{API}/submissions/{quote(submission_id, safe='')}/logs{query}"
        with self._http.open("GET", path) as response:
            for line in response:
                yield line.decode(errors="replace").rstrip("\n")

    def leaderboard(self, competition: str, phase: str) -> dict[str, Any]:
        path = f"{API}/competitions/{quote(competition, safe='')}/phases/{quote(phase, safe='')}/leaderboard"
        board: dict[str, Any] = self._http.json("GET", path)
        return board

    def events(self, submission_id: str) -> Iterator[SubmissionEvent]:
        """What happens from now on, until the submission is final. Survives broken connections."""
        path = f"{API}/submissions/{quote(submission_id, safe='')}/events"
        last, failures = "", 0
        while failures <= RECONNECTS:
            try:
                for event in self._listen(path, last):
                    last, failures = event.event_id or last, 0
                    yield event
                    if event.kind == "done":
                        return
                if self.submission(submission_id).is_final:
                    return
            except (Unreachable, OSError):
                pass
            except ServerError as error:
                if error.status < 500:
                    raise
            failures += 1
            time.sleep(min(self._pause * 2**failures, 30.0))
        raise Unreachable(f"{self._http.server} does not answer any more; the submission goes on without you.")

    def _listen(self, path: str, last: str) -> Iterator[SubmissionEvent]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        with self._http.open("GET", path, headers=headers) as response:
            yield from parse_events(line.decode(errors="replace") for line in response)


def parse_events(lines: Iterator[str]) -> Iterator[SubmissionEvent]:
    """Server-sent events, as the HTML standard has them."""
    kind, data, identity = "message", [], ""  # type: str, list[str], str
    for raw in lines:
        line = raw.rstrip("\r\n")
        if not line:
            if data:
                yield SubmissionEvent(kind, _parse_object("\n".join(data)), identity)
            kind, data = "message", []
            continue
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            kind = value
        elif name == "data":
            data.append(value)
        elif name == "id":
            identity = value


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"text": value}


def _parse_submission(document: dict[str, Any]) -> Submission:
    return Submission(str(document["id"]), str(document["status"]), document)
