"""ObjectNav, ImageNav and PointNav as Habitat publishes them, with and without `content/`."""

import math

import pytest
from dataset_factories import (
    SHARED,
    image_document,
    image_episode,
    image_goal,
    object_document,
    object_episode,
    object_goal,
    point_episode,
    view_point,
    without,
    write_content,
    write_json,
)

from nav_eval.dataset.json_file import FileLimits
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.errors import DatasetError
from nav_eval.records.geometry import get_yaw, make_yaw_rotation


def load(path, format, **request):
    return load_dataset(DatasetRequest(format=format, path=path, **request))


def test_objectnav_looks_goals_up_by_scene_and_category(tmp_path):
    episode = load(write_content(tmp_path, "val", {"TEEsavR23oF": object_document()}), "objectnav")[0]
    assert episode.public.object_category == "bed"
    assert episode.public.instruction is None
    assert episode.private.shortest_path_length == 5.4
    (goal,) = episode.goals
    assert (goal.object_id, goal.category, goal.radius) == ("16", "bed", None)
    assert goal.view_points[1].position == (0.6, 0.1, -1.0)
    assert goal.view_points[1].rotation == (0.0, 0.86832, 0.0, -0.49601)


def test_objectnav_of_one_file_needs_no_content_folder(tmp_path):
    assert len(load(write_json(tmp_path / "val.json.gz", object_document()), "objectnav")) == 1


def test_old_objectnav_repeats_goals_in_every_episode(tmp_path):
    document = {"episodes": [object_episode(goals=[object_goal(object_category=None)])]}
    episode = load(write_json(tmp_path / "val.json.gz", document), "objectnav")[0]
    assert episode.goals[0].category == "bed"


def test_episodes_of_a_scene_share_their_goals(tmp_path):
    document = object_document(object_episode("1"), object_episode("2"))
    first, second = load(write_json(tmp_path / "val.json.gz", document), "objectnav")
    assert first.goals is second.goals


def two_scenes(*, second_id):
    first = object_document(object_episode("7", scene="AAA"), scene="AAA")
    second = object_document(object_episode(second_id, scene="BBB"), scene="BBB")
    return {"BBB": second, "AAA": first}


def test_ids_stay_as_they_are_when_they_differ_between_scenes(tmp_path):
    assert load(write_content(tmp_path, "val", two_scenes(second_id="8")), "objectnav").episode_ids == ("7", "8")


def test_ids_that_begin_again_in_every_scene_get_the_number_of_their_file(tmp_path):
    path = write_content(tmp_path, "val", two_scenes(second_id="7"))
    assert load(path, "objectnav").episode_ids == ("1-7", "2-7")
    assert load(path, "objectnav", scenes=["BBB"]).episode_ids == ("2-7",)  # a filter does not rename


@pytest.mark.parametrize("scene", ["BBB", "BBB.basis.glb", "00800-BBB", "hm3d_v0.2/minival/00800-BBB/BBB.basis.glb"])
def test_a_scene_may_be_called_by_any_of_its_names(tmp_path, scene):
    path = write_content(tmp_path, "val", two_scenes(second_id="8"))
    assert load(path, "objectnav", scenes=[scene]).episode_ids == ("8",)


def test_a_scene_filter_opens_only_the_files_it_needs(tmp_path):
    path = write_content(tmp_path, "val", two_scenes(second_id="8") | {"CCC": {"episodes": [{"episode_id": "9"}]}})
    assert load(path, "objectnav", scenes=["AAA"]).episode_ids == ("7",)
    with pytest.raises(DatasetError, match="CCC"):
        load(path, "objectnav")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (object_document(object_episode(object_category="sofa")), "object_category is 'sofa'; allowed are bed, chair"),
        (object_document(object_episode(object_category="chair")), "has no 'TEEsavR23oF.basis.glb_chair'; it has TEE"),
        (object_document(goals_by_category={}), "it has nothing"),
        (object_document(goals_by_category={"TEEsavR23oF.basis.glb_bed": []}), "is empty"),
        (
            object_document(goals_by_category={"TEEsavR23oF.basis.glb_bed": [object_goal(position=["x", 0, 0])]}),
            "goals_by_category['TEEsavR23oF.basis.glb_bed']: [0].position[0] is \"x\": expected `float`",
        ),
        (
            object_document(
                goals_by_category={
                    "TEEsavR23oF.basis.glb_bed": [
                        object_goal(view_points=[{"agent_state": {"position": [0, 0, 0], "rotation": [0, 0, 0, 0]}}])
                    ]
                }
            ),
            "a view point's rotation is [0.0, 0.0, 0.0, 0.0]; allowed is a unit quaternion",
        ),
        (object_document(without(object_episode(), "object_category")), "missing required field `object_category`"),
    ],
)
def test_bad_objectnav_is_named(tmp_path, document, said):
    path = write_content(tmp_path, "val", {"TEEsavR23oF": document})
    with pytest.raises(DatasetError) as refusal:
        load(path, "objectnav")
    assert said in str(refusal.value)
    assert "TEEsavR23oF.json.gz" in str(refusal.value)


@pytest.mark.parametrize("format", ["objectnav", "imagenav", "pointnav"])
def test_an_empty_split_without_content_says_what_is_missing(tmp_path, format):
    with pytest.raises(DatasetError, match=r"no episodes here, and there is no folder .*content"):
        load(write_json(tmp_path / "val.json.gz", {"episodes": []}), format)


def test_a_split_file_may_be_missing_when_content_is_there(tmp_path):
    write_content(tmp_path, "val", {"TEEsavR23oF": object_document()}).unlink()
    assert len(load(tmp_path / "val" / "val.json.gz", "objectnav")) == 1


