"""The demo's folder: a whole installation, and what the demo remembers of it between two starts."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nav_eval.errors import NavEvalError


class DemoError(NavEvalError):
    """The demo cannot go on; the message says why and what to do."""


FORMAT = 1
STATE = "demo.json"
LOCK = "demo.lock"
DATABASE = "nav-eval.db"
KEPT = ("NAV_EVAL_CACHE", "NAV_EVAL_WORKER_CONCURRENCY")


class Player(msgspec.Struct, kw_only=True):
    """A demo team, and how it gets in."""

    agent: str
    """Folder of its agent in `agents`."""
    user: str
    password: str
    team: str
    token: str | None = None
    submission: str | None = None


class State(msgspec.Struct, kw_only=True):
    """What a second start finds."""

    format: int = FORMAT
    players: list[Player] = []


@dataclass(frozen=True, slots=True)
class DemoHome:
    """A folder that belongs to one demo at a time."""

    folder: Path

    @property
    def log(self) -> Path:
        """What gateway and worker print."""
        return self.folder / "serve.log"

    @property
    def environment(self) -> dict[str, str]:
        """Ours, with this folder in place of whatever installation it is set up for."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("NAV_EVAL_") or key in KEPT}
        benchmark = {key: value for key, value in os.environ.items() if key.startswith("NAV_EVAL__")}
        return {**kept, **benchmark, "NAV_EVAL_HOME": str(self.folder.absolute())}

    @property
    def organiser_token(self) -> str:
        try:
            return (self.folder / "organiser-token").read_text().strip()
        except OSError:
            raise self.unusable("it has no organiser's token") from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other demos out. The kernel frees the lock of a process that dies."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = (self.folder / LOCK).open("a")
        except OSError as error:
            raise DemoError(f"Cannot use {self.folder}: {error.strerror}. Choose another --home.") from error
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise DemoError(f"A demo runs in {self.folder} already; end it, or choose another --home.") from None
            yield

    def read(self) -> State:
        """What an earlier start left; refuses what this version cannot go on with."""
        file = self.folder / STATE
        if not file.exists():
            if (self.folder / DATABASE).exists():
                raise self.unusable("it holds another installation, or a demo whose memory is gone")
            return State()
        try:
            state = msgspec.json.decode(file.read_bytes(), type=State)
        except (msgspec.MsgspecError, OSError) as error:
            raise self.unusable(f"{STATE} cannot be read ({error})") from error
        if state.format != FORMAT:
            raise self.unusable(f"another version of nav-eval made it (format {state.format}, not {FORMAT})")
        return state

    def write(self, state: State) -> None:
        """Whole or not at all, and for its owner alone: there are passwords in it."""
        part = self.folder / f"{STATE}.part"
        with suppress(FileNotFoundError):
            part.unlink()
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(state)))
        part.replace(self.folder / STATE)

    def unusable(self, why: str) -> DemoError:
        return DemoError(
            f"The demo cannot go on in {self.folder}: {why}. Delete the folder to begin anew, or choose another --home."
        )
