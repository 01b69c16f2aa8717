"""What an installation talks to: database, blobs, broker, Docker; and whether their clocks agree with ours."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import make_url, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from nav_eval.errors import NavEvalError
from nav_eval_store.database import Clock, Database
from nav_eval_store.migrations import runner
from nav_eval_store.notifications import webhook_secrets
from nav_eval_store.settings import StoreSettings
from nav_eval_store.work import recovery, workers
from nav_eval_worker.doctor.installation import Finding, Installation, Level, confirm, fail, note, warn
from nav_eval_worker.runtime.base import RuntimeUnavailable

PATIENCE = 5.0  #: seconds for a service to answer
PROBE = "doctor/probe"


def check_database(here: Installation) -> Iterator[Finding]:
    """Connect, look at the version, write and take it back."""
    file = here.database_file
    if file is not None and not file.exists():
        yield note("database", f"none yet at {file}", "`nav-eval serve` makes it, or `nav-eval admin migrate`.")
        return
    where = _hide_password(here.store.database)
    try:
        with _open_database(here.store, here.clock) as opened:
            yield from _check_version(opened, where)
            _try_write(opened)
            yield confirm("database write", "a table, and undone")
            yield from _check_clock("database", here, _get_database_time(opened))
            yield from _check_workers(opened)
            yield from _check_keys(opened)
    except SQLAlchemyError as error:
        yield fail("database", f"{where}: {_get_first_line(error)}", _advise_on_database(here, error))
    except NavEvalError as error:
        yield fail("database", str(error), "Check NAV_EVAL_DATABASE.")


def _hide_password(url: str) -> str:
    """Without the password."""
    try:
        return make_url(url).render_as_string()
    except ArgumentError:
        return "NAV_EVAL_DATABASE"


@contextmanager
def _open_database(store: StoreSettings, clock: Clock) -> Iterator[Database]:
    opened = Database(store.database, clock=clock, keyring=store.keyring, pool_size=1)
    try:
        yield opened
    finally:
        opened.dispose()


def _check_version(opened: Database, where: str) -> Iterator[Finding]:
    has, needs = runner.get_current_revision(opened), runner.get_head_revision()
    if has == needs:
        yield confirm("database", f"{where}, version {has}")
    elif has is None or has in runner.list_known_revisions():
        yield fail("database", f"{where} has version {has or 'none'}, not {needs}", "Run `nav-eval admin migrate`.")
    else:
        found = f"{where} has version {has}, which this nav-eval does not know"
        yield fail("database", found, "A newer nav-eval wrote it: install that one, or restore a backup.")


def _try_write(opened: Database) -> None:
    with opened.engine.execution_options(nav_eval_begin="BEGIN IMMEDIATE").connect() as connection:
        connection.execute(text("CREATE TABLE nav_eval_doctor (probe INTEGER)"))
        connection.execute(text("INSERT INTO nav_eval_doctor VALUES (1)"))
        connection.rollback()


def _get_database_time(opened: Database) -> datetime | None:
    """None where the database has no clock of its own."""
    if opened.is_sqlite:
        return None
    with opened.engine.connect() as connection:
        moment: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return moment


def _check_workers(opened: Database) -> Iterator[Finding]:
    """Workers that live, and work that nobody does."""
    if runner.get_current_revision(opened) != runner.get_head_revision():
        return
    with opened.read() as session:
        alive, overdue = [worker.name for worker in workers.list_alive_workers(session)], recovery.list_overdue(session)
    if alive:
        yield confirm("workers", ", ".join(alive))
    else:
        yield note("workers", "none at work", "Start `nav-eval worker --beat`, or `nav-eval serve --with-worker`.")
    if overdue:
        found = f"{len(overdue)} submissions wait for somebody, {overdue[0][0]} first"
        yield warn("overdue", found, "A worker with --beat puts that right within seconds; is one at work?")


def _check_keys(opened: Database) -> Iterator[Finding]:
    """Whether what is kept sealed can be opened here."""
    if runner.get_current_revision(opened) != runner.get_head_revision():
        return
    try:
        with opened.read() as session:
            webhook_secrets.check_keys(session)
    except NavEvalError as error:
        yield warn("encryption", str(error), "A host that only works needs no key: it sends no webhooks.")
    else:
        yield confirm("encryption", f"key {next(iter(opened.keyring.read_keys()))} opens all secrets")


def _advise_on_database(here: Installation, error: SQLAlchemyError) -> str:
    said = str(error)
    if isinstance(error, ArgumentError):
        return "Write it as postgresql://user:password@host/name or sqlite:///FILE."
    if "not a database" in said or "malformed" in said:
        return f"The file is damaged. Move {here.database_file} away, then `nav-eval admin restore FOLDER`."
    if here.database_file is not None:
        return "Give this user the right to read and write the file and its folder, or set NAV_EVAL_HOME."
    if "authentication failed" in said or "does not exist" in said:
        return "Check user, password and name in NAV_EVAL_DATABASE; create the database if it is new."
    return "Start the database, and check host and port in NAV_EVAL_DATABASE."


def check_blobs(here: Installation) -> Iterator[Finding]:
    """Write one, read it back, delete it."""
    folder = here.folders.get("blobs")
    if folder is not None and not folder.exists():
        yield note("blobs", f"none yet in {folder}", "`nav-eval serve` makes the folder.")
        return
    try:
        store = here.store.open_blobs()
        store.put(PROBE, b"nav-eval")
        same = store.get(PROBE) == b"nav-eval"
        store.delete(PROBE)
    except ImportError as error:
        yield fail("blobs", f"{here.store.blobs}: {error}", "Install the library for this kind of store: nav-eval[s3].")
    except (OSError, NavEvalError) as error:
        yield fail(
            "blobs", f"{here.store.blobs}: {_get_first_line(error)}", "Check NAV_EVAL_BLOBS, its rights and its room."
        )
    else:
        yield (
            confirm("blobs", here.store.blobs) if same else fail("blobs", "read something else", "Replace this store.")
        )


def check_broker(here: Installation) -> Iterator[Finding]:
    """Redis, where one is named; the embedded installation has none."""
    if here.broker.folder is not None:
        advice = "One machine needs none; for workers on other machines set NAV_EVAL_BROKER=redis://host:6379/0."
        yield note("redis", "not used: messages are files", advice)
        return
    try:
        import redis
    except ImportError:
        yield fail("redis", "its library is not installed", "pip install 'nav-eval[worker]'")
        return
    url = here.broker.url.replace("redis+socket://", "unix://", 1)  # Celery's name for it
    where = _strip_credentials(url)
    try:
        with closing(redis.Redis.from_url(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE)) as client:
            facts: dict[str, Any] = client.info()
            seconds, micros = client.time()
    except (redis.RedisError, ValueError) as error:
        yield fail("redis", f"{where}: {_get_first_line(error)}", "Start Redis, and check NAV_EVAL_BROKER.")
        return
    yield confirm("redis", f"{where}, version {facts.get('redis_version')}")
    if facts.get("maxmemory_policy", "noeviction") != "noeviction":
        yield warn(
            "redis", f"evicts ({facts['maxmemory_policy']})", "Set maxmemory-policy noeviction: these are messages."
        )
    yield from _check_clock("redis", here, datetime.fromtimestamp(seconds + micros / 1e6, UTC))


def check_docker(here: Installation) -> Iterator[Finding]:
    """The engine that runs teams' images; the embedded installation runs trusted code without it."""
    missing = fail if here.runtime == "docker" else note
    advice = "Needed for images of strangers only: install Docker Engine 24 or newer, and let this user use it."
    try:
        from nav_eval_worker.runtime.containers.engine import connect
    except ImportError:
        yield missing("docker", "its library is not installed", "pip install 'nav-eval[worker]'")
        return
    try:
        with closing(connect(timeout=PATIENCE)) as client:
            facts: dict[str, Any] = client.info()
    except (RuntimeUnavailable, OSError):
        yield missing("docker", "no engine answers", advice)
        return
    yield confirm("docker", f"{facts.get('ServerVersion')}, storage {facts.get('Driver')}")
    yield from check_isolation(here, facts)
    if "runsc" in facts.get("Runtimes", {}):
        yield from _check_sandbox(here)
    else:
        yield note(
            "gvisor", "no runsc", "Recommended for images of strangers: docs/security.md says how to install gVisor."
        )


