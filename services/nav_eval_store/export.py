"""A whole competition in files that need no server: what was asked, who took part, every number behind the boards.

    competition.json               the configuration, as applied
    phases/<phase>/board.{json,csv}
    teams.jsonl, submissions.jsonl, ledger.jsonl, audit.jsonl
    episodes/<submission>.jsonl    as `nav-eval score` and `nav-eval verify` read them

For organisers: it holds what the test set's owner keeps private, but no e-mail address and no secret.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import select

from nav_eval_store import boards, tables
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.lifecycle import State
from nav_eval_store.models import AuditEvent, Base, Competition, EpisodeRow, LedgerEntry, Phase, Submission, Team
from nav_eval_store.viewing import ORGANISER

BATCH = 500


class ExportFile(NamedTuple):
    """One file; its bytes come while they are read from the database."""

    path: str
    chunks: Iterable[bytes]


def export_competition(
    session: Session, competition: Competition, blobs: BlobStore | None = None
) -> Iterator[ExportFile]:
    """All files, one after the other; read each before the next. With `blobs`, episodes come with their actions."""
    yield ExportFile("competition.json", [_json(competition.settings)])
    for phase in competition.phases:
        yield from _phase(session, phase)
    here = competition.id
    yield ExportFile("teams.jsonl", _rows(session, Team, Team.competition_id == here))
    yield ExportFile("submissions.jsonl", _rows(session, Submission, Submission.competition_id == here))
    phases = [phase.id for phase in competition.phases]
    yield ExportFile("ledger.jsonl", _rows(session, LedgerEntry, LedgerEntry.phase_id.in_(phases)))
    yield ExportFile("audit.jsonl", _rows(session, AuditEvent, AuditEvent.competition_id == here))
    for submission in _completed(session, competition):
        yield ExportFile(f"episodes/{submission.id}.jsonl", _episodes(session, submission, blobs))


def _phase(session: Session, phase: Phase) -> Iterator[ExportFile]:
    board = boards.leaderboard(session, phase, ORGANISER)
    yield ExportFile(f"phases/{phase.name}/board.json", [_json(tables.board_json(board))])
    yield ExportFile(f"phases/{phase.name}/board.csv", [tables.board_csv(board).encode()])


def _json(document: Any) -> bytes:  # noqa: ANN401
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _rows(session: Session, model: type[Base], which: Any) -> Iterator[bytes]:  # noqa: ANN401
    table = Base.metadata.tables[model.__tablename__]
    query = select(table).where(which).order_by(*table.primary_key.columns).execution_options(yield_per=BATCH)
    for row in session.execute(query):
        yield msgspec.json.encode(dict(row._mapping)) + b"\n"


def _completed(session: Session, competition: Competition) -> Sequence[Submission]:
    query = select(Submission).where(Submission.competition_id == competition.id, Submission.state == State.COMPLETED)
    return session.scalars(query.order_by(Submission.created_at, Submission.id)).all()


def _episodes(session: Session, submission: Submission, blobs: BlobStore | None) -> Iterator[bytes]:
    query = (
        select(EpisodeRow.outcome, EpisodeRow.replay_key)
        .where(EpisodeRow.submission_id == submission.id, EpisodeRow.outcome.is_not(None))
        .order_by(EpisodeRow.position)
        .execution_options(yield_per=BATCH)
    )
    for outcome, replay_key in session.execute(query):
        whole = _blob(blobs, replay_key)
        yield (whole.rstrip(b"\n") if whole is not None else (outcome or "").encode()) + b"\n"


def _blob(blobs: BlobStore | None, key: str | None) -> bytes | None:
    if blobs is None or key is None:
        return None
    try:
        return blobs.get(key)
    except NotFound:
        return None
