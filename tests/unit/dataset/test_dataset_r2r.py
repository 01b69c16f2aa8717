"""R2R and RxR as VLN-CE publishes them."""

import pytest
from dataset_factories import (
    VOCABULARY,
    expert,
    r2r_document,
    r2r_episode,
    rxr_episode,
    without,
    write_json,
)

from nav_eval.dataset.json_file import FileLimits
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.errors import DatasetError


def load(path, format="r2r", **request):
    return load_dataset(DatasetRequest(format=format, path=path, **request))


def test_every_field_of_an_episode_arrives(tmp_path):
    episode = load(write_json(tmp_path / "val_seen.json.gz", r2r_document()))[0]
    assert episode.episode_id == "1"
    assert episode.instruction.text == "Walk left, stop."
    assert episode.instruction.tokens == ("walk", "left", "stop")
    assert episode.scene_id == "mp3d/zsNo4HB9uLZ/zsNo4HB9uLZ.glb"
    assert episode.start_position == (15.0, 0.25, -4.5)
    assert episode.start_rotation == (-0.0, 0.5, 0.0, 0.8660254)
    assert episode.goals[0].position == (13.0, 0.25, 1.75)
    assert episode.goals[0].radius == 3.0
    assert episode.reference_path == ((15.0, 0.25, -4.5), (13.0, 0.25, 1.75))
    assert episode.private.shortest_path_length == 7.96
    assert episode.private.info == {"geodesic_distance": 7.96, "trajectory_id": 15}
    assert episode.private.dense_path == ()


def test_the_expert_file_beside_the_data_gives_dense_path_and_actions(tmp_path):
    write_json(tmp_path / "val_seen_gt.json.gz", {"2": expert(2), "1": expert(3)})
    dataset = load(write_json(tmp_path / "val_seen.json.gz", r2r_document(r2r_episode(1), r2r_episode(2))))
    assert len(dataset.by_id("1").private.dense_path) == 3
    assert dataset.by_id("2").private.dense_path == ((15.0, 0.25, -4.5), (15.0, 0.25, -4.25))
    actions = ("turn_left", "move_forward", "move_forward", "turn_right", "stop")
    assert dataset[0].private.expert_actions == actions


def test_the_expert_file_may_stand_elsewhere(tmp_path):
    write_json(tmp_path / "gt" / "val_gt.json", {"1": expert()})
    path = write_json(tmp_path / "val.json.gz", r2r_document())
    dataset = load(path, split="val", gt_path=tmp_path / "gt" / "{split}_gt.json")
    assert len(dataset[0].private.dense_path) == 3


@pytest.mark.parametrize(
    ("experts", "said"),
    [
        ({"2": expert()}, "episode '1': has no entry in this gt file"),
        ({"1": expert() | {"actions": [1, 9]}}, "episode '1': actions holds 9; allowed are 0 to 5"),
        ({"1": expert() | {"actions": [-1]}}, "episode '1': actions[0] is -1: expected `int` >= 0"),
        ({"1": expert() | {"locations": [[1, 2]]}}, "episode '1': locations[0]"),
        ({"1": without(expert(), "locations")}, "episode '1': object missing required field `locations`"),
        ([], "at byte 0 expected '{', found '['"),
    ],
)
def test_a_bad_expert_file_is_named(tmp_path, experts, said):
    write_json(tmp_path / "val_gt.json.gz", experts)
    with pytest.raises(DatasetError) as refusal:
        load(write_json(tmp_path / "val.json.gz", r2r_document()))
    assert said in str(refusal.value)
    assert "val_gt.json.gz" in str(refusal.value)


@pytest.mark.parametrize("whole", [FileLimits().whole, 10])
def test_experts_are_found_in_any_order_also_when_the_file_is_too_large_for_memory(tmp_path, whole):
    numbers = list(range(1, 40))
    write_json(tmp_path / "val_gt.json.gz", {str(n): expert(n) for n in reversed(numbers)})
    path = write_json(tmp_path / "val.json.gz", r2r_document(*map(r2r_episode, numbers)))
    dataset = load(path, limits=FileLimits(whole=whole))
    assert [len(episode.private.dense_path) for episode in dataset] == numbers


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([2, 3, 4, 0, 0], ("walk", "left", "stop")),  # padded
        ([2, 3], ("walk", "left")),  # not padded
        ([2, 0, 3, 0], ("walk", "<pad>", "left")),  # only the end is padding
        ([0, 0], ()),
        (["already", "words"], ("already", "words")),
        ([], ()),
        (None, ()),
    ],
)
def test_tokens_become_words(tmp_path, tokens, words):
    instruction = {"instruction_text": "Walk.", "instruction_tokens": tokens}
    path = write_json(tmp_path / "val.json.gz", r2r_document(r2r_episode(instruction=instruction)))
    assert load(path)[0].instruction.tokens == words


