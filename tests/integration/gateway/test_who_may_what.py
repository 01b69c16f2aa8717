"""Who may what: every address of the gateway, every kind of caller.

The tables say what each caller gets. An address that is in no table fails the test, so whoever adds one decides
here who may use it. What belongs to a team does not exist for others: 404, in the same words as for an id that
nobody has.
"""

import asyncio
import json
import shutil
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from fastapi.routing import iter_route_contexts

from nav_eval.config import CompetitionConfig
from nav_eval_gateway.app import create_app
from nav_eval_gateway.pages.csrf import make_csrf_token
from nav_eval_gateway.pages.sessions import Cookies
from nav_eval_store import blob_keys
from nav_eval_store.audit import make_user_actor
from nav_eval_store.competitions import configuration
from nav_eval_store.models import Team, TokenKind
from nav_eval_store.notifications import webhooks
from nav_eval_store.people import accounts, identities, teams
from nav_eval_store.people.accounts import ALL_SCOPES, Scope
from nav_eval_store.people.identities import ProvedPerson
from nav_eval_store.uploads import records
from nav_eval_store.work import jobs, workers
from support.challenge import METRICS, TEST, Challenge, benchmark, competition_config, line, result
from support.gateway import PASSWORD, gateway_settings

pytestmark = pytest.mark.integration

ROLES = ("public", "rival", "member", "captain", "organiser", "elsewhere")
"""Nobody; captain of another team; member and captain of the team; its organiser; organiser of another competition."""
V = "/api/v1"
PERSON = ProvedPerson("https://login.example.org", "7", "cap", None)
C, P = f"{V}/competitions/{{competition}}", f"{V}/competitions/{{competition}}/phases/{{phase}}"
S, T = f"{V}/submissions/{{submission_id}}", f"{V}/teams/{{team_id}}"

ALL = (200,) * 6
USERS = (401, 200, 200, 200, 200, 200)
TEAM_SEES = (404, 404, 200, 200, 200, 404)  # where tokens are not needed: it does not exist
TEAM = (401, 404, 200, 200, 200, 404)
CAPTAIN = (401, 404, 403, 200, 200, 404)
ORGANISER = (401, 403, 403, 403, 200, 403)
HIS_TEAMS = (401, 403, 403, 403, 200, 404)  # organisers only; to other organisers it does not exist


def success(row: tuple[int, ...], status: int) -> tuple[int, ...]:
    """The same, but what succeeds answers `status`."""
    return tuple(status if code == 200 else code for code in row)


