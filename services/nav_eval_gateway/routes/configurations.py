"""Competitions as text: read, check, create and change, by the same rules as `nav-eval competition apply`."""

from fastapi import APIRouter, Response

from nav_eval.config.competition_text import CompetitionText, parse_competition, render_competition
from nav_eval.errors import ConfigError
from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Store
from nav_eval_gateway.errors import TextInvalid, describe_problems
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.schemas.competitions import CompetitionAnswer
from nav_eval_gateway.schemas.configurations import DraftConfig, NewCompetition, NewConfig, PlanAnswer
from nav_eval_store.competitions import authorship, configuration
from nav_eval_store.competitions.configuration import Plan
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, NameInUse, StoreError
from nav_eval_store.models import Competition

router = APIRouter(tags=["organising"], responses=describe_problems(401, 403, 404))
CONFIG = "/competitions/{competition}/config"
YAML = "application/yaml"
SOURCE = "the text"
"""What refusals call it: `the text, line 3: …`."""
TAKEN_NAMES = frozenset({"new", "audit", "workers", "teams", "submissions", "users"})
"""Addresses of the organisers' pages."""


@router.get(
    CONFIG,
    response_class=Response,
    responses={200: {"description": "YAML.", "content": {YAML: {"schema": {"type": "object"}}}}},
    summary="The configuration of a competition",
)
def show_config(competition: str, caller: Organiser, store: Store) -> Response:
    """As its author wrote it, or written anew where it came from several files."""
    with store.read() as session:
        found = permissions.get_organised_competition(session, caller, competition)
        headers = {"Content-Disposition": f'attachment; filename="{found.name}.yaml"'}
        return Response(get_text(found), media_type=YAML, headers=headers)


def get_text(competition: Competition) -> str:
    """The text that says what the competition is."""
    return competition.source or render_competition(competition.config)


@router.post("/competitions/check", responses=describe_problems(409), summary="Check a configuration")
def check_config(draft: DraftConfig, caller: Organiser, store: Store) -> PlanAnswer:
    """What a text says, what it would change, and who would see what. Nothing is done."""
    with store.read() as session:
        said = _read_text(session, caller, draft.text)
        return PlanAnswer.of(said.config, configuration.plan(session, said.config), said.notes)


@router.post("/competitions", status_code=201, responses=describe_problems(409), summary="Create a competition")
def create_competition(wanted: NewCompetition, caller: Organiser, store: Store) -> CompetitionAnswer:
    """A competition from its text; for organisers of the installation."""

    def create(session: Session) -> CompetitionAnswer:
        permissions.require_organiser(session, caller)
        config = _read_text(session, caller, wanted.text).config
        if config.name in TAKEN_NAMES:
            raise StoreError("A competition cannot be called {name!r}: that address is reserved.", name=config.name)
        if configuration.plan(session, config).competition is not None:
            raise NameInUse("There is already a competition {name!r}; choose another name.", name=config.name)
        applied = configuration.apply(session, config, actor=caller.actor, source=wanted.text, reason=wanted.reason)
        return CompetitionAnswer.of(applied.competition, session.now())

    return store.run(create)


@router.put(CONFIG, responses=describe_problems(409), summary="Change a competition")
def change_config(competition: str, wanted: NewConfig, caller: Organiser, store: Store) -> PlanAnswer:
    """Make a competition what its text says. What would be unfair to teams is refused unless it is allowed.

    Benchmarks, limits and shards that are new to the competition are for organisers of the installation.
    """

    def change(session: Session) -> PlanAnswer:
        found = permissions.get_organised_competition(session, caller, competition)
        row = session.get_one(Competition, found.id, with_for_update={"key_share": True}, populate_existing=True)
        if wanted.digest is not None and wanted.digest != row.digest:
            raise Conflict("Somebody else has changed the competition in the meantime; review it again.")
        said = _read_text(session, caller, wanted.text)
        if said.config.name != competition:
            raise StoreError("A competition keeps its name, {name!r}; create another one instead.", name=competition)
        applied = configuration.apply(
            session,
            said.config,
            actor=caller.actor,
            allow_dangerous=wanted.allow_dangerous,
            source=wanted.text,
            reason=wanted.reason,
        )
        return PlanAnswer.of(said.config, Plan(applied.competition, applied.changes), said.notes)

    return store.run(change)


def _read_text(session: Session, caller: SignedIn, text: str) -> CompetitionText:
    """What a text says, if the caller may write it."""
    organised = [
        each for each in configuration.list_competitions(session) if permissions.is_organiser(session, caller, each)
    ]
    everywhere = permissions.is_organiser(session, caller)
    if not organised:
        permissions.require_organiser(session, caller)
    baselines = [row for each in organised for phase in each.config.phases for row in phase.baselines]
    try:
        said = parse_competition(text, source=SOURCE, agents={baseline.agent for baseline in baselines})
    except ConfigError as error:
        raise TextInvalid(str(error)) from error
    known = next((each for each in organised if each.name == said.config.name), None)
    if known is None:
        permissions.require_organiser(session, caller)
    elif not everywhere:
        authorship.refuse_reserved(known.config, said.config)
    return said
