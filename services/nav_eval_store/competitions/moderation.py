"""The organiser's verbs. Each says why, and each is in the audit log."""

from uuid import UUID

from sqlalchemy import select

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.boards.leaderboard import lock_board, mark_board_changed
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, StoreError
from nav_eval_store.models import BoardEntry, EntryVisibility, Phase, Submission, Team, TeamKind, TeamStatus
from nav_eval_store.notifications import events
from nav_eval_store.people import teams
from nav_eval_store.people.names import make_name_key
from nav_eval_store.submissions import creation, queries, transitions
from nav_eval_store.submissions.lifecycle import OPEN, SubmissionState


def hide_submission(session: Session, submission_id: UUID, *, actor: Actor, reason: str) -> None:
    """Take a submission off the board, for now."""
    _set_visibility(session, submission_id, EntryVisibility.HIDDEN, actor, reason)


def disqualify_submission(session: Session, submission_id: UUID, *, actor: Actor, reason: str) -> None:
    """Take a submission off the board for good; its team sees why."""
    _set_visibility(session, submission_id, EntryVisibility.DISQUALIFIED, actor, reason)


def show_submission(session: Session, submission_id: UUID, *, actor: Actor, reason: str) -> None:
    """Put a submission back on the board."""
    _set_visibility(session, submission_id, EntryVisibility.SHOWN, actor, reason)


def _set_visibility(
    session: Session, submission_id: UUID, visibility: EntryVisibility, actor: Actor, reason: str
) -> None:
    _refuse_unexplained(reason)
    submission = queries.get_submission(session, submission_id)
    lock_board(session, submission.phase_id)
    entry = session.get(BoardEntry, submission_id, populate_existing=True)
    if entry is None:
        raise Conflict(
            "The submission is {state}; only completed submissions are on the leaderboard.", state=submission.state
        )
    entry.visibility = visibility
    entry.reason = None if visibility is EntryVisibility.SHOWN else reason
    audit.record(session, actor, f"submission.{visibility}", audit.make_subject(submission), reason=reason)
    mark_board_changed(session, Phase.id == submission.phase_id)


def disqualify_team(session: Session, team: Team, *, actor: Actor, reason: str) -> None:
    """Off every board of the competition; what it has under way is cancelled, and it may not submit."""
    _refuse_unexplained(reason)
    _cancel_all(session, team, actor=actor, reason=reason)
    team = teams.lock_team(session, team.id)
    team.status, team.reason = TeamStatus.DISQUALIFIED, reason
    session.flush()
    _cancel_all(session, team, actor=actor, reason=reason)  # one may have been created in between
    audit.record(session, actor, "team.disqualify", audit.make_subject(team), reason=reason)
    mark_board_changed(session, Phase.competition_id == team.competition_id)


def _cancel_all(session: Session, team: Team, *, actor: Actor, reason: str) -> None:
    for submission in queries.list_open_submissions(session, team=team):
        creation.cancel_open_submission(
            session, submission.id, actor=actor, reason=f"the team was disqualified: {reason}"
        )


def reinstate_team(session: Session, team: Team, *, actor: Actor, reason: str) -> None:
    _refuse_unexplained(reason)
    team.status, team.reason = TeamStatus.ACTIVE, None
    audit.record(session, actor, "team.reinstate", audit.make_subject(team), reason=reason)
    mark_board_changed(session, Phase.competition_id == team.competition_id)


def reevaluate_all(session: Session, phase: Phase, *, actor: Actor, reason: str) -> list[Submission]:
    """Run every completed submission of a phase again; each takes the place of what it repeats when it is done."""
    _refuse_unexplained(reason)
    under_way = select(Submission.rerun_of).where(
        Submission.phase_id == phase.id, Submission.is_reevaluation, Submission.state.in_(OPEN)
    )
    query = select(Submission.id).where(
        Submission.phase_id == phase.id,
        Submission.state == SubmissionState.COMPLETED,
        Submission.superseded_by.is_(None),
        Submission.id.not_in(under_way.where(Submission.rerun_of.is_not(None))),
    )
    originals = session.scalars(query.order_by(Submission.created_at)).all()
    audit.record(
        session, actor, "phase.reevaluate", audit.make_subject(phase), reason=reason, submissions=len(originals)
    )
    return [creation.rerun_submission(session, original, actor=actor, by_organiser=True) for original in originals]


