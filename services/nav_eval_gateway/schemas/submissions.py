"""Submissions: where they stand, what they scored, and as much of it as somebody may see."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field

from nav_eval_gateway.schemas.base import Answer, Line, Paragraph, Request, make_example
from nav_eval_store.boards.scores import DIFFERENCES
from nav_eval_store.models import BoardEntry, EntryVisibility, Score, Submission, Upload, UploadPurpose
from nav_eval_store.submissions.lifecycle import Owner, SubmissionState
from nav_eval_store.submissions.status import SubmissionStatus
from nav_eval_store.work.jobs import EPISODE_SEED

UPLOADS = "/api/v1/uploads"
MOST_BYTES = 1 << 50
SECRET_FACTS = frozenset({EPISODE_SEED, "run_seed"})
"""Of a submission's provenance: with them one could tell which episode of the test set an agent was in."""


class NewSubmission(Request):
    """An agent that a team wants to have evaluated."""

    model_config = make_example(
        competition="demo",
        phase="dev",
        sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        size=1_843_200_000,
        name="cross-modal attention, v2",
        note="with the larger map",
    )

    competition: Annotated[str, Field(min_length=1, max_length=63)]
    phase: Annotated[str, Field(min_length=1, max_length=63)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Of the archive. An unfinished submission of the same archive is continued instead of a second one."""
    size: Annotated[int, Field(ge=1, le=MOST_BYTES)] | None = None
    """Bytes of the archive; more than the phase allows is refused before anything is uploaded."""
    name: Line = ""
    """How it is called on the board."""
    note: Paragraph = ""
    """For yourselves."""


class CancelReason(Request):
    """Why a submission is cancelled."""

    reason: Paragraph = "cancelled by the team"


class SubmissionProgress(Answer):
    """How far an evaluation is."""

    done: int
    total: int
    """Episodes; 0 until it is queued."""
    failed: int
    """Of those done, by the agent's fault."""
    means: Mapping[str, float | None] | None
    """Of each metric so far, where the phase shows scores."""


class QueueForecast(Answer):
    """When an evaluation is expected to begin and to end."""

    position: int | None
    """Submissions that start before this one."""
    starts_at: datetime | None
    ends_at: datetime | None


class UsageAnswer(Answer):
    """What an evaluation has used so far, in all of its shards."""

    seconds: float
    """Of workers' time."""
    cpu_seconds: float | None = None
    """Of the agent's processors; null where the runtime cannot tell yet."""
    memory_bytes: int | None = None
    """The agent's peak."""

    @classmethod
    def of(cls, status: SubmissionStatus) -> "UsageAnswer":
        seconds, used = status.worked.total_seconds(), status.used
        return cls(seconds=round(seconds, 3), cpu_seconds=used.cpu_seconds, memory_bytes=used.memory_bytes)


class UploadAnswer(Answer):
    """Bytes on their way."""

    id: UUID
    url: str
    """Where tus goes on: HEAD says how many bytes are safe."""
    purpose: UploadPurpose
    length: int | None
    offset: int
    """When it was last written down; HEAD knows better."""
    expires_at: datetime
    finished: bool

    @classmethod
    def of(cls, upload: Upload) -> "UploadAnswer":
        return cls.from_row(upload, url=f"{UPLOADS}/{upload.id}", finished=upload.finished_at is not None)


class BoardPlace(Answer):
    """Whether a completed submission is on the board."""

    visibility: EntryVisibility
    reason: str | None
    """Why it is not shown."""


class SubmissionSummary(Answer):
    """A submission in a list."""

    id: UUID
    competition: str
    phase: str
    team: str
    team_id: UUID
    number: int
    """The team's first, second, … in this phase."""
    name: str
    status: SubmissionState
    since: datetime
    cause: str | None
    created_at: datetime
    finished_at: datetime | None
    rig: str | None = None
    """Which of the benchmark's rigs (cameras and motion) the agent chose; null where there is no choice."""

    @classmethod
    def of(cls, submission: Submission) -> "SubmissionSummary":
        return cls(**_dump_identity(submission))


def _dump_identity(submission: Submission) -> dict[str, Any]:
    return {
        "id": submission.id,
        "competition": submission.phase.competition.name,
        "phase": submission.phase.name,
        "team": submission.team.name,
        "team_id": submission.team_id,
        "number": submission.number,
        "name": submission.title,
        "status": submission.state,
        "since": submission.since,
        "cause": submission.cause,
        "created_at": submission.created_at,
        "finished_at": submission.finished_at,
        "rig": submission.rig,
    }


class SubmissionAnswer(SubmissionSummary):
    """Where a submission stands. To others than its team and the organisers only what the board shows."""

    model_config = make_example(
        id="0b5d7c1e-8f8c-4b4f-9a53-0e6b5f2e9f11",
        competition="demo",
        phase="dev",
        team="Ants",
        team_id="6d2c4c68-7a2f-4a5b-a8d9-4a3f1d1f6c55",
        number=3,
        name="cross-modal attention, v2",
        status="queued",
        since="2026-09-01T12:05:00Z",
        cause=None,
        created_at="2026-09-01T12:00:00Z",
        finished_at=None,
        owner="queue",
        deadline="2026-09-15T12:05:00Z",
        canary={"passed": True, "seconds": 12.5},
        progress={"done": 0, "total": 100, "failed": 0, "means": {}},
        usage={"seconds": 61.5, "cpu_seconds": 140.2, "memory_bytes": 2_400_000_000},
        queue={"position": 2, "starts_at": "2026-09-01T12:20:00Z", "ends_at": "2026-09-01T12:50:00Z"},
    )

    note: str | None = None
    message: str | None = None
    """The cause in a sentence."""
    advice: str | None = None
    """What the team can do next."""
    owner: Owner | None = None
    """Who must act next; null when it has ended."""
    deadline: datetime | None = None
    """When that must have happened."""
    submitted_at: datetime | None = None
    queued_at: datetime | None = None
    started_at: datetime | None = None
    canary: Mapping[str, Any] | None = None
    """The first verdict: the agent was started and tried on one episode."""
    progress: SubmissionProgress | None = None
    usage: UsageAnswer | None = None
    queue: QueueForecast | None = None
    score: float | None = None
    """What ranks, once it is completed."""
    scores: Mapping[str, float | None] | None = None
    """The mean of each metric, once it is completed."""
    board: BoardPlace | None = None
    rerun_of: UUID | None = None
    superseded_by: UUID | None = None
    """An organiser's re-evaluation took its place on the board."""
    image_sha256: str | None = None
    image_bytes: int | None = None
    uploads: list[UploadAnswer] | None = None
    upload_url: str | None = None
    """Where tus creates the upload, as long as one is awaited."""
    provenance: Mapping[str, Any] | None = None
    """Digests and versions behind the score."""

    @classmethod
    def public(cls, submission: Submission, entry: BoardEntry | None, scores: Sequence[Score]) -> "SubmissionAnswer":
        """What the board shows anyway."""
        return cls(**_dump_identity(submission), **_dump_scores(entry, scores))

    @classmethod
    def full(
        cls,
        submission: Submission,
        status: SubmissionStatus,
        *,
        uploads: Sequence[Upload],
        entry: BoardEntry | None,
        scores: Sequence[Score] | None,
        shows_means: bool,
        shows_identities: bool,
        is_organiser: bool = False,
    ) -> "SubmissionAnswer":
        """What its team sees; `scores` is None where the phase keeps them from the team.

        `shows_means` is about those of a run under way, `shows_identities` about the seed that hides which episode is
        which.
        """
        means = status.means if shows_means else None
        awaited = submission.state in (SubmissionState.CREATED, SubmissionState.UPLOADING)
        return cls(
            **_dump_identity(submission),
            note=submission.note,
            message=status.detail,
            advice=status.advice,
            owner=status.owner,
            deadline=status.deadline,
            submitted_at=submission.submitted_at,
            queued_at=submission.queued_at,
            started_at=submission.started_at,
            canary=status.canary,
            progress=SubmissionProgress(
                done=status.episodes_done, total=status.episodes_total, failed=status.episodes_failed, means=means
            ),
            usage=UsageAnswer.of(status),
            queue=QueueForecast(position=status.queue_position, starts_at=status.starts_at, ends_at=status.ends_at),
            board=None if entry is None else BoardPlace(visibility=entry.visibility, reason=entry.reason),
            rerun_of=submission.rerun_of,
            superseded_by=submission.superseded_by,
            image_sha256=_find_digest(submission),
            image_bytes=submission.image_bytes or submission.announced_bytes,
            uploads=[UploadAnswer.of(upload) for upload in uploads],
            upload_url=UPLOADS if awaited else None,
            provenance=_select_facts(submission, shows_identities=shows_identities, is_organiser=is_organiser),
            **({} if scores is None else _dump_scores(entry, scores)),
        )


def _dump_scores(entry: BoardEntry | None, scores: Sequence[Score]) -> dict[str, Any]:
    if entry is None:
        return {}
    return {"score": entry.score, "scores": {score.metric: score.mean for score in scores}}


def _select_facts(submission: Submission, *, shows_identities: bool, is_organiser: bool) -> dict[str, Any]:
    """What stands behind the score, without what belongs to the test set."""
    facts = dict(submission.provenance)
    if not shows_identities:
        facts = {name: fact for name, fact in facts.items() if name not in SECRET_FACTS}
    if not is_organiser:
        facts.pop(DIFFERENCES, None)
    return facts


def _find_digest(submission: Submission) -> str | None:
    if submission.image_digest is not None:
        return submission.image_digest.removeprefix("sha256:")
    return submission.announced_sha256


class EpisodeAnswer(Answer):
    """An episode of a submission. Organisers also get what belongs to the test set."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "episode_id": "ep_12",
                    "status": "completed",
                    "metrics": {"tar": 0.75, "ne": 1.3},
                    "num_steps": 212,
                    "timing": {"total": 8.4},
                    "has_replay": True,
                }
            ]
        },
    )

    episode_id: str
    status: str | None
    """completed, failed or timeout; null is still to be played."""
    metrics: Mapping[str, float | bool | None] = {}
    num_steps: int | None = None
    cause: str | None = None
    detail: str | None = None
    timing: Mapping[str, float] = {}
    has_replay: bool = False
    """Whether `…/episodes/{episode_id}/replay` has something for you."""


class FilmAvailability(StrEnum):
    """Where the film of an episode is."""

    READY = "ready"
    UNASKED = "unasked"
    WAITING = "waiting"
    MAKING = "making"
    FAILED = "failed"


class FilmAnswer(Answer):
    """Whether an episode has a film: map, cameras, goals, beside what the agent did."""

    model_config = make_example(episode_id="ep_12", state="waiting")

    episode_id: str
    state: FilmAvailability
    """`failed` is one that could not be made; ask again later."""


class VideoAnswer(Answer):
    """Whether an episode can be downloaded as a video, and how far it is."""

    model_config = make_example(episode_id="ep_12", state="making", steps_drawn=120, steps_total=500, size=None)

    episode_id: str
    state: FilmAvailability
    """`failed` is one that could not be made; ask again later."""
    steps_drawn: int = 0
    steps_total: int = 0
    """0 while nobody knows."""
    size: int | None = None
    """Bytes, once it is there."""


class ArtifactAnswer(Answer):
    """A file of a submission: a map, a video, a report."""

    name: str
    size: int
    content_type: str
    url: str
