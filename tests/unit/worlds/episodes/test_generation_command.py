"""`nav-eval episodes generate` and `balance`, and what they refuse."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.config import BenchmarkConfig, compute_config_digest, load_benchmark
from nav_eval.errors import ConfigError, DatasetError
from nav_eval.generators import ensure_generated
from nav_eval_worlds.episodes import GENERATED_TASKS, GenerationFailed, generate_episodes, get_split_pool
from nav_eval_worlds.generator import list_scenes, load_base_benchmark
from nav_eval_worlds.houses.house_files import MANIFEST, HouseEntry, HouseManifest


def run(*arguments: str, cache: Path) -> str:
    result = CliRunner().invoke(app, ["episodes", *arguments], env={"NAV_EVAL_CACHE": str(cache)})
    assert result.exit_code == 0, result.output
    return result.output


def test_generate_writes_a_sound_file_and_balance_reads_it(flat: Path, cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "new folder" / "points.jsonl"
    where = ("--scenes", str(flat), "--out", str(out))
    printed = run("generate", "--task", "pointnav", "--count", "2", "--seed", "3", "--report", *where, cache=cache)
    assert "2 episodes in 1 scenes" in printed
    assert "left turns" in printed
    assert "2 episodes in 1 scenes are sound" in run("validate", str(out), cache=cache)
    assert json.loads(run("balance", str(out), "--json", cache=cache))["episodes"] == 2


def test_a_name_that_cannot_be_written_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    words = ["episodes", "generate", "--task", "vln", "--scenes", str(tmp_path / "none"), "--out", "routes.txt"]
    with pytest.raises(DatasetError, match=r"allowed endings are \.json"):
        CliRunner().invoke(app, words, catch_exceptions=False)


def test_new_episodes_name_the_latest_generator_and_those_of_the_first_none(
    flat: Path, cache: Path, tmp_path: Path
) -> None:
    found = {}
    for generator in (None, 1):
        out = tmp_path / f"{generator}.jsonl"
        chosen = () if generator is None else ("--generator", str(generator))
        where = ("--scenes", str(flat), "--out", str(out))
        run("generate", "--task", "pointnav", "--count", "1", *where, *chosen, cache=cache)
        found[generator] = json.loads(out.read_text().splitlines()[-1])["private"].get("info", {}).get("generator")
    assert found == {None: 2, 1: None}


def test_language_and_check_read_what_was_generated(flat: Path, cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "routes.json"
    run("generate", "--task", "vln", "--count", "4", "--scenes", str(flat), "--out", str(out), cache=cache)
    figures = json.loads(run("language", str(out), "--json", cache=cache))
    assert figures["texts"] == figures["distinct_texts"] == 4
    assert "distinct 4-grams" in run("language", str(out), cache=cache)
    assert "3 levels each: 0 problems" in run("check", str(out), "--scenes", str(flat), cache=cache)
    out.write_text(out.read_text().replace('"kind":"cross"', '"kind":"cross","to":{"room":"cathedral"}'))
    lied = ["episodes", "check", str(out), "--scenes", str(flat)]
    assert CliRunner().invoke(app, lied, env={"NAV_EVAL_CACHE": str(cache)}).exit_code == 1


def test_a_benchmark_without_a_version_means_the_first_and_keeps_its_digest() -> None:
    plain, first, second = (
        load_benchmark("demo_vln", environ={}, overrides=overrides)
        for overrides in ([], ["dataset.generate.generator=1"], ["dataset.generate.generator=2"])
    )
    assert plain == first
    assert plain.dataset.generate is not None
    assert plain.dataset.generate.generator == 1
    assert "generator" not in plain.dataset.generate.model_dump()
    assert compute_config_digest(second) != compute_config_digest(plain)


@pytest.mark.parametrize("task", GENERATED_TASKS)
def test_every_task_has_rules_to_be_generated_under(task: str, flat: Path) -> None:
    benchmark = load_base_benchmark(task, flat)
    assert (benchmark.task.type, benchmark.dataset.scene_path) == (task, str(flat))


@pytest.mark.parametrize(
    ("task", "benchmark", "message"),
    [("dancing", None, "can be generated for vln"), ("vln", "lh_vln_base", "is for lh_vln, not for vln")],
)
def test_what_cannot_be_generated_is_refused(task: str, benchmark: str | None, message: str, flat: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        load_base_benchmark(task, flat, benchmark=benchmark)


@pytest.mark.parametrize(
    ("split", "pool"),
    [("train", "seen"), ("val_seen", "seen"), ("val_unseen", "unseen"), ("test", "unseen"), ("unseen", "unseen")],
)
def test_splits_belong_to_a_pool(split: str, pool: str) -> None:
    assert get_split_pool(split) == pool


def house(seed: int, split: str) -> HouseEntry:
    return HouseEntry(
        file=f"{split}_{seed}.glb", digest="", seed=seed, split=split, template="flat_1", detail=0, rooms=4, area=50.0,
        objects=90, triangles=9,
    )  # fmt: skip


def test_seen_and_unseen_splits_never_share_a_house(tmp_path: Path) -> None:
    manifest = HouseManifest(generator="x", houses=(house(1, "seen"), house(2, "unseen"), house(3, "seen")))
    (tmp_path / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    assert list_scenes(tmp_path, "train") == ["seen_1.glb", "seen_3.glb"]
    assert list_scenes(tmp_path, "val_unseen") == ["unseen_2.glb"]


def test_a_folder_without_scenes_says_how_to_make_some(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nav-eval scenes generate --split unseen"):
        list_scenes(tmp_path, "unseen")


@pytest.mark.parametrize("subtasks", [(0, 2), (3, 2), (2, 5)])
def test_impossible_numbers_of_subtasks_are_refused(
    subtasks: tuple[int, int], tmp_path: Path, room_benchmark: Callable[..., BenchmarkConfig]
) -> None:
    with pytest.raises(ConfigError, match="between 1 and 4"):
        generate_episodes(room_benchmark(), ["room.glb"], count=1, seed=0, subtasks=subtasks, cache=tmp_path)


def test_a_scene_without_annotation_is_refused(tmp_path: Path, room_benchmark: Callable[..., BenchmarkConfig]) -> None:
    with pytest.raises(GenerationFailed, match=r"room\.glb: names no objects, which objectnav episodes speak of"):
        generate_episodes(room_benchmark("demo_objectnav"), ["room.glb"], count=1, seed=0, cache=tmp_path)


def test_a_scene_that_is_too_small_is_named(
    tmp_path: Path, room_benchmark: Callable[..., BenchmarkConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nav_eval_worlds.episodes.single_goal.SHORT", 50.0)
    config = room_benchmark("demo_vln")
    points = config.model_copy(update={"task": config.task.model_copy(update={"type": "pointnav"})})
    with pytest.raises(GenerationFailed, match=r"room\.glb: 60 attempts gave no pointnav episode"):
        generate_episodes(points, ["room.glb"], count=1, seed=0, cache=tmp_path)


def test_scenes_are_found_in_folders_and_annotations_are_none(tmp_path: Path) -> None:
    for name in ("800/a.basis.glb", "800/a.glb", "800/a.semantic.glb", "b.ply", "readme.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list_scenes(tmp_path, "val") == ["800/a.basis.glb", "b.ply"]


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, room_benchmark: Callable[..., BenchmarkConfig]
) -> None:
    (tmp_path / "file").write_text("in the way")
    config = room_benchmark("demo_vln", f"dataset.data_path={tmp_path}/file/val.json")
    with pytest.raises(DatasetError, match="Cannot generate data in"):
        ensure_generated(config, cache=tmp_path)


def test_files_that_exist_are_left_alone(tmp_path: Path, room_benchmark: Callable[..., BenchmarkConfig]) -> None:
    assert not ensure_generated(room_benchmark("demo_vln"), cache=tmp_path)
