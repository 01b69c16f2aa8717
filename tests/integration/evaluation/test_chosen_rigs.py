"""An agent chooses its rig; and decisions told by a published model's wire are worth what they are worth here."""

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import verify
from nav_eval.orchestrator import EvaluationOrchestrator

sys.path.insert(0, str(Path(__file__).parents[1] / "agents"))  # the servers of published models
from model_servers import http_server, navila_server

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


def make_benchmark(room_benchmark: Make, rig: str) -> BenchmarkConfig:
    """The rig, and a depth camera for the baseline that only reads ids and depth."""
    extra = f"rigs=[{{extends: {rig}, sensors: {{depth: {{width: 96, height: 96}}, rgb: {{width: 96, height: 96}}}}}}]"
    return room_benchmark(
        "demo_vln", extra, "evaluation.max_steps=12", "dataset.episodes=2", "output.save_trajectories=false"
    )


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
    room_benchmark: Make, tmp_path: Path, model: str
) -> None:
    benchmark = make_benchmark(room_benchmark, {"omninav": "vlnce"}.get(model, model))
    here = evaluate(benchmark, "baseline:keyword", tmp_path / "here")
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
