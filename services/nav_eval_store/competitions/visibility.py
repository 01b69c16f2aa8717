"""Who may see what of a submission: the one place where it is decided, for API, pages, events, exports and films.

The phase's `visibility` says it, with three rules above it. Organisers see everything. What a privileged baseline did
(replays, films, logs, episodes) is theirs alone, because it walks to the goals. And a run whose slot was given back
shows nothing but that it ended: nobody learns something for free.
"""

from enum import IntEnum
from typing import Literal, NamedTuple
from uuid import UUID

from nav_eval.config.schema.competition import VisibilityConfig
from nav_eval_store.models import Phase, Submission, TeamKind
from nav_eval_store.submissions.lifecycle import SubmissionState

Part = Literal["scores", "logs", "replays", "episodes"]


class Audience(IntEnum):
    """Who looks, from the least to the most trusted."""

    PUBLIC = 0
    TEAM = 1
    ORGANISER = 2


class Viewer(NamedTuple):
    """Somebody who looks: nobody in particular, a member of a team, or an organiser."""

    team_id: UUID | None = None
    is_organiser: bool = False

    def audience(self, team_id: UUID) -> Audience:
        """What they are to a team's submission."""
        if self.is_organiser:
            return Audience.ORGANISER
        return Audience.TEAM if self.team_id == team_id else Audience.PUBLIC


ANYBODY = Viewer()
ORGANISER = Viewer(is_organiser=True)

_NEEDED = {"public": Audience.PUBLIC, "team": Audience.TEAM, "organiser": Audience.ORGANISER}


PARTS: tuple[Part, ...] = ("scores", "logs", "replays", "episodes")


def find_least_audience(rules: VisibilityConfig, part: Part, *, is_published: bool) -> Audience:
    """The least trusted who may see a part, by the rules of a phase and whether its board was published."""
    return Audience.PUBLIC if part == "scores" and is_published else _NEEDED[rules.get_audience(part)]


def may_see(phase: Phase, part: Part, audience: Audience) -> bool:
    """Whether somebody may see a part of the usual submission of this phase."""
    is_published = phase.published_at is not None
    return audience >= find_least_audience(phase.config.visibility, part, is_published=is_published)


def may_see_submission(submission: Submission, part: Part, audience: Audience) -> bool:
    """Whether somebody may see a part of this submission."""
    if audience is Audience.ORGANISER:
        return True
    if _is_our_failure(submission):
        return False
    if part != "scores" and submission.team.kind is TeamKind.UPPER_BOUND:
        return False
    return may_see(submission.phase, part, audience)


def _is_our_failure(submission: Submission) -> bool:
    """Whether it ended without a score by our fault, in its evaluation or before: it cost nothing and shows nothing."""
    failed = submission.state is SubmissionState.FAILED
    return failed and submission.cause is not None and submission.cause.is_ours


def may_see_means(submission: Submission, audience: Audience) -> bool:
    """Whether somebody may see the means of a submission as it stands.

    Means that move with every episode tell the score of each: while a run goes on they are for those who see episodes.
    """
    shown = may_see_submission(submission, "scores", audience)
    return shown and (
        submission.state is SubmissionState.COMPLETED or may_see_submission(submission, "episodes", audience)
    )
