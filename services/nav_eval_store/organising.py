"""The organiser's verbs. Each says why, and each is in the audit log."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select

from nav_eval_store import audit, events, submissions, teams, transitions
from nav_eval_store.actors import Actor
from nav_eval_store.board_versions import board_changed, hold_board
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, StoreError
from nav_eval_store.lifecycle import State
from nav_eval_store.models import Entry, Phase, Submission, Team, TeamKind, TeamStatus, Visibility
from nav_eval_store.quota import grant as grant_quota
from nav_eval_store.workers import drain as drain_workers

__all__ = [
    "close_phase",
    "disqualify",
    "disqualify_team",
    "drain_workers",
    "grant_quota",
    "hide",
    "mark_verified",
    "pause_phase",
    "publish_board",
    "reevaluate_all",
    "reinstate_team",
    "reopen_phase",
    "resume_phase",
    "run_baselines",
    "set_priority",
    "show",
    "withdraw_board",
]


def hide(session: Session, submission_id: UUID, *, actor: Actor, reason: str) -> None:
    """Take a submission off the board, for now."""
    _set_visibility(session, submission_id, Visibility.HIDDEN, actor, reason)


def disqualify(session: Session, submission_id: UUID, *, actor: Actor, reason: str) -> None:
    """Take a submission off the board for good; its team sees why."""
    _set_visibility(session, submission_id, Visibility.DISQUALIFIED, actor, reason)


def show(session: Session, submission_id: UUID, *, actor: Actor, reason: str) -> None:
    """Put a submission back on the board."""
    _set_visibility(session, submission_id, Visibility.SHOWN, actor, reason)


def _set_visibility(session: Session, submission_id: UUID, visibility: Visibility, actor: Actor, reason: str) -> None:
    _refuse_unexplained(reason)
    submission = submissions.get(session, submission_id)
    hold_board(session, submission.phase_id)
    entry = session.get(Entry, submission_id, populate_existing=True)
    if entry is None:
        raise Conflict("The submission is {state}; only a completed one is on the board.", state=submission.state)
    entry.visibility = visibility
    entry.reason = None if visibility is Visibility.SHOWN else reason
    audit.record(session, actor, f"submission.{visibility}", audit.about(submission), reason=reason)
    board_changed(session, Phase.id == submission.phase_id)


def disqualify_team(session: Session, team: Team, *, actor: Actor, reason: str) -> None:
    """Off every board of the competition; what it has under way is cancelled, and it may not submit."""
    _refuse_unexplained(reason)
    _cancel_all(session, team, actor=actor, reason=reason)
    team = teams.locked(session, team.id)
    team.status, team.reason = TeamStatus.DISQUALIFIED, reason
    session.flush()
    _cancel_all(session, team, actor=actor, reason=reason)  # one may have been created in between
    audit.record(session, actor, "team.disqualify", audit.about(team), reason=reason)
    board_changed(session, Phase.competition_id == team.competition_id)


def _cancel_all(session: Session, team: Team, *, actor: Actor, reason: str) -> None:
    for submission in submissions.open_submissions(session, team=team):
        submissions.cancel(session, submission.id, actor=actor, reason=f"the team was disqualified: {reason}")


def reinstate_team(session: Session, team: Team, *, actor: Actor, reason: str) -> None:
    _refuse_unexplained(reason)
    team.status, team.reason = TeamStatus.ACTIVE, None
    audit.record(session, actor, "team.reinstate", audit.about(team), reason=reason)
    board_changed(session, Phase.competition_id == team.competition_id)


def reevaluate_all(session: Session, phase: Phase, *, actor: Actor, reason: str) -> list[Submission]:
    """Run every completed submission of a phase again; each takes the place of what it repeats when it is done."""
    _refuse_unexplained(reason)
    under_way = select(Submission.rerun_of).where(
        Submission.phase_id == phase.id, Submission.is_reevaluation, Submission.state.in_(_OPEN)
    )
    query = select(Submission.id).where(
        Submission.phase_id == phase.id,
        Submission.state == State.COMPLETED,
        Submission.superseded_by.is_(None),
        Submission.id.not_in(under_way.where(Submission.rerun_of.is_not(None))),
    )
    originals = session.scalars(query.order_by(Submission.created_at)).all()
    audit.record(session, actor, "phase.reevaluate", audit.about(phase), reason=reason, submissions=len(originals))
    return [submissions.rerun(session, original, actor=actor, by_organiser=True) for original in originals]


_OPEN = tuple(state for state in State if not state.is_final)


def run_baselines(session: Session, phase: Phase, *, actor: Actor) -> list[Submission]:
    """Evaluate the phase's baselines that have no result and are not under way."""
    agents = {teams.name_key(baseline.name): baseline.agent for baseline in phase.config.baselines}
    started = []
    for team in submissions.baselines(session, phase):
        if team.kind is not TeamKind.TEAM and not _has_run(session, phase, team):
            started.append(submissions.start_agent(session, phase, team, agents[team.name_key], actor=actor))
    return started


