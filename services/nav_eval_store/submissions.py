"""Submissions: starting one, finding it again, cancelling and repeating it."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import joinedload

from nav_eval_store import audit, quota, teams, transitions
from nav_eval_store.actors import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, NotAllowed, NotFound, PhaseNotOpen
from nav_eval_store.lifecycle import OPEN, JobKind, State
from nav_eval_store.models import Competition, Phase, Submission, Team, TeamKind, TeamStatus, User
from nav_eval_store.paging import Page, follows, page, page_size, position

LONGEST_TITLE = 200


class Archive(NamedTuple):
    """What a team says that it will upload."""

    sha256: str | None = None
    size: int | None = None


def start(
    session: Session,
    phase: Phase,
    team: Team,
    *,
    user: User | None,
    actor: Actor,
    title: str = "",
    note: str = "",
    archive: Archive = Archive(),  # noqa: B008  immutable
) -> Submission:
    """A new submission with its slot of the quota; refused when the phase or the quota says no.

    One that still waits for the same archive is given back instead: a team that was interrupted goes on
    where it was, and pays once.
    """
    team = teams.locked(session, team.id)
    refuse_closed(session, phase)
    _refuse_team(team, phase)
    if (waiting := _waiting_for(session, phase, team, archive)) is not None:
        return waiting
    _refuse_unqualified(session, phase, team)
    quota.refuse_beyond(session, phase, team)
    submission = _add(session, phase, team, user=user, title=title)
    submission.note, submission.announced_sha256, submission.announced_bytes = note, *archive
    quota.reserve(session, submission)
    audit.record(session, actor, "submission.create", audit.about(submission), number=submission.number, title=title)
    return submission


def _waiting_for(session: Session, phase: Phase, team: Team, archive: Archive) -> Submission | None:
    if archive.sha256 is None:
        return None
    query = select(Submission).where(
        Submission.phase_id == phase.id,
        Submission.team_id == team.id,
        Submission.state.in_((State.CREATED, State.UPLOADING)),
        Submission.announced_sha256 == archive.sha256,
    )
    return session.scalar(query.order_by(Submission.created_at).limit(1))


def start_agent(session: Session, phase: Phase, team: Team, agent: str, *, actor: Actor, title: str = "") -> Submission:
    """An organiser's own agent by its address: nothing to upload, no quota, in any state of the phase."""
    team = teams.locked(session, team.id)
    submission = _add(session, phase, team, user=None, title=title, agent=agent)
    audit.record(session, actor, "submission.create", audit.about(submission), number=submission.number, agent=agent)
    begin_validation(session, submission, actor=actor)
    return submission


def _add(
    session: Session,
    phase: Phase,
    team: Team,
    *,
    user: User | None,
    title: str,
    agent: str | None = None,
    priority: int = 0,
) -> Submission:
    """The row. The team is locked, so that its numbers have no gaps and no doubles."""
    newest = select(func.max(Submission.number)).where(Submission.phase_id == phase.id, Submission.team_id == team.id)
    submission = Submission(
        competition_id=phase.competition_id,
        phase_id=phase.id,
        team_id=team.id,
        user_id=user.id if user else None,
        number=(session.scalar(newest) or 0) + 1,
        title=title[:LONGEST_TITLE],
        state=State.CREATED,
        since=session.now(),
        created_at=session.now(),
        agent=agent,
        rules_digest=phase.rules_digest,
        priority=priority,
        phase=phase,
        team=team,
    )
    session.add(submission)
    session.flush()
    return submission


def refuse_closed(session: Session, phase: Phase) -> None:
    """Refuse when the phase takes no submissions now."""
    now = session.now()
    title = phase.config.title or phase.name
    if phase.archived_at is not None:
        raise PhaseNotOpen("The phase {title} is over.", title=title)
    if phase.opens_at is not None and now < phase.opens_at:
        raise PhaseNotOpen(
            "The phase {title} opens at {opens_at:%Y-%m-%d %H:%M} UTC.", title=title, opens_at=phase.opens_at
        )
    if phase.closes_at is not None and now >= phase.closes_at:
        raise PhaseNotOpen(
            "The phase {title} closed at {closes_at:%Y-%m-%d %H:%M} UTC.", title=title, closes_at=phase.closes_at
        )
    if phase.paused_at is not None:
        if not phase.paused_reason:
            raise PhaseNotOpen("The phase {title} is paused; the organiser will say why.", title=title)
        raise PhaseNotOpen("The phase {title} is paused: {reason}.", title=title, reason=phase.paused_reason)


def _refuse_team(team: Team, phase: Phase) -> None:
    if team.competition_id != phase.competition_id:
        raise NotAllowed("The team does not take part in this competition.")
    if team.status is TeamStatus.PENDING:
        raise NotAllowed("The team {name!r} waits for the organiser's approval.", name=team.name)
    if team.status is TeamStatus.DISQUALIFIED:
        raise NotAllowed("The team {name!r} is disqualified: {reason}.", name=team.name, reason=team.reason)


