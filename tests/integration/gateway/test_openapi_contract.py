"""The API keeps to its OpenAPI document, whatever it is sent and whoever sends it.

schemathesis makes requests of the document, good and bad ones; each goes to a running gateway as nobody, as a member,
as a captain and as an organiser. No answer may be a 5xx, have a status or a content type that the document does not
know, or a body of another shape.
"""

import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from nav_eval_gateway import openapi
from nav_eval_store.models import Team
from nav_eval_store.people import accounts, teams
from nav_eval_store.people.accounts import ALL_SCOPES, Scope
from nav_eval_store.uploads import records
from support.challenge import METRICS, TEST, Challenge, competition_config
from support.gateway import PASSWORD, Server, gateway_settings, serving

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ROLES = ("public", "mem", "cap", "olga")
EXAMPLES = 6
ENDLESS = r"/events$"
"""Streams of live events have no end; tests of their own look at them."""


schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
CONFIG = SchemathesisConfig.from_dict({"phases": {"coverage": {"enabled": False}, "stateful": {"enabled": False}}})
SCHEMA = schemathesis.openapi.from_dict(openapi.make_document(), config=CONFIG).exclude(path_regex=ENDLESS)


class World:
    """A competition in which there is something of everything."""

    def __init__(self, server: Server) -> None:
        self.server, self.http = server, requests.Session()
        self._tokens: dict[str, str] = {}
        generous = {"quota": {"per_day": None, "concurrent": 10_000}, "visibility": {"episodes": "public"}}
        self.cup = cup = Challenge(server.database, competition_config(generous))
        cup.do(self._people)
        with server.database.read() as session:
            ants = session.get_one(Team, UUID(self.ids["team_id"])).id
        done, waiting, uploading = cup.complete(ants, METRICS), cup.submit(ants), cup.start(ants)
        upload = cup.do(lambda session: records.create_upload(session, uploading, actor=TEST, length=10).id)
        self.submissions = [str(done), str(waiting), str(uploading)]
        self.ids |= {"upload_id": str(upload), "competition": "cup", "phase": "dev", "user": "mem", "episode_id": "a"}
        self.metadata = f"submission_id {b64encode(str(uploading).encode()).decode()}"

    def _people(self, session) -> None:
        named = {
            name: accounts.create_user(session, name, actor=TEST, password=PASSWORD) for name in ("mem", "cap", "olga")
        }
        accounts.grant_organiser(session, named["olga"], actor=TEST)
        ants = teams.create_team(session, self.cup.competition(session), "Ants", captain=named["cap"], actor=TEST)
        teams.accept_invitation(session, teams.invite(session, ants, actor=TEST).secret, user=named["mem"], actor=TEST)
        self.ids = {"team_id": str(ants.id)}

    def token(self, name: str) -> str:
        """That of a user; a new one when requests have revoked it."""
        if name not in self._tokens:
            self._tokens[name] = self._issued(name)
        return self._tokens[name]

    def forget(self, name: str) -> None:
        self._tokens.pop(name, None)

    def _issued(self, name: str) -> str:
        def issue(session) -> str:
            scopes = ALL_SCOPES if name == "olga" else (Scope.READ, Scope.SUBMIT, Scope.TEAM)
            return accounts.issue_token(
                session, accounts.get_user(session, name), "t", actor=TEST, scopes=scopes
            ).secret

        return self.server.database.run(issue)

    def aim(self, case: schemathesis.Case, turn: int) -> None:
        """Every other request is about something that exists."""
        known = {**self.ids, "submission_id": self.submissions[turn % len(self.submissions)]}
        for name in case.path_parameters or {}:
            if name in known and turn % 2 == 0:
                case.path_parameters[name] = known[name]
        if case.path == "/api/v1/comparison" and turn % 2 == 0 and isinstance(case.query, dict):
            case.query.update({"first": self.submissions[0], "second": self.submissions[0]})
        if case.path == "/api/v1/uploads" and turn % 2 == 0 and case.method == "POST":
            case.headers.update({"Upload-Metadata": self.metadata, "Upload-Length": "10", "Tus-Resumable": "1.0.0"})


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("contract")
    with serving(gateway_settings(folder, allow_private_webhooks=True, upload_idle_seconds=2.0)) as server:
        yield World(server)


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_documented(case: schemathesis.Case, world: World) -> None:
    turn = zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode("utf-8", "surrogatepass"))
    world.aim(case, turn)
    for role in ROLES:
        headers = {} if role == "public" else {"Authorization": f"Bearer {world.token(role)}"}
        answer = case.call(base_url=world.server.url, session=world.http, headers=headers)
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code == 401 or case.path.endswith("/tokens/current"):
            world.forget(role)