def _has_run(session: Session, phase: Phase, team: Team) -> bool:
    query = select(Submission.id).where(
        Submission.phase_id == phase.id,
        Submission.team_id == team.id,
        Submission.state.in_((*_OPEN, State.COMPLETED)),
    )
    return session.scalar(query.limit(1)) is not None


def pause_phase(session: Session, phase: Phase, *, actor: Actor, reason: str) -> None:
    """Take no submissions and start no jobs; what runs ends."""
    _refuse_unexplained(reason)
    phase.paused_at, phase.paused_reason = phase.paused_at or session.now(), reason
    _phase_changed(session, phase, actor, "phase.pause", reason)


def resume_phase(session: Session, phase: Phase, *, actor: Actor, reason: str = "") -> None:
    phase.paused_at, phase.paused_reason, phase.resumed_at = None, None, session.now()
    _phase_changed(session, phase, actor, "phase.resume", reason)


def close_phase(session: Session, phase: Phase, *, actor: Actor, reason: str) -> None:
    """Take no submissions from now on; what was submitted is evaluated to its end."""
    _refuse_unexplained(reason)
    if phase.closes_at is None or phase.closes_at > session.now():
        phase.closes_at = session.now()
    _phase_changed(session, phase, actor, "phase.close", reason)


def reopen_phase(session: Session, phase: Phase, *, actor: Actor, reason: str) -> None:
    """Undo `close_phase`: it closes when the configuration says."""
    _refuse_unexplained(reason)
    phase.closes_at = phase.config.closes
    _phase_changed(session, phase, actor, "phase.reopen", reason)


def publish_board(session: Session, phase: Phase, *, actor: Actor, reason: str = "") -> None:
    """Show a board to everybody that was for organisers or teams only."""
    phase.published_at = phase.published_at or session.now()
    _phase_changed(session, phase, actor, "board.publish", reason)


def withdraw_board(session: Session, phase: Phase, *, actor: Actor, reason: str) -> None:
    """The board is again for those that the configuration names."""
    phase.published_at = None
    _phase_changed(session, phase, actor, "board.withdraw", reason)


def _phase_changed(session: Session, phase: Phase, actor: Actor, action: str, reason: str) -> None:
    audit.record(session, actor, action, audit.about(phase), reason=reason or None)
    events.emit(session, events.PHASE_CHANGED, audit.about(phase), paused=phase.paused_at is not None)
    board_changed(session, Phase.id == phase.id)


def set_priority(session: Session, submission_id: UUID, priority: int, *, actor: Actor, reason: str) -> None:
    """Let a submission go before (or after) all others, whoever they are from."""
    if not -100 <= priority <= 100:
        raise StoreError("A priority is between −100 and 100; 0 is usual.")
    submission = transitions.locked(session, submission_id)
    submission.priority = priority
    audit.record(session, actor, "submission.priority", audit.about(submission), reason=reason, priority=priority)


def mark_verified(session: Session, submission_id: UUID, *, actor: Actor) -> None:
    """Its episodes were replayed without the agent, and gave the same numbers."""
    submission = submissions.get(session, submission_id)
    hold_board(session, submission.phase_id)
    session.get_one(Entry, submission_id).verified_at = session.now()
    audit.record(session, actor, "submission.verified", audit.about(submission))
    board_changed(session, Phase.id == submission.phase_id)


def paused_phases(session: Session) -> Sequence[Phase]:
    return session.scalars(select(Phase).where(Phase.paused_at.is_not(None))).all()


def _refuse_unexplained(reason: str) -> None:
    if not reason.strip():
        raise StoreError("Say why: the reason is kept in the audit log.")
