"""A forgotten password: asking for a link, following it, and an organiser who hands one over."""

from fastapi import APIRouter, BackgroundTasks
from starlette.responses import Response

from nav_eval_gateway.pages.context import Form, Visiting, require_confirmation, validate_fields
from nav_eval_gateway.routes import password_resets as api
from nav_eval_gateway.schemas.organisers import Why
from nav_eval_gateway.schemas.people import PasswordReset, ResetWish
from nav_eval_store.people.accounts import Scope

router = APIRouter(include_in_schema=False)


@router.get("/forgotten")
def show_forgotten(visit: Visiting) -> Response:
    """Who forgot their password says who they are."""
    return visit.page("forgotten.html.j2")


@router.post("/forgotten")
def ask_for_reset(visit: Visiting, form: Form, later: BackgroundTasks) -> Response:
    """The same answer whether there is such an account; the message is sent after it."""
    wish = validate_fields(ResetWish, visit.t, name=form.line("name"))
    api.refuse_without_mail(visit.services)

    def write(secret: str) -> tuple[str, str]:
        link = visit.site + visit.link("/reset", secret=secret)
        return visit.t("reset.subject"), visit.t("reset.text", link=link)

    later.add_task(api.send_reset, visit.services, wish.name, write)
    response = visit.go("/login", visit.t("reset.sent"))
    response.background = later
    return response


@router.get("/reset")
def show_reset(visit: Visiting, secret: str = "") -> Response:
    """A form for a new password: programs that look at the links in mails use up nothing."""
    return visit.page("reset.html.j2", secret=secret[:200])


@router.post("/reset")
def reset_password(visit: Visiting, form: Form) -> Response:
    wanted = validate_fields(PasswordReset, visit.t, secret=form.text("secret").strip(), new=form.text("new_password"))
    api.reset_password(wanted, visit.services)
    return visit.go("/login", visit.t("reset.done"))


@router.post("/organise/users/{user}/password-reset")
def issue_reset(user: str, visit: Visiting, form: Form) -> Response:
    """The link is shown once, to be handed over."""
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    why = validate_fields(Why, visit.t, reason=form.paragraph("reason"))
    issued = api.issue_reset(user, why, caller, visit.store)
    link = visit.site + visit.link("/reset", secret=issued.secret)
    return visit.page("reset_handed.html.j2", user=user, link=link, expires_at=issued.expires_at)
