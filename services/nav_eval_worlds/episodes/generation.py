"""Episodes made from annotated scenes: instructions, goals and expert walks, so that a challenge needs no download.

Everything is drawn by hashes of (seed, task, split, scene, episode): the same request gives the same bytes in
every process. What an episode asks for is checked before it is kept: the words mean exactly its goals, the goals
can be reached and seen, and an expert with the benchmark's own actions gets there in time.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.config.schema.generation import Language
from nav_eval.dataset.episode import Episode
from nav_eval.errors import ConfigError, DatasetError
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
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
SPOKEN_TASKS = ("vln", "lh_vln")  #: that can be told in other languages than English
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
    generator: GeneratorVersion = FIRST_GENERATOR,
    language: Language = "en",
    cache: Path,
    say: Say | None = None,
) -> list[Episode]:
    """`count` episodes for the task of a benchmark, spread evenly over `scenes` (ids below its scene folder)."""
    order = GenerationRequest(
        benchmark=benchmark,
        count=count,
        seed=seed,
        split=split,
        subtasks=subtasks,
        generator=generator,
        language=language,
    )
    if benchmark.task.type not in GENERATED_TASKS:
        raise ConfigError(
            f"Episodes can be generated for {', '.join(GENERATED_TASKS)}, not for {benchmark.task.type!r}."
        )
    if not 1 <= subtasks[0] <= subtasks[1] <= max(SHAPES):
        raise ConfigError(f"subtasks is {list(subtasks)}; give the fewest and the most, between 1 and {max(SHAPES)}.")
    if language != "en" and (generator == FIRST_GENERATOR or benchmark.task.type not in SPOKEN_TASKS):
        raise ConfigError(
            f"language is {language!r}; other languages than en are for {', '.join(SPOKEN_TASKS)} and generator 2."
        )
    if not scenes:
        raise ConfigError("Episodes need at least one scene; make some with `nav-eval scenes generate`.")
    make = _generate_questions if benchmark.task.type == EQA else _generate
    return list(make(order, scenes, cache, say or (lambda _: None)))


def _generate_questions(order: GenerationRequest, scenes: Sequence[str], cache: Path, say: Say) -> Iterator[Episode]:
    """What can be asked of every house, then what is asked, then each house's episodes."""
    facts = _find_facts(order, scenes, cache, say)
    draw = order.make_stream(EQA, order.split)
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
            manager = SceneManager(order.benchmark, cache=cache)
            maker = EqaGenerator(_make_sites(order.benchmark, scene, manager)[0], order, own)
            yield from (_make_episode(maker, order, scene, number) for number in own)


def _find_facts(order: GenerationRequest, scenes: Sequence[str], cache: Path, say: Say) -> list[Fact]:
    """Twice through the houses, one in memory at a time: what there is anywhere is asked for everywhere."""
    nouns = {noun for scene in scenes for noun in _open_survey(order, scene, cache).list_nouns()}
    facts: list[Fact] = []
    for scene in scenes:
        say(f"a survey of {scene}")
        facts += _open_survey(order, scene, cache).find_facts(sorted(nouns))
    return facts


def _open_survey(order: GenerationRequest, scene: str, cache: Path) -> HouseSurvey:
    site = _make_sites(order.benchmark, scene, SceneManager(order.benchmark, cache=cache))[0]
    _check_annotation(order, site)
    return HouseSurvey(site)


def _generate(order: GenerationRequest, scenes: Sequence[str], cache: Path, say: Say) -> Iterator[Episode]:
    """Scene by scene, so that an evaluation in this order opens each scene once, and one is in memory at a time."""
    targets = sum(order.subtasks) // 2 if order.benchmark.task.type == "lh_vln" else 1
    quota = Quota(expected=order.count * targets)
    for place, scene in enumerate(scenes):
        numbers = range(place * order.count // len(scenes), (place + 1) * order.count // len(scenes))
        if numbers:
            say(f"{len(numbers)} {order.benchmark.task.type} episodes in {scene}")
            yield from _generate_in_scene(order, scene, numbers, quota, cache)
            gc.collect()  # a scene's lattice and its lookups hold each other: hundreds of megabytes would wait


def _generate_in_scene(
    order: GenerationRequest, scene: str, numbers: Sequence[int], quota: Quota, cache: Path
) -> Iterator[Episode]:
    sites = _make_sites(order.benchmark, scene, SceneManager(order.benchmark, cache=cache))
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
        draw = order.make_stream(task, order.split, scene, number, attempt)
        case = EpisodeAttempt(number=number, episode_id=name, draw=draw)
        episode = maker.draw(case, strict=attempt < ATTEMPTS // 2)
        if episode is not None:
            return _note_generator(episode, order.generator)
    raise GenerationFailed(
        f"{scene}: {ATTEMPTS} attempts gave no {task} episode. Is the scene annotated, large enough, and "
        f"walkable for {', '.join(robot.name for robot in order.benchmark.scenario_config.robots)}? "
        "Another seed or a larger house helps."
    )


def _note_generator(episode: Episode, generator: GeneratorVersion) -> Episode:
    """With the version that made it; files of the first one do not say."""
    if generator == FIRST_GENERATOR:
        return episode
    private = replace(episode.private, info={**episode.private.info, "generator": generator})
    plain = _drop_signs_of_zero(msgspec.to_builtins(replace(episode, private=private)))
    return msgspec.convert(plain, Episode)


def _drop_signs_of_zero(value: Any) -> Any:  # noqa: ANN401 - JSON
    """-0.0 as 0.0: which of the two a turn gives depends on what was worked out before it."""
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, Mapping):
        return {key: _drop_signs_of_zero(own) for key, own in value.items()}
    return [_drop_signs_of_zero(own) for own in value] if isinstance(value, list | tuple) else value
