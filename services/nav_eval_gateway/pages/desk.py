"""The organiser's desk: competitions are drafted, checked, created and changed here; the text stays the truth.

A form only writes text. The text is checked by the loader, what it would change is shown, and the API's own handlers
apply it.
"""

from datetime import datetime

from fastapi import APIRouter
from starlette.responses import Response

from nav_eval.config.competition_text import PhaseWish, list_benchmarks, write_copy, write_draft, write_phase_draft
from nav_eval_gateway import permissions
from nav_eval_gateway.errors import FormInvalid
from nav_eval_gateway.pages.context import (
    Form,
    PostedForm,
    Visit,
    Visiting,
    require_confirmation,
    validate_fields,
)
from nav_eval_gateway.pages.translations import Translator
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.routes import bulk_actions, configurations
from nav_eval_gateway.routes import messages as messages_api
from nav_eval_gateway.schemas.configurations import DraftConfig, NewCompetition, NewConfig, NewMessage, PlanAnswer
from nav_eval_gateway.schemas.organisers import BulkAction
from nav_eval_store.errors import StoreError
from nav_eval_store.models import Competition
from nav_eval_store.people.accounts import Scope

router = APIRouter(include_in_schema=False)
HERE = "/organise/{name}/configuration"


@router.get("/organise/new")
def show_new(visit: Visiting, source: str = "") -> Response:
    """A competition begins: from a few fields, or as a copy of another one."""
    caller = visit.require_user(Scope.ORGANISE)
    with visit.store.read() as session:
        permissions.require_organiser(session, caller)
        if source:
            copied = permissions.get_organised_competition(session, caller, source).config
            title = visit.t("desk.copy_of", title=copied.title)
            return _show_editor(visit, write_copy(copied, name=f"{copied.name[:58]}-copy", title=title))
    return visit.page("new_competition.html.j2", benchmarks=list_benchmarks())


@router.post("/organise/new/draft")
def write_new(visit: Visiting, form: Form) -> Response:
    """The text of what the fields say; nothing is created yet."""
    _require_everywhere(visit)
    phase = _read_phase(form, visit.t, name=form.line("phase"))
    said = {key: form.line(key, required=key in ("name", "title")) for key in ("name", "title", "organiser", "contact")}
    described = form.paragraph("description", required=False)
    return _check(visit, write_draft(phase, **said, description=described), None)


@router.post("/organise/new/check")
def check_new(visit: Visiting, form: Form) -> Response:
    """What the text says, and who would see what."""
    _require_everywhere(visit)
    return _check(visit, _read_text(form), None)


@router.post("/organise/new")
def create_competition(visit: Visiting, form: Form) -> Response:
    """The competition is there, and its page opens."""
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    reason = form.paragraph("reason")
    wanted = validate_fields(NewCompetition, visit.t, text=_read_text(form), reason=reason)
    created = configurations.create_competition(wanted, caller, visit.store)
    return visit.go(f"/organise/{created.name}", visit.t("desk.created", title=created.title))


@router.get(HERE)
def show_configuration(name: str, visit: Visiting) -> Response:
    """The text of a competition, to be changed."""
    competition = _get_organised(visit, name)
    return _show_editor(visit, configurations.get_text(competition), competition)


@router.post(HERE + "/phase")
def write_new_phase(name: str, visit: Visiting, form: Form) -> Response:
    """The text with one phase more; nothing is changed yet."""
    competition = _get_organised(visit, name)
    text = write_phase_draft(competition.config, _read_phase(form, visit.t, name=form.line("phase")))
    return _check(visit, text, competition)


@router.post(HERE + "/check")
def check_configuration(name: str, visit: Visiting, form: Form) -> Response:
    """What would change, and who would see what."""
    return _check(visit, _read_text(form), _get_organised(visit, name))


@router.post(HERE)
def change_configuration(name: str, visit: Visiting, form: Form) -> Response:
    """The competition becomes what the text says."""
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    wanted = validate_fields(
        NewConfig,
        visit.t,
        text=_read_text(form),
        reason=form.paragraph("reason"),
        allow_dangerous=form.text("dangerous") == "yes",
        digest=form.text("digest") or None,
    )
    changed = configurations.change_config(name, wanted, caller, visit.store)
    return visit.go(f"/organise/{name}", visit.t("desk.changed", count=len(changed.changes)))