API: dict[tuple[str, str], tuple[int, ...]] = {
    ("GET", f"{V}/openapi.json"): ALL,
    ("GET", f"{V}/competitions"): ALL,
    ("GET", C): ALL,
    ("GET", P): ALL,
    ("GET", f"{P}/leaderboard"): ALL,
    ("GET", f"{P}/leaderboard.csv"): ALL,
    ("GET", f"{P}/leaderboard/history"): ALL,
    ("GET", f"{C}/results"): ALL,
    ("GET", f"{C}/events"): ALL,
    ("GET", "/healthz"): ALL,
    ("GET", "/readyz"): ALL,
    ("GET", "/metrics"): ALL,
    ("OPTIONS", f"{V}/uploads"): success(ALL, 204),
    ("OPTIONS", f"{V}/uploads/{{upload_id}}"): success(ALL, 204),
    ("POST", f"{V}/users"): success(ALL, 201),
    ("POST", f"{V}/login"): success(ALL, 201),
    # oneself
    ("GET", f"{V}/me"): USERS,
    ("PUT", f"{V}/me/password"): success(USERS, 204),
    ("GET", f"{V}/tokens"): USERS,
    ("POST", f"{V}/tokens"): success(USERS, 201),
    ("DELETE", f"{V}/tokens/current"): success(USERS, 204),
    ("DELETE", f"{V}/tokens/{{token_id}}"): (401, 404, 404, 204, 404, 404),  # the captain's
    # teams
    ("POST", f"{C}/teams"): (401, 409, 409, 409, 201, 201),  # one team each
    ("GET", f"{C}/teams"): ORGANISER,
    ("GET", T): TEAM,
    ("PATCH", T): CAPTAIN,
    ("GET", f"{T}/quota"): TEAM,
    ("PUT", f"{T}/members/{{user}}"): CAPTAIN,
    ("DELETE", f"{T}/members/{{user}}"): success(TEAM, 204),  # the member, who may leave
    ("GET", f"{T}/invitations"): CAPTAIN,
    ("POST", f"{T}/invitations"): success(CAPTAIN, 201),
    ("DELETE", f"{T}/invitations/{{invitation_id}}"): success(CAPTAIN, 204),
    ("POST", f"{V}/invitations/accept"): (401, 409, 409, 409, 200, 200),
    # submissions
    ("POST", f"{V}/submissions"): (401, 201, 201, 201, 403, 403),  # who is in no team has none to submit for
    ("GET", f"{V}/submissions"): USERS,
    ("GET", S): TEAM_SEES,
    ("POST", f"{S}/submit"): TEAM,
    ("POST", f"{S}/cancel"): TEAM,
    ("POST", f"{S}/rerun"): success(TEAM, 201),
    ("GET", f"{S}/events"): TEAM,
    ("GET", f"{S}/episodes"): TEAM_SEES,
    ("GET", f"{S}/episodes/{{episode_id:path}}"): TEAM_SEES,
    ("GET", f"{S}/episodes/{{episode_id:path}}/replay"): TEAM_SEES,
    ("GET", f"{S}/action-log"): TEAM_SEES,
    ("GET", f"{S}/episodes/{{episode_id:path}}/film"): TEAM_SEES,
    ("POST", f"{S}/episodes/{{episode_id:path}}/film"): success(TEAM, 202),
    ("GET", f"{S}/episodes/{{episode_id:path}}/video"): TEAM_SEES,
    ("POST", f"{S}/episodes/{{episode_id:path}}/video"): success(TEAM, 202),
    ("GET", f"{S}/episodes/{{episode_id:path}}/video.mp4"): (404,) * 6,  # there is none yet
    ("GET", f"{S}/breakdown"): TEAM_SEES,
    ("GET", f"{S}/logs"): TEAM_SEES,
    ("GET", f"{S}/artifacts"): TEAM_SEES,
    ("GET", f"{S}/artifacts/{{name:path}}"): TEAM_SEES,
    ("GET", f"{V}/comparison"): TEAM_SEES,
    ("POST", f"{V}/uploads"): success(TEAM, 201),
    ("HEAD", f"{V}/uploads/{{upload_id}}"): TEAM,
    ("PATCH", f"{V}/uploads/{{upload_id}}"): success(TEAM, 204),
    ("DELETE", f"{V}/uploads/{{upload_id}}"): success(TEAM, 204),
    # webhooks
    ("GET", f"{T}/webhooks"): TEAM,
    ("POST", f"{T}/webhooks"): success(CAPTAIN, 201),
    ("DELETE", f"{T}/webhooks/{{webhook_id}}"): success(CAPTAIN, 204),
    ("POST", f"{T}/webhooks/{{webhook_id}}/test"): success(CAPTAIN, 202),
    ("GET", f"{T}/webhooks/{{webhook_id}}/deliveries"): TEAM,
    ("GET", f"{C}/webhooks"): ORGANISER,
    ("POST", f"{C}/webhooks"): success(ORGANISER, 201),
    ("DELETE", f"{C}/webhooks/{{webhook_id}}"): success(ORGANISER, 204),
    ("POST", f"{C}/webhooks/{{webhook_id}}/test"): success(ORGANISER, 202),
    ("GET", f"{C}/webhooks/{{webhook_id}}/deliveries"): ORGANISER,
    # organising
    ("POST", f"{V}/competitions"): success(ORGANISER, 201),
    ("POST", f"{V}/competitions/check"): ORGANISER,
    ("GET", f"{C}/config"): ORGANISER,
    ("PUT", f"{C}/config"): ORGANISER,
    ("GET", f"{C}/messages"): ORGANISER,
    ("POST", f"{C}/messages"): success(ORGANISER, 201),
    ("GET", f"{T}/messages"): TEAM,
    ("POST", f"{C}/bulk"): ORGANISER,
    ("GET", f"{C}/export"): ORGANISER,
    ("GET", f"{C}/refunds"): ORGANISER,
    ("GET", f"{C}/audit"): ORGANISER,
    ("GET", f"{V}/audit"): ORGANISER,
    ("GET", f"{V}/queue"): ORGANISER,
    ("GET", f"{V}/workers"): ORGANISER,
    ("POST", f"{V}/workers/drain"): ORGANISER,
    ("POST", f"{V}/workers/undrain"): ORGANISER,
    **{("POST", f"{P}/{verb}"): ORGANISER for verb in ("pause", "resume", "close", "reopen", "publish", "withdraw")},
    ("POST", f"{P}/reevaluate"): success(ORGANISER, 202),
    ("POST", f"{P}/baselines"): success(ORGANISER, 202),
    ("POST", f"{P}/grants"): success(ORGANISER, 201),
    **{("POST", f"{S}/{verb}"): HIS_TEAMS for verb in ("hide", "disqualify", "show", "stop")},
    ("POST", f"{S}/reevaluate"): success(HIS_TEAMS, 202),
    ("PUT", f"{S}/priority"): HIS_TEAMS,
    ("POST", f"{V}/me/email"): success(USERS, 409),  # without mail
    ("POST", f"{V}/me/email/confirm"): (401,) * 6,  # a secret that nobody has
    ("POST", f"{V}/users/{{user}}/vouch"): ORGANISER,
    ("POST", f"{V}/users/{{user}}/password-reset"): success(ORGANISER, 201),
    ("POST", f"{V}/password-reset"): success(ALL, 409),  # without mail, whoever it is about
    ("POST", f"{V}/password-reset/confirm"): (401,) * 6,  # a secret that nobody has
    ("GET", f"{T}/profile"): (404,) * 6,  # it has none
    ("PUT", f"{T}/profile"): CAPTAIN,
    **{("POST", f"{T}/{verb}"): HIS_TEAMS for verb in ("disqualify", "reinstate", "approve")},
}

