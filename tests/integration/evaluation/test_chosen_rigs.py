"""An agent chooses its rig; and decisions told by a published model's wire are worth what they are worth here."""

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import verify
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval_worlds.episodes import generate_episodes
from nav_eval_worlds.generator import list_scenes, load_base_benchmark
from nav_eval_worlds.houses.house_files import write_houses

sys.path.insert(0, str(Path(__file__).parents[1] / "agents"))  # the servers of published models
from model_servers import http_server, navila_server, openpi_server

pytestmark = pytest.mark.integration

Make = Callable[..., BenchmarkConfig]
SENTENCES = {
    "stop": "The next action is stop.",
    "move_forward": "The next action is move forward {} cm.",
    "turn_left": "The next action is turn left {} degrees.",
    "turn_right": "The next action is turn right {} degrees.",
}
NUMBERS = {"stop": 0, "move_forward": 1, "turn_left": 2, "turn_right": 3}


def evaluate(benchmark: BenchmarkConfig, agent: str, out: Path) -> RunFolder:
    EvaluationOrchestrator(cache=get_cache_folder()).run_benchmark(benchmark, agent=agent, out=out)
    return RunFolder(out)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated flat with two instructions: things have names there, so that the keyword baseline walks."""
    folder = tmp_path_factory.mktemp("house")
    list(write_houses(folder / "scenes", count=1, seed=0, split="unseen", template="flat_1"))
    base, scenes = load_base_benchmark("vln", folder / "scenes"), list_scenes(folder / "scenes", "unseen")
    write_episodes(folder / "vln.json", generate_episodes(base, scenes, count=2, seed=3, cache=get_cache_folder()))
    return folder


def make_benchmark(house: Path, rig: str) -> BenchmarkConfig:
    """The rig, and a depth camera for the baseline that only reads ids and depth."""
    extra = f"rigs=[{{extends: {rig}, sensors: {{depth: {{width: 96, height: 96}}, rgb: {{width: 96, height: 96}}}}}}]"
    places = [f"dataset.data_path={house / 'vln.json'}", f"dataset.scene_path={house / 'scenes'}"]
    more = ["evaluation.max_steps=60", "output.save_trajectories=false"]
    return load_benchmark("demo_vln", overrides=[extra, *places, *more], environ={})


def play_keyword(benchmark: BenchmarkConfig, out: Path) -> RunFolder:
    """The decisions of the baseline, which are some."""
    run = evaluate(benchmark, "baseline:keyword", out)
    assert all(result.cause is None for result in run.results())
    assert {name for result in run.results() for name in result.actions} >= {"move_forward", "turn_left"}
    return run


class Script:
    """What the baseline decided, episode by episode, as a server that knows nothing else tells it."""

    def __init__(self, run: RunFolder) -> None:
        self._episodes = iter([list(result.actions) for result in run.results()])
        self._left: list[str] = []

    def begin(self) -> None:
        self._left = next(self._episodes)

    def take(self, most: int) -> list[str]:
        """The next decisions, as long as they are alike."""
        alike = list(itertools.takewhile(lambda name: name == self._left[0], self._left))[:most]
        self._left = self._left[len(alike) :]
        return alike


def navila_answer(script: Script) -> Callable[[dict[str, Any]], str]:
    def answer(request: dict[str, Any]) -> str:
        if all(not picture.any() for picture in request["pictures"][:-1]):
            script.begin()
        names = script.take(3)
        unit = 25 if names[0] == "move_forward" else 15
        return SENTENCES[names[0]].format(unit * len(names))

    return answer


def form_answer(script: Script, key: str) -> Callable[[dict[str, Any]], Any]:
    def answer(request: dict[str, Any]) -> Any:
        if request["method"] == "GET":
            return 404, ""
        if json.loads(request["json"])["reset"]:
            script.begin()
        return {key: [NUMBERS[name] for name in script.take(4)]}

    return answer


def omninav_answer(script: Script) -> Callable[[dict[str, Any]], Any]:
    def answer(request: dict[str, Any]) -> Any:
        if request["path"] == "/reset":
            script.begin()
        return {"action": script.take(1)[0]} if request["path"] == "/act" else {}

    return answer


@pytest.mark.parametrize("model", ["navila", "streamvln", "internvla", "omninav"])
def test_decisions_told_by_a_models_wire_are_worth_what_they_are_worth_here(
    house: Path, tmp_path: Path, model: str
) -> None:
    benchmark = make_benchmark(house, {"omninav": "vlnce"}.get(model, model))
    here = play_keyword(benchmark, tmp_path / "here")
    script = Script(here)
    servers = {
        "navila": lambda: navila_server(navila_answer(script)),
        "streamvln": lambda: http_server(form_answer(script, "action")),
        "internvla": lambda: http_server(form_answer(script, "discrete_action")),
        "omninav": lambda: http_server(omninav_answer(script)),
    }
    with servers[model]() as port:
        there = evaluate(benchmark, f"{model}://127.0.0.1:{port}", tmp_path / "there")
    assert [(r.actions, r.metrics.get("spl"), r.action_digest) for r in there.results()] == [
        (r.actions, r.metrics.get("spl"), r.action_digest) for r in here.results()
    ]
    assert there.manifest().agent["rig"] == benchmark.rigs[0].name
    assert verify(tmp_path / "there", cache=get_cache_folder()).equal


CLASSES = """
import json
from pathlib import Path

