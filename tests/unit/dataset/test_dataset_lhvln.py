"""LH-VLN in both forms of its release."""

import json
import math
from pathlib import Path

import pytest
from dataset_factories import long_task, step_task, without, write_json, write_task_folder

from nav_eval.dataset.formats.lhvln import count_expert_steps, find_scene_split
from nav_eval.dataset.json_file import FileLimits
from nav_eval.dataset.json_records import RecordPlace
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.errors import DatasetError
from nav_eval.records.geometry import get_yaw
from support.paths import TESTS

ORACLE = TESTS / "data" / "dataset" / "lhvln_vla_gt_step.json"
PLACE = RecordPlace(Path("somewhere"))


def load(path, **request):
    return load_dataset(DatasetRequest(format="lhvln", path=path, **request))


def write_batch(root, number=6, **entries):
    tasks = entries or {"0": {"lh_task": long_task(), "st_task": [step_task()]}}
    return write_json(root / "episode_task" / f"batch_{number}.json.gz", tasks)


def test_a_task_of_a_batch_file_in_full(tmp_path):
    episode = load(write_batch(tmp_path))[0]
    assert episode.episode_id == "batch_6-0"
    assert episode.instruction.text.startswith("Take the towel")
    assert episode.scene_id == "00241-h6nwVLpAKQz"
    assert episode.start_position == (1.25, 0.0, -8.5)
    assert get_yaw(episode.start_rotation) == 0.0  # no rotation in the file: the published evaluator faces −Z
    assert episode.private.robot == "spot"
    assert [(s.target, s.region, s.ground_truth_steps) for s in episode.subtasks] == [
        ("towel", "1", 41),
        ("sink", "11", 53),
    ]
    assert episode.private.info["rooms"] == ["Bathroom", "Tie: Laundry room & Kitchen"]


def test_step_tasks_are_episodes_of_one_leg(tmp_path):
    dataset = load(write_batch(tmp_path), roles=["*"])
    assert dataset.episode_ids == ("batch_6-0", "batch_6-0-step1")
    step = dataset[1]
    assert [(s.target, s.region, s.ground_truth_steps) for s in step.subtasks] == [("towel", "1", 153)]
    assert get_yaw(step.start_rotation) == pytest.approx(math.radians(30))  # −150 is 30 to the left of 180
    assert load(tmp_path, roles=["step"]).episode_ids == ("batch_6-0-step1",)


@pytest.mark.parametrize(("degrees", "yaw"), [(180, 0.0), (210, 30), (90, -90), (0, 180), (-180, 0), (360 + 180, 0)])
def test_yaw_180_looks_along_minus_z(tmp_path, degrees, yaw):
    path = write_batch(tmp_path, **{"0": {"lh_task": long_task(), "st_task": [step_task(start_yaw=degrees)]}})
    rotation = load(path, roles=["step"])[0].start_rotation
    difference = math.degrees(get_yaw(rotation)) - yaw
    assert (difference + 180) % 360 - 180 == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("entry", "target", "region"),
    [
        ("Move_to('towel_1')", "towel", "1"),
        ("Move_to('coffee_table_11')", "coffee_table", "11"),  # split from the right
        ('Move_to("kitchen countertop item_3")', "kitchen countertop item", "3"),
        (" Move_to( 'tv_2' ) ", "tv", "2"),
    ],
)
def test_targets_are_split_from_the_right(tmp_path, entry, target, region):
    task = without(long_task(), "gt_step") | {"Subtask list": [entry, "Grab('x')"]}
    (subtask,) = load(write_batch(tmp_path, **{"0": {"lh_task": task}}))[0].subtasks
    assert (subtask.target, subtask.region, subtask.ground_truth_steps) == (target, region, None)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (long_task(**{"Subtask list": ["Move_to('towel')"]}), "Subtask list holds \"Move_to('towel')\""),
        (long_task(**{"Subtask list": ["Grab('towel')"]}), "needs at least one Move_to"),
        (long_task(gt_step=[1, 2, 3]), "gt_step is [1, 2, 3]; 2 entries are needed"),
        (long_task(gt_step=[1, -2]), "lh_task.gt_step[1] is -2: expected `int` >= 0"),
        (without(long_task(), "Start pos"), "Start pos is missing"),
        (without(long_task(), "Scene"), "missing required field `Scene`"),
        (long_task(**{"Start pos": [1.0, 2.0, "z"]}), 'lh_task.Start pos[2] is "z"'),
        (long_task(**{"Task instruction": " "}), "the instruction is empty"),
        (long_task(Scene="../../secret"), "scene_id is '../../secret'"),
    ],
)
def test_bad_tasks_are_named(tmp_path, task, said):
    with pytest.raises(DatasetError) as refusal:
        load(write_batch(tmp_path, **{"17": {"lh_task": task}}))
    assert said in str(refusal.value)
    assert "17" in str(refusal.value)
    assert "batch_6.json.gz" in str(refusal.value)