YES, LOGIN, NO, NONE = "yes", 401, 403, 404
"""A page opens (or a form is read); one must log in; one may not; there is no such thing."""
ANYBODY, NOBODY = (YES,) * 6, (NONE,) * 6
SIGNED_IN = (LOGIN, YES, YES, YES, YES, YES)
OF_TEAM = (NONE, NONE, YES, YES, YES, NONE)
FORM_OF_TEAM = (LOGIN, NONE, YES, YES, YES, NONE)
FORM_OF_CAPTAIN = (LOGIN, NONE, NO, YES, YES, NONE)
OF_ORGANISER = (LOGIN, NO, NO, NO, YES, NO)
OF_ITS_ORGANISER = (LOGIN, NONE, NO, NO, YES, NONE)
COMPETITION, SUBMISSION, TEAM_PAGE = "/competitions/{name}", "/submissions/{submission_id}", "/teams/{team_id}"

PAGES: dict[tuple[str, str], tuple[object, ...]] = {
    ("GET", "/"): ANYBODY,
    ("GET", "/static/{version}/{name}"): ANYBODY,
    ("GET", "/login"): ANYBODY,
    ("POST", "/login"): ANYBODY,
    ("POST", "/logout"): ANYBODY,
    ("GET", "/register"): ANYBODY,
    ("POST", "/register"): ANYBODY,
    ("GET", "/preferences"): ANYBODY,
    ("GET", COMPETITION): ANYBODY,
    ("GET", "/competitions/{competition}/{phase}/board"): ANYBODY,
    ("GET", "/competitions/{competition}/{phase}/breakdown"): ANYBODY,
    ("GET", "/competitions/{competition}/{phase}/episodes"): NOBODY,  # no entry stands on this board
    ("GET", "/competitions/{competition}/{phase}/best"): NOBODY,
    ("GET", "/compare"): OF_TEAM,
    ("GET", "/help"): ANYBODY,
    ("GET", f"{COMPETITION}/feed.atom"): ANYBODY,
    ("GET", "/competitions/{competition}/{phase}/embed"): ANYBODY,
    ("GET", "/competitions/{name}/card.png"): ANYBODY,
    ("GET", "/competitions/{competition}/{phase}/card.png"): ANYBODY,
    ("GET", f"{SUBMISSION}/badge.svg"): NOBODY,  # its board is for teams: to the world it does not exist
    ("GET", f"{SUBMISSION}/cite.bib"): NOBODY,
    ("GET", f"{SUBMISSION}/replay/clip.webp"): NOBODY,  # this replay has no pictures
    ("GET", "/side-by-side"): OF_TEAM,
    ("GET", "/account"): SIGNED_IN,
    ("POST", "/account/tokens"): SIGNED_IN,
    ("POST", "/account/password"): SIGNED_IN,
    ("POST", "/account/tokens/{token_id}/revoke"): (LOGIN, NONE, NONE, YES, NONE, NONE),
    ("GET", "/login/openid"): NOBODY,  # without a provider
    ("GET", "/login/openid/callback"): ANYBODY,
    ("GET", "/login/openid/name"): (LOGIN,) * 6,
    ("POST", "/login/openid/name"): (LOGIN,) * 6,
    ("POST", "/account/identities"): (LOGIN, NONE, NONE, NONE, NONE, NONE),
    ("POST", "/account/identities/{identity_id}/remove"): (LOGIN, NONE, NONE, YES, NONE, NONE),
    ("POST", "/account/email"): SIGNED_IN,
    ("GET", "/account/email/confirm"): SIGNED_IN,
    ("POST", "/account/email/confirm"): (LOGIN, *(LOGIN,) * 5),  # a secret that nobody has
    ("POST", "/organise/users/{user}/vouch"): OF_ORGANISER,
    ("POST", "/organise/users/{user}/password-reset"): OF_ORGANISER,
    ("GET", "/forgotten"): ANYBODY,
    ("POST", "/forgotten"): ANYBODY,
    ("GET", "/reset"): ANYBODY,
    ("POST", "/reset"): (LOGIN,) * 6,  # a secret that nobody has
    ("GET", "/teams/{team_id}/profile"): NOBODY,  # it has none
    ("POST", "/teams/{team_id}/profile"): (LOGIN, NONE, NO, YES, YES, NONE),
    ("GET", f"{COMPETITION}/submit"): SIGNED_IN,
    ("POST", f"{COMPETITION}/submit"): (LOGIN, YES, YES, YES, NO, NO),
    ("GET", f"{COMPETITION}/team"): SIGNED_IN,
    ("POST", f"{COMPETITION}/team"): SIGNED_IN,
    ("GET", "/join"): SIGNED_IN,
    ("POST", "/join"): SIGNED_IN,
    ("GET", SUBMISSION): OF_TEAM,
    ("GET", f"{SUBMISSION}/live"): FORM_OF_TEAM,
    ("GET", f"{SUBMISSION}/breakdown"): OF_TEAM,
    ("GET", f"{SUBMISSION}/episodes"): OF_TEAM,
    ("GET", f"{SUBMISSION}/replay"): OF_TEAM,
    ("GET", f"{SUBMISSION}/replay/thumbnail"): OF_TEAM,
    ("GET", f"{SUBMISSION}/replay/data"): OF_TEAM,
    ("GET", f"{SUBMISSION}/replay/frames"): (NONE,) * 6,  # this replay has no pictures
    ("GET", f"{SUBMISSION}/replay/words"): ANYBODY,  # the words of the page itself
    ("POST", f"{SUBMISSION}/replay/film"): FORM_OF_TEAM,
    ("POST", f"{SUBMISSION}/replay/video"): FORM_OF_TEAM,
    ("POST", f"{SUBMISSION}/cancel"): FORM_OF_TEAM,
    ("POST", f"{SUBMISSION}/rerun"): FORM_OF_TEAM,
    ("GET", TEAM_PAGE): FORM_OF_TEAM,
    ("POST", f"{TEAM_PAGE}/name"): FORM_OF_CAPTAIN,
    ("POST", f"{TEAM_PAGE}/invitations"): FORM_OF_CAPTAIN,
    ("POST", f"{TEAM_PAGE}/invitations/{{invitation_id}}/revoke"): FORM_OF_CAPTAIN,
    ("POST", f"{TEAM_PAGE}/members/{{user}}/remove"): FORM_OF_TEAM,
    ("POST", f"{TEAM_PAGE}/members/{{user}}/role"): FORM_OF_CAPTAIN,
    ("GET", f"{TEAM_PAGE}/webhooks"): FORM_OF_TEAM,
    ("POST", f"{TEAM_PAGE}/webhooks"): FORM_OF_CAPTAIN,
    ("POST", f"{TEAM_PAGE}/webhooks/{{webhook_id}}/test"): FORM_OF_CAPTAIN,
    ("POST", f"{TEAM_PAGE}/webhooks/{{webhook_id}}/remove"): FORM_OF_CAPTAIN,
    ("GET", "/organise/{name}/webhooks"): OF_ORGANISER,
    ("POST", "/organise/{name}/webhooks"): OF_ORGANISER,
    ("POST", "/organise/{name}/webhooks/{webhook_id}/test"): OF_ORGANISER,
    ("POST", "/organise/{name}/webhooks/{webhook_id}/remove"): OF_ORGANISER,
    ("GET", "/organise/new"): OF_ORGANISER,
    ("POST", "/organise/new/draft"): OF_ORGANISER,
    ("POST", "/organise/new/check"): OF_ORGANISER,
    ("POST", "/organise/new"): OF_ORGANISER,
    ("GET", "/organise/{name}/configuration"): OF_ORGANISER,
    ("POST", "/organise/{name}/configuration"): OF_ORGANISER,
    ("POST", "/organise/{name}/configuration/check"): OF_ORGANISER,
    ("POST", "/organise/{name}/configuration/phase"): OF_ORGANISER,
    ("POST", "/organise/{name}/messages"): OF_ORGANISER,
    ("POST", "/organise/{name}/bulk"): OF_ORGANISER,
    ("GET", "/organise"): (LOGIN, NO, NO, NO, YES, YES),  # the list of what one organises
    ("GET", "/organise/audit"): OF_ORGANISER,
    ("GET", "/organise/{name}"): OF_ORGANISER,
    ("GET", "/organise/{name}/audit"): OF_ORGANISER,
    ("POST", "/organise/workers/{verb}"): OF_ORGANISER,
    ("POST", "/organise/{name}/phases/{phase}/{verb}"): OF_ORGANISER,
    ("POST", "/organise/teams/{team_id}/{verb}"): OF_ITS_ORGANISER,
    ("POST", "/organise/submissions/{submission_id}/{verb}"): OF_ITS_ORGANISER,
}

