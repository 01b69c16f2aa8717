"""`nav-eval admin` and `nav-eval competition`, as an organiser types them."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nav_eval_store.cli import admin, competition
from nav_eval_store.encryption import Keyring
from nav_eval_store.errors import BadCredentials, Conflict, DangerousChange, NotFound, SchemaOutdated
from nav_eval_store.models import AuditEvent
from nav_eval_store.people import accounts
from nav_eval_store.settings import StoreSettings
from nav_eval_store.submissions import creation
from support.challenge import TEST, Challenge
from support.paths import ROOT

pytestmark = pytest.mark.integration

DEMO = ROOT / "configs" / "competitions" / "demo.yaml"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("NAV_EVAL_DATABASE", "NAV_EVAL_BLOBS", "NAV_EVAL_DATABASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NAV_EVAL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(app, *arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_somebody_is_shut_out_and_let_in_again(home: Path) -> None:
    run(admin, "migrate")
    secret = run(admin, "create-organiser", "ada").strip()
    assert "shut out" in run(admin, "disable-user", "ada", "--reason", "sold their token")
    run(admin, "disable-user", "ada", "--reason", "twice is once")
    database = StoreSettings.from_environment().open_database()

    def fails() -> bool:
        with database.read() as session, suppress(BadCredentials):
            accounts.verify_token(session, secret)
            return False
        return True

    assert fails()
    assert "log in again" in run(admin, "enable-user", "ada", "--reason", "said sorry")
    assert fails(), "what was shut out stays out: they log in anew"
    new = run(admin, "token", "ada").strip()
    with database.read() as session:
        lines = [(line.action, line.reason) for line in session.query(AuditEvent).where(AuditEvent.reason.is_not(None))]
        assert accounts.verify_token(session, new).user.name == "ada"
    assert lines == [("user.disable", "sold their token"), ("user.enable", "said sorry")]
    database.dispose()
    with pytest.raises(NotFound):
        run(admin, "disable-user", "nobody", "--reason", "x")


def test_from_nothing_to_a_competition(home: Path, tmp_path: Path) -> None:
    with pytest.raises(SchemaOutdated, match="admin migrate"):
        run(admin, "status")
    assert "before none" in run(admin, "migrate")
    assert "already" in run(admin, "migrate")
    secret = run(admin, "create-organiser", "ada", "--email", "ada@example.org").strip()
    assert "token as an organiser" in CliRunner().invoke(admin, ["create-organiser", "ada"]).stderr
    assert run(competition, "apply", str(DEMO)) == "demo: created.\n"
    assert run(competition, "apply", str(DEMO)) == "demo: as it was.\n"
    changed = tmp_path / "changed.yaml"
    changed.write_text(DEMO.read_text().replace("per_day: 100", "per_day: 9"))
    would = run(competition, "apply", str(changed), "--dry-run")
    assert "phases.dev.quota.per_day: 100 → 9" in would
    assert "would be" in would
    assert "100 → 9" in run(competition, "apply", str(changed)), "the dry run changed nothing"
    assert "demo" in run(competition, "list")
    assert "0.4·tar" in run(competition, "show", "demo")
    assert "version" in run(admin, "status")
    with pytest.raises(NotFound, match="nope"):
        run(competition, "show", "nope")
    database = StoreSettings.from_environment().open_database()
    with database.read() as session:
        assert accounts.verify_token(session, secret).user.name == "ada"
    database.dispose()


def test_tokens_from_the_shell(home: Path) -> None:
    run(admin, "migrate")
    run(admin, "create-organiser", "ada")
    secret = run(admin, "token", "ada", "--days", "3", "--scope", "read").strip()
    assert re.fullmatch(r"nve_[a-z2-7]{8}_[A-Za-z0-9_-]{43}", secret)
    database = StoreSettings.from_environment().open_database()
    with database.read() as session:
        assert accounts.verify_token(session, secret).scopes == ["read"]
    database.dispose()


def test_a_password_from_the_shell(home: Path) -> None:
    run(admin, "migrate")
    run(admin, "create-organiser", "ada")
    result = CliRunner().invoke(admin, ["password", "ada"], input="correct horse\ncorrect horse\n")
    assert result.exit_code == 0
    database = StoreSettings.from_environment().open_database()
    with database.read() as session:
        assert accounts.authenticate(session, "ada", "correct horse").name == "ada"
    database.dispose()


def test_an_installation_moves(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_database) -> None:
    run(admin, "migrate")
    run(competition, "apply", str(DEMO))
    StoreSettings.from_environment().open_blobs().put("logs/x", b"hello")
    assert "1 blobs (5 bytes)" in run(admin, "backup", str(tmp_path / "backup"))
    secret_file = tmp_path / "database.txt"
    secret_file.write_text(new_database("postgresql").url.render_as_string(hide_password=False) + "\n")
    monkeypatch.setenv("NAV_EVAL_DATABASE_FILE", str(secret_file))
    monkeypatch.setenv("NAV_EVAL_BLOBS", str(tmp_path / "blobs"))
    assert "are back" in run(admin, "restore", str(tmp_path / "backup"))
    assert "demo" in run(competition, "list")
    assert StoreSettings.from_environment().open_blobs().get("logs/x") == b"hello"


def test_a_dangerous_change_needs_to_be_allowed(home: Path, tmp_path: Path) -> None:
    from nav_eval_store.competitions import configuration
    from nav_eval_store.people import teams
    from nav_eval_store.submissions import creation
    from support.challenge import TEST

    run(admin, "migrate")
    run(competition, "apply", str(DEMO))
    database = StoreSettings.from_environment().open_database()
    with database.begin() as session:
        cup = configuration.get_competition(session, "demo")
        red = accounts.create_user(session, "red", actor=TEST)
        team = teams.create_team(session, cup, "Red", captain=red, actor=TEST)
        creation.start_submission(session, cup.phases[0], team, user=red, actor=TEST)
    database.dispose()
    changed = tmp_path / "changed.yaml"
    changed.write_text(DEMO.read_text().replace("logs: team", "logs: public"))
    with pytest.raises(DangerousChange, match=r"visibility\.logs"):
        run(competition, "apply", str(changed))
    assert "! phases.dev.visibility.logs" in run(competition, "apply", str(changed), "--allow-dangerous")


def test_where_things_are_kept() -> None:
    settings = StoreSettings.from_environment({"NAV_EVAL_HOME": "/srv/nav"})
    own = Keyring(file=Path("/srv/nav/encryption-keys"))
    assert settings == StoreSettings(database="sqlite:////srv/nav/nav-eval.db", blobs="/srv/nav/blobs", keyring=own)
    settings = StoreSettings.from_environment(
        {"NAV_EVAL_DATABASE": "postgresql://db/nav", "NAV_EVAL_BLOBS": "s3://b/x"}
    )
    assert settings == StoreSettings(database="postgresql://db/nav", blobs="s3://b/x")


@pytest.mark.usefixtures("home")
def test_an_address_is_confirmed_where_no_mail_is_sent() -> None:
    run(admin, "migrate")
    run(admin, "create-organiser", "ada")
    with pytest.raises(Conflict, match="has not given an e-mail"):
        run(admin, "confirm-email", "ada")
    assert run(admin, "confirm-email", "ada", "Ada@example.org") == "ada@example.org is ada's.\n"
    database = StoreSettings.from_environment().open_database()
    with database.read() as session:
        assert accounts.get_user(session, "ada").email_verified
    database.dispose()


@pytest.mark.usefixtures("home")
def test_the_shell_says_who_holds_how_much_and_tidies_up() -> None:
    run(admin, "migrate")
    settings = StoreSettings.from_environment()
    database, blobs = settings.open_database(), settings.open_blobs()
    cup = Challenge(database)
    team = cup.team("Ants")
    cancelled = cup.submit(team)
    for submission in (cancelled, cup.submit(team)):
        blobs.put(str(cup.get(submission).image_key), b"x" * 4321)
    cup.do(lambda session: creation.cancel_open_submission(session, cancelled, actor=TEST, reason="enough"))
    blobs.put("images/" + "f" * 64, b"y" * 17)  # nobody's
    shown = run(admin, "disk")
    assert re.search(r"Ants\s+cup\s+8,642", shown), shown
    assert re.search(r"\(nobody\)\s+17", shown), shown
    assert "8,659 bytes; free:" in shown
    assert "0 rows and 0 blobs" in run(admin, "disk", "--tidy")  # too young: somebody may be about to name them
    database.dispose()
