"""The e-mail address of an account: having a link mailed, following it, and an organiser's word."""

from fastapi import APIRouter
from starlette.responses import Response

from nav_eval_gateway.pages.context import Form, Visiting, require_confirmation, validate_fields
from nav_eval_gateway.pages.redirects import get_referer_path
from nav_eval_gateway.routes import addresses as api
from nav_eval_gateway.schemas.organisers import Why
from nav_eval_gateway.schemas.people import EmailSecret, EmailWish
from nav_eval_store.people.accounts import Scope
from nav_eval_store.people.addresses import ProofWithSecret

router = APIRouter(include_in_schema=False)


@router.post("/account/email")
def ask_for_link(visit: Visiting, form: Form) -> Response:
    caller = visit.require_user(Scope.TEAM)
    wish = validate_fields(EmailWish, visit.t, email=form.line("email"))

    def write(issued: ProofWithSecret) -> tuple[str, str]:
        link = visit.site + visit.link("/account/email/confirm", secret=issued.secret)
        return visit.t("email.subject"), visit.t("email.text", name=caller.user.name, link=link)

    sent = api.send_link(wish.email, caller, visit.services, write)
    return visit.go("/account", visit.t("email.sent", email=sent.email))


@router.get("/account/email/confirm")
def show_confirm(visit: Visiting, secret: str = "") -> Response:
    """A page with a button: programs that look at the links in mails use up nothing."""
    visit.require_user()
    return visit.page("confirm_email.html.j2", secret=secret[:200])


@router.post("/account/email/confirm")
def confirm_email(visit: Visiting, form: Form) -> Response:
    caller = visit.require_user(Scope.TEAM)
    wanted = validate_fields(EmailSecret, visit.t, secret=form.text("secret").strip())
    user = api.confirm_email(wanted, caller, visit.store)
    return visit.go("/account", visit.t("email.confirmed", email=user.email or ""))


@router.post("/organise/users/{user}/vouch")
def vouch_for_user(user: str, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.ORGANISE)
    why = validate_fields(Why, visit.t, reason=form.paragraph("reason"))
    api.vouch_for_user(user, why, caller, visit.store)
    back = get_referer_path(visit.request, visit.services.settings, otherwise="/organise")
    return visit.go(back, visit.t("organise.done"))