WHY = {"reason": "because"}
TEXT = """competition:
  name: {name}
  title: The Cup
  phases:
    - {{name: dev, benchmark: demo_lh_vln, quota: {{per_day: null, concurrent: 100}}}}
    - {{name: final, benchmark: demo_lh_vln, quota: {{per_day: null, concurrent: 100}}}}
"""
SAID = {"subject": "New scenes", "text": "From Monday on."}
PHASE_FIELDS = {"phase": "extra", "benchmark": "demo_lh_vln", "preset": "test", "per_day": "5"}
BODIES: dict[str, Any] = {
    f"POST {V}/users": {"name": "newcomer", "email": "new@example.org", "password": PASSWORD},
    f"POST {V}/login": {"name": "cap", "password": PASSWORD},
    f"PUT {V}/me/password": {"old": PASSWORD, "new": f"{PASSWORD} indeed"},
    f"POST {V}/tokens": {"name": "ci", "scopes": ["read"]},
    f"POST {C}/teams": {"name": "Newcomers"},
    f"PATCH {T}": {"name": "Aunts"},
    f"PUT {T}/members/{{user}}": {"role": "captain"},
    f"POST {T}/invitations": {},
    f"POST {V}/me/email": {"email": "me@example.org"},
    f"POST {V}/me/email/confirm": {"secret": "nvp_"},
    f"POST {V}/users/{{user}}/vouch": {"reason": "known"},
    f"POST {V}/password-reset": {"name": "cap"},
    f"POST {V}/password-reset/confirm": {"secret": "nvr_", "new": PASSWORD},
    f"PUT {T}/profile": {"about": "Ants."},
    f"POST {V}/submissions": {"competition": "cup", "phase": "dev"},
    f"POST {P}/grants": {"amount": 1, **WHY},
    f"PUT {S}/priority": {"priority": 1, **WHY},
    f"POST {T}/webhooks": {"url": "https://127.0.0.1/hook"},
    f"POST {C}/webhooks": {"url": "https://127.0.0.1/hook"},
    f"POST {V}/competitions": {"text": TEXT.format(name="autumn"), **WHY},
    f"POST {V}/competitions/check": {"text": TEXT.format(name="cup")},
    f"PUT {C}/config": {"text": TEXT.format(name="cup"), "allow_dangerous": True, **WHY},
    f"POST {C}/messages": SAID,
    f"POST {C}/bulk": {"verb": "stop", "submissions": ["00000000-0000-0000-0000-000000000000"], **WHY},
}
FORMS: dict[str, dict[str, str]] = {
    "POST /account/email": {"email": "me@example.org"},
    "POST /account/email/confirm": {"secret": "nvp_"},
    "POST /forgotten": {"name": "cap"},
    "POST /reset": {"secret": "nvr_", "new_password": PASSWORD},
    "POST /teams/{team_id}/profile": {"about": "Ants."},
    "POST /login": {"name": "cap", "password": PASSWORD},
    "POST /register": {"name": "newcomer", "email": "new@example.org", "password": PASSWORD},
    "POST /account/tokens": {"name": "ci", "scopes": "read"},
    "POST /account/password": {"password": PASSWORD, "new_password": f"{PASSWORD} indeed"},
    f"POST {COMPETITION}/submit": {"phase": "dev", "title": ""},
    f"POST {COMPETITION}/team": {"name": "Newcomers"},
    f"POST {SUBMISSION}/replay/film": {"episode": "a"},
    f"POST {SUBMISSION}/replay/video": {"episode": "a"},
    f"POST {TEAM_PAGE}/name": {"name": "Aunts"},
    f"POST {TEAM_PAGE}/webhooks": {"url": "https://127.0.0.1/hook", "kinds": "submission.state"},
    "POST /organise/{name}/webhooks": {"url": "https://127.0.0.1/hook", "kinds": "submission.state"},
    f"POST {TEAM_PAGE}/members/{{user}}/role": {"role": "captain"},
    "POST /organise/new": {"text": TEXT.format(name="autumn")},
    "POST /organise/new/check": {"text": TEXT.format(name="autumn")},
    "POST /organise/new/draft": {"name": "autumn", "title": "Autumn", **PHASE_FIELDS},
    "POST /organise/{name}/configuration": {"text": TEXT.format(name="cup"), "dangerous": "yes"},
    "POST /organise/{name}/configuration/check": {"text": TEXT.format(name="cup")},
    "POST /organise/{name}/configuration/phase": PHASE_FIELDS,
    "POST /organise/{name}/messages": SAID,
    "POST /organise/{name}/bulk": {"verb": "stop", "submission": "00000000-0000-0000-0000-000000000000"},
}
EXAMPLES = {"pause": "/phases/", "disqualify": "/teams/", "hide": "/submissions/", "drain": "/workers/"}
"""A verb for each kind of thing that the organisers' pages have verbs for."""