DECISIONS = json.loads((Path(__file__).parent / "decisions.json").read_text())
NUMBERS = {"stop": 0, "move_forward": 1, "turn_left": 2, "turn_right": 3}


class Uninavid:
    words = {"stop": "stop", "move_forward": "forward", "turn_left": "left", "turn_right": "right"}

    def reset(self):
        self.step = 0

    def act(self, data):
        first, self.step = self.step, self.step + 3
        return {"actions": [self.words[name] for name in DECISIONS[data["instruction"]][first : first + 3]]}


class Streamvln:
    step_id = 0

    def reset_memory(self):
        self.step_id = 0

    def step(self, idx, rgb, instruction, run_model=True):
        if not run_model:
            return None, 0.0, ""
        return [NUMBERS[name] for name in DECISIONS[instruction][self.step_id : self.step_id + 4]], 0.1, ""


class Internvla:
    def reset(self):
        self.done = 0

    def step(self, rgb, depth, pose, instruction, intrinsic=None, look_down=False):
        first, self.done = self.done, self.done + 2
        return {"output_action": [NUMBERS[name] for name in DECISIONS[instruction][first : first + 2]]}


class Habitat:
    def reset(self):
        self.done = -1

    def act(self, observations):
        self.done += 1
        return {"action": DECISIONS[observations["instruction"]["text"]][self.done].upper()}
"""


@pytest.mark.parametrize(
    ("model", "rig"),
    [("uninavid", "navid"), ("streamvln", "streamvln"), ("internvla", "internvla"), ("habitat", "vlnce")],
)
def test_decisions_of_a_models_class_are_worth_what_they_are_worth_here(
    house: Path, tmp_path: Path, model: str, rig: str
) -> None:
    benchmark = make_benchmark(house, rig)
    here = play_keyword(benchmark, tmp_path / "here")
    write_decisions(here, benchmark, tmp_path)
    (tmp_path / "models.py").write_text(CLASSES)
    address = f"{model}:{tmp_path / 'models.py'}:{model.capitalize()}"
    check_equal(here, evaluate(benchmark, address, tmp_path / "there"))
    assert verify(tmp_path / "there", cache=get_cache_folder()).equal


def write_decisions(run: RunFolder, benchmark: BenchmarkConfig, folder: Path) -> dict[str, list[str]]:
    told = {episode.episode_id: episode.instruction.text for episode in load_episodes(benchmark) if episode.instruction}
    decisions = {told[result.episode_id]: [str(name) for name in result.actions] for result in run.results()}
    assert len(decisions) == 2  # the instructions differ
    (folder / "decisions.json").write_text(json.dumps(decisions))
    return decisions


def check_equal(here: RunFolder, there: RunFolder) -> None:
    first, second = (
        {r.episode_id: (r.actions, r.metrics.get("spl"), r.action_digest) for r in run.results()}
        for run in (here, there)
    )
    assert first == second


MAPPING = """
observation:
  observation/image: {sensor: rgb, resize: [224, 224]}
  prompt: {text: instruction}
  step: {number: step}
action: {decode: argmax, names: [stop, move_forward, turn_left, turn_right], execute: 3}
"""


def test_decisions_of_an_openpi_policy_are_worth_what_they_are_worth_here(house: Path, tmp_path: Path) -> None:
    benchmark = make_benchmark(house, "vlnce")
    here = play_keyword(benchmark, tmp_path / "here")
    decisions = write_decisions(here, benchmark, tmp_path)
    (tmp_path / "mapping.yaml").write_text(MAPPING)

    def decide(request: dict[str, Any]) -> np.ndarray[Any, Any]:
        first = int(request["step"])
        return np.eye(4, dtype=np.float32)[[NUMBERS[name] for name in decisions[request["prompt"]][first : first + 3]]]

    with openpi_server(decide) as port:
        address = f"openpi://127.0.0.1:{port}?mapping={tmp_path / 'mapping.yaml'}"
        check_equal(here, evaluate(benchmark, address, tmp_path / "there"))
    assert verify(tmp_path / "there", cache=get_cache_folder()).equal


@pytest.mark.parametrize(("rig", "turned"), [("", 15.0), ("?rig=navid", 30.0)])
def test_an_agent_chooses_its_rig_and_the_record_says_which(
    room_benchmark: Make, tmp_path: Path, rig: str, turned: float
) -> None:
    benchmark = room_benchmark("demo_vln", "rigs=[vlnce, navid]", "evaluation.max_steps=3", "dataset.episodes=1")
    run = evaluate(benchmark, f"baseline:forward{rig}", tmp_path)
    manifest = run.manifest()
    chosen = BenchmarkConfig.model_validate(manifest.config)
    assert manifest.agent["rig"] == ("navid" if rig else "vlnce")
    assert chosen.task.action("turn_left").params["turn_angle"] == turned  # type: ignore[union-attr]
    assert verify(tmp_path, cache=get_cache_folder()).equal


def test_a_rig_that_is_not_offered_is_refused(room_benchmark: Make, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no rig 'etpnav'"):
        evaluate(room_benchmark("demo_vln", "rigs=[vlnce]"), "baseline:forward?rig=etpnav", tmp_path)
