"""Users, tokens, teams and invitations."""

from datetime import timedelta

import pytest

from nav_eval_store import audit
from nav_eval_store.audit import make_user_actor
from nav_eval_store.errors import BadCredentials, Conflict, NameInUse, NotAllowed, NotFound, QuotaExceeded, StoreError
from nav_eval_store.models import MemberRole, Team, TeamStatus, Token, TokenKind
from nav_eval_store.people import accounts, teams
from nav_eval_store.people.accounts import Scope
from support.challenge import TEST, Challenge, competition_config, user

pytestmark = pytest.mark.integration


def test_a_password_opens_the_door_and_a_wrong_one_does_not(database) -> None:
    with database.begin() as session:
        ada = user(session, "ada", email="Ada@Example.org", password="correct horse battery")
        assert "correct" not in (ada.password or "")
    with database.read() as session:
        assert accounts.authenticate(session, "ada", "correct horse battery").id == ada.id
        assert accounts.authenticate(session, "ada@example.ORG", "correct horse battery").id == ada.id
        for name, password in [("ada", "wrong"), ("nobody", "correct horse battery"), ("ada", "")]:
            with pytest.raises(BadCredentials, match="name or the password is wrong"):
                accounts.authenticate(session, name, password)


def test_a_disabled_user_gets_in_by_nothing(database) -> None:
    with database.begin() as session:
        ada = user(session, "ada", password="correct horse battery")
        secret = accounts.issue_token(session, ada, "laptop", actor=TEST).secret
        accounts.disable_user(session, ada, actor=TEST, reason="shares the account")
    with database.read() as session:
        with pytest.raises(BadCredentials):
            accounts.authenticate(session, "ada", "correct horse battery")
        with pytest.raises(BadCredentials):
            accounts.verify_token(session, secret)


@pytest.mark.parametrize("name", ["", "Ada", "a b", "ä", "-x", "x" * 40, "x/../y"])
def test_user_names_that_are_refused(database, name: str) -> None:
    with pytest.raises(StoreError, match="name"), database.begin() as session:
        user(session, name)


def test_a_user_name_is_taken_once(database) -> None:
    with database.begin() as session:
        user(session, "ada", email="ada@example.org")
    with pytest.raises(NameInUse), database.begin() as session:
        user(session, "ada")
    with pytest.raises(NameInUse), database.begin() as session:
        user(session, "other", email="ada@example.org")


def test_a_token_stands_for_its_user_until_it_ends(database, clock) -> None:
    with database.begin() as session:
        ada = user(session, "ada")
        issued = accounts.issue_token(session, ada, "CI", actor=TEST, scopes=[Scope.READ], lifetime=timedelta(days=1))
    with database.read() as session:
        found = accounts.verify_token(session, issued.secret)
        assert (found.user.name, found.scopes, found.name) == ("ada", ["read"], "CI")
        kept = session.get_one(Token, found.id)
        assert issued.secret not in (kept.digest, kept.prefix)
        assert issued.secret.startswith(f"nve_{kept.prefix}_")
    clock.advance(days=1)
    with database.read() as session, pytest.raises(BadCredentials):
        accounts.verify_token(session, issued.secret)


def test_a_token_issues_none_that_outlives_it(database, clock) -> None:
    """A token of ninety days issued endless ones, by itself or through a browser's session."""
    with database.begin() as session:
        ada = user(session, "ada")

        def issue(days: int | None, parent=None, kind: TokenKind = TokenKind.API):
            lifetime = None if days is None else timedelta(days=days)
            issued_with = None if parent is None else parent.id
            return accounts.issue_token(
                session, ada, "x", actor=TEST, lifetime=lifetime, kind=kind, issued_with=issued_with
            ).token

        first, end = issue(90), clock.now() + timedelta(days=90)
        assert [issue(days, first).expires_at for days in (None, 200, 90)] == [end] * 3
        assert issue(7, first).expires_at == clock.now() + timedelta(days=7)
        by_token = issue(14, first, TokenKind.SESSION)
        assert issue(None, by_token).expires_at == end, "nor does one through a session"
        assert issue(None, issue(None, issue(14, issue(14, first), TokenKind.SESSION))).expires_at < end
        by_password = issue(14, kind=TokenKind.SESSION)
        assert issue(None, by_password).expires_at is None, "who gave a password may say how long"
        assert issue(None, issue(None)).expires_at is None


