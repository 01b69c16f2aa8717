"""Tokens: what scripts and the SDK log in with. The secret is shown once."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter, Response

from nav_eval_gateway.access import SignedIn
from nav_eval_gateway.dependencies import Reader, Store, TeamManager
from nav_eval_gateway.errors import ScopeMissing
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.people import IssuedToken, NewToken, TokenAnswer
from nav_eval_store import tokens
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict

router = APIRouter(tags=["tokens"])
MOST_TOKENS = 100


@router.get("/tokens", responses=problems(401, 403))
def list_tokens(caller: Reader, store: Store) -> list[TokenAnswer]:
    """Your tokens that still work, newest first."""
    with store.read() as session:
        return [TokenAnswer.of(token) for token in tokens.tokens_of(session, caller.user)]


@router.post("/tokens", status_code=201, responses=problems(401, 403, 409))
def create_token(wanted: NewToken, caller: TeamManager, store: Store) -> IssuedToken:
    """A new token; it can do at most what the token can that asks for it."""
    if beyond := set(wanted.scopes) - caller.scopes:
        raise ScopeMissing("Your own token does not have the scope {scope!r}.", scope=min(beyond).value)
    return store.run(lambda session: _create(session, caller, wanted))


def _create(session: Session, caller: SignedIn, wanted: NewToken) -> IssuedToken:
    if len(tokens.tokens_of(session, caller.user)) >= MOST_TOKENS:
        raise Conflict("You have {most} tokens; revoke one first.", most=MOST_TOKENS)
    lifetime = None if wanted.days is None else timedelta(days=wanted.days)
    issued = tokens.issue(
        session, caller.user, wanted.name, actor=caller.actor, scopes=wanted.scopes, lifetime=lifetime
    )
    return IssuedToken.issued(*issued)


@router.delete("/tokens/current", status_code=204, responses=problems(401, 403))
def log_out(caller: Reader, store: Store) -> Response:
    """Revoke the token of this very request."""
    store.run(lambda session: tokens.revoke(session, caller.user, caller.token_id, actor=caller.actor))
    return Response(status_code=204)


@router.delete("/tokens/{token_id}", status_code=204, responses=problems(401, 403, 404))
def revoke_token(token_id: UUID, caller: TeamManager, store: Store) -> Response:
    """A token works no longer."""
    store.run(lambda session: tokens.revoke(session, caller.user, token_id, actor=caller.actor))
    return Response(status_code=204)
