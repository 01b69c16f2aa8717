"""What each role can learn from every route, page, event and webhook is what the phase's rule says, and nothing more.

Everything that a phase may keep has a mark of its own: a number or a word that occurs nowhere else. All that a role can
get is gathered, and the marks in it are compared with the rule. A route that this test cannot call fails it: add it.
"""

import dataclasses
import importlib
import io
import json
import pkgutil
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import select

from nav_eval.records.results import Cause
from nav_eval_gateway import pages
from nav_eval_gateway.event_readers import CompetitionReader, SubmissionReader
from nav_eval_gateway.permissions import Caller
from nav_eval_store import blob_keys
from nav_eval_store.competitions import moderation
from nav_eval_store.errors import NotAllowed, NotFound
from nav_eval_store.models import Delivery, EpisodeRow, Submission, Team, TokenKind, User, Webhook
from nav_eval_store.notifications import events, webhooks
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES, Scope
from nav_eval_store.submissions import transitions
from nav_eval_store.work import jobs
from support.challenge import EPISODES, TEST, Challenge, competition_config, line, result
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration

VISIBILITIES: dict[str, Any] = {
    "usual": None,
    "test": "test",
    "practice": "practice",
    "open": {"preset": "practice", "logs": "public", "replays": "public", "episodes": "public"},
    "sealed": {"scores": "organiser", "logs": "organiser"},
    "own": {"preset": "practice", "scores": "team", "replays": "public"},
    "muddled": {
        "scores": "organiser",
        "logs": "team",
        "replays": "public",
        "episodes": "team",
    },  # of before the presets
}
"""By the name of the phase that has it."""
RULES: dict[str, dict[str, str]] = {
    "usual": {"scores": "public", "logs": "team", "replays": "organiser", "episodes": "organiser"},
    "test": {"scores": "public", "logs": "team", "replays": "organiser", "episodes": "organiser"},
    "practice": {"scores": "public", "logs": "team", "replays": "team", "episodes": "team"},
    "open": {"scores": "public", "logs": "public", "replays": "public", "episodes": "public"},
    "sealed": {"scores": "organiser", "logs": "organiser", "replays": "organiser", "episodes": "organiser"},
    "own": {"scores": "team", "logs": "team", "replays": "team", "episodes": "team"},
    "muddled": {"scores": "organiser", "logs": "team", "replays": "organiser", "episodes": "organiser"},
}
ROLES = ("anybody", "other", "team", "organiser")
SEES = {
    "anybody": ("public",),
    "other": ("public",),
    "team": ("public", "team"),
    "organiser": ("public", "team", "organiser"),
}

VALUES = {"a": 0.11731, "b": 0.90919, "c": 0.73337, "d": 0.69321}
MARKS = {
    "scores": r"(?<!\d)0?\.613",  # the mean of these
    "episodes": r"(?<!\d)0?\.(117|909|733|693|513)",  # each, and the mean of two while others are played
    "replays": r"(?<!\d)7\.771|MAP MARK",
    "logs": "LOG MARK",
    "test set": "SECRET INSTRUCTION|house_[01]",
    "identities": "feedface|5318008",  # the seeds: with them, which episode is which
    "oracle": r"(?<!\d)8\.881|ORACLE LOG|(?<!\d)0?\.987",
    "refunded": r"(?<!\d)0?\.777|REFUNDED LOG",
    "our failure": "the disk of host-7",
}
EPISODE_SEED = "feedface" * 4


