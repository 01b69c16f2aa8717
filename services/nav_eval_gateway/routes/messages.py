"""What organisers tell teams: on the teams' pages, and to the webhooks that listen for messages."""

from uuid import UUID

from fastapi import APIRouter

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Reader, Store
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.schemas.configurations import NewMessage
from nav_eval_gateway.schemas.organisers import MessageAnswer
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import Competition, Team, TeamKind
from nav_eval_store.notifications import messages

router = APIRouter(tags=["organising"], responses=describe_problems(401, 403, 404))
MESSAGES = "/competitions/{competition}/messages"


@router.get(MESSAGES, summary="Messages to teams")
def list_messages(competition: str, caller: Organiser, store: Store) -> list[MessageAnswer]:
    """The last ones that were sent in a competition, newest first; for its organisers."""
    with store.read() as session:
        organised = permissions.get_organised_competition(session, caller, competition)
        return [MessageAnswer.from_row(row) for row in messages.list_messages(session, organised)]


@router.post(MESSAGES, status_code=201, summary="Send a message to teams")
def send_message(competition: str, wanted: NewMessage, caller: Organiser, store: Store) -> list[MessageAnswer]:
    """Tell some teams, or all: it stands on their pages, and goes to their webhooks for `message.sent`."""

    def send(session: Session) -> list[MessageAnswer]:
        organised = permissions.get_organised_competition(session, caller, competition)
        recipients = None if wanted.teams is None else [_get_team(session, organised, each) for each in wanted.teams]
        sent = messages.send_message(
            session,
            organised,
            recipients,
            author=caller.user.name,
            subject=wanted.subject,
            text=wanted.text,
            actor=caller.actor,
        )
        return [MessageAnswer.from_row(row) for row in sent]

    return store.run(send)


def _get_team(session: Session, competition: Competition, team_id: UUID) -> Team:
    team = session.get(Team, team_id)
    if team is None or team.competition_id != competition.id or team.kind is not TeamKind.TEAM:
        raise NotFound("There is no such team in this competition.")
    return team


@router.get("/teams/{team_id}/messages", summary="What organisers told a team")
def list_team_messages(team_id: UUID, caller: Reader, store: Store) -> list[MessageAnswer]:
    """The last ones, newest first; for its members and organisers."""
    with store.read() as session:
        team = permissions.get_team(session, caller, team_id).team
        return [MessageAnswer.from_row(row) for row in messages.list_messages(session, team.competition, team)]
