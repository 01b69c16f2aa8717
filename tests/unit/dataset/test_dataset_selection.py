"""Filters, sampling and the digest: properties of the collection, whatever the format."""

import hashlib
import random
import subprocess
import sys

import pytest
from dataset_factories import r2r_document, r2r_episode, rxr_episode, write_json

from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.dataset.loader import (
    DATASETS,
    DatasetRequest,
    TaskDataset,
    list_scene_names,
    load_dataset,
    register_dataset,
    stream_episodes,
)
from nav_eval.errors import DatasetError, NameTaken
from nav_eval.records.geometry import Pose


@pytest.fixture
def hundred(tmp_path):
    """Episodes 1…100 over two scenes, in file order."""
    scenes = ("mp3d/A/A.glb", "mp3d/B/B.glb")
    episodes = [r2r_episode(number, scene_id=scenes[number % 2]) for number in range(1, 101)]
    return write_json(tmp_path / "val.json.gz", r2r_document(*episodes))


def ids(path, format="r2r", **request):
    return load_dataset(DatasetRequest(format=format, path=path, **request)).episode_ids


def test_without_a_seed_the_first_ones_are_taken(hundred):
    assert ids(hundred, episodes=3) == ("1", "2", "3")
    assert len(ids(hundred, episodes=1000)) == 100


def test_a_seed_gives_a_sample_in_file_order(hundred):
    sample = ids(hundred, episodes=10, seed=1)
    assert len(sample) == 10
    assert list(sample) == sorted(sample, key=int)
    assert sample != ids(hundred, episodes=10)
    assert sample == ids(hundred, episodes=10, seed=1)
    assert sample != ids(hundred, episodes=10, seed=2)


def test_a_larger_sample_contains_the_smaller(hundred):
    assert set(ids(hundred, episodes=10, seed=5)) < set(ids(hundred, episodes=20, seed=5))


def test_the_sample_does_not_depend_on_the_order_of_the_file(hundred, tmp_path):
    episodes = [r2r_episode(number) for number in range(1, 101)]
    random.Random(0).shuffle(episodes)
    shuffled = write_json(tmp_path / "shuffled.json.gz", r2r_document(*episodes))
    assert set(ids(shuffled, episodes=10, seed=1)) == set(ids(hundred, episodes=10, seed=1))