def test_a_new_password_ends_what_was_got_by_the_old_one(database) -> None:
    with database.begin() as session:
        ada = user(session, "ada")
        issued = [accounts.issue_token(session, ada, "x", actor=TEST, kind=kind) for kind in (*TokenKind, *TokenKind)]
        other = accounts.issue_token(session, user(session, "bob"), "x", actor=TEST)
        accounts.set_password(session, ada, "another long one", actor=TEST, spare=issued[0].token.id)
        accounts.verify_token(session, issued[0].secret)
        accounts.verify_token(session, other.secret)
        for token in issued[1:]:
            with pytest.raises(BadCredentials):
                accounts.verify_token(session, token.secret)


def test_revoked_and_forged_tokens_are_refused_in_the_same_words(database) -> None:
    with database.begin() as session:
        ada, eve = user(session, "ada"), user(session, "eve")
        issued = accounts.issue_token(session, ada, "laptop", actor=TEST)
        with pytest.raises(NotFound):
            accounts.revoke_token(session, eve, issued.token.id, actor=TEST)
        accounts.revoke_token(session, ada, issued.token.id, actor=TEST)
    prefix = issued.token.prefix
    with database.read() as session:
        for secret in [issued.secret, f"nve_{prefix}_{'A' * 43}", "nve_aaaaaaaa_" + "A" * 43, "", "x" * 10_000]:
            with pytest.raises(BadCredentials, match="This token is invalid"):
                accounts.verify_token(session, secret)
        assert accounts.list_tokens(session, ada) == []


def test_the_use_of_a_token_is_written_down_now_and_then(database, clock) -> None:
    with database.begin() as session:
        token = accounts.issue_token(session, user(session, "ada"), "x", actor=TEST).token
        accounts.touch_token(session, token.id)
        first = token.used_at
    clock.advance(seconds=30)
    with database.begin() as session:
        assert not accounts.is_touch_due(session, session.get_one(Token, token.id))
        accounts.touch_token(session, token.id)
        assert session.get_one(Token, token.id).used_at == first
    clock.advance(seconds=31)
    with database.begin() as session:
        accounts.touch_token(session, token.id)
        assert session.get_one(Token, token.id).used_at == clock.now()


def test_organisers_of_one_competition_and_of_all(cup: Challenge) -> None:
    with cup.database.begin() as session:
        here, everywhere, nobody = user(session, "here"), user(session, "everywhere"), user(session, "nobody")
        competition = cup.competition(session)
        for _ in range(2):  # twice is once
            accounts.grant_organiser(session, here, actor=TEST, competition=competition)
            accounts.grant_organiser(session, everywhere, actor=TEST)
        assert accounts.is_organiser(session, here.id, competition)
        assert not accounts.is_organiser(session, here.id)
        assert accounts.is_organiser(session, everywhere.id, competition)
        assert accounts.is_organiser(session, everywhere.id)
        assert not accounts.is_organiser(session, nobody.id, competition)
        accounts.revoke_organiser(session, here, actor=TEST, competition=competition)
        assert not accounts.is_organiser(session, here.id, competition)


def test_an_invitation_lets_one_user_in_once(cup: Challenge) -> None:
    team_id = cup.team("Red")
    with cup.database.begin() as session:
        team = session.get_one(Team, team_id)
        invited = teams.invite(session, team, actor=TEST, email="bob@example.org")
        bob = user(session, "bob")
        assert teams.accept_invitation(session, invited.secret, user=bob, actor=TEST).id == team_id
        assert [member.role for member in teams.list_members(session, team)] == [MemberRole.CAPTAIN, MemberRole.MEMBER]
        carol = user(session, "carol")
        with pytest.raises(BadCredentials):
            teams.accept_invitation(session, invited.secret, user=carol, actor=TEST)
        assert teams.list_invitations(session, team) == []


