"""What organisers tell teams: kept, shown on the teams' pages, and told to webhooks (which may be mail)."""

from collections.abc import Sequence

from sqlalchemy import or_, select

from nav_eval_store import audit
from nav_eval_store.audit import Actor, Subject
from nav_eval_store.database import Session
from nav_eval_store.models import Competition, Message, Team, TeamKind, TeamStatus
from nav_eval_store.notifications import events

SHOWN = 20
"""Messages on a page; older ones are in the audit log."""


def send_message(
    session: Session,
    competition: Competition,
    recipients: Sequence[Team] | None,
    *,
    author: str,
    subject: str,
    text: str,
    actor: Actor,
) -> list[Message]:
    """Tell these teams, or all of a competition."""
    wanted: Sequence[Team | None] = [None] if recipients is None else recipients
    sent = [
        Message(
            competition_id=competition.id,
            team_id=None if team is None else team.id,
            author=author,
            subject=subject,
            text=text,
            sent_at=session.now(),
        )
        for team in wanted
    ]
    session.add_all(sent)
    session.flush()
    told = _list_teams(session, competition) if recipients is None else recipients
    for team in told:
        about = Subject(competition_id=competition.id, team_id=team.id)
        events.emit(session, events.MESSAGE, about, title=subject, text=text)
    names = None if recipients is None else [team.name for team in recipients]
    about = audit.make_subject(competition)
    audit.record(session, actor, "message.send", about, reason=subject, text=text, teams=names, count=len(told))
    return sent


def _list_teams(session: Session, competition: Competition) -> Sequence[Team]:
    query = select(Team).where(
        Team.competition_id == competition.id, Team.kind == TeamKind.TEAM, Team.status != TeamStatus.DISQUALIFIED
    )
    return session.scalars(query).all()


def list_messages(session: Session, competition: Competition, team: Team | None = None) -> Sequence[Message]:
    """The newest first: all of a competition, or what a team was told."""
    query = select(Message).where(Message.competition_id == competition.id)
    if team is not None:
        query = query.where(
            or_(Message.team_id.is_(None), Message.team_id == team.id), Message.sent_at >= team.created_at
        )
    return session.scalars(query.order_by(Message.sent_at.desc(), Message.id).limit(SHOWN)).all()
