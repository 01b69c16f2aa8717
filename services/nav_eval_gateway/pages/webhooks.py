"""Webhooks of a team, and of the organisers of a competition: who is told what, and whether it arrived."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from nav_eval_gateway import access
from nav_eval_gateway.pages.errors import FormInvalid
from nav_eval_gateway.pages.visiting import Form, Posted, Visit, Visiting, checked
from nav_eval_gateway.routes import webhooks as api
from nav_eval_gateway.schemas.webhooks import DeliveryAnswer, EventKind, IssuedWebhook, NewWebhook, WebhookAnswer
from nav_eval_store import competitions
from nav_eval_store.tokens import Scope

router = APIRouter(include_in_schema=False)
OF_TEAMS = (EventKind.STATE, EventKind.CANARY, EventKind.PROGRESS, EventKind.BOARD, EventKind.PHASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Post:
    """Whose webhooks a page is about."""

    here: str  #: its address
    title: str
    crumbs: Sequence[tuple[str, str]]
    may_change: bool
    hooks: Sequence[WebhookAnswer]
    recent: Callable[[UUID], Sequence[DeliveryAnswer]]


def _of_team(visit: Visit, team_id: UUID) -> Post:
    caller, store = visit.signed_in(), visit.services.database
    with store.read() as session:
        team, member, organises = access.team(session, caller, team_id)
        crumbs = [
            (team.competition.title, f"/competitions/{team.competition.name}"),
            (team.name, f"/teams/{team.id}"),
        ]
    return Post(
        here=f"/teams/{team_id}/webhooks",
        title=team.name,
        crumbs=crumbs,
        may_change=organises or (member is not None and member.role == "captain"),
        hooks=api.list_webhooks(team_id, caller, store),
        recent=lambda hook: api.list_deliveries(team_id, hook, caller, store),
    )


def _of_competition(visit: Visit, name: str) -> Post:
    caller, store = visit.signed_in(Scope.ORGANISE), visit.services.database
    hooks = api.list_competition_webhooks(name, caller, store)
    with store.read() as session:
        title = competitions.competition_named(session, name).title
    return Post(
        here=f"/organise/{name}/webhooks",
        title=title,
        crumbs=[(visit.t("nav.organise"), "/organise"), (title, f"/organise/{name}")],
        may_change=True,
        hooks=hooks,
        recent=lambda hook: api.list_competition_deliveries(name, hook, caller, store),
    )


def _page(visit: Visit, post: Post, *, issued: IssuedWebhook | None = None) -> Response:
    shown = [(hook, post.recent(hook.id)) for hook in post.hooks]
    return visit.page("webhooks.html.j2", post=post, shown=shown, kinds=OF_TEAMS, issued=issued)


def _wanted(visit: Visit, form: Posted) -> NewWebhook:
    kinds = form.all("kinds")
    if not kinds:
        raise FormInvalid(visit.t("webhook.no_kind"))
    return checked(NewWebhook, visit.t, url=form.line("url"), kinds=kinds)


@router.get("/teams/{team_id}/webhooks")
def show_of_team(team_id: UUID, visit: Visiting) -> Response:
    """What the team is told, and where."""
    return _page(visit, _of_team(visit, team_id))


@router.post("/teams/{team_id}/webhooks")
def add_to_team(team_id: UUID, visit: Visiting, form: Form) -> Response:
    """This page shows the secret once."""
    form.confirm()
    issued = api.create_webhook(team_id, _wanted(visit, form), visit.signed_in(Scope.TEAM), visit.services)
    return _page(visit, _of_team(visit, team_id), issued=issued)


@router.post("/teams/{team_id}/webhooks/{webhook_id}/test")
def try_of_team(team_id: UUID, webhook_id: UUID, visit: Visiting, form: Form) -> Response:
    form.confirm()
    api.try_webhook(team_id, webhook_id, visit.signed_in(Scope.TEAM), visit.services.database)
    return visit.go(f"/teams/{team_id}/webhooks", visit.t("webhook.tried"))


@router.post("/teams/{team_id}/webhooks/{webhook_id}/remove")
def remove_of_team(team_id: UUID, webhook_id: UUID, visit: Visiting, form: Form) -> Response:
    form.confirm()
    api.remove_webhook(team_id, webhook_id, visit.signed_in(Scope.TEAM), visit.services.database)
    return visit.go(f"/teams/{team_id}/webhooks", visit.t("webhook.removed"))


@router.get("/organise/{name}/webhooks")
def show_of_competition(name: str, visit: Visiting) -> Response:
    """What the organisers are told, and where."""
    return _page(visit, _of_competition(visit, name))


@router.post("/organise/{name}/webhooks")
def add_to_competition(name: str, visit: Visiting, form: Form) -> Response:
    """This page shows the secret once."""
    form.confirm()
    caller = visit.signed_in(Scope.ORGANISE)
    issued = api.create_competition_webhook(name, _wanted(visit, form), caller, visit.services)
    return _page(visit, _of_competition(visit, name), issued=issued)


@router.post("/organise/{name}/webhooks/{webhook_id}/test")
def try_of_competition(name: str, webhook_id: UUID, visit: Visiting, form: Form) -> Response:
    form.confirm()
    api.try_competition_webhook(name, webhook_id, visit.signed_in(Scope.ORGANISE), visit.services.database)
    return visit.go(f"/organise/{name}/webhooks", visit.t("webhook.tried"))


@router.post("/organise/{name}/webhooks/{webhook_id}/remove")
def remove_of_competition(name: str, webhook_id: UUID, visit: Visiting, form: Form) -> Response:
    form.confirm()
    api.remove_competition_webhook(name, webhook_id, visit.signed_in(Scope.ORGANISE), visit.services.database)
    return visit.go(f"/organise/{name}/webhooks", visit.t("webhook.removed"))