@pytest.mark.parametrize("how", ["expired", "revoked", "forged"])
def test_dead_invitations(cup: Challenge, clock, how: str) -> None:
    team_id = cup.team("Red")
    with cup.database.begin() as session:
        team = session.get_one(Team, team_id)
        invited = teams.invite(session, team, actor=TEST)
        bob = user(session, "bob")
        if how == "revoked":
            teams.revoke_invitation(session, team, invited.invitation.id, actor=TEST)
    if how == "expired":
        clock.advance(days=8)
    secret = "nvi_forged" if how == "forged" else invited.secret
    with pytest.raises(BadCredentials, match="captain"), cup.database.begin() as session:
        teams.accept_invitation(session, secret, user=bob, actor=TEST)


def test_a_user_is_in_one_team_per_competition(cup: Challenge) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    with cup.database.begin() as session:
        invited = teams.invite(session, session.get_one(Team, blue), actor=TEST)
    with pytest.raises(Conflict, match="in a team"), cup.database.begin() as session:
        teams.accept_invitation(session, invited.secret, user=accounts.get_user(session, "red"), actor=TEST)
    with cup.database.read() as session:
        member = teams.find_member_of_competition(
            session, accounts.get_user(session, "red").id, cup.competition(session)
        )
        assert member is not None
        assert member.team_id == red


def test_a_full_team_takes_nobody(database) -> None:
    cup = Challenge(database, competition_config(max_team_size=1))
    team = cup.team("Red")
    with database.begin() as session:
        invited, bob = teams.invite(session, session.get_one(Team, team), actor=TEST), user(session, "bob")
    with pytest.raises(Conflict, match="full"), database.begin() as session:
        teams.accept_invitation(session, invited.secret, user=bob, actor=TEST)


def test_a_team_keeps_a_captain(cup: Challenge) -> None:
    team_id = cup.team("Red")
    with cup.database.begin() as session:
        team, red = session.get_one(Team, team_id), accounts.get_user(session, "red")
        bob = user(session, "bob")
        teams.accept_invitation(session, teams.invite(session, team, actor=TEST).secret, user=bob, actor=TEST)
        with pytest.raises(Conflict, match="captain"):
            teams.remove_member(session, team, red, actor=TEST)
        with pytest.raises(Conflict, match="captain"):
            teams.set_member_role(session, team, red, MemberRole.MEMBER, actor=TEST)
        teams.set_member_role(session, team, bob, MemberRole.CAPTAIN, actor=TEST)
        teams.remove_member(session, team, red, actor=TEST)
        assert [member.user.name for member in teams.list_members(session, team)] == ["bob"]


@pytest.mark.parametrize("other", ["red", "  RED ", "Ｒed", "R\u034fed", "Ré\ufe0fd\u2800", "𝐑𝐞𝐝", "-Red-", "ʀᴇᴅ"])
def test_names_that_look_equal_are_taken(cup: Challenge, other: str) -> None:
    cup.team("Red")
    green = cup.team("Green")
    with pytest.raises(NameInUse), cup.database.begin() as session:
        teams.create_team(session, cup.competition(session), other, captain=user(session, "bob"), actor=TEST)
    with pytest.raises(NameInUse), cup.database.begin() as session:
        teams.rename_team(session, session.get_one(Team, green), other, actor=TEST)


def test_renaming_is_no_way_to_keep_everybody_awake(cup: Challenge) -> None:
    """Each new name tells all who watch a board; a name that is the same, or of a team on no board, tells nobody."""
    team = cup.team("Red")

    def rename(name: str, **by: bool) -> int:
        with cup.database.begin() as session:
            teams.rename_team(session, session.get_one(Team, team), name, actor=TEST, **by)
            session.flush()
            session.expire_all()
            return cup.phase(session).board_version

    before = rename("Red")
    assert rename("Redder") == before, "it is on no board"
    cup.complete(team)
    known = rename("Redder")
    assert rename("Reddest") == known + 1
    for number in range(teams.RENAMED_PER_DAY - 2):
        rename(f"Red {number + 2}")
    with pytest.raises(QuotaExceeded, match="times in 24 hours"):
        rename("Once more")
    rename("Decent", by_organiser=True)


