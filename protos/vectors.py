"""Write the conformance vectors: `python protos/vectors.py [--check]`.

A vector is a conversation as JSON, made by the evaluator's own code, so that an implementation in any language can test
itself: what the evaluator sends, what a right agent answers, and answers that are refused with the reason. They lie in
the SDK, where `nav-eval-sdk check` plays them against an agent of any protocol.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from nav_eval.agents.client import ClientSettings
from nav_eval.agents.failures import AgentFailure
from nav_eval.agents.json_messages import (
    decode_actions,
    encode_episode,
    encode_observation,
    encode_outcome,
    encode_task,
)
from nav_eval.agents.messages import (
    AgentDescription,
    EndStatus,
    EpisodeEnd,
    Observation,
    TaskInterface,
    check_actions,
)
from nav_eval.config import load_benchmark
from nav_eval.dataset.episode import Instruction, PublicEpisode
from nav_eval.evaluation.task_interface import make_task_interface

FOLDER = Path(__file__).resolve().parents[1] / "sdk" / "nav_eval_sdk" / "vectors"
BENCHMARKS = {
    "vln": "demo_vln",
    "lh_vln": "demo_lh_vln",
    "objectnav": "demo_objectnav",
    "localization": "demo_localization",
}
DESCRIPTION = AgentDescription(name="vector", version="1")
POSE = {"position": [1.0, 0.0, -2.0], "rotation": [0.0, 0.0, 0.0, 1.0]}
SESSION = {"session_id": "5e5510"}


def make_conversation(name: str) -> dict[str, Any]:
    """All that an agent of this task hears in a short episode, and what it may answer."""
    task = _make_task(name)
    episode = _make_episode(name)
    start = {**SESSION, "episode": encode_episode(episode), "task": encode_task(task, ClientSettings())}
    moves = ["move_forward", "turn_left", "turn_right", "stop"]
    answers = [{"poses": [POSE]}] if name == "localization" else [{"action": move, "action_args": {}} for move in moves]
    exchanges = [
        {
            "send": {"session_id": "5e5510", "sequence": number + 1, "observation": _see(task, episode, number)},
            "answer": answer,
        }
        for number, answer in enumerate(answers)
    ]
    refused = [{"answer": answer, "because": _refuse(answer, task)} for answer in _list_wrong_answers(task)]
    end = encode_outcome(EpisodeEnd(status=EndStatus.COMPLETED, steps=len(answers)))
    return {"format": "nav-eval/conversation/1", "reset": start, "exchanges": exchanges, "end": end, "refused": refused}


def _make_task(name: str) -> TaskInterface:
    small = [f"task.sensors.{sensor}.{side}=8" for sensor in _list_cameras(name) for side in ("width", "height")]
    return make_task_interface(load_benchmark(BENCHMARKS[name], overrides=small))


def _list_cameras(name: str) -> list[str]:
    sensors = make_task_interface(load_benchmark(BENCHMARKS[name])).sensors
    return [sensor for sensor, spec in sensors.items() if spec.camera is not None]


def _make_episode(name: str) -> PublicEpisode:
    words = "Leave the room, turn left at the sofa, and stop beside the table."
    category = "chair" if name == "objectnav" else None
    return PublicEpisode(
        episode_id="vector-1", instruction=Instruction(text=words, language="en-US"), object_category=category
    )


def _see(task: TaskInterface, episode: PublicEpisode, step: int) -> dict[str, Any]:
    draw = np.random.default_rng(step)
    shapes = {name: spec for name, spec in task.sensors.items() if spec.dtype != "text"}
    sensors = {
        name: (draw.random([side or 1 for side in spec.shape]) * 100).astype(spec.dtype)
        for name, spec in shapes.items()
    }
    texts = {name: "a text" for name, spec in task.sensors.items() if spec.dtype == "text"}
    seen = Observation(step=step, sensors=sensors, texts=texts)
    return encode_observation(seen, form="tensor", description=DESCRIPTION, episode=episode)


def _list_wrong_answers(task: TaskInterface) -> list[object]:
    known = next(iter(task.actions))
    return [
        {},
        {"action": "jump"},
        {"action": 1},
        {"action": known.upper() + "!"},
        {"actions": []},
        {"action": known, "action_args": {"how": 1.0}},
        {"poses": [{"position": [0.0, 0.0], "rotation": [0.0, 0.0, 0.0, 1.0]}]},
        {"poses": [{**POSE, "rotation": [0.0, 0.0, 0.0, 0.0]}]},
        {"poses": [POSE] * 4},
        {"action": "answer"},
    ]


def _refuse(answer: object, task: TaskInterface) -> str:
    try:
        check_actions(decode_actions(answer, sequence=1, most=1), task=task, most=1)
    except AgentFailure as failure:
        return str(failure)
    raise AssertionError(f"{answer} is not refused")


def encode_vector(conversation: dict[str, Any]) -> str:
    return json.dumps(conversation, indent=1, ensure_ascii=False, sort_keys=True, default=_encode_bytes) + "\n"


def _encode_bytes(value: object) -> str:
    """As it stands in JSON on the wire: base64."""
    import base64

    assert isinstance(value, bytes | bytearray | memoryview)
    return base64.b64encode(value).decode()


def _drop_words(text: str) -> object:
    """A vector without the sentences of its refusals, which may be worded better at any time."""
    document = json.loads(text)
    return {**document, "refused": [refusal["answer"] for refusal in document["refused"]]}


def main(arguments: list[str]) -> int:
    made = {FOLDER / f"{name}.json": encode_vector(make_conversation(name)) for name in BENCHMARKS}
    if arguments == ["--check"]:
        return int(not all(file.exists() and _drop_words(file.read_text()) == _drop_words(made[file]) for file in made))
    FOLDER.mkdir(exist_ok=True)
    for file, text in made.items():
        file.write_text(text)
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