@dataclass
class World:
    """A competition with two teams, and something private of one of them."""

    folder: Path
    ids: dict[str, str] = field(default_factory=dict)  #: what stands in the place of `{…}`
    tokens: dict[str, str] = field(default_factory=dict)  #: by role
    sessions: dict[str, str] = field(default_factory=dict)  #: a browser's, by role
    answer_to: dict[str, Any] = field(default_factory=dict)  #: bodies that need ids

    def __post_init__(self) -> None:
        self.settings = gateway_settings(self.folder, allow_private_webhooks=True)
        self.app = create_app(self.settings)
        database = self.settings.store.open_database()
        self._fill(database)
        database.dispose()
        for leftover in ("store.db-wal", "store.db-shm"):
            assert not (self.folder / leftover).exists()
        shutil.copyfile(self.folder / "store.db", self.folder / "template.db")

    def _fill(self, database) -> None:
        private = {"scores": "team", "logs": "team", "replays": "team", "episodes": "team"}
        generous = {"quota": {"per_day": None, "concurrent": 100}}
        cup = Challenge(
            database, competition_config({**generous}, {"name": "final", **generous, "visibility": private})
        )
        other = {"name": "other", "title": "Other", "phases": [{"name": "dev", "benchmark": "demo_lh_vln"}]}

        def people(session) -> None:
            config = CompetitionConfig.model_validate(other)
            elsewhere = configuration.apply(session, config, actor=TEST, benchmark_of=benchmark).competition
            for name in ("rex", "mem", "cap", "olga", "otto"):
                accounts.create_user(session, name, actor=TEST, email=f"{name}@example.org", password=PASSWORD)
            named = {name: accounts.get_user(session, name) for name in ("rex", "mem", "cap", "olga", "otto")}
            accounts.grant_organiser(session, named["olga"], actor=TEST)
            accounts.grant_organiser(session, named["otto"], actor=TEST, competition=elsewhere)
            competition = cup.competition(session)
            ants = teams.create_team(session, competition, "Ants", captain=named["cap"], actor=TEST)
            teams.create_team(session, competition, "Bees", captain=named["rex"], actor=TEST)
            joining = teams.invite(session, ants, actor=TEST)
            teams.accept_invitation(session, joining.secret, user=named["mem"], actor=TEST)
            open_invitation = teams.invite(session, ants, actor=make_user_actor(named["cap"]))
            self.answer_to[f"POST {V}/invitations/accept"] = {"secret": open_invitation.secret}
            self.ids |= {
                "team_id": str(ants.id),
                "invitation_id": str(open_invitation.invitation.id),
                "webhook_id": str(webhooks.add_webhook(session, ants, "https://127.0.0.1/h", actor=TEST).id),
                "competition_webhook": str(
                    webhooks.add_webhook(session, competition, "https://127.0.0.1/h", actor=TEST).id
                ),
                "identity_id": str(identities.link_identity(session, named["cap"], PERSON, actor=TEST).id),
                "token_id": str(accounts.issue_token(session, named["cap"], "spare", actor=TEST).token.id),
            }
            for role, name in zip(ROLES[1:], named, strict=True):
                scopes = ALL_SCOPES if role in ("organiser", "elsewhere") else (Scope.READ, Scope.SUBMIT, Scope.TEAM)
                self.tokens[role] = accounts.issue_token(session, named[name], "t", actor=TEST, scopes=scopes).secret
                self.sessions[role] = accounts.issue_token(
                    session, named[name], "browser", actor=TEST, scopes=ALL_SCOPES, kind=TokenKind.SESSION
                ).secret
            workers.register_worker(session, "w1", host="h", version="1")

        cup.do(people)
        self._submit(cup)
        self.ids |= {
            "competition": "cup",
            "name": "cup",
            "phase": "dev",
            "user": "mem",
            "episode_id": "a",
            "version": "1",
        }

    def _submit(self, cup: Challenge) -> None:
        with cup.database.read() as session:
            ants = session.get_one(Team, _uuid(self.ids["team_id"])).id
        first, second = (cup.queue(ants, phase="final") for _ in range(2))
        blobs = self.settings.store.open_blobs()
        for submission in (first, second):
            lease = cup.claim_of(submission)
            with cup.database.begin() as session:
                for episode in jobs.list_unfinished_episodes(session, lease.job_id):
                    key = blob_keys.make_replay_key(submission, episode)
                    blobs.put(key, line(episode, METRICS, trajectory=[[0, 0, 0]], actions=["stop"]))
                    jobs.record_episode(session, lease, result(episode, METRICS), replay_key=key)
            cup.do(lambda s: jobs.finish_shard(s, lease))  # noqa: B023
            cup.score(submission)
        blobs.put(blob_keys.make_agent_log_key(first), b"hello")
        blobs.put(blob_keys.make_artifact_key(first, "map.txt"), b"a map")
        starting, uploading = cup.start(ants, "final"), cup.start(ants, "final")
        with cup.database.begin() as session:
            upload = records.create_upload(session, uploading, actor=TEST, length=10).id
        metadata = f"submission_id {b64encode(str(starting).encode()).decode()}"
        self.ids |= {"submission_id": str(first), "second": str(second), "upload_id": str(upload)}
        self.tus = {"Tus-Resumable": "1.0.0", "Upload-Metadata": metadata}

    def restore(self) -> None:
        """As if nothing had happened."""
        self.app.state.services.database.dispose()
        for leftover in ("store.db-wal", "store.db-shm"):
            (self.folder / leftover).unlink(missing_ok=True)
        shutil.copyfile(self.folder / "template.db", self.folder / "store.db")
        shutil.rmtree(self.folder / "blobs/uploads", ignore_errors=True)

    def path(self, template: str, ids: dict[str, str] | None = None) -> str:
        known = {**self.ids, **(ids or {})}
        if template.startswith((f"{C}/webhooks", f"{P}/webhooks", "/organise/{name}/webhooks")):
            known["webhook_id"] = known["competition_webhook"]
        if "/artifacts/" in template:
            known["name"] = "map.txt"
        if "{verb}" in template:
            known["verb"] = next(verb for verb, kind in EXAMPLES.items() if kind in template)
        if template == "/static/{version}/{name}":
            return _static_file()
        for name, value in known.items():
            template = template.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
        if template == f"{V}/comparison":
            template += "?" + urlencode({"first": known["submission_id"], "second": known["second"]})
        if template in ("/compare", "/side-by-side"):
            template += f"?entry={known['submission_id']}&entry={known['second']}&episode=a"
        if template.startswith("/submissions/") and "/replay" in template:
            template += "?episode=a&number=0&language=en"
        return template

    def request(self, method: str, template: str, ids: dict[str, str] | None = None) -> tuple[dict[str, str], bytes]:
        """The headers and the body of a request that has nothing wrong with it."""
        headers: dict[str, str] = {}
        key = f"{method} {template}"
        if "/uploads" in template:
            headers |= self.tus if method == "POST" else {"Tus-Resumable": "1.0.0"}
            if method == "POST":
                headers["Upload-Length"] = "10"
            if method == "PATCH":
                headers |= {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
                return headers, b"abcd"
            return headers, b""
        if method not in ("POST", "PUT", "PATCH"):
            return headers, b""
        body = {**self.answer_to, **BODIES}.get(key, WHY)
        if key.endswith(("/cancel", "/submit", "/rerun", "/test", "/film", "/video")):
            body = {}
        if key.endswith("/grants"):
            body = {**body, "team_id": {**self.ids, **(ids or {})}["team_id"]}
        return {"Content-Type": "application/json"}, json.dumps(body).encode()

    async def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        """The status, and what comes of the body until it pauses: streams of events have no end."""
        target, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": target,
            "raw_path": target.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(b"host", b"gateway"), (b"content-length", str(len(body)).encode())]
            + [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("gateway", 80),
            "scheme": "http",
            "http_version": "1.1",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
        }
        told, got, done = False, {"status": 0, "body": b""}, asyncio.Event()

        async def receive() -> dict[str, Any]:
            nonlocal told
            if told:
                await done.wait()
                return {"type": "http.disconnect"}
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                got["status"] = message["status"]
                if (b"content-type", b"text/event-stream; charset=utf-8") in message["headers"]:
                    done.set()
            else:
                got["body"] += message.get("body", b"")
                if not message.get("more_body", False):
                    done.set()

        await asyncio.wait_for(self.app(scope, receive, send), 30)
        return got["status"], got["body"]

    async def by_token(self, role: str, method: str, template: str, ids: dict[str, str] | None = None):
        headers, body = self.request(method, template, ids)
        if role != "public":
            headers["Authorization"] = f"Bearer {self.tokens[role]}"
        return await self.ask(method, self.path(template, ids), headers, body)

    async def by_browser(self, role: str, method: str, template: str, ids: dict[str, str] | None = None):
        cookies = Cookies(self.settings)
        holder = self.sessions.get(role, "a-visitor")
        name = cookies.session_name if role in self.sessions else "nav_eval_visitor"
        headers, body = {"Cookie": f"{name}={holder}"}, b""
        if method == "POST":
            fields = {
                "csrf_token": make_csrf_token(cookies, holder),
                "confirm": "yes",
                **WHY,
                **FORMS.get(f"POST {template}", {}),
            }
            if template == "/join":
                fields["secret"] = self.answer_to[f"POST {V}/invitations/accept"]["secret"]
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(fields).encode()
        return await self.ask(method, self.path(template, ids), headers, body)


