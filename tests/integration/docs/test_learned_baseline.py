"""The road of docs/learned_baseline.md: a small training run in the room, and the shipped weights in unseen houses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import features
import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.config import load_benchmark
from nav_eval.envs import NavEnv
from nav_eval.evaluation.run_folder import compare_runs, get_metric_directions, load_run
from support.paths import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.slow]

EXAMPLE = ROOT / "sdk/examples/behaviour_cloning"
NEEDS_TORCH = "training needs PyTorch: pip install 'nav-eval[learn]'"
SENSORS = "depth,pointgoal"


def nav_eval(*words: str) -> str:
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    return ran.output


@pytest.fixture(scope="module")
def room(room_data: Path) -> list[str]:
    """What puts a benchmark into the room of tests/conftest.py."""
    return [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}"]


@pytest.fixture(scope="module")
def demonstrations(room: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cloning")
    nav_eval("collect", str(EXAMPLE / "train.yaml"), *room, "--out", str(folder / "run"))
    exported = folder / "demos.hdf5"
    nav_eval("export", str(folder / "run"), "--format", "hdf5", "--sensors", SENSORS, "--out", str(exported))
    return exported


def test_training_learns_what_it_is_shown(demonstrations: Path, capsys: pytest.CaptureFixture) -> None:
    torch, train = pytest.importorskip("torch", reason=NEEDS_TORCH), pytest.importorskip("train")

    torch.manual_seed(0)
    torch.set_num_threads(1)
    shown = list(train.read(demonstrations))
    model = train.train(shown, epochs=60, batch=2, rate=5e-3)
    losses = [float(line.split()[3]) for line in capsys.readouterr().out.splitlines()]
    assert losses[-1] < losses[0] / 3
    with torch.no_grad():
        chosen = np.concatenate([model(torch.from_numpy(demo.numbers)[None])[0].argmax(-1) for demo in shown])
    wanted = np.concatenate([demo.actions for demo in shown])
    commonest = np.bincount(wanted).max() / len(wanted)
    assert np.mean(chosen == wanted) > commonest + 0.1


def test_numpy_says_what_pytorch_says(demonstrations: Path, tmp_path: Path) -> None:
    torch, train = pytest.importorskip("torch", reason=NEEDS_TORCH), pytest.importorskip("train")
    from policy import Policy

    (demo, *_) = train.read(demonstrations)
    model = train.Cloner(demo.numbers.shape[1]).eval()
    train.save(model, tmp_path / "policy.npz")
    policy = Policy.load(tmp_path / "policy.npz")
    with torch.no_grad():
        theirs = torch.softmax(model(torch.from_numpy(demo.numbers)[None])[0], -1).numpy()
    ours = np.array([policy.chances(numbers) for numbers in demo.numbers])
    assert np.abs(ours - theirs).max() < 2e-3  # the weights are kept with half the digits


def test_the_agent_sees_what_training_saw(demonstrations: Path, room: list[str], tmp_path: Path) -> None:
    """The same numbers from exported pictures and from the evaluator's sensors."""
    train = pytest.importorskip("train", reason=NEEDS_TORCH)
    with h5py.File(demonstrations) as file:
        head = json.loads(file["data/demo_0"].attrs["head"])
    (demo, *_) = train.read(demonstrations)
    benchmark = load_benchmark(str(EXAMPLE / "train.yaml"), overrides=room, environ={})
    env = NavEnv(benchmark, sensors=list(features.SENSORS), cache=tmp_path / "cache")
    observation, _ = env.reset(options={"episode_id": head["episode_id"]})
    told = features.Senses()
    for numbers, action in zip(demo.numbers, demo.actions, strict=True):
        moment = features.Moment(observation["depth"], observation["pointgoal"])
        assert np.allclose(told.numbers(moment), numbers, atol=1e-4)
        told.acted(features.ACTIONS[action])
        observation, *_ = env.step(int(action))
    env.close()


def test_practice_is_led_by_the_learner_and_labelled_by_the_oracle(
    room: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = pytest.importorskip("train", reason=NEEDS_TORCH)
    import dagger
    from policy import Policy

    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    for override in room:
        key, _, value = override.partition("=")
        monkeypatch.setenv(f"NAV_EVAL__{key.replace('.', '__').upper()}", value)
    shipped = Policy.load(EXAMPLE / "policy.npz")
    practice = dagger.Practice(EXAMPLE / "train.yaml", shipped, steps=150, seed=0)
    practice.env.reset(seed=0)
    numbers, advice = practice.episode()
    assert numbers.shape == (len(advice), shipped.inputs)
    assert set(np.unique(advice)) <= set(range(len(features.ACTIONS)))
    np.savez(tmp_path / "practice.npz", numbers_0=numbers, actions_0=advice)
    monkeypatch.setattr(dagger, "SHOWN", 1.1)  # the oracle leads: its own walk, to the end
    _, advice = practice.episode()
    practice.env.close()
    assert np.flatnonzero(advice == features.ACTIONS.index("stop")).tolist() == [len(advice) - 1]
    (read,) = train.read(tmp_path / "practice.npz")
    assert np.array_equal(read.numbers, numbers)


def test_the_agent_is_served_as_a_team_would_serve_it(room: list[str], tmp_path: Path) -> None:
    nav_eval(
        "evaluate", str(EXAMPLE / "unseen.yaml"), *room, "evaluation.max_steps=12",
        "--agent", f"{sys.executable} {EXAMPLE / 'agent.py'}", "--out", str(tmp_path / "run"), "--episodes", "2",
    )  # fmt: skip
    outcomes = load_run(tmp_path / "run").outcomes
    assert [outcome.cause for outcome in outcomes] == [None, None]
    assert all(0 < outcome.num_steps <= 12 for outcome in outcomes)


def test_it_beats_random_and_forward_in_unseen_houses(tmp_path: Path) -> None:
    """Other houses than those of docs/learned_baseline.md, fewer, and through the camera of its training."""
    fewer = [
        "dataset.generate={houses: 4, seed: 3100, episodes: 32, split: val_unseen}",
        "task.sensors.depth={width: 64, height: 64}",
        "evaluation.max_steps=250",
    ]
    agents = {
        "cloned": f"{sys.executable} {EXAMPLE / 'agent.py'}",
        "random": "baseline:random",
        "forward": "baseline:forward",
    }
    environment = {**os.environ, "NAV_EVAL_CACHE": str(tmp_path / "cache")}
    for name, agent in agents.items():
        words = ["evaluate", str(EXAMPLE / "unseen.yaml"), *fewer, "--agent", agent, "--out", f"runs/{name}"]
        code = "from nav_eval.cli import main; main()"
        subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, env=environment, check=True, timeout=1800)
    runs = {name: load_run(tmp_path / "runs" / name) for name in agents}
    directions = get_metric_directions(runs["cloned"].header)
    for other in ("random", "forward"):
        (comparison,) = compare_runs(runs["cloned"], runs[other], ["spl"], directions=directions).values()
        assert comparison.scenes == 4
        assert comparison.ci_low > 0, f"against {other}: {comparison}"  # 95 % interval of the paired difference
        assert comparison.significant, f"against {other}: {comparison}"