class Site:
    """A gateway with a phase for each visibility; in each a run that ended, one under way, one we broke, an oracle."""

    def __init__(self, server: Server) -> None:
        self.server, self.blobs = server, server.settings.store.open_blobs()
        phases = [
            {
                "name": name,
                "quota": {"per_day": None, "concurrent": 1000},
                "baselines": [{"name": f"Oracle {name}", "agent": "baseline:oracle", "privileged": True}],
                **({} if visibility is None else {"visibility": visibility}),
            }
            for name, visibility in VISIBILITIES.items()
        ]
        self.cup = Challenge(server.database, competition_config(*phases))
        self.team, self.other = self.cup.team("Finders"), self.cup.team("Others")
        server.user("olga", organiser=True)
        self.hooks = self._listen()
        self.submissions = {name: self._fill(name) for name in VISIBILITIES}
        self._asked_before: dict[tuple[str, str], httpx.Response] = {}
        self.tokens = {
            "other": server.user("others"),
            "team": server.user("finders"),
            "organiser": server.user("olga", organiser=True),
        }

    def _listen(self) -> dict[UUID, str]:
        kinds = [events.STATE_CHANGED, events.PROGRESS, events.VERDICT, events.BOARD_CHANGED, events.PHASE_CHANGED]

        def add(session: Any) -> dict[UUID, str]:
            owners = {
                "team": session.get_one(Team, self.team),
                "other": session.get_one(Team, self.other),
                "organiser": self.cup.competition(session),
            }
            return {
                webhooks.add_webhook(session, owner, f"https://{role}.example/", actor=TEST, kinds=kinds).id: role
                for role, owner in owners.items()
            }

        return self.cup.do(add)

    def _fill(self, phase: str) -> dict[str, UUID]:
        over = self.cup.complete(
            self.team, lambda name: dict.fromkeys(("tar", "isr", "csr", "cgt"), VALUES[name]), phase=phase
        )
        self._leave_evidence(over, "7.77123", "LOG MARK", "MAP MARK")
        return {
            "over": over,
            "running": self._begin(phase, 2),
            "broken": self._break(phase),
            "untried": self._break_canary(phase),
            "oracle": self._run_oracle(phase),
        }

    def _begin(self, phase: str, count: int, value: float | None = None) -> UUID:
        submission = self.cup.queue(self.team, phase=phase)
        lease = self.cup.claim_of(submission)
        with self.server.database.begin() as session:
            for name in EPISODES[:count]:
                metrics = dict.fromkeys(("tar", "isr", "csr", "cgt"), value or VALUES[name])
                jobs.record_episode(session, lease, result(name, metrics, instruction="SECRET INSTRUCTION"))
        self._mark_seed(submission)
        return submission

    def _break(self, phase: str) -> UUID:
        """It failed by our fault after half of its episodes: it cost nothing."""
        submission = self._begin(phase, 2, 0.77719)
        self._leave_evidence(submission, "7.77719", "REFUNDED LOG", None)
        with self.server.database.begin() as session:
            row = transitions.lock_submission(session, submission)
            transitions.fail_submission(session, row, Cause.INFRASTRUCTURE, "the disk of host-7 is full", actor=TEST)
        return submission

    def _break_canary(self, phase: str) -> UUID:
        """It failed by our fault before its evaluation began, and its agent had printed something by then."""
        submission = self.cup.submit(self.team, phase=phase)
        self.blobs.put(blob_keys.make_agent_log_key(submission), b"REFUNDED LOG")
        with self.server.database.begin() as session:
            row = transitions.lock_submission(session, submission)
            transitions.fail_submission(session, row, Cause.INFRASTRUCTURE, "the disk of host-7 is full", actor=TEST)
            assert row.started_at is None
        return submission

    def _run_oracle(self, phase: str) -> UUID:
        started = self.cup.do(
            lambda session: [
                row.id for row in moderation.run_baselines(session, self.cup.phase(session, phase), actor=TEST)
            ]
        )
        submission = started[0]
        self.cup.prepare(submission)
        self.cup.run(
            submission, lambda name: dict.fromkeys(("tar", "isr", "csr", "cgt"), 0.98761 if name == "a" else 1.0)
        )
        self._leave_evidence(submission, "8.88123", "ORACLE LOG", "8.881")
        return submission

    def _leave_evidence(self, submission: UUID, place: str, log: str, drawing: str | None) -> None:
        with self.server.database.begin() as session:
            value = json.loads(session.get_one(EpisodeRow, (submission, "a")).outcome or "{}").get("metrics", {})
        kept = line(
            "a",
            value,
            instruction="SECRET INSTRUCTION",
            trajectory=[[0, 0, 0], [float(place), 0, 0]],
            actions=["move_forward"],
        )
        key = self.blobs.put(blob_keys.make_replay_key(submission, "a"), kept).key
        self.blobs.put(blob_keys.make_agent_log_key(submission), log.encode())
        self.blobs.put(blob_keys.make_episode_log_key(submission, "a"), log.encode())
        self.blobs.put(blob_keys.make_artifact_key(submission, "episodes.jsonl"), line("a", value))
        if drawing is not None:
            self.blobs.put(blob_keys.make_artifact_key(submission, "map.svg"), f"<svg>{drawing}</svg>".encode())
        with self.server.database.begin() as session:
            session.get_one(EpisodeRow, (submission, "a")).replay_key = key
        self._mark_seed(submission)

    def _mark_seed(self, submission: UUID) -> None:
        with self.server.database.begin() as session:
            row = session.get_one(Submission, submission)
            row.provenance = {**row.provenance, "episode_seed": EPISODE_SEED, "run_seed": 5318008}

    def gather(self, phase: str, role: str) -> str:
        """All that a role can get about a phase."""
        return "\n".join(
            (*self._call_everything(phase, role), *self._follow(phase, role), *self._read_deliveries(role, phase))
        )

    def _call_everything(self, phase: str, role: str) -> Iterator[str]:
        with httpx.Client(base_url=self.server.url, timeout=60, **self._identify(role)) as client:
            for path in list_paths(self.server):
                for address in self._fill_in(path, phase):
                    answer = self._asked_before.get((role, address)) or ask(client, address)
                    if not re.search(r"\{phase\}|\{submission_id\}", path) and "?" not in address:
                        self._asked_before[role, address] = answer  # it is about all phases: once will do
                    assert answer.status_code < 500, (address, answer.text)
                    yield f"{address}\n{read_text(answer, phase)}"

    def _identify(self, role: str) -> dict[str, Any]:
        if role == "anybody":
            return {}
        name = {"other": "others", "team": "finders", "organiser": "olga"}[role]
        with self.server.database.begin() as session:
            scopes = ALL_SCOPES if role == "organiser" else (Scope.READ, Scope.SUBMIT, Scope.TEAM)
            issued = accounts.issue_token(
                session, accounts.get_user(session, name), "browser", actor=TEST, scopes=scopes, kind=TokenKind.SESSION
            )
        return {
            "cookies": {"nav_eval_session": issued.secret},
            "headers": {"Authorization": f"Bearer {self.tokens[role]}"},
        }

    def _fill_in(self, path: str, phase: str) -> Iterator[str]:
        """The addresses of a path in one phase, each with every query that shows more."""
        if "{submission_id}" not in path:
            yield _fill(path, self._get_values(phase, self.submissions[phase]["over"]))
            return
        for submission in self.submissions[phase].values():
            address = _fill(path, self._get_values(phase, submission))
            yield address
            if "replay" in path:
                yield f"{address}?episode=a&number=0"
            if path.endswith("breakdown"):
                yield from (f"{address}?by={by}" for by in ("scene", "path", "instruction"))
            if path.endswith("/logs"):
                yield f"{address}?episode=a"
            if path.endswith("artifacts/{name}"):
                yield address.replace("map.svg", "episodes.jsonl")

    def _get_values(self, phase: str, submission: UUID) -> dict[str, str]:
        both = f"first={submission}&second={self.submissions[phase]['oracle']}"
        return {
            "competition": "cup",
            "phase": phase,
            "submission_id": str(submission),
            "episode_id": "a",
            "team_id": str(self.team),
            "webhook_id": str(next(iter(self.hooks))),
            "comparison": both,
            "compare": f"entry={submission}&entry={self.submissions[phase]['oracle']}",
        }

    def _follow(self, phase: str, role: str) -> Iterator[str]:
        """What live events tell."""
        caller = self._make_caller(role)
        yield _read_all(CompetitionReader(self.server.database, caller, self._get_competition_id()))
        if role in ("team", "organiser"):  # others are refused before the stream begins
            for submission in self.submissions[phase].values():
                with suppress(NotAllowed, NotFound):
                    yield _read_all(SubmissionReader(self.server.database, caller, submission))

    def _make_caller(self, role: str) -> Caller:
        if role == "anybody":
            return Caller()
        with self.server.database.read() as session:
            name = {"other": "others", "team": "finders", "organiser": "olga"}[role]
            user = session.scalars(select(User).where(User.name == name)).one()
            token = accounts.verify_token(session, self.tokens[role])
        scopes = frozenset(ALL_SCOPES if role == "organiser" else (Scope.READ, Scope.SUBMIT, Scope.TEAM))
        return Caller(user=user, scopes=scopes, token_id=token.id)

    def _get_competition_id(self) -> UUID:
        with self.server.database.read() as session:
            return self.cup.competition(session).id

    def _read_deliveries(self, role: str, phase: str) -> Iterator[str]:
        """What was sent to a role's webhook about the phase."""
        with self.server.database.read() as session:
            mine = {str(key) for key in self.submissions[phase].values()}
            for hook, body in session.execute(
                select(Webhook.id, Delivery.body).join(Webhook, Webhook.id == Delivery.webhook_id)
            ):
                if self.hooks[hook] == role and body.get("submission_id") in (None, *mine):
                    yield json.dumps(body)


