"""A whole competition in files that need no server: what was asked, who took part, every number behind the boards.

    competition.json               the configuration, as applied
    phases/<phase>/board.{json,csv}
    teams.jsonl, submissions.jsonl, ledger.jsonl, audit.jsonl
    episodes/<submission>.jsonl    as `nav-eval score` and `nav-eval verify` read them

For organisers: it holds what the test set's owner keeps private, but no e-mail address and no secret.

`export_public_results` is what anybody may take away: boards that are public and, where a phase shows its episodes to
the public, the quantities that every score is made of.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from sqlalchemy import select

from nav_eval_store.blobs import BlobStore
from nav_eval_store.boards import leaderboard
from nav_eval_store.competitions.visibility import ORGANISER, Audience, may_see, may_see_submission
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import AuditEvent, Base, Competition, EpisodeRow, LedgerEntry, Phase, Submission, Team
from nav_eval_store.submissions import queries
from nav_eval_store.submissions.lifecycle import SubmissionState

BATCH = 500


class ExportFile(NamedTuple):
    """One file; its bytes come while they are read from the database."""

    path: str
    chunks: Iterable[bytes]


def export_competition(
    session: Session, competition: Competition, blobs: BlobStore | None = None
) -> Iterator[ExportFile]:
    """All files, one after the other; read each before the next. With `blobs`, episodes come with their actions."""
    yield ExportFile("competition.json", [_encode_json(competition.settings)])
    for phase in competition.phases:
        yield from _export_phase(session, phase)
    here = competition.id
    yield ExportFile("teams.jsonl", _export_rows(session, Team, Team.competition_id == here))
    yield ExportFile("submissions.jsonl", _export_rows(session, Submission, Submission.competition_id == here))
    phases = [phase.id for phase in competition.phases]
    yield ExportFile("ledger.jsonl", _export_rows(session, LedgerEntry, LedgerEntry.phase_id.in_(phases)))
    yield ExportFile("audit.jsonl", _export_rows(session, AuditEvent, AuditEvent.competition_id == here))
    for submission in _list_completed(session, competition):
        yield ExportFile(f"episodes/{submission.id}.jsonl", export_episode_lines(session, submission.id, blobs))


def export_public_results(session: Session, competition: Competition) -> Iterator[ExportFile]:
    """What anybody needs to compute the public boards again, and nothing that a phase keeps to itself."""
    shown = [phase for phase in competition.phases if may_see(phase, "scores", Audience.PUBLIC)]
    yield ExportFile("README.md", [_format_readme(competition, shown)])
    yield ExportFile("competition.json", [_encode_json(_make_public_settings(competition, shown))])
    for phase in shown:
        board = leaderboard.build_board(session, phase)
        yield ExportFile(f"phases/{phase.name}/board.json", [_encode_json(asdict(board))])
        yield ExportFile(f"phases/{phase.name}/board.csv", [leaderboard.format_board_csv(board).encode()])
        if may_see(phase, "episodes", Audience.PUBLIC):
            scenes: dict[str, str] = {}
            for row in board.rows:
                submission = queries.get_submission(session, row.submission_id)
                if not may_see_submission(submission, "episodes", Audience.PUBLIC):
                    continue
                path = f"phases/{phase.name}/episodes/{row.submission_id}.jsonl"
                yield ExportFile(path, _export_public_episodes(session, row.submission_id, scenes))


def _make_public_settings(competition: Competition, shown: Sequence[Phase]) -> dict[str, Any]:
    return {
        "name": competition.name,
        "title": competition.title,
        "phases": [
            {
                "name": phase.name,
                "benchmark": phase.config.benchmark,
                "rules_digest": phase.rules_digest,
                "columns": phase.metrics,
                "ranking": {**phase.ranking, "keep": phase.config.ranking.keep},
                "board_version": phase.board_version,
            }
            for phase in shown
        ],
    }


def _format_readme(competition: Competition, shown: Sequence[Phase]) -> bytes:
    with_episodes = [phase.name for phase in shown if may_see(phase, "episodes", Audience.PUBLIC)]
    told = ", ".join(with_episodes) or "none of the phases"
    return f"""# {competition.title}: results

`phases/PHASE/board.csv` and `board.json` are the leaderboards as everybody sees them.
Episodes are public in: {told}. There, every number of the board can be computed again with `pip install nav-eval`:

    nav-eval score phases/PHASE/episodes/SUBMISSION.jsonl --task lh_vln    # from the raw quantities (LH-VLN)
    nav-eval report phases/PHASE/episodes/SUBMISSION.jsonl                 # means and intervals, any task
    nav-eval compare phases/PHASE/episodes/ONE.jsonl phases/PHASE/episodes/OTHER.jsonl

What a privileged baseline did is not here: it walks to the goals.
Scenes have neutral names: which scene an episode plays in belongs to the test set, which episodes share one does not.
""".encode()


PUBLIC = ("episode_id", "status", "metrics", "num_steps", "cause", "timing", "subtasks")
"""Of a line: what a score is made of. Instructions, places and paths are the test set's; messages are the team's."""


def _export_public_episodes(session: Session, submission_id: UUID, scenes: dict[str, str]) -> Iterator[bytes]:
    """The lines of a submission; `scenes` are the neutral names that were given so far."""
    for line in queries.read_result_lines(session, submission_id):
        fields = msgspec.json.decode(line)
        shown = {key: fields[key] for key in PUBLIC if key in fields}
        if fields.get("scene_id") is not None:
            shown["scene_id"] = scenes.setdefault(fields["scene_id"], f"scene_{len(scenes) + 1}")
        yield msgspec.json.encode(shown) + b"\n"


def _export_phase(session: Session, phase: Phase) -> Iterator[ExportFile]:
    board = leaderboard.build_board(session, phase, ORGANISER)
    yield ExportFile(f"phases/{phase.name}/board.json", [_encode_json(asdict(board))])
    yield ExportFile(f"phases/{phase.name}/board.csv", [leaderboard.format_board_csv(board).encode()])


def _encode_json(document: Any) -> bytes:  # noqa: ANN401
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _export_rows(session: Session, model: type[Base], which: Any) -> Iterator[bytes]:  # noqa: ANN401
    table = Base.metadata.tables[model.__tablename__]
    query = select(table).where(which).order_by(*table.primary_key.columns).execution_options(yield_per=BATCH)
    for row in session.execute(query):
        yield msgspec.json.encode(dict(row._mapping)) + b"\n"


def _list_completed(session: Session, competition: Competition) -> Sequence[Submission]:
    query = select(Submission).where(
        Submission.competition_id == competition.id, Submission.state == SubmissionState.COMPLETED
    )
    return session.scalars(query.order_by(Submission.created_at, Submission.id)).all()


def export_episode_lines(session: Session, submission_id: UUID, blobs: BlobStore | None) -> Iterator[bytes]:
    """A submission's episodes.jsonl in the order of the plan; with `blobs`, with trajectories and actions."""
    query = (
        select(EpisodeRow.outcome, EpisodeRow.replay_key)
        .where(EpisodeRow.submission_id == submission_id, EpisodeRow.outcome.is_not(None))
        .order_by(EpisodeRow.position)
        .execution_options(yield_per=BATCH)
    )
    for outcome, replay_key in session.execute(query):
        whole = _read_blob(blobs, replay_key)
        yield (whole.rstrip(b"\n") if whole is not None else (outcome or "").encode()) + b"\n"


def _read_blob(blobs: BlobStore | None, key: str | None) -> bytes | None:
    if blobs is None or key is None:
        return None
    try:
        return blobs.get(key)
    except NotFound:
        return None
