"""Users: registering, logging in, and who one is."""

from fastapi import APIRouter, Response
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from nav_eval_gateway.access import SignedIn
from nav_eval_gateway.dependencies import Parts, Reader, Store, TeamManager
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.people import (
    IssuedToken,
    Login,
    Me,
    Membership,
    PasswordChange,
    Registration,
    UserAnswer,
)
from nav_eval_store import competitions, tokens, users
from nav_eval_store.actors import Actor, user_actor
from nav_eval_store.database import Session
from nav_eval_store.errors import NotAllowed
from nav_eval_store.models import Competition, Member, Role, Team, TokenKind, User

router = APIRouter(tags=["users"])


@router.post("/users", status_code=201, responses=problems(403, 409))
def register(registration: Registration, store: Store, parts: Parts) -> UserAnswer:
    """Become a user of this installation, while a competition takes registrations."""
    with store.read() as session:
        _refuse_closed(session)
    with parts.passwords:
        kept = users.hashed(registration.password)

    def create(session: Session) -> UserAnswer:
        actor = Actor(f"user:{registration.name}")
        user = users.create_user(session, registration.name, actor=actor, email=registration.email)
        user.password = kept
        return UserAnswer.of(user)

    return store.run(create)


def _refuse_closed(session: Session) -> None:
    if all(competition.config.registration == "closed" for competition in competitions.listing(session)):
        raise NotAllowed("No competition takes registrations now; ask the organiser for an account.")


@router.post("/login", status_code=201, responses=problems(401))
def log_in(login: Login, store: Store, parts: Parts) -> IssuedToken:
    """A token for a name and a password."""
    with parts.passwords, store.read() as session:
        user_id = users.authenticate(session, login.name, login.password).id

    def issue(session: Session) -> IssuedToken:
        user = session.get_one(User, user_id)
        lifetime = parts.settings.login_lifetime
        issued = tokens.issue(
            session, user, login.token_name, actor=user_actor(user), scopes=login.scopes, lifetime=lifetime
        )
        return IssuedToken.issued(*issued)

    return store.run(issue)


@router.get("/me", responses=problems(401, 403))
def show_me(caller: Reader, store: Store) -> Me:
    """Who the token belongs to, and in which teams they are."""
    with store.read() as session:
        memberships = _memberships(session, caller.user)
        return Me(
            name=caller.user.name,
            email=caller.user.email,
            created_at=caller.user.created_at,
            team=memberships[0].team if memberships else None,
            teams=memberships,
            organises=_organises(session, caller),
            scopes=sorted(caller.scopes),
        )


def _memberships(session: Session, user: User) -> list[Membership]:
    """The one joined last first."""
    query = select(Member).where(Member.user_id == user.id).order_by(Member.joined_at.desc())
    rows = session.scalars(query.options(joinedload(Member.team).joinedload(Team.competition)))
    return [
        Membership(competition=row.team.competition.name, team=row.team.name, team_id=row.team_id, role=row.role)
        for row in rows
    ]


def _organises(session: Session, caller: SignedIn) -> list[str]:
    query = (
        select(Competition.name)
        .select_from(Role)
        .outerjoin(Competition, Competition.id == Role.competition_id)
        .where(Role.user_id == caller.user.id)
    )
    return sorted(name or "*" for name in session.scalars(query))


@router.put("/me/password", status_code=204, responses=problems(401, 403))
def change_password(change: PasswordChange, caller: TeamManager, store: Store, parts: Parts) -> Response:
    """Another password; browsers that are logged in are logged out."""
    with parts.passwords:
        with store.read() as session:
            users.authenticate(session, caller.user.name, change.old)
        kept = users.hashed(change.new)
    store.run(lambda session: _keep_password(session, caller, kept))
    return Response(status_code=204)


def _keep_password(session: Session, caller: SignedIn, kept: str) -> None:
    user = session.get_one(User, caller.user.id)
    users.keep_password(session, user, kept, actor=caller.actor)
    for token in tokens.tokens_of(session, user, kind=TokenKind.SESSION):
        tokens.revoke(session, user, token.id, actor=caller.actor)
