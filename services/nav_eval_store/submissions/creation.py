"""Submissions: starting one, cancelling and repeating it."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, NotAllowed, NotFound, PhaseNotOpen
from nav_eval_store.models import (
    BoardEntry,
    EntryVisibility,
    Phase,
    QuotaShare,
    Submission,
    Team,
    TeamMember,
    TeamStatus,
    User,
)
from nav_eval_store.people import addresses, teams
from nav_eval_store.submissions.lifecycle import JobKind, SubmissionState
from nav_eval_store.submissions.quota import refuse_beyond, reserve
from nav_eval_store.submissions.transitions import add_job, cancel_submission, lock_submission, move_to_state

LONGEST_TITLE = 200


class Archive(NamedTuple):
    """What a team says that it will upload."""

    sha256: str | None = None
    size: int | None = None


def start_submission(
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
    team = teams.lock_team(session, team.id)
    refuse_closed(session, phase)
    _refuse_team(session, team, phase)
    addresses.refuse_ineligible_team(session, team, user=user)
    if (waiting := _find_waiting(session, phase, team, archive)) is not None:
        return waiting
    _refuse_unqualified(session, phase, team)
    refuse_beyond(session, phase, team)
    submission = _add(session, phase, team, user=user, title=title)
    submission.note, submission.announced_sha256, submission.announced_bytes = note, *archive
    reserve(session, submission)
    audit.record(
        session, actor, "submission.create", audit.make_subject(submission), number=submission.number, title=title
    )
    return submission


def _find_waiting(session: Session, phase: Phase, team: Team, archive: Archive) -> Submission | None:
    if archive.sha256 is None:
        return None
    query = select(Submission).where(
        Submission.phase_id == phase.id,
        Submission.team_id == team.id,
        Submission.state.in_((SubmissionState.CREATED, SubmissionState.UPLOADING)),
        Submission.announced_sha256 == archive.sha256,
    )
    return session.scalar(query.order_by(Submission.created_at).limit(1))


def start_agent_submission(
    session: Session, phase: Phase, team: Team, agent: str, *, actor: Actor, title: str = ""
) -> Submission:
    """An organiser's own agent by its address: nothing to upload, no quota, in any state of the phase."""
    team = teams.lock_team(session, team.id)
    submission = _add(session, phase, team, user=None, title=title, agent=agent)
    audit.record(
        session, actor, "submission.create", audit.make_subject(submission), number=submission.number, agent=agent
    )
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
        state=SubmissionState.CREATED,
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


def _refuse_team(session: Session, team: Team, phase: Phase) -> None:
    if team.competition_id != phase.competition_id:
        raise NotAllowed("The team does not take part in this competition.")
    if team.status is TeamStatus.PENDING:
        raise NotAllowed("The team {name!r} is awaiting the organiser's approval.", name=team.name)
    if team.status is TeamStatus.DISQUALIFIED:
        raise NotAllowed("The team {name!r} is disqualified: {reason}.", name=team.name, reason=team.reason)
    _refuse_disqualified_people(session, team)


def _refuse_disqualified_people(session: Session, team: Team) -> None:
    """A disqualification goes with those who submitted in the team, so that nobody founds another one and goes on."""
    query = (
        select(User.name, Team.name)
        .join(TeamMember, TeamMember.user_id == User.id)
        .join(QuotaShare, QuotaShare.user_id == User.id)
        .join(Submission, Submission.id == QuotaShare.submission_id)
        .join(Team, Team.id == Submission.team_id)
        .where(
            TeamMember.team_id == team.id,
            Team.competition_id == team.competition_id,
            Team.status == TeamStatus.DISQUALIFIED,
        )
        .order_by(User.name)
    )
    if (found := session.execute(query.limit(1)).first()) is not None:
        raise NotAllowed(
            "{person} took part in the disqualified team {team!r}, so this team may not submit; "
            "ask the organiser to reinstate that team, or let {person} leave this one.",
            person=found[0],
            team=found[1],
        )


def _refuse_unqualified(session: Session, phase: Phase, team: Team) -> None:
    required = phase.config.requires
    if required is None:
        return
    query = (
        select(Submission.id)
        .join(Submission.phase)
        .join(BoardEntry, BoardEntry.submission_id == Submission.id)
        .where(
            Phase.competition_id == phase.competition_id,
            Phase.name == required,
            Submission.team_id == team.id,
            Submission.state == SubmissionState.COMPLETED,
            BoardEntry.visibility.not_in((EntryVisibility.HELD, EntryVisibility.DISQUALIFIED)),
        )
    )
    if session.scalar(query.limit(1)) is None:
        raise NotAllowed("Complete a submission in the phase {required!r} first.", required=required)


def begin_validation(session: Session, submission: Submission, *, actor: Actor) -> None:
    """All that it needs is here: a worker checks it next."""
    submission.submitted_at = session.now()
    move_to_state(session, submission, SubmissionState.VALIDATING, actor=actor)
    add_job(session, submission, JobKind.VALIDATE)
    session.flush()


def cancel_open_submission(session: Session, submission_id: UUID, *, actor: Actor, reason: str) -> Submission:
    """End a submission now; one that has ended is left as it is."""
    submission = lock_submission(session, submission_id)
    if not submission.state.is_final:
        cancel_submission(session, submission, actor=actor, reason=reason)
    return submission


def rerun_submission(
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
        raise Conflict("There is no image to run again; upload one.")
    if not original.state.is_final:
        raise Conflict("It is still {state}; cancel it first, or wait.", state=original.state)
    phase, team = original.phase, teams.lock_team(session, original.team_id)
    if not by_organiser:
        refuse_closed(session, phase)
        _refuse_team(session, team, phase)
        addresses.refuse_ineligible_team(session, team, user=user)
        refuse_beyond(session, phase, team)
    again = _add(session, phase, team, user=user, title=original.title, agent=original.agent)
    for name in ("image_key", "image_digest", "image_id", "image_bytes", "weights_key", "weights_digest"):
        setattr(again, name, getattr(original, name))
    again.rerun_of, again.is_reevaluation = original.id, by_organiser
    if not by_organiser:
        reserve(session, again)
    audit.record(session, actor, "submission.rerun", audit.make_subject(again), original=str(original.id))
    begin_validation(session, again, actor=actor)
    return again
