"""What handlers ask for: the store, the blobs, and who is calling.

`Visitor` is anybody. `Reader`, `Submitter`, `TeamManager` and `Organiser` are users whose token has the
scope of that name; whether they may do it to *this* thing is decided in `access`.
"""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from nav_eval_gateway.access import ANYBODY, Caller, SignedIn
from nav_eval_gateway.notify import Messenger
from nav_eval_gateway.services import Services
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_store import tokens
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database
from nav_eval_store.errors import BadCredentials
from nav_eval_store.tokens import Scope

BEARER = HTTPBearer(
    auto_error=False, scheme_name="token", description="A token: `nve_…`, from POST /login or POST /tokens."
)
"""For the OpenAPI document; the header itself is read by `visitor`."""


async def services(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


async def database(request: Request) -> Database:
    return (await services(request)).database


async def blobs(request: Request) -> BlobStore:
    return (await services(request)).blobs


async def messenger(request: Request) -> Messenger:
    return (await services(request)).messenger


async def settings(request: Request) -> GatewaySettings:
    return (await services(request)).settings


async def visitor(request: Request) -> Caller:
    """Whoever asks. A token that is no good is refused even where none is needed."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        caller = await run_in_threadpool(caller_with, await database(request), secret.strip())
    elif request.method == "GET" and (cookie := request.cookies.get((await settings(request)).session_cookie)):
        caller = await run_in_threadpool(_browser, await database(request), cookie)
    else:
        return ANYBODY
    request.scope["nav_eval.user"] = caller.user
    return caller


def _browser(database: Database, cookie: str) -> Caller:
    """Whoever is logged in by the pages may also read here (live events, files); only a token may change things."""
    try:
        return caller_with(database, cookie)
    except BadCredentials:
        return ANYBODY


def caller_with(database: Database, secret: str) -> Caller:
    """The user whose token this is; pages use it for the token in their cookie."""
    with database.read() as session:
        token = tokens.verify(session, secret)
        stale = tokens.needs_touch(session, token)
    if stale:
        database.run(lambda session: tokens.touch(session, token.id))
    return Caller(user=token.user, scopes=frozenset(Scope(scope) for scope in token.scopes), token_id=token.id)


Visitor = Annotated[Caller, Depends(visitor)]


async def reader(caller: Visitor, _: Annotated[object, Depends(BEARER)]) -> SignedIn:
    return caller.signed_in(Scope.READ)


async def submitter(caller: Visitor, _: Annotated[object, Depends(BEARER)]) -> SignedIn:
    return caller.signed_in(Scope.SUBMIT)


async def team_manager(caller: Visitor, _: Annotated[object, Depends(BEARER)]) -> SignedIn:
    return caller.signed_in(Scope.TEAM)


async def organiser(caller: Visitor, _: Annotated[object, Depends(BEARER)]) -> SignedIn:
    return caller.signed_in(Scope.ORGANISE)


Parts = Annotated[Services, Depends(services)]
Store = Annotated[Database, Depends(database)]
Blobs = Annotated[BlobStore, Depends(blobs)]
Workers = Annotated[Messenger, Depends(messenger)]
Settings = Annotated[GatewaySettings, Depends(settings)]
Reader = Annotated[SignedIn, Depends(reader)]
Submitter = Annotated[SignedIn, Depends(submitter)]
TeamManager = Annotated[SignedIn, Depends(team_manager)]
Organiser = Annotated[SignedIn, Depends(organiser)]
