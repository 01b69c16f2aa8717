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
from nav_eval_worlds.episodes.eqa import EqaGenerator
from nav_eval_worlds.episodes.house_facts import Fact, HouseSurvey
from nav_eval_worlds.episodes.lh_vln import SHAPES, LhVlnGenerator
from nav_eval_worlds.episodes.localization import LocalizationGenerator
from nav_eval_worlds.episodes.question_plan import plan_questions
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
EQA = "eqa"  #: planned over all scenes at once, so that no question gives its answer away
GENERATED_TASKS = (*EPISODE_GENERATORS, EQA)


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
    if benchmark.task.type not in GENERATED_TASKS:
        raise ConfigError(
            f"Episodes can be generated for {', '.join(GENERATED_TASKS)}, not for {benchmark.task.type!r}."
        )
    if not 1 <= subtasks[0] <= subtasks[1] <= max(SHAPES):
        raise ConfigError(f"subtasks is {list(subtasks)}; give the fewest and the most, between 1 and {max(SHAPES)}.")
    if not scenes:
        raise ConfigError("Episodes need at least one scene; make some with `nav-eval scenes generate`.")
    make = _generate_questions if benchmark.task.type == EQA else _generate
    return list(make(order, scenes, cache, say or (lambda _: None)))


def _generate_questions(order: GenerationRequest, scenes: Sequence[str], cache: Path, say: Say) -> Iterator[Episode]:
    """What can be asked of every house, then what is asked, then each house's episodes."""
    manager = SceneManager(order.benchmark, cache=cache)
    facts = _find_facts(order, scenes, manager, say)
    draw = RandomStream(order.seed, EQA, order.split, split=order.pool)
    planned = plan_questions(facts, count=order.count, draw=draw)
    if len(planned) < order.count:
        raise GenerationFailed(
            f"{len(scenes)} houses give {len(planned)} questions that nobody can answer without looking, and "
            f"{order.count} are wanted. Give more houses, or ask for fewer."
        )
    numbers = dict(enumerate(sorted(planned, key=lambda question: scenes.index(question.fact.scene))))
    for scene in scenes:
        own = {number: question for number, question in numbers.items() if question.fact.scene == scene}
        if own:
            say(f"{len(own)} {EQA} episodes in {scene}")
            maker = EqaGenerator(_make_sites(order.benchmark, scene, manager)[0], order, own)
            yield from (_make_episode(maker, order, scene, number) for number in own)


def _find_facts(order: GenerationRequest, scenes: Sequence[str], manager: SceneManager, say: Say) -> list[Fact]:
    """Twice through the houses, one in memory at a time: what there is anywhere is asked for everywhere."""
    nouns = {noun for scene in scenes for noun in _open_survey(order, scene, manager).list_nouns()}
    facts: list[Fact] = []
    for scene in scenes:
        say(f"a survey of {scene}")
        facts += _open_survey(order, scene, manager).find_facts(sorted(nouns))
    return facts


def _open_survey(order: GenerationRequest, scene: str, manager: SceneManager) -> HouseSurvey:
    site = _make_sites(order.benchmark, scene, manager)[0]
    _check_annotation(order, site)
    return HouseSurvey(site)


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
    needed = {"objects": task != "pointnav", "regions": task in ("vln", "localization", EQA)}
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
