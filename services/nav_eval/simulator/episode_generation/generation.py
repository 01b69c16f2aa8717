"""`generate_episodes`: scenes and a benchmark in, episodes out; the same ones in every process."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.errors import ConfigError, DatasetError
from nav_eval.scene.houses.randomness import Draw
from nav_eval.simulator.episode_generation.lh_vln import SHAPES, LongHorizonMaker
from nav_eval.simulator.episode_generation.localization import SituationMaker
from nav_eval.simulator.episode_generation.making import Case, Maker, Order
from nav_eval.simulator.episode_generation.quota import Quota
from nav_eval.simulator.episode_generation.search import ImageMaker, ObjectMaker, PointMaker
from nav_eval.simulator.episode_generation.site import Site, Surroundings
from nav_eval.simulator.episode_generation.vln import RouteMaker
from nav_eval.simulator.scene_manager import SceneManager

ATTEMPTS = 60  #: draws per episode; the second half asks for less
Say = Callable[[str], None]
MAKERS: dict[str, Callable[[Sequence[Site], Order, Quota], Maker]] = {
    "vln": RouteMaker,
    "lh_vln": LongHorizonMaker,
    "objectnav": ObjectMaker,
    "imagenav": ImageMaker,
    "pointnav": PointMaker,
    "localization": SituationMaker,
}
#: the tasks that episodes can be generated for
GENERATED_TASKS = tuple(MAKERS)


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
    order = Order(benchmark=benchmark, count=count, seed=seed, split=split, subtasks=subtasks)
    if benchmark.task.type not in MAKERS:
        raise ConfigError(f"Episodes can be generated for {', '.join(MAKERS)}, not for {benchmark.task.type!r}.")
    if not 1 <= subtasks[0] <= subtasks[1] <= max(SHAPES):
        raise ConfigError(f"subtasks is {list(subtasks)}; give the fewest and the most, between 1 and {max(SHAPES)}.")
    if not scenes:
        raise ConfigError("Episodes need at least one scene; make some with `nav-eval scenes generate`.")
    return list(_generated(order, scenes, cache, say or (lambda _: None)))


def _generated(order: Order, scenes: Sequence[str], cache: Path, say: Say) -> Iterator[Episode]:
    """Scene by scene, so that an evaluation in this order opens each scene once."""
    manager = SceneManager(order.benchmark, cache=cache)
    quota = Quota(expected=order.count * _targets_per_episode(order))
    for place, scene in enumerate(scenes):
        numbers = range(place * order.count // len(scenes), (place + 1) * order.count // len(scenes))
        if numbers:
            say(f"{len(numbers)} {order.benchmark.task.type} episodes in {scene}")
            sites = _sites(order.benchmark, scene, manager)
            _check_annotation(order, sites[0])
            maker = MAKERS[order.benchmark.task.type](sites, order, quota)
            yield from (_made(maker, order, scene, number) for number in numbers)


def _check_annotation(order: Order, site: Site) -> None:
    """Only points need no names."""
    task = order.benchmark.task.type
    needed = {"objects": task != "pointnav", "regions": task in ("vln", "localization")}
    missing = [name for name, is_needed in needed.items() if is_needed and not getattr(site.around.semantics, name)]
    if missing:
        raise GenerationFailed(
            f"{site.around.scene_id}: names no {missing[0]}, which {task} episodes speak of. "
            "docs/scenes.md says which annotations are read."
        )


def _targets_per_episode(order: Order) -> int:
    return sum(order.subtasks) // 2 if order.benchmark.task.type == "lh_vln" else 1


def _sites(benchmark: BenchmarkConfig, scene: str, manager: SceneManager) -> list[Site]:
    """One per robot of the benchmark; robots of one shape share what is expensive."""
    around: dict[int, Surroundings] = {}
    sites = []
    for robot in benchmark.scenario_config.robots:
        place = manager.open(scene, robot)
        shared = around.setdefault(id(place), Surroundings(scene_id=scene, place=place))
        sites.append(Site(around=shared, benchmark=benchmark, robot=robot))
    return sites


def _made(maker: Maker, order: Order, scene: str, number: int) -> Episode:
    task = order.benchmark.task.type
    name = f"{task}_{order.split}_{number:05d}"
    for attempt in range(ATTEMPTS):
        draw = Draw(order.seed, task, order.split, scene, number, attempt, split=order.pool)
        case = Case(number=number, episode_id=name, draw=draw)
        episode = maker.draw(case, strict=attempt < ATTEMPTS // 2)
        if episode is not None:
            return episode
    raise GenerationFailed(
        f"{scene}: {ATTEMPTS} attempts gave no {task} episode. Is the scene annotated, large enough, and "
        f"walkable for {', '.join(robot.name for robot in order.benchmark.scenario_config.robots)}? "
        "Another seed or a larger house helps."
    )