def _check_sandbox(here: Installation) -> Iterator[Finding]:
    """gVisor is there; whether agents are run in it, too."""
    if here.environment.get("NAV_EVAL_DOCKER_RUNTIME") == "runsc":
        yield confirm("gvisor", "runsc: every agent has a kernel of its own")
    else:
        advice = "Set NAV_EVAL_DOCKER_RUNTIME=runsc for images of strangers."
        yield note("gvisor", "runsc is there, and agents are not run in it", advice)


def check_isolation(here: Installation, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """What the engine puts around an image of strangers, and what it cannot."""
    from nav_eval_worker.runtime.containers.engine import list_missing_limits

    severe = fail if here.runtime == "docker" else note
    if missing := list_missing_limits(facts):
        advice = "Update the engine, or give a rootless one cgroup v2 with its controllers delegated."
        yield severe("isolation", f"the engine has no {', no '.join(missing)}", advice)
    elif not facts.get("SwapLimit"):
        advice = "Agents may swap beyond their memory: boot with swapaccount=1, or turn swap off."
        yield warn("isolation", "the engine cannot limit swap", advice)
    elif here.environment.get("NAV_EVAL_DOCKER_SECCOMP") == "engine" and _is_io_uring_open():
        advice = "Leave NAV_EVAL_DOCKER_SECCOMP alone, or set sysctl kernel.io_uring_disabled=2."
        yield warn("isolation", "io_uring is open to agents, unless the engine is 25 or newer", advice)
    else:
        yield confirm("isolation", "limits of memory, processes and processor, and our list of system calls")


def _is_io_uring_open(setting: Path = Path("/proc/sys/kernel/io_uring_disabled")) -> bool:
    """Whether this kernel lets everybody use it; one that does not know the setting does."""
    try:
        return setting.read_text().strip() != "2"
    except OSError:
        return True


def _check_clock(name: str, here: Installation, theirs: datetime | None) -> Iterator[Finding]:
    if theirs is None:
        return
    apart = abs((here.clock.now() - theirs).total_seconds())
    soft, hard = here.needs.clock_seconds
    level = Level.OK if apart <= soft else Level.WARN if apart <= hard else Level.FAIL
    advice = (
        ""
        if level is Level.OK
        else "Leases and quotas go by the clock: run chrony or systemd-timesyncd on both machines."
    )
    yield Finding(check=f"clock of {name}", level=level, found=f"{apart:.1f} s from ours", advice=advice)


def _strip_credentials(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _get_first_line(error: BaseException) -> str:
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip() or type(cause).__name__).splitlines()[0]
