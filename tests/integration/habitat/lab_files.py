"""Generated episodes in the files that habitat-lab reads; ours are the same episodes in nav-eval's own file."""

import gzip
import json
from pathlib import Path

WORDS = ["<pad>", "<unk>"]


def write_lab_file(native: Path, task: str, out: Path, place) -> Path:
    """The episodes of a native file as the lab's data set for this task; `place` says where they start."""
    episodes = [json.loads(line.rstrip(",\n")) for line in native.read_text().splitlines()[1:] if line.startswith("{")]
    for episode in episodes:
        start = episode["private"]["start"]
        start["position"] = list(place(episode["private"]["scene_id"], tuple(start["position"])))
    content = {
        "pointnav": _write_points,
        "imagenav": _write_points,
        "objectnav": _write_objects,
        "instance_imagenav": _write_instances,
        "vln": _write_instructions,
    }[task](episodes)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(gzip.compress(json.dumps(content).encode()))
    return out


def _write_base(index, episode):
    private = episode["private"]
    return {
        "episode_id": str(index),
        "scene_id": private["scene_id"],
        "start_position": private["start"]["position"],
        "start_rotation": private["start"]["rotation"],
        "info": {"geodesic_distance": private.get("shortest_path_length", 0.0)},
    }


def _write_points(episodes):
    return {
        "episodes": [
            _write_base(index, episode)
            | {
                "goals": [{"position": episode["private"]["goals"][0]["position"], "radius": None}],
                "shortest_paths": None,
            }
            for index, episode in enumerate(episodes)
        ]
    }


def _write_goal(goal, index):
    views = goal.get("view_points") or [{"position": goal["position"], "rotation": [0.0, 0.0, 0.0, 1.0]}]
    return {
        "position": goal["position"],
        "radius": None,
        "object_id": int(goal.get("object_id", index)),
        "object_name": goal.get("category", "thing"),
        "object_category": goal.get("category", "thing"),
        "view_points": [{"agent_state": view, "iou": 0.5} for view in views],
    }


def _write_objects(episodes):
    categories = sorted({episode["public"]["object_category"] for episode in episodes})
    goals = {
        f"{episode['private']['scene_id']}_{episode['public']['object_category']}": [
            _write_goal(goal, index) for index, goal in enumerate(episode["private"]["goals"])
        ]
        for episode in episodes
    }
    numbers = {category: index for index, category in enumerate(categories)}
    return {
        "category_to_task_category_id": numbers,
        "category_to_scene_annotation_category_id": numbers,
        "goals_by_category": goals,
        "episodes": [
            _write_base(index, episode) | {"goals": [], "object_category": episode["public"]["object_category"]}
            for index, episode in enumerate(episodes)
        ],
    }


def _write_instances(episodes):
    goals, written = {}, []
    for index, episode in enumerate(episodes):
        base = _write_base(index, episode)
        goal = _write_goal(episode["private"]["goals"][0], index) | {"object_id": index}
        view = goal["view_points"][0]["agent_state"]
        image = {
            "position": [view["position"][0], view["position"][1] + 0.88, view["position"][2]],
            "rotation": view["rotation"],
            "hfov": 79,
            "image_dimensions": [64, 64],
        }
        goals[f"{episode['private']['scene_id'].split('.')[0]}_{index}"] = goal | {"image_goals": [image]}
        written.append(
            base
            | {
                "goals": [],
                "goal_object_id": str(index),
                "goal_image_id": 0,
                "object_category": goal["object_category"],
            }
        )
    return {"goals": goals, "episodes": written}


def _write_instructions(episodes):
    words = sorted({word for episode in episodes for word in episode["public"]["instruction"]["tokens"]})
    numbers = {word: index for index, word in enumerate([*WORDS, *words])}
    return {
        "instruction_vocab": {
            "word_list": [*WORDS, *words],
            "stoi": numbers,
            "num_vocab": len(numbers),
            "UNK_INDEX": 1,
        },
        "episodes": [
            _write_base(index, episode)
            | {
                "trajectory_id": index,
                "goals": [{"position": episode["private"]["goals"][0]["position"], "radius": 3.0}],
                "reference_path": episode["private"]["reference_path"],
                "instruction": {
                    "instruction_text": episode["public"]["instruction"]["text"],
                    "instruction_tokens": [numbers[word] for word in episode["public"]["instruction"]["tokens"]],
                },
            }
            for index, episode in enumerate(episodes)
        ],
    }
