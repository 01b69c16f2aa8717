"""Our own format: what is written is what is read, byte for byte the same every time."""

import gzip
import math

import msgspec
import pytest
from dataset_factories import SHARED, write_json
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.dataset.episode import Episode, Goal, GoalImage, Instruction, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.dataset.json_file import FileLimits
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.errors import DatasetError
from nav_eval.records.geometry import Pose, make_yaw_rotation

ENDINGS = [".json", ".jsonl", ".json.gz", ".jsonl.gz"]

coordinates = st.floats(min_value=-1e6, max_value=1e6)
positions = st.tuples(coordinates, coordinates, coordinates)
poses = st.builds(Pose, positions, st.floats(-math.pi, math.pi).map(make_yaw_rotation))
texts = st.text(min_size=1).filter(lambda text: text.strip())
optional_texts = st.none() | st.text()
lengths = st.none() | st.floats(min_value=0, max_value=1e9)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def some(strategy):
    return st.lists(strategy, max_size=3).map(tuple)


images = st.builds(GoalImage, pose=poses, hfov=st.floats(1, 179), width=st.integers(1, 999), height=st.integers(1, 999))
goals = st.builds(
    Goal,
    position=positions,
    radius=lengths,
    object_id=optional_texts,
    category=optional_texts,
    view_points=some(poses),
    image=st.none() | images,
)
subtasks = st.builds(
    Subtask,
    target=st.text(),
    region=optional_texts,
    goals=some(goals),
    reference_path=some(positions),
    ground_truth_steps=st.none() | st.integers(0, 1000),
    ground_truth_distance=lengths,
)
instructions = st.builds(Instruction, text=texts, tokens=some(st.text()), language=optional_texts)
episodes = st.builds(
    Episode,
    public=st.builds(
        PublicEpisode,
        episode_id=st.text(min_size=1),
        instruction=st.none() | instructions,
        object_category=optional_texts,
    ),
    private=st.builds(
        PrivateEpisode,
        scene_id=st.from_regex(r"[\w][\w.\-]*(/[\w][\w.\-]*)?", fullmatch=True),
        start=poses,
        goals=some(goals),
        reference_path=some(positions),
        dense_path=some(positions),
        expert_actions=some(st.text()),
        subtasks=some(subtasks),
        shortest_path_length=lengths,
        robot=optional_texts,
        info=st.dictionaries(st.text(), json_values, max_size=3),
    ),
)
datasets = st.lists(episodes, min_size=1, max_size=3, unique_by=lambda episode: episode.episode_id)


def simple(name="a", **private):
    return Episode(
        public=PublicEpisode(episode_id=name, instruction=Instruction(text="Go.")),
        private=PrivateEpisode(**({"scene_id": "house", "start": Pose((0.0, 0.0, 0.0))} | private)),
    )


def load(path, **request):
    return load_dataset(DatasetRequest(format="nav_eval", path=path, **request))


@given(written=datasets)
@settings(max_examples=20, deadline=None)
def test_what_is_written_is_read(tmp_path_factory, written):
    folder = tmp_path_factory.mktemp("round")
    for ending in ENDINGS:
        path = folder / f"episodes{ending}"
        assert write_episodes(path, iter(written)) == len(written)
        assert list(load(path)) == written
        assert list(load(path, limits=FileLimits(whole=1))) == written


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_episodes_give_the_same_bytes(tmp_path, ending):
    first, second = (tmp_path / f"{name}{ending}" for name in ("a", "b"))
    for path in (first, second):
        write_episodes(path, [simple("a", info={"b": 1, "a": 2}), simple("b")])
    assert first.read_bytes() == second.read_bytes()
    write_episodes(second, [simple("a", info={"a": 2, "b": 1}), simple("b")])
    assert first.read_bytes() == second.read_bytes()  # a dict's order says nothing
    if ending.endswith(".gz"):
        assert first.read_bytes()[4:8] == b"\0\0\0\0"  # no time of day


def test_writing_takes_episodes_one_by_one(tmp_path):
    alive = 0

    def many():
        nonlocal alive
        for number in range(3):
            alive = number
            yield simple(str(number))

    write_episodes(tmp_path / "many.jsonl", many())
    assert alive == 2
    assert (tmp_path / "many.jsonl").read_text().count("\n") == 3


