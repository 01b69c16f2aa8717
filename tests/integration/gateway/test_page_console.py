"""Every verb of organisers has its place on a page, behind a tick, and leaves a line in the audit log."""

import re
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from sqlalchemy import select

from nav_eval_gateway.dependencies import get_organiser
from nav_eval_store.competitions import moderation
from nav_eval_store.models import AuditEvent, Team, TokenKind
from nav_eval_store.notifications import webhooks
from nav_eval_store.people import accounts, teams
from nav_eval_store.people.accounts import ALL_SCOPES
from nav_eval_store.work import workers
from support.challenge import GENEROUS, TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration
PHASE, SUBMISSION, TEAM = (
    "/competitions/{competition}/phases/{phase}",
    "/submissions/{submission_id}",
    "/teams/{team_id}",
)
HOOKS = "/competitions/{competition}/webhooks"
CONSOLE, HERE = "/organise/cup", "/organise/cup/phases/dev"
MINE, THEIRS = "/organise/submissions/{submission}", "/organise/teams/{team}"

FORMS: dict[str, tuple[str, str]] = {
    **{f"POST {PHASE}/{verb}": (CONSOLE, f"{HERE}/{verb}") for verb in ("pause", "close", "reevaluate", "baselines")},
    **{f"POST {PHASE}/{verb}": (CONSOLE, f"{HERE}/{verb}") for verb in ("resume", "reopen", "publish", "withdraw")},
    f"POST {PHASE}/grants": (CONSOLE, f"{HERE}/grant"),
    **{
        f"POST {SUBMISSION}/{verb}": ("/submissions/{submission}", f"{MINE}/{verb}")
        for verb in ("hide", "show", "disqualify", "stop", "reevaluate")
    },
    f"PUT {SUBMISSION}/priority": ("/submissions/{submission}", f"{MINE}/priority"),
    **{f"POST {TEAM}/{verb}": ("/teams/{team}", f"{THEIRS}/{verb}") for verb in ("disqualify", "reinstate", "approve")},
    "POST /users/{user}/vouch": ("/teams/{team}", "/organise/users/{user}/vouch"),
    "POST /competitions": ("/organise/new?source=cup", "/organise/new/check"),
    "PUT /competitions/{competition}/config": (f"{CONSOLE}/configuration", f"{CONSOLE}/configuration/check"),
    "POST /competitions/check": (f"{CONSOLE}/configuration", f"{CONSOLE}/configuration/check"),
    "POST /competitions/{competition}/messages": (CONSOLE, f"{CONSOLE}/messages"),
    "POST /competitions/{competition}/bulk": (CONSOLE, f"{CONSOLE}/bulk"),
    "POST /users/{user}/password-reset": ("/teams/{team}", "/organise/users/{user}/password-reset"),
    "POST /workers/drain": ("/organise", "/organise/workers/drain"),
    "POST /workers/undrain": ("/organise", "/organise/workers/undrain"),
    f"POST {HOOKS}": (f"{CONSOLE}/webhooks", f"{CONSOLE}/webhooks"),
    f"POST {HOOKS}/{{webhook_id}}/test": (f"{CONSOLE}/webhooks", f"{CONSOLE}/webhooks/{{webhook}}/test"),
    f"DELETE {HOOKS}/{{webhook_id}}": (f"{CONSOLE}/webhooks", f"{CONSOLE}/webhooks/{{webhook}}/remove"),
}
"""A verb of the API: the page that has it, and the address of its form."""
SHOWN = {
    "GET /workers": "/organise",
    "GET /queue": "/organise",
    "GET /audit": "/organise/audit",
    "GET /competitions/{competition}/audit": f"{CONSOLE}/audit",
    "GET /competitions/{competition}/teams": CONSOLE,
    "GET /competitions/{competition}/export": CONSOLE,
    "GET /competitions/{competition}/refunds": CONSOLE,
    "GET /competitions/{competition}/config": f"{CONSOLE}/configuration",
    "GET /competitions/{competition}/messages": CONSOLE,
    f"GET {HOOKS}": f"{CONSOLE}/webhooks",
    f"GET {HOOKS}/{{webhook_id}}/deliveries": f"{CONSOLE}/webhooks",
}
"""What organisers alone may read: the page on which it stands."""
FIELDS = {
    "grant": {"amount": "2"},
    "priority": {"priority": "5"},
    "messages": {"subject": "New scenes", "text": "From Monday on."},
    "bulk": {"verb": "hide"},
    "webhooks": {"url": "https://127.0.0.1/hook", "kinds": "submission.state"},
}


class Console:
    """An organiser at a browser."""

    def __init__(self, server: Server, challenge: Challenge, http: httpx.Client) -> None:
        self.server, self.challenge, self.http = server, challenge, http
        self.ids: dict[str, str] = {}

    def page(self, path: str) -> str:
        answer = self.http.get(path.format(**self.ids))
        assert answer.status_code == 200, (path, answer.text)
        return answer.text

    def submit(self, page: str, action: str, **fields: str) -> httpx.Response:
        proof = re.search(r'name="csrf_token" value="([0-9a-f]+)"', self.page(page))
        assert proof is not None
        return self.http.post(action.format(**self.ids), data={"csrf_token": proof[1], **fields})

    def audited(self) -> int:
        with self.server.database.read() as session:
            return len(session.scalars(select(AuditEvent.id).where(AuditEvent.actor == "user:olga")).all())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(gateway_settings(tmp_path_factory.mktemp("console"), allow_private_webhooks=True)) as running:
        yield running


