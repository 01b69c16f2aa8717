"""Quotas: a ledger per team and phase, from which every limit is counted.

A submission reserves a slot when it is created; the slot is charged when its evaluation begins, or
given back (refunded) when nothing was evaluated or the failure was ours. A slot that was given back
was never used. Counting and reserving happen under the team's lock, so that fifty requests at once
get exactly what is left.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import aliased

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import QuotaExceeded, StoreError
from nav_eval_store.models import LedgerEntry, LedgerKind, Phase, Submission, Team
from nav_eval_store.submissions.lifecycle import OPEN

DAY = timedelta(hours=24)
FREE_VERDICTS = 10
"""Submissions per team, phase and day that may fail before their evaluation begins at no cost.

Charging for an image that does not start makes people angry; charging for none invites abuse.
"""
BEFORE_EVALUATION = "failed before its evaluation began"


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    """What a team may still submit. None is without limit."""

    per_day: int | None  #: limit for any 24 hours, grants of that time included
    used_today: int
    total: int | None  #: limit for the whole phase, grants included
    used_total: int
    concurrent: int  #: limit of submissions that are not final
    open: int
    next_at: datetime | None  #: when the next one is possible; None is now, or never if `total` is used up

    @property
    def left_today(self) -> int | None:
        return None if self.per_day is None else max(0, self.per_day - self.used_today)

    @property
    def left_total(self) -> int | None:
        return None if self.total is None else max(0, self.total - self.used_total)

    @property
    def left(self) -> int:
        """Submissions that are possible right now."""
        limits = (self.left_today, self.left_total, max(0, self.concurrent - self.open))
        return min(limit for limit in limits if limit is not None)


def compute_allowance(session: Session, phase: Phase, team: Team) -> Allowance:
    """Where a team stands in a phase."""
    limits, now = phase.config.quota, session.now()
    used_today = _list_reservations(session, phase, team, LedgerEntry.at > now - DAY)
    granted_today = _sum_grants(session, phase, team, LedgerEntry.at > now - DAY)
    per_day = None if limits.per_day is None else limits.per_day + granted_today
    over = 0 if per_day is None else len(used_today) - per_day
    return Allowance(
        per_day=per_day,
        used_today=len(used_today),
        total=None if limits.total is None else limits.total + _sum_grants(session, phase, team),
        used_total=len(_list_reservations(session, phase, team)),
        concurrent=limits.concurrent,
        open=_count_open(session, phase, team),
        next_at=used_today[over] + DAY if per_day and over >= 0 else None,
    )


def _list_reservations(session: Session, phase: Phase, team: Team, *when: ColumnElement[bool]) -> list[datetime]:
    """When slots were reserved that were not given back, oldest first."""
    refund = aliased(LedgerEntry)
    given_back = (
        select(refund.id)
        .where(refund.submission_id == LedgerEntry.submission_id, refund.kind == LedgerKind.REFUND)
        .exists()
    )
    query = select(LedgerEntry.at).where(*_match_account(phase, team), LedgerEntry.kind == LedgerKind.RESERVE, *when)
    return list(session.scalars(query.where(~given_back).order_by(LedgerEntry.at)))


def _sum_grants(session: Session, phase: Phase, team: Team, *when: ColumnElement[bool]) -> int:
    query = select(func.sum(LedgerEntry.amount)).where(
        *_match_account(phase, team), LedgerEntry.kind == LedgerKind.GRANT, *when
    )
    return session.scalar(query) or 0


def _match_account(phase: Phase, team: Team) -> tuple[ColumnElement[bool], ...]:
    return LedgerEntry.phase_id == phase.id, LedgerEntry.team_id == team.id


def _count_open(session: Session, phase: Phase, team: Team) -> int:
    query = select(func.count()).where(
        Submission.phase_id == phase.id, Submission.team_id == team.id, Submission.state.in_(OPEN)
    )
    return session.scalar(query) or 0


def refuse_beyond(session: Session, phase: Phase, team: Team) -> None:
    """Refuse a team that has no slot left. The caller holds the team's lock."""
    have = compute_allowance(session, phase, team)
    if have.left > 0:
        return
    if have.open >= have.concurrent:
        raise QuotaExceeded(
            "{open} of {concurrent} submissions of the team are under way in this phase; "
            "wait until one ends, or cancel it.",
            open=have.open,
            concurrent=have.concurrent,
        )
    if have.left_total == 0:
        raise QuotaExceeded("All {total} submissions of this phase are used.", total=have.total)
    raise QuotaExceeded(
        "All {per_day} submissions of the last 24 hours are used; "
        "the next one is possible at {next_at:%Y-%m-%d %H:%M:%S} UTC.",
        per_day=have.per_day,
        next_at=have.next_at,
        retry_seconds=_compute_seconds_until(have.next_at, session.now()),
    )


def _compute_seconds_until(moment: datetime | None, now: datetime) -> int | None:
    return None if moment is None else max(1, math.ceil((moment - now).total_seconds()))


def reserve(session: Session, submission: Submission) -> None:
    _add(session, submission, LedgerKind.RESERVE, "created")


def charge(session: Session, submission: Submission) -> None:
    """The evaluation has begun: the slot is spent. Baselines and re-evaluations have none."""
    if LedgerKind.RESERVE in _list_ledger_kinds(session, submission):
        _add(session, submission, LedgerKind.CHARGE, "evaluation began")


def refund(session: Session, submission: Submission, reason: str) -> bool:
    """Give the slot back; False where there is none to give back, or it has been given back."""
    lines = _list_ledger_kinds(session, submission)
    if LedgerKind.RESERVE not in lines or LedgerKind.REFUND in lines:
        return False
    _add(session, submission, LedgerKind.REFUND, reason)
    return True


def _list_ledger_kinds(session: Session, submission: Submission) -> set[LedgerKind]:
    return set(session.scalars(select(LedgerEntry.kind).where(LedgerEntry.submission_id == submission.id)))


def refund_verdict(session: Session, submission: Submission) -> bool:
    """Give the slot back to a submission that failed before its evaluation began, unless that is a habit."""
    query = select(func.count()).where(
        LedgerEntry.phase_id == submission.phase_id,
        LedgerEntry.team_id == submission.team_id,
        LedgerEntry.kind == LedgerKind.REFUND,
        LedgerEntry.reason == BEFORE_EVALUATION,
        LedgerEntry.at > session.now() - DAY,
    )
    if (session.scalar(query) or 0) >= FREE_VERDICTS:
        return False
    return refund(session, submission, BEFORE_EVALUATION)


def grant_quota(session: Session, phase: Phase, team: Team, amount: int, *, actor: Actor, reason: str) -> None:
    """More submissions for a team: on top of the total, and of the next 24 hours."""
    if not 1 <= amount <= 10_000:
        raise StoreError("A grant is between 1 and 10,000 submissions.")
    session.add(
        LedgerEntry(
            at=session.now(), phase_id=phase.id, team_id=team.id, kind=LedgerKind.GRANT, amount=amount, reason=reason
        )
    )
    subject = audit.make_subject(phase)._replace(team_id=team.id)
    audit.record(session, actor, "quota.grant", subject, reason=reason, amount=amount)


def _add(session: Session, submission: Submission, kind: LedgerKind, reason: str) -> None:
    session.add(
        LedgerEntry(
            at=session.now(),
            phase_id=submission.phase_id,
            team_id=submission.team_id,
            submission_id=submission.id,
            kind=kind,
            reason=reason,
        )
    )
    session.flush()
