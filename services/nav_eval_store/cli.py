"""`nav-eval admin …` and `nav-eval competition …`: what an organiser does on the server itself."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import func, select

from nav_eval.config import load_competition
from nav_eval.config.competition_text import find_whole_text
from nav_eval_store import backup as backups
from nav_eval_store import retention
from nav_eval_store.audit import Actor
from nav_eval_store.competitions import configuration
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import NotFound
from nav_eval_store.migrations import runner
from nav_eval_store.models import Job, Submission
from nav_eval_store.notifications import webhook_secrets
from nav_eval_store.people import accounts, addresses
from nav_eval_store.people.accounts import ALL_SCOPES, Scope
from nav_eval_store.settings import StoreSettings
from nav_eval_store.submissions.lifecycle import OPEN
from nav_eval_store.work import recovery, workers

admin = typer.Typer(help="Look after an installation.", no_args_is_help=True, suggest_commands=False)
competition = typer.Typer(help="Competitions as code.", no_args_is_help=True, suggest_commands=False)


def _make_actor() -> Actor:
    return Actor(f"shell:{getpass.getuser()}")


@contextmanager
def _open_database() -> Iterator[Database]:
    database = StoreSettings.from_environment().open_database()
    try:
        yield database
    finally:
        database.dispose()


@contextmanager
def _begin_session() -> Iterator[Session]:
    """A transaction on a database of this version."""
    with _open_database() as database:
        runner.check_revision(database)
        with database.begin() as session:
            yield session


@admin.command("migrate")
def migrate_() -> None:
    """Bring the database to the tables of this version."""
    with _open_database() as database:
        before, after = runner.get_current_revision(database), runner.upgrade(database)
    typer.echo(
        f"The database has version {after}" + (" already." if before == after else f", before {before or 'none'}.")
    )


@admin.command("create-organiser")
def create_organiser(
    name: str,
    email: Annotated[str | None, typer.Option(help="For notifications.")] = None,
    competition: Annotated[str | None, typer.Option(help="Only of this competition; of all when not given.")] = None,
) -> None:
    """Make NAME an organiser, as a new user if need be, and print a token."""
    with _begin_session() as session:
        where = configuration.get_competition(session, competition) if competition else None
        try:
            user = accounts.get_user(session, name)
        except NotFound:
            user = accounts.create_user(session, name, actor=_make_actor(), email=email)
        accounts.grant_organiser(session, user, actor=_make_actor(), competition=where)
        issued = accounts.issue_token(session, user, "from the shell", actor=_make_actor(), scopes=ALL_SCOPES)
    typer.echo(issued.secret)
    where_to = f"of {competition}" if competition else "of every competition"
    typer.echo(
        f"This is {name}'s token as an organiser {where_to}; it is shown once. Log in to the pages with it, "
        "or use it for the API: `Authorization: Bearer TOKEN`, `nav-eval-sdk login SERVER --token TOKEN`.",
        err=True,
    )


@admin.command()
def token(
    user: str,
    name: Annotated[str, typer.Option(help="What to call it.")] = "from the shell",
    days: Annotated[int | None, typer.Option(help="How long it is good; for ever when not given.", min=1)] = None,
    scope: Annotated[list[Scope] | None, typer.Option(help="What it may be used for; repeatable.")] = None,
) -> None:
    """Print a new token for USER."""
    with _begin_session() as session:
        lifetime = None if days is None else timedelta(days=days)
        owner = accounts.get_user(session, user)
        issued = accounts.issue_token(
            session, owner, name, actor=_make_actor(), scopes=scope or ALL_SCOPES, lifetime=lifetime
        )
    typer.echo(issued.secret)


@admin.command()
def password(user: str) -> None:
    """Set the password with which USER logs in on the pages."""
    chosen = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    with _begin_session() as session:
        accounts.set_password(session, accounts.get_user(session, user), chosen, actor=_make_actor())
    typer.echo(f"{user} can log in with it.")


@admin.command("confirm-email")
def confirm_email(
    user: str,
    email: Annotated[str | None, typer.Argument(help="The address; the one that they named when not given.")] = None,
    reason: Annotated[str, typer.Option(help="For the audit log.")] = "from the shell",
) -> None:
    """Vouch for USER's e-mail address, where no e-mail is sent or none arrives."""
    with _begin_session() as session:
        found = addresses.vouch_for(
            session, accounts.get_user(session, user), actor=_make_actor(), reason=reason, email=email
        )
    typer.echo(f"{found.email} is {user}'s.")


@admin.command("disable-user")
def disable_user(user: str, reason: Annotated[str, typer.Option(help="For the audit log.")]) -> None:
    """Shut USER out at once: no password, token, session or login works. Their submissions stay as they are."""
    with _begin_session() as session:
        accounts.disable_user(session, accounts.get_user(session, user), actor=_make_actor(), reason=reason)
    typer.echo(f"{user} is shut out; `nav-eval admin enable-user {user}` lets them in again.")


@admin.command("enable-user")
def enable_user(user: str, reason: Annotated[str, typer.Option(help="For the audit log.")]) -> None:
    """Let USER in again who was shut out; they log in anew."""
    with _begin_session() as session:
        accounts.enable_user(session, accounts.get_user(session, user), actor=_make_actor(), reason=reason)
    typer.echo(f"{user} may log in again; tokens of before are not good any more.")


