"""What a follower of a submission or a competition hears, read from the store for as long as they may hear it."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from nav_eval_gateway import permissions
from nav_eval_gateway.permissions import Caller
from nav_eval_gateway.server_sent_events import PAGE, EventBatch, ServerSentEvent
from nav_eval_store.audit import Subject
from nav_eval_store.competitions.visibility import Audience, Viewer, may_see
from nav_eval_store.database import Database, Session
from nav_eval_store.models import Competition, OutboxEvent, Phase
from nav_eval_store.notifications import events, webhooks
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.submissions.status import SubmissionStatus, read_status


@dataclass(slots=True)
class SubmissionReader:
    """The life of one submission: status, canary, progress, done."""

    database: Database
    caller: Caller
    submission_id: UUID
    _place: tuple[SubmissionState, int | None] | None = None  #: what the reader was told last

    def __call__(self, last: int | None) -> EventBatch:
        """Events before the status: what is told must never be older than what was told before."""
        with self.database.read() as session:
            permissions.refuse_ended(session, self.caller)
            if last is None:
                latest, now, ranking = events.get_latest_id(session), *self._read_status(session)
                return self._end(
                    now, [self._make_status(now, latest), *self._make_progress(now, latest, ranking)], latest
                )
            found = events.read_events_after(
                session, last, subject=Subject(submission_id=self.submission_id), limit=PAGE
            )
            now, ranking = self._read_status(session)
            told = self._translate(found, now, ranking)
            return self._end(now, told, found[-1].id if found else last, more=len(found) == PAGE)

    def _read_status(self, session: Session) -> tuple[SubmissionStatus, Collection[str]]:
        """And the metrics that may be told: those that rank, or none."""
        submission = permissions.get_own_submission(session, self.caller, self.submission_id)
        access = permissions.get_submission(session, self.caller, self.submission_id)
        ranking: Mapping[str, float] = submission.phase.ranking["weights"]
        names = ranking.keys() if access.shows_means() else ()
        return read_status(session, submission, audience=access.audience), names

    def _end(self, now: SubmissionStatus, told: list[ServerSentEvent], last: int, *, more: bool = False) -> EventBatch:
        if not more and self._place != (now.state, now.queue_position):  # others went before: a new place in the queue
            told.append(self._make_status(now, None))
        over = now.state.is_final and not more
        if over:
            told.append(ServerSentEvent("done", _make_verdict(now), last))
        return EventBatch(told, last, more, over, poll_again=now.state is SubmissionState.QUEUED)

    def _make_status(self, now: SubmissionStatus, number: int | None) -> ServerSentEvent:
        self._place = (now.state, now.queue_position)
        place = {} if now.queue_position is None else {"position": now.queue_position, "starts_at": now.starts_at}
        return ServerSentEvent(
            "status", {"status": now.state.value, **place, **_explain(now.cause, now.detail)}, number
        )

    def _translate(
        self, found: Sequence[OutboxEvent], now: SubmissionStatus, ranking: Collection[str]
    ) -> list[ServerSentEvent]:
        """Events in the reader's words; of several about progress only the last, with the numbers of now."""
        newest = max((event.id for event in found if event.kind == events.PROGRESS), default=None)
        told: list[ServerSentEvent] = []
        for event in found:
            match event.kind:
                case events.STATE_CHANGED:
                    told.append(self._make_change(event, now))
                case events.VERDICT:
                    told.append(ServerSentEvent("canary", event.payload, event.id))
                case events.PROGRESS if event.id == newest:
                    told += self._make_progress(now, event.id, ranking)
        return told

    def _make_change(self, event: OutboxEvent, now: SubmissionStatus) -> ServerSentEvent:
        state = SubmissionState(event.payload["to"])
        if state is now.state:
            return self._make_status(now, event.id)
        self._place = (state, None)
        why = _explain(event.payload.get("cause"), event.payload.get("detail"))
        return ServerSentEvent("status", {"status": state.value, **why}, event.id)

    def _make_progress(self, now: SubmissionStatus, number: int, ranking: Collection[str]) -> list[ServerSentEvent]:
        if not now.episodes_total:
            return []
        means = {name: mean for name, mean in now.means.items() if name in ranking and mean is not None}
        note = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
        data = {
            "done": now.episodes_done,
            "total": now.episodes_total,
            "failed": now.episodes_failed,
            "note": note,
            **{name: value for name, value in now.used._asdict().items() if value is not None},
        }
        return [ServerSentEvent("progress", data, number)]


def _explain(cause: str | None, detail: str | None) -> dict[str, str]:
    return {name: text for name, text in (("cause", cause), ("message", detail)) if text}


def _make_verdict(now: SubmissionStatus) -> dict[str, Any]:
    advice = {"advice": now.advice} if now.advice else {}
    return {"status": now.state.value, **_explain(now.cause, now.detail), **advice}


@dataclass(frozen=True, slots=True)
class CompetitionReader:
    """What happens in a competition, as far as somebody may know: the form is that of webhooks."""

    database: Database
    caller: Caller
    competition_id: UUID

    @property
    def share(self) -> Hashable | None:
        """All strangers hear the same."""
        return self.competition_id if self.caller.user is None else None

    def __call__(self, last: int | None) -> EventBatch:
        with self.database.read() as session:
            permissions.refuse_ended(session, self.caller)
            if last is None:
                return EventBatch((), events.get_latest_id(session))
            competition = session.get_one(Competition, self.competition_id)
            viewer = permissions.get_viewer(session, self.caller, competition)
            found = events.read_events_after(
                session, last, subject=Subject(competition_id=self.competition_id), limit=PAGE
            )
            told = [
                ServerSentEvent(event.kind, webhooks.make_body(event), event.id)
                for event in found
                if _may_see_event(session, event, viewer)
            ]
            return EventBatch(told, found[-1].id if found else last, len(found) == PAGE)


def _may_see_event(session: Session, event: OutboxEvent, viewer: Viewer) -> bool:
    if viewer.is_organiser or event.kind == events.PHASE_CHANGED:
        return True
    if event.team_id is not None or event.submission_id is not None:
        return event.team_id == viewer.team_id and viewer.team_id is not None
    phase = None if event.phase_id is None else session.get(Phase, event.phase_id)
    audience = Audience.PUBLIC if viewer.team_id is None else Audience.TEAM
    return phase is not None and event.kind == events.BOARD_CHANGED and may_see(phase, "scores", audience)
