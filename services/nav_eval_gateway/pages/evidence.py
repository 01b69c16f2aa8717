"""What stands behind a score: what was played again, by which engine, digests, the action log, how to repeat it.

Digests of rules and episodes say which protocol a number belongs to and tell nothing of the test set, so whoever sees
the score sees them. Those of the configuration are for the team and the organiser.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from nav_eval_gateway.permissions import SubmissionAccess
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.models import BoardEntry, Team

PUBLIC_DIGESTS = ("rules", "episodes")
LINKS = ("paper", "code")
SECURE = "https://"
LONGEST_LINK = 500


class Evidence(NamedTuple):
    """As much of it as the reader may see."""

    engine_version: str | None
    digests: Mapping[str, str]
    image: str | None  #: digest of the agent's image
    replayed: (
        Mapping[str, Any] | None
    )  #: how many episodes and steps were played again, and whether they came out equal
    episodes: int  #: of the submission
    verified_at: datetime | None
    completed_at: datetime
    action_log: str | None  #: where it is downloaded
    commands: str
    links: Mapping[str, str]  #: the team's own: paper, code


def gather_evidence(access: SubmissionAccess, entry: BoardEntry | None) -> Evidence | None:
    """None where there is no score, or the reader does not see it."""
    submission = access.submission
    if entry is None or not access.shows("scores"):
        return None
    facts, owns = submission.provenance or {}, access.audience is not Audience.PUBLIC
    digests: Mapping[str, str] = facts.get("digests") or {}
    engine = facts.get("engine_version")
    return Evidence(
        engine_version=engine,
        digests={name: digest for name, digest in digests.items() if owns or name in PUBLIC_DIGESTS},
        image=submission.image_digest if owns else None,
        replayed=facts.get("verification"),
        episodes=submission.episodes_total,
        verified_at=entry.verified_at,
        completed_at=entry.completed_at,
        action_log=f"/api/v1/submissions/{submission.id}/action-log" if access.shows("replays") else None,
        commands=make_commands(submission.phase.config.benchmark, agent=submission.agent, engine=engine),
        links=find_links(submission.team),
    )


def make_commands(benchmark: str, *, agent: str | None, engine: str | None) -> str:
    """What somebody types to get the same numbers at home, and to prove that they are."""
    version = f"=={engine}" if engine else ""
    address = agent if agent is not None and agent.startswith("baseline:") else "grpc://localhost:8085"
    return "\n".join(
        (
            f"pip install 'nav-eval{version}'",
            f"nav-eval evaluate {benchmark} --agent {address} --out runs/again",
            "nav-eval verify runs/again",
        )
    )


def find_links(team: Team) -> Mapping[str, str]:
    """The paper and the code of a team, if they are addresses that a browser opens over https."""
    profile = team.profile or {}
    found = {name: str(profile.get(name) or "") for name in LINKS}
    return {name: link for name, link in found.items() if _is_safe(link)}


def _is_safe(link: str) -> bool:
    plain = link.isascii() and link.isprintable() and not set(link) & set(" \"'<>\\`")
    return plain and link.startswith(SECURE) and len(SECURE) < len(link) <= LONGEST_LINK