def test_another_padding_index_is_respected(tmp_path):
    document = r2r_document(r2r_episode(instruction={"instruction_text": "a", "instruction_tokens": [2, 4, 4]}))
    document["instruction_vocab"] = VOCABULARY | {"PAD_INDEX": 4}
    assert load(write_json(tmp_path / "val.json.gz", document))[0].instruction.tokens == ("walk",)


def test_token_numbers_without_a_vocabulary_are_left_out(tmp_path):
    path = write_json(tmp_path / "val.json.gz", {"episodes": [r2r_episode()]})
    assert load(path)[0].instruction.tokens == ()


@pytest.mark.parametrize("tokens", [[2, 5], [2, "left"]])
def test_a_token_outside_the_vocabulary_is_an_error(tmp_path, tokens):
    instruction = {"instruction_text": "Walk.", "instruction_tokens": tokens}
    path = write_json(tmp_path / "val.json.gz", r2r_document(r2r_episode(instruction=instruction)))
    with pytest.raises(DatasetError, match=r"episode '1': instruction.instruction_tokens holds a token .* 5 words"):
        load(path)


@pytest.mark.parametrize("field", ["goals", "reference_path"])
def test_only_a_test_split_may_lack_the_answers(tmp_path, field):
    document = r2r_document(without(r2r_episode(), field, "info"))
    with pytest.raises(DatasetError, match=f"episode '1': {field} is missing; only a split .* 'test'"):
        load(write_json(tmp_path / "val.json.gz", document))
    assert load(write_json(tmp_path / "test.json.gz", document))[0].private.shortest_path_length is None
    assert len(load(write_json(tmp_path / "hidden.json.gz", document), split="test_challenge")) == 1


def test_the_split_names_the_file_inside_a_folder(tmp_path):
    write_json(tmp_path / "val_seen" / "val_seen.json.gz", r2r_document(r2r_episode(5)))
    write_json(tmp_path / "train.json.gz", r2r_document(r2r_episode(6)))
    assert load(tmp_path, split="val_seen").episode_ids == ("5",)
    assert load(tmp_path, split="train").episode_ids == ("6",)
    assert load(tmp_path / "{split}" / "{split}.json.gz", split="val_seen").episode_ids == ("5",)


def test_a_folder_without_the_split_says_where_it_looked(tmp_path):
    with pytest.raises(DatasetError, match=r"looked for .*val\.json\.gz"):
        load(tmp_path, split="val")
    with pytest.raises(DatasetError, match="no split is given"):
        load(tmp_path)
    with pytest.raises(DatasetError, match=r"contains \{split\}, but no split is given"):
        load(tmp_path / "{split}.json.gz")


def test_rxr_reads_the_guides_unless_told_otherwise(tmp_path):
    write_json(tmp_path / "val_guide.json.gz", {"episodes": [rxr_episode(1, language="hi-IN")]})
    write_json(tmp_path / "val_follower.json.gz", {"episodes": [rxr_episode(1), rxr_episode(2)]})
    template = tmp_path / "{split}_{role}.json.gz"
    guide = load(template, format="rxr", split="val")
    assert guide.episode_ids == ("1",)
    assert guide[0].instruction.language == "hi-IN"
    assert guide[0].private.info["instruction_id"] == 26
    assert guide[0].private.info["role"] == "guide"
    assert load(tmp_path, format="rxr", split="val", roles=["follower"]).episode_ids == ("1", "2")
    assert load(tmp_path / "val_follower.json.gz", format="rxr")[0].private.info["role"] == "follower"


def test_both_rxr_roles_together_get_ids_of_their_own(tmp_path):
    write_json(tmp_path / "val_guide.json.gz", {"episodes": [rxr_episode(1)]})
    write_json(tmp_path / "val_follower.json.gz", {"episodes": [rxr_episode(1)]})
    write_json(tmp_path / "val_guide_gt.json.gz", {"1": expert(4)})
    dataset = load(tmp_path, format="rxr", split="val", roles=["*"])
    assert dataset.episode_ids == ("guide-1", "follower-1")
    assert [len(episode.private.dense_path) for episode in dataset] == [4, 0]


@pytest.mark.parametrize(
    ("roles", "said"), [(["narrator"], "allowed are guide, follower"), (["*"], r"need one each; put \{role\} in")]
)
def test_rxr_roles_that_cannot_be_read(tmp_path, roles, said):
    path = write_json(tmp_path / "val_guide.json.gz", {"episodes": [rxr_episode(1)]})
    with pytest.raises(DatasetError, match=said):
        load(path, format="rxr", roles=roles)