def _fill(path: str, values: Mapping[str, str]) -> str:
    name = "map.svg" if "artifacts" in path else "cup"
    address = path.replace("{name}", name).replace("{name:path}", name).replace("{episode_id:path}", "{episode_id}")
    for key, value in values.items():
        address = address.replace(f"{{{key}}}", value)
    assert "{" not in address, f"{path} has a part that this test does not know; add it"
    query = {
        "/api/v1/comparison": values["comparison"],
        "/compare": values["compare"],
        "/side-by-side": f"{values['compare']}&episode=a",
    }.get(address)
    return f"{address}?{query}" if query else address


def ask(client: httpx.Client, address: str) -> httpx.Response:
    return client.get(address, headers={"Accept": "text/html" if "/api/" not in address else "*/*"})


def list_paths(server: Server) -> list[str]:
    """Every address that can be read, but streams, which never end, and what is about machines."""
    documented = [path for path, verbs in server.app.openapi()["paths"].items() if "get" in verbs]
    modules = [
        importlib.import_module(f"{pages.__name__}.{each.name}") for each in pkgutil.iter_modules(pages.__path__)
    ]
    shown = [
        route.path
        for module in modules
        for route in getattr(getattr(module, "router", None), "routes", ())
        if isinstance(route, APIRoute) and "GET" in route.methods
    ]
    assert len(shown) > 20
    paths = dict.fromkeys((*documented, *shown))
    skipped = ("/events", "/live", "/metrics", "/healthz", "/readyz")
    return [path for path in paths if not path.endswith(skipped) and "/static/" not in path]


