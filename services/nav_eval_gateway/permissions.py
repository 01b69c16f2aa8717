"""Who may do what: the one place where it is decided.

What somebody may not know of does not exist for them (404), so that ids cannot be guessed; what they
may see but not do is refused (403). Every function takes the session of the deed itself, so that
what was decided still holds when it is done.
"""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from nav_eval_gateway.errors import NotSignedIn, ScopeMissing
from nav_eval_store.audit import Actor, make_user_actor
from nav_eval_store.competitions import configuration
from nav_eval_store.competitions.visibility import Audience, Part, Viewer, may_see, may_see_means, may_see_submission
from nav_eval_store.database import Session
from nav_eval_store.errors import NotAllowed, NotFound
from nav_eval_store.models import (
    BoardEntry,
    Competition,
    EntryVisibility,
    MemberRole,
    Phase,
    Submission,
    Team,
    TeamMember,
    TeamStatus,
    Upload,
    User,
)
from nav_eval_store.people import accounts, teams
from nav_eval_store.people.accounts import Scope
from nav_eval_store.submissions import queries
from nav_eval_store.uploads import records


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who asks: anybody, or a user by one of their tokens."""

    user: User | None = None
    scopes: frozenset[Scope] = frozenset()  #: of the token
    token_id: UUID | None = None

    def require_user(self, scope: Scope) -> "SignedIn":
        """The caller as a user who may use `scope`."""
        if self.user is None or self.token_id is None:
            raise NotSignedIn
        if scope not in self.scopes:
            have = ", ".join(sorted(self.scopes)) or "nothing"
            raise ScopeMissing(
                "This needs a token with the scope {scope!r}; yours has {have}.", scope=scope.value, have=have
            )
        return SignedIn(user=self.user, scopes=self.scopes, token_id=self.token_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class SignedIn(Caller):
    """A user."""

    user: User
    token_id: UUID

    @property
    def actor(self) -> Actor:
        return make_user_actor(self.user)


ANYBODY = Caller()


def is_organiser(session: Session, caller: Caller, competition: Competition | None = None) -> bool:
    """Whether the caller organises the competition (None: the installation), and the token says so, too."""
    if caller.user is None or Scope.ORGANISE not in caller.scopes:
        return False
    return accounts.is_organiser(session, caller.user.id, competition)


def require_organiser(session: Session, caller: Caller, competition: Competition | None = None) -> None:
    if not is_organiser(session, caller, competition):
        raise NotAllowed("Only organisers may do this, with a token that has the scope 'organise'.")


def get_organised_competition(session: Session, caller: Caller, name: str) -> Competition:
    """A competition for its organiser."""
    competition = configuration.get_competition(session, name)
    require_organiser(session, caller, competition)
    return competition


def get_phase(session: Session, competition: str, name: str) -> Phase:
    """A phase by its names; everybody knows of those."""
    return configuration.get_phase(session, configuration.get_competition(session, competition), name)


def get_viewer(session: Session, caller: Caller, competition: Competition) -> Viewer:
    """What the caller is in a competition."""
    if caller.user is None:
        return Viewer()
    member = teams.find_member_of_competition(session, caller.user.id, competition)
    return Viewer(None if member is None else member.team_id, is_organiser(session, caller, competition))


def refuse_ended(session: Session, caller: Caller) -> None:
    """Refuse a caller who was let in before, and whose token, session or account has ended meanwhile."""
    if caller.token_id is not None and not accounts.is_token_good(session, caller.token_id):
        raise NotAllowed("Log in again, or create a new token.")


class TeamAccess(NamedTuple):
    """A team as somebody who may see it sees it."""

    team: Team
    member: TeamMember | None
    """Their membership; None for an organiser from outside."""
    is_organiser: bool


def get_team(session: Session, caller: Caller, team_id: UUID) -> TeamAccess:
    """A team, for its members and organisers; for others there is no such team."""
    found = session.get(Team, team_id)
    if found is not None and caller.user is not None:
        member = teams.find_member_of_team(session, caller.user.id, team_id)
        organiser = is_organiser(session, caller, found.competition)
        if member is not None or organiser:
            return TeamAccess(found, member, organiser)
    raise NotFound("There is no such team, or it is not yours.")


def get_shown_team(session: Session, team_id: UUID) -> Team:
    """A team that told everybody of itself; for others there is no such team."""
    found = session.get(Team, team_id)
    if found is None or not is_shown_team(found):
        raise NotFound("There is no such team, or it is not yours.")
    return found


def is_shown_team(team: Team) -> bool:
    """Whether everybody may know what the team tells of itself."""
    return team.profile is not None and team.status is TeamStatus.ACTIVE


def get_captained_team(session: Session, caller: Caller, team_id: UUID) -> Team:
    """A team, for its captain or an organiser."""
    found, member, organiser = get_team(session, caller, team_id)
    if organiser or (member is not None and member.role is MemberRole.CAPTAIN):
        return found
    raise NotAllowed("Only the team's captain may do this.")


def get_own_team(session: Session, caller: SignedIn, competition: Competition) -> Team:
    """The caller's own team in a competition."""
    member = teams.find_member_of_competition(session, caller.user.id, competition)
    if member is None:
        raise NotAllowed(
            "You are not in a team of {title}; create one, or accept an invitation.", title=competition.title
        )
    return member.team