def scenes_of_three_splits():
    scenes = ("00699-a", "00700-b", "00799-c", "00800-d")
    return {str(n): {"lh_task": long_task(Scene=scene)} for n, scene in enumerate(scenes)}


@pytest.mark.parametrize(
    ("split", "scenes"),
    [
        ("train", ["00699-a"] * 2),
        ("val", ["00700-b", "00799-c"] * 2),
        ("valid", ["00700-b", "00799-c"] * 2),
        ("test", ["00800-d"] * 2),
        (None, ["00699-a", "00700-b", "00799-c", "00800-d"] * 2),
        ("val_by_batch", ["00699-a", "00700-b", "00799-c", "00800-d"]),
        ("test_by_batch", ["00699-a", "00700-b", "00799-c", "00800-d"]),
        ("batch_6", ["00699-a", "00700-b", "00799-c", "00800-d"]),
    ],
)
def test_splits_go_by_scene_or_by_batch(tmp_path, split, scenes):
    for number in (6, 8):
        write_batch(tmp_path, number, **scenes_of_three_splits())
    assert [episode.scene_id for episode in load(tmp_path, split=split)] == scenes


def test_batches_come_in_numerical_order(tmp_path):
    for number in (10, 2):
        write_batch(tmp_path, number)
    assert load(tmp_path / "episode_task").episode_ids == ("batch_2-0", "batch_10-0")


def test_an_unknown_split_lists_what_there_is(tmp_path):
    write_batch(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match=r"allowed are train, val, test .*or a batch: batch_6"):
        load(tmp_path, split="val_unseen")
    with pytest.raises(DatasetError, match="holds no episodes in split 'test_by_batch'"):
        load(tmp_path, split="test_by_batch")
    with pytest.raises(DatasetError, match=r"has no batch_k\.json\.gz"):
        load(tmp_path / "empty")


def test_a_scene_without_a_number_has_no_split():
    assert find_scene_split("00800-x", PLACE) == "test"
    with pytest.raises(DatasetError, match="begins with HM3D's number"):
        find_scene_split("apartment", PLACE)


def test_unknown_roles_are_refused(tmp_path):
    with pytest.raises(DatasetError, match="allowed are lh, step"):
        load(write_batch(tmp_path), roles=["guide"])


def test_a_task_folder_in_full(tmp_path):
    write_task_folder(tmp_path)
    episode = load(tmp_path)[0]
    assert [(s.target, s.ground_truth_steps, s.ground_truth_distance) for s in episode.subtasks] == [
        ("towel", 2, 2.5),
        ("sink", 0, 4.0),
    ]
    assert episode.subtasks[0].reference_path == ((0.0, 0.0, 0.0), (0.0, 0.0, 0.125))
    assert episode.subtasks[1].reference_path == ((0.0, 0.0, 0.25),)
    assert episode.private.dense_path == ((0.0, 0.0, 0.0), (0.0, 0.0, 0.125), (0.0, 0.0, 0.25))
    assert episode.private.expert_actions == ("turn_left", "stop", "move_forward")
    assert episode.start_position == (0.0, 0.0, 0.0)
    assert get_yaw(episode.start_rotation) == 0.0


def test_folders_are_found_from_the_root_the_task_folder_and_the_batch(tmp_path):
    write_task_folder(tmp_path)
    ids = {load(path).episode_ids for path in (tmp_path, tmp_path / "task", tmp_path / "task" / "batch_8")}
    assert len(ids) == 1
    ((name,),) = ids
    assert name.startswith("batch_8-")
    assert "towel" not in name