def test_the_sample_is_the_same_in_another_process(hundred):
    program = (
        "import sys; from pathlib import Path; from nav_eval.dataset.loader import load_dataset\n"
        "from nav_eval.dataset.loader import DatasetRequest\n"
        "request = DatasetRequest(format='r2r', path=Path(sys.argv[1]), episodes=10, seed=1)\n"
        "print(*load_dataset(request).episode_ids)"
    )
    command = [sys.executable, "-c", program, str(hundred)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert tuple(output.stdout.split()) == ids(hundred, episodes=10, seed=1)


def test_a_sample_is_drawn_from_what_the_filters_leave(hundred):
    assert all(int(name) % 2 == 1 for name in ids(hundred, episodes=20, seed=3, scenes=["B"]))


def test_filters_by_id_and_scene(hundred):
    assert ids(hundred, episode_ids=["7", "3"]) == ("3", "7")
    assert ids(hundred, scenes=["A"], episodes=2) == ("2", "4")
    assert ids(hundred, scenes=["*"], episodes=1) == ("1",)
    assert ids(hundred, scenes=["mp3d/A/A.glb"], episode_ids=["2", "3"]) == ("2",)


@pytest.mark.parametrize(
    ("request_fields", "said"),
    [
        ({"episode_ids": ["7", "700", "x"]}, "no episode fits episode_ids '700', 'x'; correct the filter"),
        ({"episode_ids": ["700"], "episodes": 1}, "no episode fits episode_ids '700'"),
        ({"episode_ids": ["7", "700"], "episodes": 1}, "no episode fits episode_ids '700'"),
        ({"episode_ids": [f"x{n:02}" for n in range(15)]}, "'x09' and 5 more"),
        ({"scenes": ["A", "Z"]}, "no episode fits scenes 'Z'"),
        ({"languages": ["en-US"]}, "no episode fits languages 'en-US'"),
        ({"scenes": ["A"], "episode_ids": ["1"]}, "no episode is left after the filters"),
        ({"episodes": 0}, "episodes is 0; give a number above 0"),
        ({"episodes": -5}, "episodes is -5"),
    ],
)
def test_filters_that_fit_nothing_are_errors(hundred, request_fields, said):
    with pytest.raises(DatasetError) as refusal:
        ids(hundred, **request_fields)
    assert said in str(refusal.value)


def test_filter_by_language(tmp_path):
    languages = ["en-US", "hi-IN", "te-IN", "en-US"]
    episodes = [rxr_episode(number, language=language) for number, language in enumerate(languages)]
    path = write_json(tmp_path / "val_guide.json.gz", {"episodes": episodes})
    assert ids(path, format="rxr", languages=["en-US"]) == ("0", "3")
    assert ids(path, format="rxr", languages=["hi-IN", "te-IN"]) == ("1", "2")
    assert len(ids(path, format="rxr", languages=["*"])) == 4


@pytest.mark.parametrize(
    ("scene_id", "names"),
    [
        ("mp3d/A/A.glb", {"mp3d/A/A.glb", "A.glb", "A"}),
        ("x/00800-T/T.basis.glb", {"x/00800-T/T.basis.glb", "T.basis.glb", "T", "00800-T"}),
        ("scene0050_00", {"scene0050_00"}),
    ],
)
def test_names_of_a_scene(scene_id, names):
    assert list_scene_names(scene_id) == names


def episode(name, x=0.0, **info):
    return Episode(
        public=PublicEpisode(episode_id=name),
        private=PrivateEpisode(scene_id="house", start=Pose((x, 0.0, 0.0)), info=info),
    )


def test_a_dataset_is_a_sequence_with_names():
    dataset = TaskDataset([episode("a"), episode("b"), episode("c")])
    assert dataset.by_id("b") is dataset[1]
    assert [e.episode_id for e in dataset[1:]] == ["b", "c"]
    assert dataset.episode_ids == ("a", "b", "c")
    assert dataset.scene_ids == ("house",)
    with pytest.raises(DatasetError, match="no episode 'z' among the 3"):
        dataset.by_id("z")
    with pytest.raises(DatasetError, match="'a' occurs twice"):
        TaskDataset([episode("a"), episode("b"), episode("a")])


def test_the_digest_is_of_content_not_of_order():
    digest = TaskDataset([episode("a"), episode("b")]).digest
    assert digest == TaskDataset([episode("b"), episode("a")]).digest
    assert len(digest) == 64
    for other in ([episode("a")], [episode("a", x=1.0), episode("b")], [episode("a", note=1), episode("b")]):
        assert TaskDataset(other).digest != digest
    assert TaskDataset([episode("a", p=1, q=2)]).digest == TaskDataset([episode("a", q=2, p=1)]).digest


def test_the_digest_is_the_same_on_every_machine():
    """Stored run records refer to it: defaults are left out, keys keep their order, floats are shortest."""
    text = b'{"public":{"episode_id":"a"},"private":{"scene_id":"house","start":{"position":[0.1,0.0,0.0]}}}'
    expected = hashlib.sha256(hashlib.sha256(text).digest()).hexdigest()
    assert TaskDataset([episode("a", x=0.1)]).digest == expected


def test_another_package_can_bring_a_format(hundred):
    @register_dataset("test-selection-numbers")
    def load_numbers(request):
        return (episode(str(number)) for number in range(5))

    assert ids(hundred, format="test-selection-numbers", episodes=2) == ("0", "1")
    assert "r2r" in DATASETS
    with pytest.raises(NameTaken):
        register_dataset("r2r")(load_numbers)


def test_streaming_gives_the_episodes_that_loading_gives(hundred):
    request = DatasetRequest(format="r2r", path=hundred, episodes=7, seed=3)
    assert tuple(stream_episodes(request)) == load_dataset(request).episodes
