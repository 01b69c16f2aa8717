"""The organiser's console: every verb of the API, each after a confirmation and with a reason for the audit log.

A verb here is the API's own function, called with what a form says; nothing is decided a second time.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.pages.context import Form, Visiting, require_confirmation, validate_fields
from nav_eval_gateway.routes import organisers as verbs
from nav_eval_gateway.routes.organisers import AuditFilter
from nav_eval_gateway.schemas.base import Paging
from nav_eval_gateway.schemas.competitions import PhaseAnswer
from nav_eval_gateway.schemas.organisers import Drain, Grant, NewPriority, QueueAnswer, Started, Why
from nav_eval_store.boards.leaderboard import find_scores
from nav_eval_store.competitions import configuration
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.errors import NotFound
from nav_eval_store.notifications import messages
from nav_eval_store.people import teams
from nav_eval_store.people.accounts import Scope
from nav_eval_store.submissions import queries, quota
from nav_eval_store.submissions.lifecycle import OPEN, JobKind, JobState, SubmissionState

router = APIRouter(include_in_schema=False)
Word = Annotated[str | None, Query(max_length=200)]

PHASE_VERBS: Mapping[str, Callable[..., object]] = {
    "pause": verbs.pause_phase,
    "resume": verbs.resume_phase,
    "close": verbs.close_phase,
    "reopen": verbs.reopen_phase,
    "publish": verbs.publish_board,
    "withdraw": verbs.withdraw_board,
}
STARTING_VERBS: Mapping[str, Callable[..., Started]] = {
    "reevaluate": verbs.reevaluate_all,
    "baselines": verbs.run_baselines,
}
SUBMISSION_VERBS: Mapping[str, Callable[..., object]] = {
    "hide": verbs.hide_submission,
    "show": verbs.show_submission_again,
    "disqualify": verbs.disqualify_submission,
    "stop": verbs.stop_submission,
}
TEAM_VERBS: Mapping[str, Callable[..., object]] = {
    "disqualify": verbs.disqualify_team,
    "reinstate": verbs.reinstate_team,
    "approve": verbs.approve_team,
}
DANGEROUS = frozenset({"close", "disqualify", "stop", "withdraw", "reevaluate"})


@router.get("/organise")
def show_installation(visit: Visiting) -> Response:
    """The competitions that one organises; for organisers of the installation also its queue and workers."""
    caller = visit.require_user(Scope.ORGANISE)
    with visit.store.read() as session:
        mine = [c for c in configuration.list_competitions(session) if permissions.is_organiser(session, caller, c)]
        everywhere = permissions.is_organiser(session, caller)
        if not mine and not everywhere:
            permissions.require_organiser(session, caller)
    queue = verbs.show_queue(caller, visit.store) if everywhere else None
    return visit.page(
        "organise.html.j2",
        competitions=mine,
        everywhere=everywhere,
        queue=queue,
        evaluating=0 if queue is None else _count_evaluating(queue),
        workers=verbs.list_workers(caller, visit.store) if everywhere else [],
    )


def _count_evaluating(queue: QueueAnswer) -> int:
    """Jobs that take a slot; quick ones have one of their own."""
    held = (jobs.number for jobs in queue.jobs if jobs.kind is JobKind.SHARD and jobs.state is JobState.HELD)
    return sum(held)


@router.get("/organise/audit")
def show_audit(visit: Visiting, cursor: Word = None, action: Word = None, actor: Word = None) -> Response:
    """The audit log of the whole installation."""
    caller = visit.require_user(Scope.ORGANISE)
    chosen = AuditFilter(action=[action] if action else None, actor=actor or None)
    page = verbs.list_audit(caller, visit.store, Paging(limit=100, cursor=cursor), chosen)
    asked: dict[str, Any] = {"action": action, "actor": actor, "competition": None, "title": None}
    return visit.page("audit.html.j2", page=page, here="/organise/audit", **asked)


@router.post("/organise/workers/{verb}")
def change_workers(verb: str, visit: Visiting, form: Form) -> Response:
    """Drain workers, or let them go on."""
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    act = {"drain": verbs.drain_workers, "undrain": verbs.undrain_workers}.get(verb)
    if act is None:
        raise NotFound("There is no such verb.")
    wanted = validate_fields(Drain, visit.t, workers=form.all("worker") or None, reason=form.paragraph("reason"))
    act(wanted, caller, visit.store)
    return visit.go("/organise", visit.t("organise.done"))


@router.get("/organise/{name}")
def show_console(name: str, visit: Visiting, after: Word = None, q: Word = None, state: Word = None) -> Response:
    """One competition: phases, teams, what is under way."""
    caller = visit.require_user(Scope.ORGANISE)
    with visit.store.read() as session:
        competition = permissions.get_organised_competition(session, caller, name)
        now = session.now()
        wanted = [known for known in SubmissionState if known == state]
        recent = queries.list_submissions(
            session, competition=competition, states=wanted, search=(q or "").strip(), limit=30, after=after
        )
        listed = teams.list_teams(session, competition)
        return visit.page(
            "console.html.j2",
            competition=competition,
            phases=[PhaseAnswer.of(phase, now) for phase in competition.phases],
            paused={phase.name: phase.paused_at is not None for phase in competition.phases},
            published={phase.name: phase.published_at is not None for phase in competition.phases},
            teams=listed,
            names={team.id: team.name for team in listed},
            messages=messages.list_messages(session, competition),
            search=q,
            wanted=state if wanted else None,
            states=list(SubmissionState),
            open=queries.list_submissions(session, competition=competition, states=OPEN, limit=100).items,
            recent=recent,
            scores=find_scores(session, recent.items, Audience.ORGANISER),
            held=queries.list_held_submissions(session, competition),
            refunds=quota.list_refunds(session, competition),
            dangerous=DANGEROUS,
        )


@router.get("/organise/{name}/audit")
def show_competition_audit(
    name: str, visit: Visiting, cursor: Word = None, action: Word = None, actor: Word = None
) -> Response:
    """Who did what in this competition, and why."""
    caller = visit.require_user(Scope.ORGANISE)
    chosen = AuditFilter(action=[action] if action else None, actor=actor or None)
    paged = Paging(limit=100, cursor=cursor)
    page = verbs.list_competition_audit(name, caller, visit.store, paged, chosen)
    with visit.store.read() as session:
        title = configuration.get_competition(session, name).title
    asked: dict[str, Any] = {"action": action, "actor": actor, "competition": name, "title": title}
    return visit.page("audit.html.j2", page=page, here=f"/organise/{name}/audit", **asked)


@router.post("/organise/{name}/phases/{phase}/{verb}")
def change_phase(name: str, phase: str, verb: str, visit: Visiting, form: Form) -> Response:
    """Any verb about a phase."""
    caller, services = require_confirmation(visit, form, Scope.ORGANISE), visit.services
    why = validate_fields(Why, visit.t, reason=form.paragraph("reason"))
    if verb in PHASE_VERBS:
        PHASE_VERBS[verb](name, phase, why, caller, services.database)
        return visit.go(f"/organise/{name}", visit.t("organise.done"))
    if verb in STARTING_VERBS:
        started = STARTING_VERBS[verb](name, phase, why, caller, services.database, services.publisher)
        said = visit.t("organise.started", count=len(started.submissions))
        return visit.go(f"/organise/{name}", said)
    if verb == "grant":
        wanted = validate_fields(
            Grant, visit.t, team_id=form.text("team"), amount=form.whole("amount"), reason=why.reason
        )
        verbs.grant_quota(name, phase, wanted, caller, services.database)
        return visit.go(f"/organise/{name}", visit.t("organise.done"))
    raise NotFound("There is no such verb.")


@router.post("/organise/teams/{team_id}/{verb}")
def change_team(team_id: UUID, verb: str, visit: Visiting, form: Form) -> Response:
    """Any verb about a team."""
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    if verb not in TEAM_VERBS:
        raise NotFound("There is no such verb.")
    why = validate_fields(Why, visit.t, reason=form.paragraph("reason"))
    TEAM_VERBS[verb](team_id=team_id, why=why, caller=caller, store=visit.store)
    return visit.go(f"/teams/{team_id}", visit.t("organise.done"))


@router.post("/organise/submissions/{submission_id}/{verb}")
def change_submission(submission_id: UUID, verb: str, visit: Visiting, form: Form) -> Response:
    """Any verb about a submission."""
    caller, services = require_confirmation(visit, form, Scope.ORGANISE), visit.services
    reason = form.paragraph("reason")
    if verb in SUBMISSION_VERBS:
        SUBMISSION_VERBS[verb](submission_id, validate_fields(Why, visit.t, reason=reason), caller, services.database)
    elif verb == "priority":
        wanted = validate_fields(NewPriority, visit.t, priority=form.whole("priority"), reason=reason)
        verbs.set_priority(submission_id, wanted, caller, services.database)
    elif verb == "reevaluate":
        why = validate_fields(Why, visit.t, reason=reason)
        again = verbs.reevaluate_submission(submission_id, why, caller, services.database, services.publisher)
        return visit.go(f"/submissions/{again.id}", visit.t("submission.again"))
    else:
        raise NotFound("There is no such verb.")
    return visit.go(f"/submissions/{submission_id}", visit.t("organise.done"))