def test_who_founds_team_after_team_is_stopped(cup: Challenge) -> None:
    with cup.database.begin() as session:
        bob = user(session, "bob")
        for number in range(teams.FOUNDED_PER_DAY):
            team = teams.create_team(
                session, cup.competition(session), f"Bob {number}x", captain=bob, actor=make_user_actor(bob)
            )
            teams.remove_member(session, team, bob, actor=TEST)
        with pytest.raises(QuotaExceeded, match="have created"):
            teams.create_team(session, cup.competition(session), "More", captain=bob, actor=make_user_actor(bob))


@pytest.mark.parametrize("other", ["R\u0435d", "R\u0435\u0501", "ꓣed"])
def test_names_of_two_alphabets_are_refused(cup: Challenge, other: str) -> None:
    with pytest.raises(StoreError, match="one alphabet"), cup.database.begin() as session:
        teams.create_team(session, cup.competition(session), other, captain=user(session, "bob"), actor=TEST)


@pytest.mark.parametrize("other", ["cup-1", "cup_l", "cup-i"])
def test_names_of_competitions_that_look_equal_are_taken(database, other: str) -> None:
    Challenge(database, competition_config(name="cup-l"))
    with pytest.raises(NameInUse, match="looks like that of the competition"):
        Challenge(database, competition_config(name=other))


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\u202eb", "a\x00b", "line\nbreak\x07"])
def test_names_that_a_board_cannot_show(cup: Challenge, name: str) -> None:
    with pytest.raises(StoreError, match="name"), cup.database.begin() as session:
        teams.create_team(session, cup.competition(session), name, captain=user(session, "bob"), actor=TEST)


@pytest.mark.parametrize(("registration", "status"), [("open", TeamStatus.ACTIVE), ("approval", TeamStatus.PENDING)])
def test_registration_by_the_rules(database, registration: str, status: TeamStatus) -> None:
    cup = Challenge(database, competition_config(registration=registration))
    team_id = cup.team("Red")
    with database.begin() as session:
        team = session.get_one(Team, team_id)
        assert team.status is status
        teams.approve_team(session, team, actor=TEST)
        assert team.status is TeamStatus.ACTIVE


def test_a_closed_registration_takes_no_team(database) -> None:
    cup = Challenge(database, competition_config(registration="closed"))
    with pytest.raises(NotAllowed, match="closed"):
        cup.team("Red")


def test_a_pending_team_cannot_submit(database) -> None:
    cup = Challenge(database, competition_config(registration="approval"))
    team = cup.team("Red")
    with pytest.raises(NotAllowed, match="approval"):
        cup.start(team)


def test_renaming_changes_the_boards(cup: Challenge) -> None:
    team_id = cup.team("Red")
    cup.team("Blue")
    cup.complete(team_id)
    with cup.database.begin() as session:
        version = cup.phase(session).board_version
        teams.rename_team(session, session.get_one(Team, team_id), "Crimson", actor=TEST)
        assert cup.phase(session).board_version == version + 1
    with pytest.raises(NameInUse), cup.database.begin() as session:
        teams.rename_team(session, session.get_one(Team, team_id), "BLUE", actor=TEST)


def test_all_of_it_is_in_the_audit_log(cup: Challenge) -> None:
    team = cup.team("Red")
    with cup.database.read() as session:
        actions = [
            event.action for event in audit.list_audit_events(session, subject=audit.Subject(team_id=team)).items
        ]
        assert actions == ["team.create"]
        everything = [event.action for event in audit.list_audit_events(session).items]
    assert everything == ["team.create", "user.create", "competition.create"]


def test_the_audit_log_comes_in_pages(database) -> None:
    with database.begin() as session:
        for number in range(25):
            audit.record(session, TEST, "x", number=number)
    seen: list[int] = []
    after = None
    with database.begin() as session:
        while True:
            page = audit.list_audit_events(session, after=after, limit=10)
            seen += [event.details["number"] for event in page.items]
            audit.record(session, TEST, "y")  # a newer line shifts nothing
            session.flush()
            if page.next is None:
                break
            after = page.next
        assert seen == list(range(24, -1, -1))
        with pytest.raises(StoreError, match="cursor"):
            audit.list_audit_events(session, after="nonsense")
