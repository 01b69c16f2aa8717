"""Who may see what of a submission, by the phase's `visibility`. Organisers see everything."""

from enum import IntEnum
from typing import Literal, NamedTuple
from uuid import UUID

from nav_eval_store.models import Phase

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


def may_see(phase: Phase, part: Part, audience: Audience) -> bool:
    """Whether somebody may see a part of a submission of this phase."""
    needed = _NEEDED[getattr(phase.config.visibility, part)]
    if part == "scores" and phase.published_at is not None:
        needed = Audience.PUBLIC
    return audience >= needed
