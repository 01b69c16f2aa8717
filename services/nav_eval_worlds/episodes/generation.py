"""Episodes made from annotated scenes: instructions, goals and expert walks, so that a challenge needs no download.

Everything is drawn by hashes of (seed, task, split, scene, episode): the same request gives the same bytes in
every process. What an episode asks for is checked before it is kept: the words mean exactly its goals, the goals
can be reached and seen, and an expert with the benchmark's own actions gets there in time.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.errors import ConfigError, DatasetError
from nav_eval.simulator.scene_manager import SceneManager
from nav_eval_worlds.episodes.balance import Quota
from nav_eval_worlds.episodes.base import EpisodeAttempt, EpisodeGenerator, GenerationRequest
from nav_eval_worlds.episodes.lh_vln import SHAPES, LhVlnGenerator
from nav_eval_worlds.episodes.localization import LocalizationGenerator
from nav_eval_worlds.episodes.single_goal import ImageNavGenerator, ObjectNavGenerator, PointNavGenerator
from nav_eval_worlds.episodes.site import SceneContext, Site
from nav_eval_worlds.episodes.vln import VlnGenerator
from nav_eval_worlds.randomness import RandomStream

ATTEMPTS = 60  #: draws per episode; the second half asks for less
Say = Callable[[str], None]
EPISODE_GENERATORS: dict[str, Callable[[Sequence[Site], GenerationRequest, Quota], EpisodeGenerator]] = {
    "vln": VlnGenerator,
    "lh_vln": LhVlnGenerator,
    "objectnav": ObjectNavGenerator,
    "imagenav": ImageNavGenerator,
    "pointnav": PointNavGenerator,
    "localization": LocalizationGenerator,
}
#: the tasks that episodes can be generated for
GENERATED_TASKS = tuple(EPISODE_GENERATORS)


class GenerationFailed(DatasetError):
    """A scene gave no episode of this kind; the message says which and what to try."""


def generate_episodes(
    benchmark: BenchmarkConfig,
    scenes: Sequence[str],
    *,
    count: int,
    seed: int,
    split: str = "unseen",
    subtasks: tuple[int, int] = (2, 4),
    cache: Path,
    say: Say | None = None,
) -> list[Episode]:
    """`count` episodes for the task of a benchmark, spread evenly over `scenes` (ids below its scene folder)."""
    order = GenerationRequest(benchmark=benchmark, count=count, seed=seed, split=split, subtasks=subtasks)
    if benchmark.task.type not in EPISODE_GENERATORS:
        raise ConfigError(
            f"Episodes can be generated for {', '.join(EPISODE_GENERATORS)}, not for {benchmark.task.type!r}."
        )
    if not 1 <= subtasks[0] <= subtasks[1] <= max(SHAPES):
        raise ConfigError(f"subtasks is {list(subtasks)}; give the fewest and the most, between 1 and {max(SHAPES)}.")
    if not scenes:
        raise ConfigError("Episodes need at least one scene; make some with `nav-eval scenes generate`.")
    return list(_generate(order, scenes, cache, say or (lambda _: None)))


def _generate(order: GenerationRequest, scenes: Sequence[str], cache: Path, say: Say) -> Iterator[Episode]:
    """Scene by scene, so that an evaluation in this order opens each scene once."""
    manager = SceneManager(order.benchmark, cache=cache)
    targets = sum(order.subtasks) // 2 if order.benchmark.task.type == "lh_vln" else 1
    quota = Quota(expected=order.count * targets)
    for place, scene in enumerate(scenes):
        numbers = range(place * order.count // len(scenes), (place + 1) * order.count // len(scenes))
        if numbers:
            say(f"{len(numbers)} {order.benchmark.task.type} episodes in {scene}")
            sites = _make_sites(order.benchmark, scene, manager)
            _check_annotation(order, sites[0])
            maker = EPISODE_GENERATORS[order.benchmark.task.type](sites, order, quota)
            yield from (_make_episode(maker, order, scene, number) for number in numbers)


def _check_annotation(order: GenerationRequest, site: Site) -> None:
    """Only points need no names."""
    task = order.benchmark.task.type
    needed = {"objects": task != "pointnav", "regions": task in ("vln", "localization")}
    missing = [name for name, is_needed in needed.items() if is_needed and not getattr(site.around.semantics, name)]
    if missing:
        raise GenerationFailed(
            f"{site.around.scene_id}: names no {missing[0]}, which {task} episodes speak of. "
            "docs/scenes.md says which annotations are read."
        )


def _make_sites(benchmark: BenchmarkConfig, scene: str, manager: SceneManager) -> list[Site]:
    """One per robot of the benchmark; robots of one shape share what is expensive."""
    around: dict[int, SceneContext] = {}
    sites = []
    for robot in benchmark.scenario_config.robots:
        place = manager.open(scene, robot)
        shared = around.setdefault(id(place), SceneContext(scene_id=scene, place=place))
        sites.append(Site(around=shared, benchmark=benchmark, robot=robot))
    return sites


def _make_episode(maker: EpisodeGenerator, order: GenerationRequest, scene: str, number: int) -> Episode:
    task = order.benchmark.task.type
    name = f"{task}_{order.split}_{number:05d}"
    for attempt in range(ATTEMPTS):
        draw = RandomStream(order.seed, task, order.split, scene, number, attempt, split=order.pool)
        case = EpisodeAttempt(number=number, episode_id=name, draw=draw)
        episode = maker.draw(case, strict=attempt < ATTEMPTS // 2)
        if episode is not None:
            return episode
    raise GenerationFailed(
        f"{scene}: {ATTEMPTS} attempts gave no {task} episode. Is the scene annotated, large enough, and "
        f"walkable for {', '.join(robot.name for robot in order.benchmark.scenario_config.robots)}? "
        "Another seed or a larger house helps."
    )
