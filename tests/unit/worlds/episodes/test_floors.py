"""Episodes of generator 2 lead to other floors, and say so."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from nav_eval.config.schema.generation import Language
from nav_eval.dataset.episode import Episode
from nav_eval_worlds.episodes import generate_episodes
from nav_eval_worlds.episodes.episode_check import check_episodes
from nav_eval_worlds.generator import load_base_benchmark
from nav_eval_worlds.houses.house_files import get_house_file, write_houses

SEED = 8100
Generate = Callable[..., list[Episode]]


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("houses")
    list(write_houses(folder, count=1, seed=SEED, split="unseen", generator=2, template="duplex_3"))
    return folder


@pytest.fixture(scope="module")
def generate(houses: Path) -> Generate:
    def generate_task(task: str, count: int, language: Language = "en") -> list[Episode]:
        names = [get_house_file(SEED, "unseen", generator=2)]
        rules = load_base_benchmark(task, houses)
        return list(
            generate_episodes(
                rules,
                names,
                count=count,
                seed=11,
                split="unseen",
                generator=2,
                language=language,
                cache=houses / "cache",
            )
        )

    return generate_task


def crosses(episode: Episode) -> bool:
    return abs(episode.private.start.position[1] - episode.goals[0].position[1]) > 1.0


def list_kinds(episode: Episode) -> list[str]:
    return [record["kind"] for record in episode.private.info["statements"]]


def test_routes_name_the_stairs_and_the_checker_knows_when_they_are_wrong(generate: Generate, houses: Path) -> None:
    episodes = generate("vln", 8)
    other_floor = [episode for episode in episodes if crosses(episode)]
    assert other_floor
    for episode in episodes:
        stairs = [kind for kind in list_kinds(episode) if kind in ("up", "down")]
        rises = episode.goals[0].position[1] > episode.private.start.position[1]
        assert stairs == ([("up" if rises else "down")] if crosses(episode) else [])
    rules = load_base_benchmark("vln", houses)
    assert check_episodes(rules, episodes, cache=houses / "cache").problems == ()
    wrong = check_episodes(rules, [turn_stairs(other_floor[0])], cache=houses / "cache").problems
    assert any("m up from there" in problem for problem in wrong)


def turn_stairs(episode: Episode) -> Episode:
    """The same episode, with a statement that goes the other way."""
    other = {"up": "down", "down": "up"}
    records = [
        {**record, "kind": other.get(record["kind"], record["kind"])} for record in episode.private.info["statements"]
    ]
    info = {**episode.private.info, "statements": records}
    return msgspec.structs.replace(episode, private=msgspec.structs.replace(episode.private, info=info))


def test_points_are_on_other_floors_too_and_zeros_have_no_sign(generate: Generate) -> None:
    episodes = generate("pointnav", 8)
    assert {crosses(episode) for episode in episodes} == {True, False}
    assert "-0.0," not in msgspec.json.encode(episodes).decode().replace("]", ",")


@pytest.mark.parametrize(("language", "words"), [("en", ("stairs",)), ("zh", ("楼",))])
def test_errands_say_how_another_floor_is_reached(
    generate: Generate, houses: Path, language: Language, words: tuple[str, ...]
) -> None:
    episodes = generate("lh_vln", 6, language)
    speaking = [episode for episode in episodes if episode.private.info["statements"]]
    assert speaking
    for episode in speaking:
        heights = [episode.private.start.position[1], *(task.goals[0].position[1] for task in episode.subtasks)]
        for record in episode.private.info["statements"]:
            rise = heights[record["leg"] + 1] - heights[record["leg"]]
            assert (rise > 1.0) if record["kind"] == "up" else (rise < -1.0)
            assert any(word in record["words"] for word in words)
    rules = load_base_benchmark("lh_vln", houses)
    assert check_episodes(rules, episodes, cache=houses / "cache").problems == ()
    wrong = check_episodes(rules, [turn_stairs(speaking[0]), say_nothing(speaking[0])], cache=houses / "cache").problems
    assert sum("floors up, the text says" in problem for problem in wrong) >= 2


def say_nothing(episode: Episode) -> Episode:
    """The same episode without a word of its stairs."""
    info = {**episode.private.info, "statements": []}
    return msgspec.structs.replace(episode, private=msgspec.structs.replace(episode.private, info=info))
