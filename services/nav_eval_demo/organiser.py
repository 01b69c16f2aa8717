"""What the organiser does: the competition from its file, and the upper bound of its board."""

from typing import Any

from nav_eval.cache import cache_folder
from nav_eval.config import BenchmarkConfig, CompetitionConfig, load_benchmark, load_competition
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.generation import Say, ensure_generated
from nav_eval_demo.errors import DemoError
from nav_eval_demo.home import DemoHome
from nav_eval_demo.teams import COMPETITION, PHASE
from nav_eval_sdk.client import API
from nav_eval_sdk.web import Http
from nav_eval_store import competitions
from nav_eval_store.actors import Actor
from nav_eval_store.errors import DangerousChange
from nav_eval_store.settings import StoreSettings

ORGANISER = Actor("shell:demo")
PLACE = f"{API}/competitions/{COMPETITION}/phases/{PHASE}"


def benchmark_of_the_demo() -> BenchmarkConfig:
    phase = load_competition(COMPETITION).phase(PHASE)
    if phase is None:
        raise DemoError(f"The competition {COMPETITION} in ./configs has no phase {PHASE!r}, which the demo plays.")
    return load_benchmark(phase.benchmark)


def generate(benchmark: BenchmarkConfig, say: Say) -> int:
    """Make houses and episodes unless they are there; how many episodes there are."""
    ensure_generated(benchmark, cache=cache_folder(), say=say)
    return len(load_episodes(benchmark).episode_ids)


def apply(home: DemoHome, config: CompetitionConfig) -> None:
    """As `nav-eval competition apply` does it."""
    settings = StoreSettings.from_environment(home.environment)
    database = settings.open_database()
    try:
        with database.begin() as session:
            competitions.apply(session, config, actor=ORGANISER)
    except DangerousChange as error:
        raise home.unusable(f"its results were made by other rules ({error})") from error
    finally:
        database.dispose()


def run_baselines(server: str, home: DemoHome) -> None:
    """Let the phase's baselines play, unless they have."""
    Http(server, home.organiser_token).json("POST", f"{PLACE}/baselines", {"reason": "the demo's upper bound"})


def submissions(server: str, home: DemoHome) -> list[dict[str, Any]]:
    """All of the phase, the oldest first."""
    page = Http(server, home.organiser_token).json("GET", f"{API}/submissions?competition={COMPETITION}&phase={PHASE}")
    found: list[dict[str, Any]] = page["items"]
    return found[::-1]


def board(server: str) -> dict[str, Any]:
    """As everybody sees it."""
    standing: dict[str, Any] = Http(server).json("GET", f"{PLACE}/leaderboard")
    return standing