def test_instance_imagenav_gives_the_camera_of_the_chosen_picture(tmp_path):
    episode = load(write_content(tmp_path, "val", {"TEEsavR23oF": image_document()}), "imagenav")[0]
    (goal,) = episode.goals
    assert (goal.object_id, goal.category, goal.position) == ("10", "bed", (-0.1, 4.3, -4.85))
    assert goal.image.hfov == 68
    assert (goal.image.width, goal.image.height) == (640, 480)
    assert goal.image.pose.rotation == (0.0, 0.6, 0.0, 0.8)
    assert len(goal.view_points) == 2
    assert episode.public.object_category is None  # the picture is all that an agent gets


def test_plain_imagenav_looks_from_the_goal_in_a_direction_that_stays(tmp_path):
    document = {"episodes": [point_episode("0"), point_episode("1")]}
    dataset = load(write_json(tmp_path / "val.json.gz", document), "imagenav")
    images = [episode.goals[0].image for episode in dataset]
    assert images[0].pose.position == (1.0, 1.25, 5.0)
    # our choice of direction, pinned: every process and every version must show the same picture
    assert [round(get_yaw(image.pose.rotation), 6) for image in images] == [-3.039248, -0.221252]
    assert dataset[0].goals[0].position == (1.0, 0.0, 5.0)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            image_document(image_episode(goal_image_id=2)),
            "episode '331': goal_image_id is 2; goals['TEEsavR23oF_10'] has 2",
        ),
        (image_document(image_episode(goal_object_id=11)), "episode '331': goal_object_id is 11, but goals has no"),
        (image_document(image_episode(goal_object_id=None)), "has neither goal_object_id"),
        (image_document(image_episode(goal_image_id=-1)), "goal_image_id is -1: expected `int` >= 0"),
        (
            image_document(goals={"TEEsavR23oF_10": object_goal() | {"image_goals": [image_goal(hfov=200)] * 2}}),
            "goals['TEEsavR23oF_10']: image_goals[0].hfov is 200: expected `float` < 180",
        ),
        (
            image_document(
                goals={"TEEsavR23oF_10": object_goal() | {"image_goals": [image_goal(rotation=[1, 1, 0, 0])]}}
            ),
            "a goal image's rotation is [1.0, 1.0, 0.0, 0.0]",
        ),
    ],
)
def test_bad_imagenav_is_named(tmp_path, document, said):
    with pytest.raises(DatasetError) as refusal:
        load(write_json(tmp_path / "val.json.gz", document), "imagenav")
    assert said in str(refusal.value)


def test_pointnav_keeps_the_expert_when_the_file_has_one(tmp_path):
    steps = [
        {"position": [1, 0, 2], "rotation": [0, 0, 0, 1], "action": 1},
        {"position": [1, 0, 2.25], "rotation": [0, 0, 0, 1], "action": "turn_left"},
        {"position": [1, 0, 2.5], "rotation": [0, 0, 0, 1], "action": None},
    ]
    document = {"episodes": [point_episode(), point_episode("1", shortest_paths=[steps])]}
    plain, with_expert = load(write_json(tmp_path / "val.json.gz", document), "pointnav")
    assert plain.scene_id == "gibson/Adrian.glb"
    assert plain.private.dense_path == ()
    assert with_expert.private.dense_path == ((1.0, 0.0, 2.0), (1.0, 0.0, 2.25), (1.0, 0.0, 2.5))
    assert with_expert.private.expert_actions == ("move_forward", "turn_left")
    assert with_expert.private.info == {"geodesic_distance": 3.0, "difficulty": "easy"}


def test_pointnav_without_a_goal_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="episode '0': goals is empty"):
        load(write_json(tmp_path / "val.json.gz", {"episodes": [point_episode(goals=[])]}), "pointnav")


def test_streamed_files_give_the_same_episodes(tmp_path):
    path = write_content(tmp_path, "val", two_scenes(second_id="7"))
    small = FileLimits(whole=10)
    assert load(path, "objectnav", limits=small).digest == load(path, "objectnav").digest
    images = write_json(tmp_path / "images.json.gz", image_document())
    assert load(images, "imagenav", limits=small).digest == load(images, "imagenav").digest


def test_directions_are_what_frames_says():
    """The factories' rounded quaternion is a heading: nothing was re-ordered on the way."""
    x, y, z, w = view_point()["agent_state"]["rotation"]
    yaw = 2 * math.atan2(y, w)
    assert make_yaw_rotation(yaw) == pytest.approx((x, y, z, w), abs=1e-5)


shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared sample episodes are not on this machine")


@shared
@pytest.mark.parametrize(
    ("format", "path", "counts"),
    [
        ("objectnav", "objectnav_hm3d_v2_val_mini/hm3d/v2/val_mini/val_mini.json.gz", [15, 15]),
        ("imagenav", "instance_imagenav_hm3d_v3_val_mini/hm3d/v3/val_mini/val_mini.json.gz", [27, 21]),
    ],
)
def test_the_published_mini_splits(format, path, counts):
    dataset = load(SHARED / path, format)
    per_scene = [sum(episode.scene_id == scene for episode in dataset) for scene in dataset.scene_ids]
    assert per_scene == counts
    assert all(goal.view_points for episode in dataset for goal in episode.goals)
    assert all((goal.image is not None) == (format == "imagenav") for e in dataset for goal in e.goals)


@shared
def test_a_published_objectnav_episode_in_full():
    path = SHARED / "objectnav_hm3d_v2_val_mini/hm3d/v2"
    episode = load(path, "objectnav", split="val_mini").by_id("1-7")
    assert episode.public.object_category == "bed"
    assert episode.start_position == (-3.99935, 0.01338, -2.67815)
    assert episode.private.shortest_path_length == 5.40846
    assert "16" in {goal.object_id for goal in episode.goals}