def read_text(answer: httpx.Response, phase: str) -> str:
    """The words of an answer, whatever it is packed in; of an archive or a table of all phases, those of this one."""
    if not answer.content.startswith(b"PK"):
        others = "|".join(name for name in VISIBILITIES if name != phase)
        of_others = "|".join(
            (
                rf'<tr>(?:(?!</tr>).)*data-label="Phase">(?:{others})</td>.*?</tr>',
                rf"<figure><figcaption>(?:Scores|Rank): (?:{others})</figcaption>.*?</figure>",
                rf"<entry>(?:(?!</entry>).)* in (?:{others})</title>.*?</entry>",
                rf"<section(?:(?!</section>).)*>Top entries: (?:{others})</h2>.*?</section>",
            )
        )
        return re.sub(of_others, "", answer.text, flags=re.DOTALL)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        others = tuple(f"phases/{name}/" for name in VISIBILITIES if name != phase)
        names = [name for name in archive.namelist() if not name.startswith(others)]
        return "\n".join(archive.read(name).decode(errors="replace") for name in names)


def _read_all(reader: Any) -> str:
    told: list[Any] = []
    for last in (None, 0):
        batch = reader(last)
        told += [
            dataclasses.asdict(event) if dataclasses.is_dataclass(event) else repr(event) for event in batch.events
        ]
    return json.dumps(told, default=str)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(gateway_settings(Path(tmp_path_factory.mktemp("derived")))) as server:
        yield Site(server)


def list_allowed(phase: str, role: str) -> set[str]:
    if role == "organiser":
        return set(MARKS)
    parts = {part for part, audience in RULES[phase].items() if audience in SEES[role]}
    if RULES[phase]["replays"] == "public":  # everybody may have films made, which show scenes and instructions
        parts |= {"test set"}
    return parts | {"identities"} if "episodes" in parts else parts


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("phase", VISIBILITIES)
def test_a_role_learns_what_the_rule_says(site: Site, phase: str, role: str) -> None:
    text = site.gather(phase, role)
    found = {part for part, mark in MARKS.items() if re.search(mark, text)}
    allowed = list_allowed(phase, role)
    for part in sorted(found - allowed):
        places = [piece.split("\n", 1)[0] for piece in text.split("\n/") if re.search(MARKS[part], piece)]
        pytest.fail(f"{role} learns {part} in {phase}: {places[:8]}")
    missing = {part for part in RULES[phase] if part in allowed} - found
    assert not missing, "what the rule allows can be found somewhere"
