"""What only the evaluator may know cannot be reached from what an agent gets."""

import typing

import msgspec
import pytest
from dataset_factories import (
    expert,
    image_document,
    object_document,
    point_episode,
    r2r_document,
    write_json,
    write_sqa3d_pair,
    write_task_folder,
)

from nav_eval.dataset.episode import Episode, Goal, Instruction, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.records.geometry import Pose

PUBLIC_TYPES = {PublicEpisode, Instruction}


def structs_in(annotation):
    """Every struct that a value of this type may hold, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        fields = msgspec.structs.fields(annotation)
        return {annotation}.union(*(structs_in(field.type) for field in fields))
    return set().union(*(structs_in(part) for part in typing.get_args(annotation)))


def plain_types_in(annotation):
    parts = typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        parts = [field.type for field in msgspec.structs.fields(annotation)]
    return {annotation} if not parts else set().union(*(plain_types_in(part) for part in parts))


def test_no_private_type_is_reachable_from_the_public_half():
    assert structs_in(PublicEpisode) == PUBLIC_TYPES
    assert not structs_in(PublicEpisode) & structs_in(PrivateEpisode)
    assert structs_in(Episode) >= {PrivateEpisode, Goal, Subtask, Pose}


def test_the_public_half_has_no_open_container():
    """A dict or an Any could carry a goal past the types."""
    assert plain_types_in(PublicEpisode) == {str, type(None), ...}  # the dots are those of tuple[str, ...]
    assert typing.Any in plain_types_in(PrivateEpisode)


def test_the_public_half_refuses_private_fields():
    with pytest.raises(TypeError):
        PublicEpisode(episode_id="a", goals=())
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"episode_id": "a", "scene_id": "x"}', type=PublicEpisode)


def write_samples(tmp_path):
    write_json(tmp_path / "val_gt.json.gz", {"1": expert()})
    write_task_folder(tmp_path / "lh")
    return {
        "r2r": write_json(tmp_path / "val.json.gz", r2r_document()),
        "objectnav": write_json(tmp_path / "object.json.gz", object_document()),
        "imagenav": write_json(tmp_path / "image.json.gz", image_document()),
        "pointnav": write_json(tmp_path / "point.json.gz", {"episodes": [point_episode()]}),
        "lhvln": tmp_path / "lh",
        "sqa3d": write_sqa3d_pair(tmp_path),
    }


def leaves(value):
    if isinstance(value, dict):
        return {leaf for child in value.values() for leaf in leaves(child)}
    if isinstance(value, list | tuple):
        return {leaf for child in value for leaf in leaves(child)}
    return {value}


@pytest.mark.parametrize("format", ["r2r", "objectnav", "imagenav", "pointnav", "lhvln", "sqa3d"])
def test_nothing_private_is_in_the_public_bytes(tmp_path, format):
    episode = load_dataset(DatasetRequest(format=format, path=write_samples(tmp_path)[format]))[0]
    sent = msgspec.json.encode(episode.public)
    assert set(msgspec.json.decode(sent)) <= {"episode_id", "instruction", "object_category"}
    hidden = msgspec.to_builtins(episode.private)
    told = episode.public.instruction.text if episode.public.instruction else ""
    for leaf in leaves(hidden):
        if isinstance(leaf, float) and leaf not in (0.0, 1.0):
            assert str(leaf).encode() not in sent
        if isinstance(leaf, str) and leaf.lower() not in told.lower() and leaf != episode.public.object_category:
            assert leaf.encode() not in sent
    assert episode.scene_id.encode() not in sent