def _uuid(text: str):
    from uuid import UUID

    return UUID(text)


def _static_file() -> str:
    from nav_eval_gateway.pages import static_files

    folder = Path(static_files.__file__).parent / "static"
    name = next(path.name for path in folder.iterdir() if path.suffix == ".css")
    return f"/static/x/{name}"


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    return World(tmp_path_factory.mktemp("who"))


def addresses(app) -> Iterator[tuple[str, str]]:
    """Every method and path that the application answers."""
    for route in iter_route_contexts(app.routes):
        for method in route.methods or ():
            if not (method == "HEAD" and "GET" in route.methods):
                yield method, route.path


def test_every_address_is_in_a_table(world: World) -> None:
    known = {*API, *PAGES}
    assert set(addresses(world.app)) - known == set(), "decide in the tables who may use these"
    assert known - set(addresses(world.app)) == set(), "these are no longer there"


async def _ask_all(world: World, table, ask) -> dict[tuple[str, str], tuple[int, ...]]:
    """What everybody gets; the world is restored after whatever changed it."""
    answers = {}
    async with world.app.router.lifespan_context(world.app):
        for method, template in table:
            row = []
            for role in ROLES:
                status, _ = await ask(role, method, template)
                row.append(status)
                if status < 400 and method not in ("GET", "HEAD", "OPTIONS"):
                    world.restore()
            answers[method, template] = tuple(row)
        world.restore()
    return answers


