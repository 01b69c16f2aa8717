"""Quotas: a ledger per team and phase, from which every limit is counted.

A submission reserves a slot when it is created; the slot is charged when its evaluation begins, or
given back (refunded) when nothing was shown or the failure was ours. A slot that was given back
was never used. Counting and reserving happen under the locks of the team and its members, so that fifty
requests at once get exactly what is left.

Limits bind people, too: a slot is used by everybody who was in the team when it was reserved, and a team has no more
left than the member who used most. So nobody gains by leaving and founding another team.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, func, select
from sqlalchemy.orm import aliased

from nav_eval_store import audit
from nav_eval_store.audit import Actor, make_system_actor
from nav_eval_store.database import Session
from nav_eval_store.errors import QuotaExceeded, StoreError
from nav_eval_store.models import (
    Competition,
    LedgerEntry,
    LedgerKind,
    Phase,
    QuotaShare,
    Submission,
    Team,
    TeamMember,
    User,
)
from nav_eval_store.submissions.lifecycle import OPEN

DAY = timedelta(hours=24)
FREE_VERDICTS = 10
"""Submissions per team, phase and day that may fail before their evaluation begins at no cost.

Charging for an image that does not start makes people angry; charging for none invites abuse.
"""
BEFORE_EVALUATION = "failed before its evaluation began"
OUR_FAILURE = "our own failure"


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
    used_today = _list_reservations(session, phase, team, since=now - DAY)
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


def _list_reservations(
    session: Session, phase: Phase, team: Team, *, since: datetime | None = None
) -> Sequence[datetime]:
    """When slots were reserved that were not given back, oldest first: of the team, or of its busiest member."""
    when = () if since is None else (LedgerEntry.at > since,)
    refund = aliased(LedgerEntry)
    given_back = (
        select(refund.id)
        .where(refund.submission_id == LedgerEntry.submission_id, refund.kind == LedgerKind.REFUND)
        .exists()
    )
    kept = (LedgerEntry.kind == LedgerKind.RESERVE, ~given_back, *when)
    own = session.scalars(select(LedgerEntry.at).where(*_match_account(phase, team), *kept).order_by(LedgerEntry.at))
    return max((list(own), *_list_member_times(session, phase, team, kept)), key=len)


def _list_member_times(
    session: Session, phase: Phase, team: Team, kept: Sequence[ColumnElement[bool]]
) -> Iterable[list[datetime]]:
    """The same for each member, in whichever team they were."""
    query = (
        select(QuotaShare.user_id, LedgerEntry.at)
        .join(LedgerEntry, LedgerEntry.submission_id == QuotaShare.submission_id)
        .where(LedgerEntry.phase_id == phase.id, QuotaShare.user_id.in_(_list_members(session, team)), *kept)
    )
    times: dict[UUID, list[datetime]] = {}
    for user_id, at in session.execute(query.order_by(LedgerEntry.at)):
        times.setdefault(user_id, []).append(at)
    return times.values()


def _list_members(session: Session, team: Team) -> list[UUID]:
    return list(session.scalars(select(TeamMember.user_id).where(TeamMember.team_id == team.id)))


def _sum_grants(session: Session, phase: Phase, team: Team, *when: ColumnElement[bool]) -> int:
    query = select(func.sum(LedgerEntry.amount)).where(
        *_match_account(phase, team), LedgerEntry.kind == LedgerKind.GRANT, *when
    )
    return session.scalar(query) or 0


def _match_account(phase: Phase, team: Team) -> tuple[ColumnElement[bool], ...]:
    return LedgerEntry.phase_id == phase.id, LedgerEntry.team_id == team.id


def _count_open(session: Session, phase: Phase, team: Team) -> int:
    """Submissions under way: of the team, or of its busiest member."""
    is_open = (Submission.phase_id == phase.id, Submission.state.in_(OPEN))
    own = session.scalar(select(func.count()).where(*is_open, Submission.team_id == team.id)) or 0
    theirs: Select[int] = (
        select(func.count())
        .select_from(QuotaShare)
        .join(Submission, Submission.id == QuotaShare.submission_id)
        .where(*is_open, QuotaShare.user_id.in_(_list_members(session, team)))
        .group_by(QuotaShare.user_id)
    )
    return max(own, max(session.scalars(theirs), default=0))


def refuse_beyond(session: Session, phase: Phase, team: Team) -> None:
    """Refuse a team that has no slot left. The caller holds the team's lock; its members are locked here."""
    members = _list_members(session, team)
    session.execute(select(User.id).where(User.id.in_(members)).order_by(User.id).with_for_update(key_share=True)).all()
    have = compute_allowance(session, phase, team)
    if have.left > 0:
        return
    if have.open >= have.concurrent:
        raise QuotaExceeded(
            "{open} of {concurrent} concurrent submissions of the team are in progress in this phase; "
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
    """A slot less for the team, and for everybody in it."""
    _add(session, submission, LedgerKind.RESERVE, "created")
    people = {*_list_members(session, submission.team), submission.user_id} - {None}
    session.add_all(QuotaShare(submission_id=submission.id, user_id=user_id) for user_id in people)
    session.flush()


def list_sharers(session: Session, submission: Submission) -> Sequence[UUID]:
    """Who uses its slot: everybody who was in the team when it was reserved."""
    return session.scalars(select(QuotaShare.user_id).where(QuotaShare.submission_id == submission.id)).all()


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


def refund_our_failure(session: Session, submission: Submission) -> bool:
    """Give the slot back because we failed; not endlessly, because somebody may have found out how to make us fail."""
    cap = submission.phase.config.quota.refunds_per_day
    if _count_refunds(session, submission, OUR_FAILURE) >= cap:
        subject = audit.make_subject(submission)
        audit.record(session, make_system_actor("quota"), "quota.refund_refused", subject, reason=OUR_FAILURE, cap=cap)
        return False
    return refund(session, submission, OUR_FAILURE)


def refund_verdict(session: Session, submission: Submission) -> bool:
    """Give the slot back to a submission that failed before its evaluation began, unless that is a habit."""
    if _count_refunds(session, submission, BEFORE_EVALUATION) >= FREE_VERDICTS:
        return False
    return refund(session, submission, BEFORE_EVALUATION)


def _count_refunds(session: Session, submission: Submission, reason: str) -> int:
    """Of the last 24 hours: of the team, or of the person with most of them among those who share the slot.

    Not of those who are in the team now: who has left before the end would have had none.
    """
    given = (
        LedgerEntry.phase_id == submission.phase_id,
        LedgerEntry.kind == LedgerKind.REFUND,
        LedgerEntry.reason == reason,
        LedgerEntry.at > session.now() - DAY,
    )
    own = session.scalar(select(func.count()).where(*given, LedgerEntry.team_id == submission.team_id)) or 0
    theirs: Select[int] = (
        select(func.count())
        .select_from(QuotaShare)
        .join(LedgerEntry, LedgerEntry.submission_id == QuotaShare.submission_id)
        .where(*given, QuotaShare.user_id.in_(list_sharers(session, submission)))
        .group_by(QuotaShare.user_id)
    )
    return max(own, max(session.scalars(theirs), default=0))


@dataclass(frozen=True, kw_only=True, slots=True)
class RefundTally:
    """How often a team got a slot back, and why: who makes us fail again and again is worth a look."""

    team: str
    team_id: UUID
    phase: str
    reason: str
    today: int  #: in the last 24 hours
    total: int
    last_at: datetime


def list_refunds(session: Session, competition: Competition) -> list[RefundTally]:
    """By team, phase and reason, the most of the last day first."""
    today = func.sum(case((LedgerEntry.at > session.now() - DAY, 1), else_=0))
    query = (
        select(Team.name, Team.id, Phase.name, LedgerEntry.reason, today, func.count(), func.max(LedgerEntry.at))
        .join(Team, Team.id == LedgerEntry.team_id)
        .join(Phase, Phase.id == LedgerEntry.phase_id)
        .where(Phase.competition_id == competition.id, LedgerEntry.kind == LedgerKind.REFUND)
        .group_by(Team.name, Team.id, Phase.name, LedgerEntry.reason)
        .order_by(today.desc(), func.count().desc(), Team.name)
    )
    return [
        RefundTally(team=team, team_id=key, phase=phase, reason=reason, today=day, total=total, last_at=last)
        for team, key, phase, reason, day, total, last in session.execute(query)
    ]


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
