"""Small files of every format, written the way their makers write them."""

import gzip
import json
from pathlib import Path
from typing import Any

from support.paths import ROOT

HALF_TURN = [0.0, 1.0, 0.0, 0.0]
SHARED = ROOT / "../shared/data/episodes"


def write_json(path: Path, value: Any) -> Path:
    """As Python's json writes it: with spaces, and NaN where there is NaN."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


def without(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}


VOCABULARY = {"word_list": ["<pad>", "<unk>", "walk", "left", "stop"], "num_vocab": 5, "UNK_INDEX": 1, "PAD_INDEX": 0}


def r2r_episode(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "episode_id": number,
        "trajectory_id": 15,
        "scene_id": "mp3d/zsNo4HB9uLZ/zsNo4HB9uLZ.glb",
        "start_position": [15.0, 0.25, -4.5],
        "start_rotation": [-0.0, 0.5, 0.0, 0.8660254],
        "info": {"geodesic_distance": 7.96},
        "goals": [{"position": [13.0, 0.25, 1.75], "radius": 3.0}],
        "instruction": {"instruction_text": "Walk left, stop.", "instruction_tokens": [2, 3, 4] + [0] * 197},
        "reference_path": [[15.0, 0.25, -4.5], [13.0, 0.25, 1.75]],
    } | changes


def r2r_document(*episodes: dict[str, Any]) -> dict[str, Any]:
    return {"episodes": list(episodes or [r2r_episode()]), "instruction_vocab": VOCABULARY}


def expert(points: int = 3) -> dict[str, Any]:
    return {
        "locations": [[15.0, 0.25, -4.5 + 0.25 * step] for step in range(points)],
        "actions": [2, 1, 1, 3, 0],
        "forward_steps": points - 1,
    }


def rxr_episode(number: int = 1, *, language: str = "en-US", **changes: Any) -> dict[str, Any]:
    instruction = {
        "instruction_text": "You are facing a door.",
        "instruction_id": 26,
        "language": language,
        "annotator_id": 19,
        "edit_distance": 0.1,
        "timed_instruction": [{"word": "You", "start_time": 0.0, "end_time": 0.2}],
    }
    return r2r_episode(number) | {"instruction": instruction} | changes


def view_point(x: float = 0.5) -> dict[str, Any]:
    return {"agent_state": {"position": [x, 0.1, -1.0], "rotation": [0.0, 0.86832, 0.0, -0.49601]}, "iou": 1.4}


def object_episode(number: str = "7", *, scene: str = "TEEsavR23oF", **changes: Any) -> dict[str, Any]:
    return {
        "episode_id": number,
        "scene_id": f"hm3d_v0.2/minival/00800-{scene}/{scene}.basis.glb",
        "scene_dataset_config": "./data/scene_datasets/x.json",
        "additional_obj_config_paths": [],
        "start_position": [-4.0, 0.0, -2.5],
        "start_rotation": [0, 0.86832, 0, -0.49601],
        "info": {"geodesic_distance": 5.4, "euclidean_distance": 4.9, "closest_goal_object_id": 16},
        "goals": [],
        "start_room": None,
        "shortest_paths": None,
        "object_category": "bed",
    } | changes


def object_goal(**changes: Any) -> dict[str, Any]:
    return {
        "position": [-0.1, 4.3, -4.85],
        "radius": None,
        "object_id": 16,
        "object_name": "bed_16",
        "object_category": "bed",
        "room_id": None,
        "view_points": [view_point(), view_point(0.6)],
    } | changes


def object_document(*episodes: dict[str, Any], scene: str = "TEEsavR23oF", **changes: Any) -> dict[str, Any]:
    return {
        "goals_by_category": {f"{scene}.basis.glb_bed": [object_goal()]},
        "episodes": list(episodes or [object_episode(scene=scene)]),
        "category_to_task_category_id": {"chair": 0, "bed": 1},
        "category_to_scene_annotation_category_id": {"chair": 0, "bed": 1},
    } | changes


def write_content(folder: Path, split: str, contents: dict[str, Any], **top: Any) -> Path:
    """A split whose episodes are in one file per scene."""
    for scene, document in contents.items():
        write_json(folder / split / "content" / f"{scene}.json.gz", document)
    return write_json(folder / split / f"{split}.json.gz", {"episodes": []} | top)


def image_goal(**changes: Any) -> dict[str, Any]:
    return {
        "position": [-1.3, 4.4, -5.8],
        "rotation": [0.0, 0.6, 0.0, 0.8],
        "frame_coverage": 0.25,
        "object_coverage": 0.86,
        "hfov": 65,
        "image_dimensions": [480, 640],
    } | changes


def image_episode(number: str = "331", **changes: Any) -> dict[str, Any]:
    return object_episode(number, object_category="bed", goal_object_id="10", goal_image_id=1) | changes


def image_document(*episodes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    instance = object_goal(object_id=10) | {"image_goals": [image_goal(), image_goal(hfov=68)]}
    return {"goals": {"TEEsavR23oF_10": instance}, "episodes": list(episodes or [image_episode()])} | changes


def point_episode(number: str = "0", **changes: Any) -> dict[str, Any]:
    return {
        "episode_id": number,
        "scene_id": "data/scene_datasets/gibson/Adrian.glb",
        "start_position": [1.0, 0.0, 2.0],
        "start_rotation": HALF_TURN,
        "info": {"geodesic_distance": 3.0, "difficulty": "easy"},
        "goals": [{"position": [1.0, 0.0, 5.0], "radius": None}],
        "shortest_paths": None,
        "start_room": None,
    } | changes


def long_task(**changes: Any) -> dict[str, Any]:
    return {
        "Task instruction": "Take the towel to the sink, then fetch the lamp.",
        "Subtask list": ["Move_to('towel_1')", "Grab('towel')", "Move_to('sink_11')", "Release('towel')"],
        "Robot": "spot",
        "Scene": "00241-h6nwVLpAKQz",
        "Object": [["towel", "Region 1: Bathroom"], ["sink", "Region 11: Tie: Laundry room & Kitchen"]],
        "Start pos": [1.25, 0.0, -8.5],
        "gt_step": [41, 53],
    } | changes


def step_task(**changes: Any) -> dict[str, Any]:
    return {
        "trajectory path": "task/batch_8/2/Take the towel/success/trial_1",
        "start": 3,
        "end": 155,
        "Robot": "spot",
        "Scene": "00241-h6nwVLpAKQz",
        "target": ["towel"],
        "Region": ["1"],
        "start_pos": [1.25, 0.0, -8.5],
        "start_yaw": -150,
        "Task instruction": "Move forward up the stairs.",
    } | changes


def write_task_folder(root: Path, *, batch: str = "batch_8", entries: list[str] | None = None, **changes: Any) -> Path:
    """One task of the release in folders."""
    config = without(long_task(**changes), "Start pos", "gt_step")
    folder = root / "task" / batch / "2" / config["Task instruction"]
    write_json(folder / "config.json", config)
    trial = folder / "success" / "trial_1"
    for entry in entries or ["-1_stop_for_towel", "0_turn_left_for_towel", "0_stop_for_towel", "1_stop_for_sink"]:
        (trial / entry).mkdir(parents=True)
    legs = {
        "trial_1": {"pos": [[0.0, 0.0, 0.25]], "yaw": [90], "action": ["move_forward"]},
        "trial_0": {"pos": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.125]], "yaw": [180, 210], "action": ["turn_left", "stop"]},
    }
    write_json(trial / "task.json", config | {"Geo dis": [2.5, 4.0], "trial": legs})
    return folder


def situation(**changes: Any) -> dict[str, Any]:
    return {
        "scene_id": "scene0050_00",
        "situation": "I am standing by the ottoman.",
        "alternative_situation": ["I stood up from the ottoman."],
        "position": {"x": 0.75, "y": -0.5, "z": 0},
        "rotation": {"_x": 0, "_y": 0, "_z": -0.6, "_w": 0.8},
    } | changes


def write_sqa3d_pair(folder: Path, *, question: dict[str, Any] | None = None, **changes: Any) -> Path:
    annotation = without(situation(), "situation", "alternative_situation") | {
        "question_id": 220602000002,
        "question_type": "N/A",
        "answer_type": "other",
        "answers": [{"answer": "piano", "answer_confidence": "yes", "answer_id": 1}],
    }
    asked = without(situation(), "position", "rotation") | {"question": "What is it?", "question_id": 220602000002}
    write_json(
        folder / "v1_balanced_questions_test_scannetv2.json", {"info": {}, "questions": [asked | (question or {})]}
    )
    return write_json(
        folder / "v1_balanced_sqa_annotations_test_scannetv2.json",
        {"info": {}, "annotations": [annotation | changes]},
    )
