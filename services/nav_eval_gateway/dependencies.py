"""What a running gateway holds, opened when it starts; and what handlers ask for: the store, the blobs, who is calling.

`Visitor` is anybody. `Reader`, `Submitter`, `TeamManager` and `Organiser` are users whose token has the
scope of that name; whether they may do it to *this* thing is decided in `permissions`.
"""

import logging
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from nav_eval_gateway.board_cache import BoardCache, ComputePool
from nav_eval_gateway.kept_files import KeptFiles
from nav_eval_gateway.name_resolver import NameResolver
from nav_eval_gateway.openid_settings import OpenIdSettings
from nav_eval_gateway.permissions import ANYBODY, Caller, SignedIn
from nav_eval_gateway.rate_limit import CallerLimits, ConcurrencyLimit, RateLimits
from nav_eval_gateway.server_sent_events import EventBroadcaster
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_gateway.task_publisher import CeleryTaskPublisher, TaskPublisher
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Clock, Database
from nav_eval_store.errors import BadCredentials
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import Scope

if TYPE_CHECKING:
    from nav_eval_gateway.openid import OpenIdProvider

log = logging.getLogger("nav_eval_gateway.dependencies")

PASSWORDS_AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""Each takes 32 MB and a core for a tenth of a second; more of them at once would be a way to bring us down."""
PASSWORDS_WAITING = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """The parts that handlers use."""

    settings: GatewaySettings
    database: Database
    blobs: BlobStore
    publisher: TaskPublisher
    events: EventBroadcaster  #: streams live events
    passwords: ConcurrencyLimit  #: held while a password is hashed
    mails: ConcurrencyLimit  #: held while a mail is sent
    limits: CallerLimits  #: what an address, an account or a team may have
    names: NameResolver  #: looks up hosts of webhooks
    openid: "OpenIdProvider | None" = None  #: another way to log in
    uploading: set[UUID] = field(default_factory=set)  #: uploads that a request is writing just now
    boards: BoardCache  #: rendered leaderboards
    computing: ComputePool  #: statistics that take a moment
    files: KeptFiles = field(default_factory=KeptFiles)  #: gone when it stops

    @classmethod
    def open(cls, settings: GatewaySettings, *, clock: Clock | None = None) -> "Services":
        database = settings.store.open_database(clock=clock)
        return cls(
            settings=settings,
            database=database,
            blobs=settings.store.open_blobs(),
            publisher=CeleryTaskPublisher(settings.broker),
            events=EventBroadcaster(
                database, poll_seconds=settings.poll_seconds, heartbeat_seconds=settings.heartbeat_seconds
            ),
            passwords=ConcurrencyLimit(inside=PASSWORDS_AT_ONCE, waiting=PASSWORDS_WAITING),
            mails=ConcurrencyLimit(inside=2, waiting=4),
            limits=CallerLimits(RateLimits.of(settings)),
            names=NameResolver(allow_private=settings.allow_private_webhooks),
            openid=None if settings.openid is None else _open_provider(settings.openid),
            boards=BoardCache(database),
            computing=ComputePool(),
        )

    async def close(self) -> None:
        await self.events.close()
        self.names.close()
        self.boards.close()
        self.publisher.close()
        self.database.dispose()
        self.files.close()


def _open_provider(settings: OpenIdSettings) -> "OpenIdProvider":
    """Its libraries take long to load, and most installations have no provider."""
    from nav_eval_gateway.openid import OpenIdProvider

    return OpenIdProvider(settings)


BEARER = HTTPBearer(
    auto_error=False, scheme_name="token", description="A token: `nve_…`, from POST /login or POST /tokens."
)
"""For the OpenAPI document; the header itself is read by `get_visitor`."""


async def get_services(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


async def get_database(request: Request) -> Database:
    return (await get_services(request)).database


async def get_blobs(request: Request) -> BlobStore:
    return (await get_services(request)).blobs


async def get_publisher(request: Request) -> TaskPublisher:
    return (await get_services(request)).publisher


async def get_settings(request: Request) -> GatewaySettings:
    return (await get_services(request)).settings


async def get_visitor(request: Request) -> Caller:
    """Whoever asks. A token that is no good is refused even where none is needed."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        caller = await run_in_threadpool(authenticate_caller, await get_database(request), secret.strip())
    elif request.method == "GET" and (cookie := request.cookies.get((await get_settings(request)).session_cookie)):
        caller = await run_in_threadpool(_authenticate_browser, await get_database(request), cookie)
    else:
        return ANYBODY
    request.scope["nav_eval.user"] = caller.user
    return caller


def _authenticate_browser(database: Database, cookie: str) -> Caller:
    """Whoever is logged in by the pages may also read here (live events, files); only a token may change things."""
    try:
        return authenticate_caller(database, cookie)
    except BadCredentials:
        return ANYBODY


def authenticate_caller(database: Database, secret: str) -> Caller:
    """The user whose token this is; pages use it for the token in their cookie."""
    with database.read() as session:
        token = accounts.verify_token(session, secret)
        stale = accounts.is_touch_due(session, token)
    if stale:
        database.run(lambda session: accounts.touch_token(session, token.id))
    return Caller(user=token.user, scopes=frozenset(Scope(scope) for scope in token.scopes), token_id=token.id)


Visitor = Annotated[Caller, Depends(get_visitor)]


async def get_reader(caller: Visitor, _: Annotated[object, Depends(BEARER)]) -> SignedIn:
    return caller.require_user(Scope.READ)


async def get_submitter(caller: Visitor, _: Annotated[object, Depends(BEARER)]) -> SignedIn:
    return caller.require_user(Scope.SUBMIT)


async def get_team_manager(caller: Visitor, _: Annotated[object, Depends(BEARER)]) -> SignedIn:
    return caller.require_user(Scope.TEAM)


async def get_organiser(caller: Visitor, _: Annotated[object, Depends(BEARER)]) -> SignedIn:
    return caller.require_user(Scope.ORGANISE)


Parts = Annotated[Services, Depends(get_services)]
Store = Annotated[Database, Depends(get_database)]
Blobs = Annotated[BlobStore, Depends(get_blobs)]
Workers = Annotated[TaskPublisher, Depends(get_publisher)]
Settings = Annotated[GatewaySettings, Depends(get_settings)]
Reader = Annotated[SignedIn, Depends(get_reader)]
Submitter = Annotated[SignedIn, Depends(get_submitter)]
TeamManager = Annotated[SignedIn, Depends(get_team_manager)]
Organiser = Annotated[SignedIn, Depends(get_organiser)]