@router.post("/organise/{name}/messages")
def send_message(name: str, visit: Visiting, form: Form) -> Response:
    """To one team, or to all."""
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    wanted = validate_fields(
        NewMessage,
        visit.t,
        subject=form.line("subject"),
        text=form.paragraph("text"),
        teams=[form.text("team")] if form.text("team") else None,
    )
    messages_api.send_message(name, wanted, caller, visit.store)
    return visit.go(f"/organise/{name}", visit.t("desk.message_sent"))


@router.post("/organise/{name}/bulk")
def act_on_many(name: str, visit: Visiting, form: Form) -> Response:
    """One verb for all ticked submissions."""
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    chosen = form.all("submission")
    if not chosen:
        raise FormInvalid(visit.t("desk.bulk_none"))
    wanted = validate_fields(
        BulkAction, visit.t, verb=form.text("verb"), submissions=chosen, reason=form.paragraph("reason")
    )
    done = bulk_actions.act_on_many(name, wanted, caller, visit.store, visit.services.publisher)
    said = visit.t("desk.bulk_done", count=len(done.done))
    if done.refused:
        said += " " + visit.t("desk.bulk_refused", count=len(done.refused), detail=done.refused[0].detail)
    return visit.go(f"/organise/{name}", said, kind="bad" if done.refused else "good")


def _require_everywhere(visit: Visit) -> SignedIn:
    caller = visit.require_user(Scope.ORGANISE)
    with visit.store.read() as session:
        permissions.require_organiser(session, caller)
    return caller


def _get_organised(visit: Visit, name: str) -> Competition:
    caller = visit.require_user(Scope.ORGANISE)
    with visit.store.read() as session:
        return permissions.get_organised_competition(session, caller, name)


def _read_text(form: PostedForm) -> str:
    return form.text("text").replace("\r\n", "\n")


def _read_phase(form: PostedForm, t: Translator, *, name: str) -> PhaseWish:
    return PhaseWish(
        name=name,
        benchmark=form.line("benchmark"),
        title=form.line("phase_title", required=False),
        opens=_read_moment(form, t, "opens"),
        closes=_read_moment(form, t, "closes"),
        preset=form.line("preset"),
        per_day=form.whole("per_day") if form.text("per_day").strip() else None,
    )


def _read_moment(form: PostedForm, t: Translator, name: str) -> str | None:
    """A date and time field of a browser has no zone; ours says that it is UTC."""
    given = form.line(name, required=False)
    if not given:
        return None
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise FormInvalid(t("form.value_error", field=t(f"phase.{name}"))) from None
    return f"{moment:%Y-%m-%dT%H:%M:%S}Z"


def _check(visit: Visit, text: str, competition: Competition | None) -> Response:
    """The editor, with what is wrong with the text or what it would change."""
    caller = visit.require_user(Scope.ORGANISE)
    draft = validate_fields(DraftConfig, visit.t, text=text)
    try:
        plan = configurations.check_config(draft, caller, visit.store)
    except StoreError as error:
        return _show_editor(visit, text, competition, problem=visit.t.refusal(error.pattern, error.values), status=422)
    if competition is not None and plan.name != competition.name:
        problem = visit.t("desk.other_name", name=competition.name)
        return _show_editor(visit, text, competition, problem=problem, status=422)
    if competition is None and not plan.is_new:
        return _show_editor(visit, text, problem=visit.t("desk.name_taken", name=plan.name), status=422)
    return _show_editor(visit, text, competition, plan=plan)


def _show_editor(
    visit: Visit,
    text: str,
    competition: Competition | None = None,
    *,
    plan: PlanAnswer | None = None,
    problem: str | None = None,
    status: int = 200,
) -> Response:
    caller = visit.require_user(Scope.ORGANISE)
    known = [] if competition is None else [phase.benchmark for phase in competition.config.phases]
    with visit.store.read() as session:
        everywhere = permissions.is_organiser(session, caller)
    return visit.page(
        "configuration.html.j2",
        status=status,
        text=text,
        competition=competition,
        plan=plan,
        problem=problem,
        here="/organise/new" if competition is None else f"/organise/{competition.name}/configuration",
        benchmarks=list_benchmarks() if everywhere and competition is not None else sorted(set(known)),
    )