def _refuse_unqualified(session: Session, phase: Phase, team: Team) -> None:
    required = phase.config.requires
    if required is None:
        return
    query = (
        select(Submission.id)
        .join(Submission.phase)
        .where(
            Phase.competition_id == phase.competition_id,
            Phase.name == required,
            Submission.team_id == team.id,
            Submission.state == State.COMPLETED,
        )
    )
    if session.scalar(query.limit(1)) is None:
        raise NotAllowed("Complete a submission in the phase {required!r} first.", required=required)


def begin_validation(session: Session, submission: Submission, *, actor: Actor) -> None:
    """All that it needs is here: a worker checks it next."""
    submission.submitted_at = session.now()
    transitions.move(session, submission, State.VALIDATING, actor=actor)
    transitions.add_job(session, submission, JobKind.VALIDATE)
    session.flush()


def cancel(session: Session, submission_id: UUID, *, actor: Actor, reason: str) -> Submission:
    """End a submission now; one that has ended is left as it is."""
    submission = transitions.locked(session, submission_id)
    if not submission.state.is_final:
        transitions.cancel(session, submission, actor=actor, reason=reason)
    return submission


def rerun(
    session: Session, original_id: UUID, *, actor: Actor, user: User | None = None, by_organiser: bool = False
) -> Submission:
    """The same agent again, as a submission of its own.

    A team's re-run costs a slot like any other. An organiser's costs none, needs no open phase, and takes
    the original's place on the board when it completes.
    """
    original = session.get(Submission, original_id)
    if original is None:
        raise NotFound("There is no such submission, or it is not yours.")
    if original.agent is None and original.image_key is None:
        raise Conflict("It has no image to run again; upload one.")
    if not original.state.is_final:
        raise Conflict("It is still {state}; cancel it first, or wait.", state=original.state)
    phase, team = original.phase, teams.locked(session, original.team_id)
    if not by_organiser:
        refuse_closed(session, phase)
        _refuse_team(team, phase)
        quota.refuse_beyond(session, phase, team)
    again = _add(session, phase, team, user=user, title=original.title, agent=original.agent)
    for name in ("image_key", "image_digest", "image_id", "image_bytes", "weights_key", "weights_digest"):
        setattr(again, name, getattr(original, name))
    again.rerun_of, again.is_reevaluation = original.id, by_organiser
    if not by_organiser:
        quota.reserve(session, again)
    audit.record(session, actor, "submission.rerun", audit.about(again), original=str(original.id))
    begin_validation(session, again, actor=actor)
    return again


def get(session: Session, submission_id: UUID) -> Submission:
    """One submission with its phase and team."""
    query = select(Submission).where(Submission.id == submission_id)
    found = session.scalar(query.options(joinedload(Submission.phase), joinedload(Submission.team)))
    if found is None:
        raise NotFound("There is no such submission, or it is not yours.")
    return found


def listing(
    session: Session,
    *,
    competition: Competition | None = None,
    phase: Phase | None = None,
    team: Team | None = None,
    team_ids: Collection[UUID] | None = None,
    states: Sequence[State] = (),
    after: str | None = None,
    limit: int = 50,
) -> Page[Submission]:
    """Submissions, newest first; of all teams unless `team` or `team_ids` says otherwise."""
    limit = page_size(limit)
    key = (Submission.created_at, Submission.id)
    query = select(Submission).order_by(*(column.desc() for column in key)).limit(limit + 1)
    query = query.options(joinedload(Submission.phase), joinedload(Submission.team))
    if competition is not None:
        query = query.where(Submission.competition_id == competition.id)
    if phase is not None:
        query = query.where(Submission.phase_id == phase.id)
    if team is not None:
        query = query.where(Submission.team_id == team.id)
    if team_ids is not None:
        query = query.where(Submission.team_id.in_(team_ids))
    if states:
        query = query.where(Submission.state.in_(states))
    if (below := position(after, tuple[datetime, UUID])) is not None:
        query = query.where(follows(key, below))
    return page(session.scalars(query).all(), limit, lambda row: (row.created_at, row.id))


def open_submissions(session: Session, phase: Phase | None = None, team: Team | None = None) -> Sequence[Submission]:
    """Those that are not final, oldest first."""
    query = select(Submission).where(Submission.state.in_(OPEN)).order_by(Submission.created_at, Submission.id)
    if phase is not None:
        query = query.where(Submission.phase_id == phase.id)
    if team is not None:
        query = query.where(Submission.team_id == team.id)
    return session.scalars(query).all()


def baselines(session: Session, phase: Phase) -> Sequence[Team]:
    """The rows of the board that no team made, whether or not they have been evaluated."""
    names = {teams.name_key(baseline.name) for baseline in phase.config.baselines}
    rows = session.scalars(select(Team).where(Team.competition_id == phase.competition_id, Team.kind != TeamKind.TEAM))
    return [team for team in rows if team.name_key in names]
