"""`nav-eval serve`: the gateway, and on one machine everything that it needs."""

import errno
import logging
import os
import resource
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from uvicorn.supervisors import Multiprocess

from nav_eval.child_process import SupervisedProcess, exit_on_signal, make_nav_eval_command
from nav_eval.garbage import pause_collector
from nav_eval_gateway.http_protocol import ConnectionGuard, ConnectionLimits, make_server_config
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_store.audit import make_system_actor
from nav_eval_store.database import Database
from nav_eval_store.errors import NameInUse, OperatorError
from nav_eval_store.migrations import runner
from nav_eval_store.notifications import webhook_secrets
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES
from nav_eval_store.settings import StoreSettings

if TYPE_CHECKING:
    from fastapi import FastAPI


log = logging.getLogger(__name__)

GRACE = 20.0  #: seconds between asking it to end and ending it
LONGEST_PAUSE = 30.0  #: seconds between two attempts
STEADY = 60.0  #: seconds; who lived that long did not die of how it was started


GRACE_SECONDS = 5  #: seconds that open connections get to end by themselves
BACKLOG = 2048
MOST_FILES = 65536
SWITCH_SECONDS = 0.001
"""Threads that compute give way so soon: who only wants a kept answer does not wait for them."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 8080,
    workers: Annotated[int, typer.Option(help="Processes that answer requests.", min=1)] = 1,
    behind_proxy: Annotated[bool, typer.Option(help="Believe X-Forwarded-… of a reverse proxy of yours.")] = False,
    with_worker: Annotated[
        bool, typer.Option(help="Also evaluate submissions, as local processes: for agents that you trust.")
    ] = False,
    access_log: Annotated[bool, typer.Option(help="Print every request.")] = False,
    fd: Annotated[int | None, typer.Option(hidden=True, help="A socket that listens already.")] = None,
) -> None:
    """Serve the API; with --with-worker, a whole installation in one command."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    if behind_proxy:
        os.environ["NAV_EVAL_TRUST_PROXY"] = "yes"
    if with_worker:
        _refuse_strangers(host, behind_proxy=behind_proxy)
    settings = GatewaySettings.from_environment()  # refuses wrong settings here, and keeps the secret for all processes
    listening = socket.socket(fileno=fd) if fd is not None else listen(host, port)
    _prepare_store()
    with ExitStack() as stack:
        stack.enter_context(exit_on_signal())
        if with_worker:
            worker = make_nav_eval_command("worker", "--beat")
            stack.enter_context(SupervisedProcess(worker, environment=make_worker_environment()))
        typer.echo(f"nav-eval serves at {format_address(listening)} (Ctrl-C ends it)")
        _run_server(listening, settings, workers=workers, access_log=access_log)


def _refuse_strangers(host: str, *, behind_proxy: bool) -> None:
    """Agents that run as plain processes are for one's own machine, unless somebody asks for it by name."""
    if (host in LOOPBACK and not behind_proxy) or "NAV_EVAL_RUNTIME" in os.environ:
        return
    raise OperatorError(
        "Others could submit agents here, and --with-worker runs agents as plain processes of this machine: whoever "
        "registers could run anything. Set NAV_EVAL_RUNTIME=docker to run them in containers, or "
        "NAV_EVAL_RUNTIME=process if you trust everybody who can reach this address."
    )


def make_application() -> "FastAPI":
    """What each process serves."""
    with pause_collector():
        from nav_eval_gateway.app import create_app

        sys.setswitchinterval(SWITCH_SECONDS)
        return create_app(GatewaySettings.from_environment())


def _prepare_store() -> None:
    home = Path(os.environ.get("NAV_EVAL_HOME", "var")).absolute()
    database = StoreSettings.from_environment().open_database()
    try:
        token_file = prepare_database(database, home)
        with database.read() as session:
            webhook_secrets.check_keys(session)
    except SQLAlchemyError as error:
        raise OperatorError(
            f"The database cannot be used: {_format_database_error(error)}. `nav-eval doctor` says what to do."
        ) from error
    finally:
        database.dispose()
    if token_file is not None:
        typer.echo(f"A new installation. Its organiser's token is in {token_file}; keep it to yourself.")


def _format_database_error(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0].rstrip(".")


def _run_server(listening: socket.socket, settings: GatewaySettings, *, workers: int, access_log: bool) -> None:
    limits = ConnectionLimits(per_address=settings.connections_per_address)
    config = make_server_config(
        "nav_eval_gateway.cli:make_application",
        ConnectionGuard(limits, trust=settings.proxy_trust),
        factory=True,
        workers=workers,
        access_log=access_log,
        log_level="info" if access_log else "warning",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    allow_many_files()
    if workers > 1:
        Multiprocess(config, sockets=[listening]).run()
        return
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    if not server.started:
        raise OperatorError("The gateway could not start; the lines above say why.")


def allow_many_files() -> None:
    """As many connections as the system lets us have: who holds some of them open must not be all there is."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, MOST_FILES) if most > 0 else MOST_FILES, most))


def make_worker_environment() -> dict[str, str]:
    """For one machine, unless the environment says otherwise: agents as local processes, one shard per core."""
    cores = len(os.sched_getaffinity(0))
    return {"NAV_EVAL_RUNTIME": "process", "NAV_EVAL_WORKER_CONCURRENCY": str(cores), **os.environ}


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(BACKLOG)
    except OSError as error:
        raise OperatorError(f"Cannot listen on {host}:{port}: {_explain_error(error)}") from error
    listening.set_inheritable(True)
    return listening


def _explain_error(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program does already; end it, or choose another --port."
    return f"{error.strerror or error}; choose another --host or --port."


def format_address(listening: socket.socket) -> str:
    """For the browser on this machine."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)  # noqa: S104 (everywhere includes here)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


ORGANISER = "organiser"
SETUP = make_system_actor("first-start")


def prepare_database(database: Database, home: Path) -> Path | None:
    """Bring the tables up to date; for a new database, the file with its organiser's token."""
    before = runner.get_current_revision(database)
    after = runner.upgrade(database)
    if before == after:
        return None
    log.info("The database has version %s now, before %s.", after, before or "none")
    return _create_first_organiser(database, home) if before is None else None


def _create_first_organiser(database: Database, home: Path) -> Path | None:
    """Whoever can read this file is the organiser: it is for the owner of the installation alone."""
    try:
        with database.begin() as session:
            user = accounts.create_user(session, ORGANISER, actor=SETUP)
            accounts.grant_organiser(session, user, actor=SETUP)
            secret = accounts.issue_token(session, user, "first start", actor=SETUP, scopes=ALL_SCOPES).secret
    except NameInUse:  # another gateway was faster
        return None
    file = home / "organiser-token"
    home.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(secret + "\n")
    return file
