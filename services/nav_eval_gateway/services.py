"""What a running gateway holds: opened when it starts, closed when it stops."""

from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from uuid import UUID

from nav_eval_gateway.board_cache import BoardCache
from nav_eval_gateway.computing import Computing
from nav_eval_gateway.live import EventHub
from nav_eval_gateway.notify import CeleryMessenger, Messenger
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_gateway.turnstile import Turnstile
from nav_eval_store.blobs import BlobStore
from nav_eval_store.clock import Clock
from nav_eval_store.database import Database

PASSWORDS_AT_ONCE = 4
"""Each takes 32 MB and a tenth of a second; more of them at once would be a way to bring us down."""
PASSWORDS_WAITING = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """The parts that handlers use."""

    settings: GatewaySettings
    database: Database
    blobs: BlobStore
    messenger: Messenger
    hub: EventHub  #: wakes those who watch live events
    passwords: Turnstile  #: held while a password is hashed
    uploading: set[UUID] = field(default_factory=set)  #: uploads that a request is writing just now
    boards: BoardCache  #: rendered leaderboards
    computing: Computing  #: statistics that take a moment
    files: Path = field(default_factory=lambda: Path(mkdtemp(prefix="nav-eval-gateway-")))  #: gone when it stops

    @classmethod
    def open(cls, settings: GatewaySettings, *, clock: Clock | None = None) -> "Services":
        database = settings.store.open_database(clock=clock)
        return cls(
            settings=settings,
            database=database,
            blobs=settings.store.open_blobs(),
            messenger=CeleryMessenger(settings.broker),
            hub=EventHub(database, poll_seconds=settings.poll_seconds),
            passwords=Turnstile(inside=PASSWORDS_AT_ONCE, waiting=PASSWORDS_WAITING),
            boards=BoardCache(database),
            computing=Computing(),
        )

    async def close(self) -> None:
        await self.hub.close()
        self.boards.close()
        self.messenger.close()
        self.database.dispose()
        rmtree(self.files, ignore_errors=True)
