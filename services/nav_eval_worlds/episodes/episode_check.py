"""Generated episodes looked at again: what they state, and what domain randomisation leaves of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.simulator.scene_manager import SceneManager
from nav_eval_worlds.episodes.look_check import find_broken_words
from nav_eval_worlds.episodes.site import SceneContext, Site
from nav_eval_worlds.episodes.statement_check import find_false_statements

EVERYTHING = 2  #: the scene mode that varies whatever may be varied


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeReport:
    """What came of checking episodes."""

    episodes: int
    statements: int
    problems: tuple[str, ...]


def check_episodes(benchmark: BenchmarkConfig, episodes: Iterable[Episode], *, cache: Path) -> EpisodeReport:
    """Check every episode, scene by scene."""
    manager = SceneManager(benchmark, cache=cache)
    checked = sorted(episodes, key=lambda one: (one.scene_id, one.private.robot or ""))
    problems: list[str] = []
    site: Site | None = None
    for episode in checked:
        if site is None or (site.around.scene_id, site.robot.name) != (episode.scene_id, episode.private.robot):
            robot = benchmark.robot(episode.private.robot)
            around = SceneContext(scene_id=episode.scene_id, place=manager.open(episode.scene_id, robot))
            site = Site(around=around, benchmark=benchmark, robot=robot)
        problems += find_false_statements(site, episode)
        problems += find_broken_words(site.around.place.scene, episode, scene_modes=(EVERYTHING,))
    statements = sum(len(episode.private.info.get("statements", ())) for episode in checked)
    return EpisodeReport(episodes=len(checked), statements=statements, problems=tuple(problems))