def _differences(expected: dict[tuple[str, str], tuple[object, ...]], got: dict[tuple[str, str], tuple[object, ...]]):
    """A line for each answer that is not as the table says."""
    return [
        f"{method} {path}, {role}: {answer} instead of {wanted}"
        for (method, path), row in expected.items()
        for role, wanted, answer in zip(ROLES, row, got[method, path], strict=True)
        if wanted != answer
    ]


def test_who_may_what_by_the_api(world: World) -> None:
    assert _differences(API, asyncio.run(_ask_all(world, API, world.by_token))) == []


def _opens(status: int) -> object:
    """A page that says that the form was filled in wrongly did read it."""
    return YES if status < 400 or status in (409, 422) else status


def test_who_may_what_by_the_pages(world: World) -> None:
    answers = asyncio.run(_ask_all(world, PAGES, world.by_browser))
    opened = {key: tuple(_opens(status) for status in row) for key, row in answers.items()}
    assert _differences(PAGES, opened) == []


GUESSED = ("submission_id", "team_id", "upload_id", "token_id", "invitation_id", "webhook_id")


def _without_request_id(body: bytes) -> bytes:
    try:
        said = json.loads(body)
    except ValueError:
        return body
    said.pop("request_id", None)
    return json.dumps(said).encode()