def run_baselines(session: Session, phase: Phase, *, actor: Actor) -> list[Submission]:
    """Evaluate the phase's baselines that have no result and are not under way."""
    agents = {make_name_key(baseline.name): baseline.agent for baseline in phase.config.baselines}
    started = []
    for team in queries.list_baselines(session, phase):
        if team.kind is not TeamKind.TEAM and not _has_run(session, phase, team):
            agent = agents[make_name_key(team.name)]
            started.append(creation.start_agent_submission(session, phase, team, agent, actor=actor))
    return started


def _has_run(session: Session, phase: Phase, team: Team) -> bool:
    query = select(Submission.id).where(
        Submission.phase_id == phase.id,
        Submission.team_id == team.id,
        Submission.state.in_((*OPEN, SubmissionState.COMPLETED)),
    )
    return session.scalar(query.limit(1)) is not None


def pause_phase(session: Session, phase: Phase, *, actor: Actor, reason: str) -> None:
    """Take no submissions and start no jobs; what runs ends."""
    _refuse_unexplained(reason)
    phase.paused_at, phase.paused_reason = phase.paused_at or session.now(), reason
    _record_phase_change(session, phase, actor, "phase.pause", reason)


def resume_phase(session: Session, phase: Phase, *, actor: Actor, reason: str = "") -> None:
    phase.paused_at, phase.paused_reason, phase.resumed_at = None, None, session.now()
    _record_phase_change(session, phase, actor, "phase.resume", reason)


def close_phase(session: Session, phase: Phase, *, actor: Actor, reason: str) -> None:
    """Take no submissions from now on; what was submitted is evaluated to its end."""
    _refuse_unexplained(reason)
    if phase.closes_at is None or phase.closes_at > session.now():
        phase.closes_at = session.now()
    _record_phase_change(session, phase, actor, "phase.close", reason)


def reopen_phase(session: Session, phase: Phase, *, actor: Actor, reason: str) -> None:
    """Undo `close_phase`: it closes when the configuration says."""
    _refuse_unexplained(reason)
    phase.closes_at = phase.config.closes
    _record_phase_change(session, phase, actor, "phase.reopen", reason)


def publish_board(session: Session, phase: Phase, *, actor: Actor, reason: str = "") -> None:
    """Show a board to everybody that was for organisers or teams only."""
    phase.published_at = phase.published_at or session.now()
    _record_phase_change(session, phase, actor, "board.publish", reason)


def withdraw_board(session: Session, phase: Phase, *, actor: Actor, reason: str) -> None:
    """The board is again for those that the configuration names."""
    phase.published_at = None
    _record_phase_change(session, phase, actor, "board.withdraw", reason)


def _record_phase_change(session: Session, phase: Phase, actor: Actor, action: str, reason: str) -> None:
    audit.record(session, actor, action, audit.make_subject(phase), reason=reason or None)
    events.emit(session, events.PHASE_CHANGED, audit.make_subject(phase), paused=phase.paused_at is not None)
    mark_board_changed(session, Phase.id == phase.id)


def set_priority(session: Session, submission_id: UUID, priority: int, *, actor: Actor, reason: str) -> None:
    """Let a submission go before (or after) all others, whoever they are from."""
    if not -100 <= priority <= 100:
        raise StoreError("A priority is between −100 and 100; 0 is usual.")
    submission = transitions.lock_submission(session, submission_id)
    submission.priority = priority
    audit.record(
        session, actor, "submission.priority", audit.make_subject(submission), reason=reason, priority=priority
    )


def mark_verified(session: Session, submission_id: UUID, *, actor: Actor) -> None:
    """Its episodes were replayed without the agent, and gave the same numbers."""
    submission = queries.get_submission(session, submission_id)
    lock_board(session, submission.phase_id)
    session.get_one(BoardEntry, submission_id).verified_at = session.now()
    audit.record(session, actor, "submission.verified", audit.make_subject(submission))
    mark_board_changed(session, Phase.id == submission.phase_id)


def _refuse_unexplained(reason: str) -> None:
    if not reason.strip():
        raise StoreError("Say why: the reason is kept in the audit log.")