@admin.command("backup")
def backup_(folder: Path) -> None:
    """Write the whole installation into FOLDER: rows and blobs."""
    settings = StoreSettings.from_environment()
    with _open_database() as database:
        manifest = backups.write_backup(database, settings.open_blobs(), folder)
    rows = sum(table.rows for table in manifest.tables.values())
    typer.echo(f"{rows:,} rows and {manifest.blobs:,} blobs ({manifest.blob_bytes:,} bytes) are in {folder}.")
    if manifest.keys:
        typer.echo(f"Its secrets open with the key {', '.join(manifest.keys)} only: keep that somewhere else.")
    if manifest.vanished:
        typer.echo(
            f"{len(manifest.vanished):,} blobs were deleted meanwhile, {manifest.vanished[0]} the first of them."
        )


@admin.command()
def restore(
    folder: Path,
    without_keys: Annotated[
        bool, typer.Option(help="Also where the keys of its secrets are lost; webhooks must be made anew.")
    ] = False,
) -> None:
    """Read FOLDER into an installation that is empty."""
    settings = StoreSettings.from_environment()
    with _open_database() as database:
        manifest = backups.restore_backup(database, settings.open_blobs(), folder, without_keys=without_keys)
    rows = sum(table.rows for table in manifest.tables.values())
    typer.echo(f"{rows:,} rows and {manifest.blobs:,} blobs of {manifest.created_at:%Y-%m-%d %H:%M} UTC are back.")


@admin.command()
def reseal() -> None:
    """Keep every secret with the first of the keys; afterwards the others are not needed any more."""
    with _begin_session() as session:
        count = webhook_secrets.renew_seals(session)
    typer.echo(f"{count:,} secrets are kept with the first key now; backups of before still need the others.")


@admin.command()
def status() -> None:
    """What is kept, what is under way, and whether anything waits for attention."""
    table = Table(show_header=False, box=None)
    with _begin_session() as session:
        table.add_row(
            "database", session.get_bind().engine.url.render_as_string(), f"version {runner.get_head_revision()}"
        )
        states = select(Submission.state, func.count()).where(Submission.state.in_(OPEN)).group_by(Submission.state)
        for state, count in session.execute(states):
            table.add_row("submissions", state, str(count))
        jobs = select(Job.state, func.count()).where(Job.finished_at.is_(None)).group_by(Job.state)
        for job_state, count in session.execute(jobs):
            table.add_row("jobs", job_state, str(count))
        for worker in workers.list_alive_workers(session):
            doing = "drains" if worker.draining_at else "works"
            table.add_row("worker", worker.name, f"{doing}, {worker.slots} at a time, {worker.version}")
        for submission, duty in recovery.list_overdue(session):
            table.add_row("overdue", str(submission), f"{duty.action}: {duty.reason}")
    Console().print(table)


@admin.command()
def disk(
    tidy: Annotated[bool, typer.Option(help="Also delete what the retention policy lets go of, now.")] = False,
) -> None:
    """Who holds how many bytes, the largest first, and how much room is left."""
    blobs = StoreSettings.from_environment().open_blobs()
    with _open_database() as database:
        runner.check_revision(database)
        if tidy:
            gone = retention.tidy(database, blobs, retention.RetentionPolicy.from_environment())
            typer.echo(f"{gone.rows:,} rows and {gone.blobs:,} blobs ({gone.bytes:,} bytes) are gone.")
        holdings = retention.measure_holdings(database, blobs)
    folders = sorted({folder for holding in holdings for folder in holding.bytes})
    table = Table("team", "competition", *folders, "bytes", box=None)
    for holding in holdings:
        sizes = [f"{holding.bytes.get(folder, 0):,}" for folder in folders]
        table.add_row(holding.team or "(nobody)", holding.competition, *sizes, f"{holding.total:,}")
    Console().print(table)
    free = blobs.measure_free()
    typer.echo(f"{sum(holding.total for holding in holdings):,} bytes; free: {'?' if free is None else f'{free:,}'}")


@competition.command("apply")
def apply(
    file: Path,
    allow_dangerous: Annotated[
        bool, typer.Option(help="Also change what gives published numbers another meaning.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Only say what would change.")] = False,
) -> None:
    """Create or update the competition that FILE describes."""
    config = load_competition(file)
    with _begin_session() as session:
        applied = configuration.apply(
            session,
            config,
            actor=_make_actor(),
            allow_dangerous=allow_dangerous or dry_run,
            source=find_whole_text(file, config),
        )
        for change in applied.changes:
            typer.echo(f"{'! ' if change.danger else '  '}{change}" + (f"  ({change.danger})" if change.danger else ""))
        if dry_run:
            session.rollback()
    count = len(applied.changes)
    done = "created" if applied.created else f"updated in {count} places" if count else "as it was"
    typer.echo(f"{config.name}: {'would be ' if dry_run else ''}{done}.")


@competition.command("list")
def list_() -> None:
    """All competitions."""
    table = Table("name", "title", "phases", box=None)
    with _begin_session() as session:
        for row in configuration.list_competitions(session):
            table.add_row(row.name, row.title, ", ".join(phase.name for phase in row.phases))
    Console().print(table)


@competition.command()
def show(name: str) -> None:
    """One competition: its phases, their times, and what ranks."""
    with _begin_session() as session:
        row = configuration.get_competition(session, name)
        table = Table("phase", "benchmark", "opens", "closes", "ranks by", "state", title=row.title, box=None)
        for phase in row.phases:
            weights = " + ".join(f"{weight:g}·{metric}" for metric, weight in phase.ranking["weights"].items())
            opens, closes = (f"{t:%Y-%m-%d %H:%M}" if t else "–" for t in (phase.opens_at, phase.closes_at))
            state = "archived" if phase.archived_at else "paused" if phase.paused_at else ""
            table.add_row(phase.name, phase.config.benchmark, opens, closes, weights, state)
    Console().print(table)