def test_guessing_an_id_is_as_good_as_inventing_one(world: World) -> None:
    """To those who may not know of it, something that exists looks exactly like something that does not."""

    async def play() -> list[str]:
        told = []
        async with world.app.router.lifespan_context(world.app):
            for method, template in API:
                names = [name for name in GUESSED if f"{{{name}}}" in template]
                if not names or template.startswith(f"{C}/"):
                    continue
                invented = {name: str(uuid4()) for name in names}
                for role in ("public", "rival", "elsewhere"):
                    real = await world.by_token(role, method, template)
                    none = await world.by_token(role, method, template, invented)
                    if (real[0], _without_request_id(real[1])) != (none[0], _without_request_id(none[1])):
                        told.append(f"{role}: {method} {template}: {real} but {none}")
        return told

    assert asyncio.run(play()) == []


NEED_NO_TOKEN = (f"{V}/tokens/current", f"{V}/password-reset/confirm")
"""What is refused for other reasons, or may be done with any token."""


def test_a_token_does_not_do_more_than_it_is_for(world: World) -> None:
    """The organiser with a token that may only read changes nothing and sees nothing of the organisers'."""

    async def play() -> dict[str, int]:
        def narrow(session) -> str:
            user = accounts.get_user(session, "olga")
            return accounts.issue_token(session, user, "narrow", actor=TEST, scopes=[Scope.READ]).secret

        answers = {}
        async with world.app.router.lifespan_context(world.app):
            wide, world.tokens["organiser"] = world.tokens["organiser"], world.app.state.services.database.run(narrow)
            for (method, template), row in API.items():
                if row[0] == 401 and method not in ("GET", "HEAD") and template not in NEED_NO_TOKEN:
                    answers[f"{method} {template}"] = (await world.by_token("organiser", method, template))[0]
            world.tokens["organiser"] = wide
            world.restore()
        return answers

    answers = asyncio.run(play())
    assert {key: status for key, status in answers.items() if status != 403} == {}


def test_lists_hold_nothing_of_others(world: World) -> None:
    """What a rival can list is theirs, and what the public can see names nothing private."""

    async def play() -> str:
        seen = ""
        async with world.app.router.lifespan_context(world.app):
            for role in ("public", "rival"):
                for (method, template), row in API.items():
                    if method == "GET" and row[ROLES.index(role)] == 200 and template != f"{V}/openapi.json":
                        seen += (await world.by_token(role, method, template))[1].decode("utf-8", "replace")
        return seen

    seen = asyncio.run(play())
    for name in GUESSED:
        assert world.ids[name] not in seen, name
    assert "mem@example.org" not in seen
