"""Three teams and an organiser, doing over HTTP what teams and organisers do."""

import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from nav_eval_demo.home import Player
from nav_eval_sdk.archiving import pack_folder
from nav_eval_sdk.client import API, ChallengeClient
from nav_eval_sdk.submitting import sha256_of
from nav_eval_sdk.web import Http, ServerError

AGENTS = Path(__file__).parent / "agents"
NAMES = ("random", "forward", "keyword")
COMPETITION, PHASE = "demo", "dev"
OVER = ("failed", "cancelled")


def new_players() -> list[Player]:
    return [
        Player(agent=name, user=name, password=secrets.token_urlsafe(12), team=f"Team {name.capitalize()}")
        for name in NAMES
    ]


def enter(server: str, player: Player) -> None:
    """Register, found a team; what is done already stays."""
    if player.token is not None:
        return
    everybody = Http(server)
    registration = {"name": player.user, "email": f"{player.user}@example.org", "password": player.password}
    _once(lambda: everybody.json("POST", f"{API}/users", registration))
    login = {"name": player.user, "password": player.password, "token_name": "demo"}
    token: str = everybody.json("POST", f"{API}/login", login)["token"]
    captain = Http(server, token)
    _once(lambda: captain.json("POST", f"{API}/competitions/{COMPETITION}/teams", {"name": player.team}))
    player.token = token


def submit(server: str, player: Player) -> str:
    """Hand in the team's agent, unless it has been; the submission's id."""
    client = ChallengeClient(server, player.token or "")
    if player.submission is not None and client.submission(player.submission).status not in OVER:
        return player.submission
    with tempfile.TemporaryDirectory(prefix="nav-eval-demo-") as scratch:
        archive = pack_folder(AGENTS / player.agent, Path(scratch) / "image.tar")
        digest = sha256_of(archive)
        submission = client.create_submission(
            competition=COMPETITION, phase=PHASE, sha256=digest, size=archive.stat().st_size, name=player.agent
        )
        client.upload(submission, archive, sha256=digest)
    player.submission = submission.submission_id
    return submission.submission_id


def _once(request: Callable[[], object]) -> None:
    try:
        request()
    except ServerError as error:
        if error.status != 409:  # it was done before the demo was interrupted
            raise
