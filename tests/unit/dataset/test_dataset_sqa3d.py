"""SQA3D's situations: the localization files and the pair of questions and annotations."""

import json

import pytest
from dataset_factories import SHARED, situation, without, write_json, write_sqa3d_pair

from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.errors import DatasetError


def load(path, **request):
    return load_dataset(DatasetRequest(format="sqa3d", path=path, **request))


def test_a_localization_file_in_its_own_frame(tmp_path):
    path = write_json(tmp_path / "v1_balanced_localization_test_scannetv2.json", {"annotations": [situation()] * 2})
    dataset = load(path)
    assert dataset.episode_ids == ("0", "1")
    episode = dataset[0]
    assert episode.instruction.text == "I am standing by the ottoman."
    assert episode.scene_id == "scene0050_00"
    assert episode.start_position == (0.75, -0.5, 0.0)  # Z stays up
    assert episode.start_rotation == (0.0, 0.0, -0.6, 0.8)
    assert episode.private.info["frame"] == "sqa3d"
    assert episode.private.info["alternative_situation"] == ["I stood up from the ottoman."]


def test_an_annotation_may_bring_its_own_id(tmp_path):
    annotations = [situation(id="b"), situation(id="a")]
    assert load(write_json(tmp_path / "gt.json", {"annotations": annotations})).episode_ids == ("b", "a")


@pytest.mark.parametrize("keys", [["_w", "_x", "_y", "_z"], ["_z", "_y", "_x", "_w"]])
def test_rotations_are_read_by_key_not_by_order(tmp_path, keys):
    rotation = {key: situation()["rotation"][key] for key in keys}
    path = write_json(tmp_path / "gt.json", {"annotations": [situation(rotation=rotation)]})
    assert load(path)[0].start_rotation == (0.0, 0.0, -0.6, 0.8)


def test_questions_and_annotations_are_joined(tmp_path):
    annotations = write_sqa3d_pair(tmp_path)
    questions = tmp_path / "v1_balanced_questions_test_scannetv2.json"
    for dataset in (load(annotations), load(questions), load(tmp_path, split="test")):
        episode = dataset.by_id("220602000002")
        assert episode.instruction.text == "I am standing by the ottoman."
        assert episode.start_position == (0.75, -0.5, 0.0)
        assert episode.private.info["question"] == "What is it?"
        assert episode.private.info["answers"][0]["answer"] == "piano"


def test_a_folder_prefers_the_localization_file(tmp_path):
    write_sqa3d_pair(tmp_path)
    write_json(tmp_path / "v1_balanced_localization_test_scannetv2.json", {"annotations": [situation()]})
    assert load(tmp_path, split="test").episode_ids == ("0",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": {"question_id": 1}}, "question_id is 220602000002; the questions file has no such question"),
        (
            {"question": {"scene_id": "scene0001_00"}},
            "scene_id is 'scene0050_00', but the question's is 'scene0001_00'",
        ),
        ({"rotation": {"_x": 0, "_y": 0, "_z": 0, "_w": 0}}, "start_rotation is [0.0, 0.0, 0.0, 0.0]"),
        ({"rotation": {"x": 0, "y": 0, "z": 0, "w": 1}}, "missing required field `_x`"),
        ({"position": [0, 0, 0]}, "episode '220602000002': position: expected `object`, got `array`"),
        ({"position": {"x": "1", "y": 0, "z": 0}}, "episode '220602000002': position.x is \"1\": expected `float`"),
    ],
)
def test_a_bad_pair_is_named(tmp_path, changes, said):
    with pytest.raises(DatasetError) as refusal:
        load(write_sqa3d_pair(tmp_path, **changes))
    assert said in str(refusal.value)
    assert "220602000002" in str(refusal.value)


def test_a_situation_must_be_told(tmp_path):
    path = write_json(tmp_path / "gt.json", {"annotations": [without(situation(), "situation")]})
    with pytest.raises(DatasetError, match="episode '0': situation is missing"):
        load(path)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DatasetError, match="give a split"):
        load(tmp_path)
    with pytest.raises(DatasetError, match=r"has neither v1_balanced_localization_val_scannetv2.json nor"):
        load(tmp_path, split="val")
    path = write_sqa3d_pair(tmp_path)
    (tmp_path / "v1_balanced_questions_test_scannetv2.json").unlink()
    with pytest.raises(DatasetError, match=r"Cannot read .*questions_test"):
        load(path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared sample episodes are not on this machine")
def test_the_published_test_split():
    dataset = load(SHARED / "sqa3d_test", split="test")
    assert len(dataset) == 3519
    assert len(dataset.scene_ids) == 67
    scenes = json.loads((SHARED / "sqa3d_test" / "scene_split.json").read_text())
    assert set(dataset.scene_ids) <= set(scenes["val"])  # sic: that file calls these scenes val
    assert dataset[0].start_rotation == (0.0, 0.0, -0.9995736030415032, -0.02919952230128897)
    assert all(episode.start_position[2] == 0.0 for episode in dataset)