@pytest.mark.parametrize(
    ("episode", "said"),
    [
        (simple(start=Pose((math.nan, 0.0, 0.0))), "episode 'a': private.start.position[0] is null: expected `float`"),
        (simple(start=Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 2.0))), "episode 'a': start_rotation is"),
        (simple(scene_id="/etc/passwd"), "scene_id is '/etc/passwd'"),
        (simple(""), "empty episode_id"),
        (
            simple(
                subtasks=(
                    Subtask(target="x", goals=(Goal(position=(0, 0, 0), view_points=(Pose((0, 0, 0), (0,) * 4),)),)),
                )
            ),
            "a view point's rotation",
        ),
    ],
)
def test_what_could_not_be_read_is_not_written(tmp_path, episode, said):
    path = tmp_path / "episodes.jsonl"
    with pytest.raises(DatasetError) as refusal:
        write_episodes(path, [simple("good"), episode])
    assert said in str(refusal.value)
    assert list(tmp_path.iterdir()) == []  # neither the file nor a half of it


def test_duplicate_ids_are_not_written(tmp_path):
    with pytest.raises(DatasetError, match="episode 'a': occurs twice"):
        write_episodes(tmp_path / "x.json", [simple(), simple()])


def test_a_failed_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.json"
    write_episodes(path, [simple("old")])
    with pytest.raises(DatasetError):
        write_episodes(path, [simple("new"), simple("new")])
    assert load(path).episode_ids == ("old",)


def test_places_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(DatasetError, match=r"allowed endings are .json, .jsonl"):
        write_episodes(tmp_path / "episodes.yaml", [simple()])
    with pytest.raises(DatasetError, match=r"Cannot write .*: No such file or directory"):
        write_episodes(tmp_path / "missing" / "episodes.json", [simple()])


def line(**changes):
    return {"public": {"episode_id": "a"}, "private": {"scene_id": "house", "start": {"position": [0, 0, 0]}}} | changes


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"episodes": [line()]}, "missing required field `format`"),
        ({"format": "nav_eval", "version": 2, "episodes": [line()]}, "version is 2: invalid enum value 2"),
        ({"format": "r2r", "version": 1, "episodes": [line()]}, "format is \"r2r\": invalid enum value 'r2r'"),
        (
            {"format": "nav_eval", "version": 1, "episodes": [line(privat={})]},
            "episode 'a': object contains unknown field `privat`",
        ),
        ({"format": "nav_eval", "version": 1, "episodes": [line(public={})]}, "episodes[0]: public: object missing"),
        ({"format": "nav_eval", "version": 1, "episodes": {}}, "expected '[', found '{'"),
        ([line()], "at byte 0 expected '{', found '['"),
    ],
)
def test_bad_documents_are_named(tmp_path, document, said):
    with pytest.raises(DatasetError) as refusal:
        load(write_json(tmp_path / "episodes.json", document))
    assert said in str(refusal.value)


def test_a_bad_line_is_named_by_its_number(tmp_path):
    path = tmp_path / "episodes.jsonl"
    good = msgspec.json.encode(line())
    path.write_bytes(good + b"\n\n{\n")
    with pytest.raises(DatasetError, match=r"line 3: is not valid JSON at line 1 column 2"):
        load(path)


def test_a_line_without_an_end_is_bounded(tmp_path):
    path = tmp_path / "episodes.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"public":"' + b"x" * 3_000_000))
    with pytest.raises(DatasetError, match="a line is longer than 1 MiB"):
        load(path, limits=FileLimits(value=1024 * 1024))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared sample episodes are not on this machine")
@pytest.mark.parametrize(
    ("format", "path"),
    [
        ("objectnav", "objectnav_hm3d_v2_val_mini/hm3d/v2/val_mini/val_mini.json.gz"),
        ("imagenav", "instance_imagenav_hm3d_v3_val_mini/hm3d/v3/val_mini/val_mini.json.gz"),
        ("sqa3d", "sqa3d_test/v1_balanced_sqa_annotations_test_scannetv2.json"),
    ],
)
def test_published_episodes_survive_our_format(tmp_path, format, path):
    original = load_dataset(DatasetRequest(format=format, path=SHARED / path, episodes=20))
    write_episodes(tmp_path / "copy.jsonl.gz", original)
    copy = load(tmp_path / "copy.jsonl.gz")
    assert copy.episodes == original.episodes
    assert copy.digest == original.digest