def test_step_tasks_beside_task_folders(tmp_path):
    write_task_folder(tmp_path)
    write_json(tmp_path / "step_task" / "batch_8" / "Move forward.json", step_task())
    dataset = load(tmp_path, roles=["lh", "step"])
    assert [len(episode.subtasks) for episode in dataset] == [2, 1]
    assert dataset[1].subtasks[0].ground_truth_steps == 153


def test_a_folder_without_a_recording_has_no_start(tmp_path):
    folder = write_task_folder(tmp_path)
    (folder / "success" / "trial_1" / "task.json").unlink()
    with pytest.raises(DatasetError, match=r"config\.json: Start pos is missing"):
        load(tmp_path)


def test_a_folder_without_any_trial_has_no_start_either(tmp_path):
    folder = write_json(tmp_path / "task" / "batch_1" / "2" / "Go" / "config.json", without(long_task(), "Start pos"))
    with pytest.raises(DatasetError, match="Start pos is missing"):
        load(folder.parents[4])


def test_folders_of_other_splits_are_not_opened(tmp_path):
    folder = write_task_folder(tmp_path)
    write_json(folder.with_name("Other") / "config.json", without(long_task(Scene="00800-x"), "Start pos"))
    assert len(load(tmp_path, split="train")) == 1


def test_a_step_task_cannot_end_before_it_starts(tmp_path):
    path = write_batch(tmp_path, **{"0": {"lh_task": long_task(), "st_task": [step_task(start=9, end=8)]}})
    with pytest.raises(DatasetError, match="task '0': end is 8, before start 9"):
        load(path, roles=["step"])


def test_objects_without_rooms_are_no_fault(tmp_path):
    """A loader that saved its own records wrote names only."""
    path = write_batch(tmp_path, **{"0": {"lh_task": long_task(Object=["towel", ["sink", "Region 11"]])}})
    assert load(path)[0].private.info["rooms"] == [None, None]


def test_positions_without_headings_are_refused(tmp_path):
    folder = write_task_folder(tmp_path)
    write_json(folder / "success" / "trial_1" / "task.json", {"trial": {"trial_0": {"pos": [[0, 0, 0]], "yaw": []}}})
    with pytest.raises(DatasetError, match=r"task\.json: a trial has not as many yaw as pos"):
        load(tmp_path)


@pytest.mark.parametrize("case", [c for c in json.loads(ORACLE.read_text()) if "entries" in c], ids=lambda c: c["kind"])
def test_expert_steps_are_counted_as_the_published_code_counts(case):
    assert count_expert_steps(case["entries"], case["targets"], place=PLACE) == tuple(case["gt_step"])


@pytest.mark.parametrize("case", [c for c in json.loads(ORACLE.read_text()) if "start" in c], ids=lambda c: c["kind"])
def test_expert_steps_of_a_step_task_as_published(tmp_path, case):
    task = step_task(start=case["start"], end=case["end"])
    path = write_batch(tmp_path, **{"0": {"lh_task": long_task(), "st_task": [task]}})
    assert [s.ground_truth_steps for s in load(path, roles=["step"])[0].subtasks] == case["gt_step"]


@pytest.mark.parametrize(
    ("entries", "targets", "steps"),
    [
        (["-1_stop_for_box", "0_stop_for_box", "1_turn_left_for_box"], ["box", "box"], (2, 2)),  # merged, as published
        (["-1_stop_for_coffee_table", "0_stop_for_table"], ["coffee_table", "table"], (0, 0)),
    ],
)
def test_expert_steps_of_names_that_look_alike(entries, targets, steps):
    assert count_expert_steps(entries, targets, place=PLACE) == steps


def test_a_target_without_steps_is_refused():
    with pytest.raises(DatasetError, match="no step folder ends in '_for_lamp'"):
        count_expert_steps(["-1_stop_for_box"], ["lamp"], place=PLACE)


def test_large_batches_are_streamed(tmp_path):
    path = write_batch(tmp_path, **{str(n): {"lh_task": long_task()} for n in range(50)})
    assert load(path, limits=FileLimits(whole=10)).digest == load(path).digest
