"""Three teams and an organiser, doing over HTTP what teams and organisers do."""

import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig, CompetitionConfig, load_benchmark, load_competition
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.generators import Say, ensure_generated
from nav_eval_demo.home import DemoError, DemoHome, Player
from nav_eval_sdk.client import API, ChallengeClient
from nav_eval_sdk.http_client import HttpClient, ServerError
from nav_eval_sdk.project import pack_folder
from nav_eval_sdk.submission import hash_archive
from nav_eval_store.audit import Actor
from nav_eval_store.competitions import configuration
from nav_eval_store.errors import DangerousChange
from nav_eval_store.settings import StoreSettings

AGENTS = Path(__file__).parent / "agents"
AGENT_NAMES = ("random", "forward", "keyword")
COMPETITION, PHASE = "demo", "dev"
ENDED = ("failed", "cancelled")


def make_players() -> list[Player]:
    return [
        Player(agent=name, user=name, password=secrets.token_urlsafe(12), team=f"Team {name.capitalize()}")
        for name in AGENT_NAMES
    ]


def register_player(server: str, player: Player) -> None:
    """Register, found a team; what is done already stays."""
    if player.token is not None:
        return
    everybody = HttpClient(server)
    registration = {"name": player.user, "email": f"{player.user}@example.org", "password": player.password}
    _request_once(lambda: everybody.json("POST", f"{API}/users", registration))
    login = {"name": player.user, "password": player.password, "token_name": "demo"}
    token: str = everybody.json("POST", f"{API}/login", login)["token"]
    captain = HttpClient(server, token)
    _request_once(lambda: captain.json("POST", f"{API}/competitions/{COMPETITION}/teams", {"name": player.team}))
    player.token = token


def submit_agent(server: str, player: Player) -> str:
    """Hand in the team's agent, unless it has been; the submission's id."""
    client = ChallengeClient(server, player.token or "")
    if player.submission is not None and client.submission(player.submission).status not in ENDED:
        return player.submission
    with tempfile.TemporaryDirectory(prefix="nav-eval-demo-") as scratch:
        archive = pack_folder(AGENTS / player.agent, Path(scratch) / "image.tar")
        digest = hash_archive(archive)
        submission = client.create_submission(
            competition=COMPETITION, phase=PHASE, sha256=digest, size=archive.stat().st_size, name=player.agent
        )
        client.upload(submission, archive, sha256=digest)
    player.submission = submission.submission_id
    return submission.submission_id


def _request_once(request: Callable[[], object]) -> None:
    try:
        request()
    except ServerError as error:
        if error.status != 409:  # it was done before the demo was interrupted
            raise


ORGANISER = Actor("shell:demo")
PHASE_URL = f"{API}/competitions/{COMPETITION}/phases/{PHASE}"


def load_demo_benchmark() -> BenchmarkConfig:
    phase = load_competition(COMPETITION).phase(PHASE)
    if phase is None:
        raise DemoError(f"The competition {COMPETITION} in ./configs has no phase {PHASE!r}, which the demo plays.")
    return load_benchmark(phase.benchmark)


def generate_data(benchmark: BenchmarkConfig, say: Say) -> int:
    """Make houses and episodes unless they are there; how many episodes there are."""
    ensure_generated(benchmark, cache=get_cache_folder(), say=say)
    return len(load_episodes(benchmark).episode_ids)


def apply_competition(home: DemoHome, config: CompetitionConfig) -> None:
    """As `nav-eval competition apply` does it."""
    settings = StoreSettings.from_environment(home.environment)
    database = settings.open_database()
    try:
        with database.begin() as session:
            configuration.apply(session, config, actor=ORGANISER)
    except DangerousChange as error:
        raise home.unusable(f"its results were made by other rules ({error})") from error
    finally:
        database.dispose()


def run_baselines(server: str, home: DemoHome) -> None:
    """Let the phase's baselines play, unless they have."""
    HttpClient(server, home.organiser_token).json(
        "POST", f"{PHASE_URL}/baselines", {"reason": "the demo's upper bound"}
    )


def list_submissions(server: str, home: DemoHome) -> list[dict[str, Any]]:
    """All of the phase, the oldest first."""
    page = HttpClient(server, home.organiser_token).json(
        "GET", f"{API}/submissions?competition={COMPETITION}&phase={PHASE}"
    )
    found: list[dict[str, Any]] = page["items"]
    return found[::-1]


def get_board(server: str) -> dict[str, Any]:
    """As everybody sees it."""
    standing: dict[str, Any] = HttpClient(server).json("GET", f"{PHASE_URL}/leaderboard")
    return standing
