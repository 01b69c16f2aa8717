"""How long things are kept, who holds how much, and the end of what nobody refers to.

Rows decide, blobs follow: when a submission has been over for long enough its row lets go of image, weights or
replays (`release_expired`), and a blob that no row names any more is deleted (`collect_garbage`), after some time
in which somebody may be about to name it. Whoever keeps an upload makes its blob young again and looks, once its row is
written, whether the blob is still there (`upload_handler.finish_upload`); what a row lets go of is deleted in the next
round at the earliest, so that whoever was just copying its name has copied it. So the two never miss each other.

`NAV_EVAL_KEEP_IMAGES_DAYS=365` and so on change the days; 0 keeps for ever.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, func, not_, or_, select, update

from nav_eval_store import blob_keys
from nav_eval_store.blobs import BlobInfo, BlobStore
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import OperatorError
from nav_eval_store.models import AuditEvent, Delivery, EpisodeRow, OutboxEvent, Proof, Submission, Team, Token, Upload
from nav_eval_store.submissions.lifecycle import OPEN, SubmissionState

IMAGES, WEIGHTS, UPLOADS, PROBES = "images", "weights", "uploads", "health"
PER_SUBMISSION = (blob_keys.LOGS, blob_keys.REPLAYS, blob_keys.FILMS, blob_keys.ARTIFACTS)
GRACE = timedelta(hours=24)
"""A blob younger than this is left alone, whoever refers to it."""
BATCH = 500
NOBODY = ("", "")
_ENDED_EARLY = (SubmissionState.CANCELLED, SubmissionState.FAILED)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionPolicy:
    """Days; 0 is for ever."""

    images: int = 365  #: and weights, after a completed submission
    unused_images: int = 7  #: and weights, after one that failed or was cancelled
    replays: int = 730  #: and logs and artifacts, after the submission ended
    films: int = 90  #: after they were made; they can be made again from replays
    audit: int = 1825
    events: int = 14  #: for live pages that come back; never longer
    deliveries: int = 30  #: of webhooks, after they arrived or were given up
    tokens: int = 90  #: after they ended or were revoked; also links that were mailed

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "RetentionPolicy":
        variables = os.environ if environ is None else environ
        names = {field.name: f"NAV_EVAL_KEEP_{field.name.upper()}_DAYS" for field in fields(cls)}
        return cls(**{key: _parse_days(variables, name) for key, name in names.items() if variables.get(name)})


def _parse_days(variables: Mapping[str, str], name: str) -> int:
    if not variables[name].isdecimal():
        raise OperatorError(f"{name} is {variables[name]!r}; it must be a whole number of days, 0 for ever.")
    return int(variables[name])


class Tidied(NamedTuple):
    """What went."""

    rows: int
    blobs: int
    bytes: int


def tidy(database: Database, blobs: BlobStore, policy: RetentionPolicy | None = None) -> Tidied:
    """Everything that is over: the blobs that no row names, then rows; what these let go of is for the next time."""
    kept = policy or RetentionPolicy()
    gone = list(collect_garbage(database, blobs, policy=kept))
    rows = database.run(lambda session: release_expired(session, kept))
    return Tidied(rows, len(gone), sum(blob.size for blob in gone))


def release_expired(session: Session, policy: RetentionPolicy) -> int:
    """Rows that were deleted, or that let go of their blobs."""
    return (
        _release_images(session, policy.images, Submission.state == SubmissionState.COMPLETED)
        + _release_images(session, policy.unused_images, Submission.state.in_(_ENDED_EARLY))
        + _release_replays(session, policy.replays)
        + _delete_old_rows(session, policy)
    )


def _release_images(session: Session, days: int, which: ColumnElement[bool]) -> int:
    if not days:
        return 0
    held = or_(Submission.image_key.is_not(None), Submission.weights_key.is_not(None))
    released = update(Submission).where(which, _make_over_condition(session, days), held)
    released = released.values(image_key=None, weights_key=None)
    return len(session.scalars(released.returning(Submission.id)).all())


def _release_replays(session: Session, days: int) -> int:
    if not days:
        return 0
    over = select(Submission.id).where(_make_over_condition(session, days))
    released = update(EpisodeRow).where(EpisodeRow.submission_id.in_(over), EpisodeRow.replay_key.is_not(None))
    return len(session.scalars(released.values(replay_key=None).returning(EpisodeRow.episode_id)).all())


def _make_over_condition(session: Session, days: int) -> ColumnElement[bool]:
    ended = func.coalesce(Submission.finished_at, Submission.since)
    return and_(Submission.state.not_in(OPEN), ended < session.now() - timedelta(days=days))


def _delete_old_rows(session: Session, policy: RetentionPolicy) -> int:
    done = func.coalesce(Delivery.delivered_at, Delivery.given_up_at)
    ended = func.coalesce(Token.revoked_at, Token.expires_at)
    old = (
        (AuditEvent, AuditEvent.at, policy.audit),
        (OutboxEvent, OutboxEvent.at, policy.events),
        (Delivery, done, policy.deliveries),
        (Token, ended, policy.tokens),
        (Proof, Proof.expires_at, policy.tokens),
    )
    deleted = 0
    for table, moment, days in old:
        if days:
            gone = delete(table).where(moment < session.now() - timedelta(days=days))
            deleted += len(session.scalars(gone.returning(table.id)).all())
    return deleted


def collect_garbage(
    database: Database, blobs: BlobStore, *, policy: RetentionPolicy | None = None, grace: timedelta = GRACE
) -> Iterator[BlobInfo]:
    """Delete blobs that no row names and that are older than `grace`; what was deleted."""
    batch: list[BlobInfo] = []
    for blob in blobs.list():
        batch.append(blob)
        if len(batch) == BATCH:
            yield from _collect(database, blobs, batch, policy=policy or RetentionPolicy(), grace=grace)
            batch = []
    yield from _collect(database, blobs, batch, policy=policy or RetentionPolicy(), grace=grace)


def _collect(
    database: Database, blobs: BlobStore, found: list[BlobInfo], *, policy: RetentionPolicy, grace: timedelta
) -> Iterator[BlobInfo]:
    """References are read in one transaction, after the list; the age is looked at again just before the end."""
    with database.read() as session:
        now = session.now()
        named = _find_named(session, [blob.key for blob in found], policy)
    for blob in found:
        is_film = policy.films > 0 and blob.key.startswith(f"{blob_keys.FILMS}/")
        age = max(grace, timedelta(days=policy.films)) if is_film else grace
        if (is_film or blob.key not in named) and _is_older(blobs, blob.key, now - age):
            blobs.delete(blob.key)
            yield blob


def _is_older(blobs: BlobStore, key: str, moment: datetime) -> bool:
    modified = blobs.find_modified(key)
    return modified is not None and modified < moment


def _find_named(session: Session, keys: Iterable[str], policy: RetentionPolicy) -> set[str]:
    """Those of `keys` that some row still needs, and those that are not ours to judge."""
    by_folder: dict[str, list[str]] = {}
    for key in keys:
        by_folder.setdefault(key.partition("/")[0], []).append(key)
    named: set[str] = set()
    for folder, inside in by_folder.items():
        if folder in (IMAGES, WEIGHTS):
            named |= _find_archives(session, inside)
        elif folder == UPLOADS:
            named |= _find_uploads(session, inside)
        elif folder in PER_SUBMISSION:
            named |= _find_of_submissions(session, inside, 0 if folder == blob_keys.FILMS else policy.replays)
        elif folder != PROBES:
            named.update(inside)
    return named


def _find_archives(session: Session, keys: list[str]) -> set[str]:
    images = select(Submission.image_key).where(Submission.image_key.in_(keys))
    weights = select(Submission.weights_key).where(Submission.weights_key.in_(keys))
    return {key for query in (images, weights) for key in session.scalars(query) if key is not None}


def _find_uploads(session: Session, keys: list[str]) -> set[str]:
    """Bytes that still arrive; an object store has them in parts, `uploads/ID/part-…`."""
    of_key = {key: "/".join(key.split("/")[:2]) for key in keys}
    query = select(Upload.key).where(
        Upload.key.in_(set(of_key.values())), Upload.finished_at.is_(None), Upload.removed_at.is_(None)
    )
    open_ = set(session.scalars(query))
    return {key for key, upload in of_key.items() if upload in open_}


def _find_of_submissions(session: Session, keys: list[str], days: int) -> set[str]:
    owners = {key: _parse_owner(key) for key in keys}
    query = select(Submission.id).where(Submission.id.in_({owner for owner in owners.values() if owner}))
    alive = set(session.scalars(query.where(not_(_make_over_condition(session, days))) if days else query))
    return {key for key, owner in owners.items() if owner is None or owner in alive}


def _parse_owner(key: str) -> UUID | None:
    try:
        return UUID(key.split("/")[1])
    except (IndexError, ValueError):
        return None


class Holding(NamedTuple):
    """Bytes that a team holds, by folder of the blob store."""

    team: str
    competition: str
    bytes: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.bytes.values())


def measure_holdings(database: Database, blobs: BlobStore) -> list[Holding]:
    """Who holds what, the largest first; what nobody holds is under an empty name. A shared image counts for each."""
    with database.read() as session:
        owners = _read_owners(session)
        teams = session.scalars(select(Team)).all()
        names: dict[UUID | None, tuple[str, str]] = {team.id: (team.name, team.competition.name) for team in teams}
    held: dict[UUID | None, Counter[str]] = {}
    for blob in blobs.list():
        folder = blob.key.partition("/")[0]
        holders: Iterable[UUID | None] = owners.get(_find_owner_key(blob.key), (None,))
        for team in holders:
            held.setdefault(team, Counter())[folder] += blob.size
    found = [Holding(*names.get(team, NOBODY), sizes) for team, sizes in held.items()]
    return sorted(found, key=lambda holding: -holding.total)


def _find_owner_key(key: str) -> str:
    """What says whose a blob is: its own key, that of its upload, or its submission's id."""
    parts = key.split("/")
    if parts[0] in PER_SUBMISSION and len(parts) > 1:
        return parts[1]
    return "/".join(parts[:2]) if parts[0] == UPLOADS else key


def _read_owners(session: Session) -> dict[str, set[UUID]]:
    owners: dict[str, set[UUID]] = {}
    rows = session.execute(select(Submission.id, Submission.team_id, Submission.image_key, Submission.weights_key))
    for submission_id, team_id, *keys in rows:
        for key in (str(submission_id), *keys):
            if key is not None:
                owners.setdefault(key, set()).add(team_id)
    unfinished = select(Upload.key, Submission.team_id).join(Upload.submission).where(Upload.finished_at.is_(None))
    for key, team_id in session.execute(unfinished):
        owners.setdefault(key, set()).add(team_id)
    return owners