@pytest.fixture(scope="module")
def console(server: Server) -> Iterator[Console]:
    phase = {
        **GENEROUS,
        "visibility": {"scores": "organiser"},
        "baselines": [{"name": "R", "agent": "baseline:random"}],
    }
    challenge = Challenge(server.database, competition_config(phase, registration="approval"))
    with server.database.begin() as session:
        olga = accounts.create_user(session, "olga", actor=TEST)
        accounts.grant_organiser(session, olga, actor=TEST)
        workers.register_worker(session, "w1", host="h", version="1")
        secret = accounts.issue_token(
            session, olga, "browser", actor=TEST, scopes=ALL_SCOPES, kind=TokenKind.SESSION
        ).secret
    with httpx.Client(base_url=server.url, headers={"Accept": "text/html"}, timeout=30) as http:
        http.cookies.set("nav_eval_session", secret, domain="127.0.0.1", path="/")
        yield Console(server, challenge, http)


def verbs_of_the_api(app: FastAPI) -> set[str]:
    """Whatever needs the scope of organisers."""
    return {
        f"{method} {route.path.removeprefix('/api/v1')}"
        for route in iter_route_contexts(app.routes)
        for method in route.methods or ()
        if any(part.call is get_organiser for part in getattr(route, "dependant", Dependant()).dependencies)
    }


def test_every_verb_has_a_place(server: Server) -> None:
    assert verbs_of_the_api(server.app) - {*FORMS, *SHOWN} == set(), "give these a place in the console"
    assert {*FORMS, *SHOWN} - verbs_of_the_api(server.app) == set(), "these are no longer there"


@pytest.mark.parametrize("page", sorted(set(SHOWN.values())))
def test_what_organisers_read_stands_there(console: Console, page: str) -> None:
    assert console.page(page)
    assert "/api/v1/competitions/cup/export" in console.page(CONSOLE)


def prepared(console: Console, verb: str) -> None:
    """A team and a submission, in a state in which the verb makes sense."""
    challenge, name = console.challenge, f"team {uuid4().hex[:8]}"
    team = challenge.team(name)
    with console.server.database.begin() as session:
        row, phase = session.get_one(Team, team), challenge.phase(session)
        if not verb.endswith("/approve"):
            teams.approve_team(session, row, actor=TEST)
        if verb.endswith("/reinstate"):
            moderation.disqualify_team(session, row, actor=TEST, reason="x")
        phase.paused_at = phase.closed_at = phase.published_at = None
        phase.closes_at = phase.config.closes
        if verb.endswith("/resume"):
            moderation.pause_phase(session, phase, actor=TEST, reason="x")
        if verb.endswith("/reopen"):
            moderation.close_phase(session, phase, actor=TEST, reason="x")
        if verb.endswith("/withdraw"):
            moderation.publish_board(session, phase, actor=TEST, reason="x")
        hook = webhooks.add_webhook(session, challenge.competition(session), "https://127.0.0.1/", actor=TEST).id
        for old in webhooks.list_webhooks(session, challenge.competition(session)):
            if old.id != hook:
                webhooks.remove_webhook(session, challenge.competition(session), old.id, actor=TEST)
        (captain,) = teams.list_members(session, row)
        captain.user.email = f"{captain.user.name}@example.org"
        console.ids["user"] = captain.user.name
    console.ids |= {"team": str(team), "webhook": str(hook)}
    if SUBMISSION in verb or verb.endswith("/bulk"):
        running = verb.endswith(("/stop", "/priority"))
        submission = challenge.queue(team) if running else challenge.complete(team)
        if verb.endswith("/show"):
            challenge.do(lambda session: moderation.hide_submission(session, submission, actor=TEST, reason="x"))
        console.ids["submission"] = str(submission)


CHECKED_FIRST = ("POST /competitions", "PUT /competitions/{competition}/config", "POST /competitions/check")
"""What is shown before it is done: `test_page_desk.py`."""


@pytest.mark.parametrize("verb", CHECKED_FIRST)
def test_what_is_checked_first_has_its_form(console: Console, verb: str) -> None:
    page, action = FORMS[verb]
    assert f'action="{action}"' in console.page(page)


@pytest.mark.parametrize("verb", [verb for verb in FORMS if verb not in CHECKED_FIRST])
def test_a_verb_needs_a_tick_and_leaves_a_line(console: Console, verb: str) -> None:
    page, action = FORMS[verb]
    prepared(console, verb)
    assert f'action="{action.format(**console.ids)}"' in console.page(page), "there is no form"
    fields = {"reason": "because", **FIELDS.get(action.rpartition("/")[2], {})}
    if action.endswith("/bulk"):
        fields["submission"] = console.ids["submission"]
    if action.endswith("/grant"):
        fields["team"] = console.ids["team"]
    before = console.audited()
    refused = console.submit(page, action, **fields)
    assert refused.status_code in (303, 422), "a form without a tick"
    assert console.audited() == before
    done = console.submit(page, action, confirm="yes", **fields)
    assert done.status_code in (200, 303), done.text
    assert console.audited() > before