class SubmissionAccess(NamedTuple):
    """A submission as somebody who may see it sees it."""

    submission: Submission
    audience: Audience

    def shows(self, part: Part) -> bool:
        return may_see_submission(self.submission, part, self.audience)

    def shows_means(self) -> bool:
        return may_see_means(self.submission, self.audience)

    def shows_instructions(self) -> bool:
        """Whether scenes and instructions may be read: by organisers, and where films (which show them) are public.

        Where films are for the team alone they stay with the organiser: what a team learns film by film is bounded.
        """
        return self.audience is Audience.ORGANISER or may_see_submission(self.submission, "replays", Audience.PUBLIC)


def get_submission(session: Session, caller: Caller, submission_id: UUID) -> SubmissionAccess:
    """A submission: for its team and organisers, and for everybody once it stands on a public board."""
    found = queries.get_submission(session, submission_id)
    audience = get_viewer(session, caller, found.phase.competition).audience(found.team_id)
    if audience is Audience.PUBLIC and not _is_on_a_public_board(session, found):
        raise NotFound("There is no such submission, or it is not yours.")
    return SubmissionAccess(found, audience)


def _is_on_a_public_board(session: Session, found: Submission) -> bool:
    withdrawn = found.superseded_by is not None or found.team.status is TeamStatus.DISQUALIFIED
    if withdrawn or not may_see(found.phase, "scores", Audience.PUBLIC):
        return False
    entry = session.get(BoardEntry, found.id)
    return entry is not None and entry.visibility is EntryVisibility.SHOWN


def get_own_submission(session: Session, caller: Caller, submission_id: UUID) -> Submission:
    """A submission for those who may act on it: its team and organisers."""
    found, audience = get_submission(session, caller, submission_id)
    if audience is Audience.PUBLIC:
        raise NotAllowed("This is another team's submission.")
    return found


def get_submission_showing(session: Session, caller: Caller, submission_id: UUID, part: Part) -> SubmissionAccess:
    """A submission of which the caller may see a part."""
    access = get_submission(session, caller, submission_id)
    if access.shows(part):
        return access
    if not may_see(access.submission.phase, part, access.audience):
        audience = access.submission.phase.config.visibility.get_audience(part)
        raise NotAllowed("In this phase, {part} are visible to the {audience} only.", part=part, audience=audience)
    raise NotAllowed("The {part} of this submission are visible to the organiser only.", part=part)


def get_upload(session: Session, caller: Caller, upload_id: UUID) -> Upload:
    """An upload, for those who may act on its submission."""
    found = records.get_upload(session, upload_id)
    viewed = get_viewer(session, caller, found.submission.phase.competition).audience(found.submission.team_id)
    if viewed is Audience.PUBLIC:
        raise NotFound("There is no such upload, or it has expired.")
    return found
