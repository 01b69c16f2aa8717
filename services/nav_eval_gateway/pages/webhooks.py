"""Webhooks of a team, and of the organisers of a competition: who is told what, and whether it arrived."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.errors import FormInvalid
from nav_eval_gateway.pages.context import Form, PostedForm, Visit, Visiting, require_confirmation, validate_fields
from nav_eval_gateway.routes import webhooks as api
from nav_eval_gateway.schemas.people import DeliveryAnswer, EventKind, IssuedWebhook, NewWebhook, WebhookAnswer
from nav_eval_store.competitions import configuration
from nav_eval_store.people.accounts import Scope

router = APIRouter(include_in_schema=False)
OF_TEAMS = (EventKind.STATE, EventKind.CANARY, EventKind.PROGRESS, EventKind.BOARD, EventKind.PHASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhooksPage:
    """Whose webhooks a page is about."""

    here: str  #: its address
    title: str
    crumbs: Sequence[tuple[str, str]]
    may_change: bool
    hooks: Sequence[WebhookAnswer]
    recent: Callable[[UUID], Sequence[DeliveryAnswer]]


def _read_team_webhooks(visit: Visit, team_id: UUID) -> WebhooksPage:
    caller, store = visit.require_user(), visit.store
    with store.read() as session:
        team, member, organises = permissions.get_team(session, caller, team_id)
        crumbs = [(team.competition.title, f"/competitions/{team.competition.name}"), (team.name, f"/teams/{team.id}")]
    return WebhooksPage(
        here=f"/teams/{team_id}/webhooks",
        title=team.name,
        crumbs=crumbs,
        may_change=organises or (member is not None and member.role == "captain"),
        hooks=api.list_webhooks(team_id, caller, store),
        recent=lambda hook: api.list_deliveries(team_id, hook, caller, store),
    )


def _read_competition_webhooks(visit: Visit, name: str) -> WebhooksPage:
    caller, store = visit.require_user(Scope.ORGANISE), visit.store
    hooks = api.list_competition_webhooks(name, caller, store)
    with store.read() as session:
        title = configuration.get_competition(session, name).title
    return WebhooksPage(
        here=f"/organise/{name}/webhooks",
        title=title,
        crumbs=[(visit.t("nav.organise"), "/organise"), (title, f"/organise/{name}")],
        may_change=True,
        hooks=hooks,
        recent=lambda hook: api.list_competition_deliveries(name, hook, caller, store),
    )


def _render_page(visit: Visit, post: WebhooksPage, *, issued: IssuedWebhook | None = None) -> Response:
    shown = [(hook, post.recent(hook.id)) for hook in post.hooks]
    return visit.page("webhooks.html.j2", post=post, shown=shown, kinds=OF_TEAMS, issued=issued)


def _parse_form(visit: Visit, form: PostedForm) -> NewWebhook:
    kinds = form.all("kinds")
    if not kinds:
        raise FormInvalid(visit.t("webhook.no_kind"))
    return validate_fields(NewWebhook, visit.t, url=form.line("url"), kinds=kinds)


@router.get("/teams/{team_id}/webhooks")
def show_team_webhooks(team_id: UUID, visit: Visiting) -> Response:
    """What the team is told, and where."""
    return _render_page(visit, _read_team_webhooks(visit, team_id))


@router.post("/teams/{team_id}/webhooks")
async def add_team_webhook(team_id: UUID, visit: Visiting, form: Form) -> Response:
    """This page shows the secret once."""
    caller = require_confirmation(visit, form, Scope.TEAM)
    issued = await api.create_webhook(team_id, _parse_form(visit, form), caller, visit.services)
    return await run_in_threadpool(lambda: _render_page(visit, _read_team_webhooks(visit, team_id), issued=issued))


@router.post("/teams/{team_id}/webhooks/{webhook_id}/test")
def try_team_webhook(team_id: UUID, webhook_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.TEAM)
    api.try_webhook(team_id, webhook_id, caller, visit.store)
    return visit.go(f"/teams/{team_id}/webhooks", visit.t("webhook.tried"))


@router.post("/teams/{team_id}/webhooks/{webhook_id}/remove")
def remove_team_webhook(team_id: UUID, webhook_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.TEAM)
    api.remove_webhook(team_id, webhook_id, caller, visit.store)
    return visit.go(f"/teams/{team_id}/webhooks", visit.t("webhook.removed"))


@router.get("/organise/{name}/webhooks")
def show_competition_webhooks(name: str, visit: Visiting) -> Response:
    """What the organisers are told, and where."""
    return _render_page(visit, _read_competition_webhooks(visit, name))


@router.post("/organise/{name}/webhooks")
async def add_competition_webhook(name: str, visit: Visiting, form: Form) -> Response:
    """This page shows the secret once."""
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    issued = await api.create_competition_webhook(name, _parse_form(visit, form), caller, visit.services)
    return await run_in_threadpool(lambda: _render_page(visit, _read_competition_webhooks(visit, name), issued=issued))


@router.post("/organise/{name}/webhooks/{webhook_id}/test")
def try_competition_webhook(name: str, webhook_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    api.try_competition_webhook(name, webhook_id, caller, visit.store)
    return visit.go(f"/organise/{name}/webhooks", visit.t("webhook.tried"))


@router.post("/organise/{name}/webhooks/{webhook_id}/remove")
def remove_competition_webhook(name: str, webhook_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    api.remove_competition_webhook(name, webhook_id, caller, visit.store)
    return visit.go(f"/organise/{name}/webhooks", visit.t("webhook.removed"))
