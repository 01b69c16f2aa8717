"""Runs that somebody has made better than they are: every forgery is found, and named where it stands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forged_runs import (
    FORMER,
    Run,
    copy_run,
    rebuild_report,
    set_line,
    set_manifest,
    set_report,
    set_shown_line,
)

from nav_eval.errors import RecordError
from nav_eval.evaluation.verification import verify
from nav_eval.records.scoring import UNSCORED

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FORMER)


def hide_behind_our_fault(run: Run) -> None:
    run.lines[1] |= {"cause": "infrastructure", "status": "failed", "detail": "The renderer was lost."}


def hide_behind_a_person(run: Run) -> None:
    run.lines[1] |= {"cause": "cancelled", "status": "cancelled"}


def break_off_earlier(run: Run) -> None:
    """The failures of an agent score as they stand: whoever claims one keeps what was reached."""
    line = run.lines[1]
    line |= {"cause": "agent_crash", "status": "failed", "actions": line["actions"][:-1]}


def drop_a_line(run: Run) -> None:
    del run.lines[1]


def drop_a_line_everywhere(run: Run) -> None:
    del run.lines[1]
    run.report = None


def drop_an_episode_everywhere(run: Run) -> None:
    del run.lines[1]
    run.report = None
    run.manifest["episode_ids"].remove("b")


def repeat_a_line(run: Run) -> None:
    run.lines.append(run.lines[0])


def invent_an_episode(run: Run) -> None:
    run.lines.append(run.lines[0] | {"episode_id": "zz"})


def exchange_two_lines(run: Run) -> None:
    run.lines[0]["episode_id"], run.lines[1]["episode_id"] = "b", "a"


def add_a_metric(run: Run) -> None:
    for line in run.lines:
        line["metrics"]["made_up"] = 1.0


def cut_the_way(run: Run) -> None:
    run.lines[1]["trajectory"].pop()


def lengthen_the_way(run: Run) -> None:
    run.lines[1]["trajectory"].append([0.0, 0.0, 0.0])


def forget_the_log(run: Run) -> None:
    run.lines[1] |= {"actions": [], "trajectory": None, "action_digest": None}


def walk_on(run: Run) -> None:
    run.lines[1]["actions"].append("move_forward")


def drop_from_report(*keys: str) -> Callable[[Run], None]:
    def forge(run: Run) -> None:
        place = run.report
        for key in keys[:-1]:
            assert place is not None
            place = place[key]
        assert place is not None
        del place[keys[-1]]

    return forge


def remove_report(run: Run) -> None:
    run.report = None


FORGERIES: dict[str, tuple[Callable[[Run], None], str]] = {
    # results.json
    "a mean": (set_report("aggregated", "spl", "mean", to=0.5), "statistics of spl mean"),
    "the end of an interval": (set_report("aggregated", "success", "ci_low", to=0.25), "ci_low"),
    "the other end": (set_report("aggregated", "path_length", "ci_high", to=0.25), "ci_high"),
    "a spread": (set_report("aggregated", "path_length", "std", to=0.0), "std"),
    "a quantile": (set_report("aggregated", "path_length", "median", to=0.1), "median"),
    "how many values": (set_report("aggregated", "spl", "count", to=400), "count"),
    "a metric that nobody measured": (set_report("aggregated", "magic", to={"mean": 1.0}), "magic"),
    "a group": (set_report("groups", "scene", "elsewhere", to={}), "group scene elsewhere"),
    "no groups": (drop_from_report("groups"), "group"),
    "failures": (set_report("failures", to={"agent_crash": 3}), "failures"),
    "failed episodes": (set_report("failed_episodes", to=[{"episode_id": "a"}]), "failed_episodes"),
    "scored episodes": (set_report("counts", "scored", to=400), "number of scored"),
    "scenes": (set_report("counts", "scenes", to=90), "number of scenes"),
    "the title": (set_report("benchmark", to="R2R val_unseen"), "benchmark"),
    "the rules that are shown": (set_report("config", "evaluation", "success_distance", to=0.1), "success_distance"),
    "a digest that is shown": (set_report("digests", "episodes", to="sha256:00"), "digest of episodes"),
    "the engine": (set_report("engine_version", to="9.9.9"), "engine_version"),
    "how intervals were drawn": (set_report("bootstrap", "confidence", to=0.99), "confidence"),
    "which way is better": (set_report("higher_is_better", "spl", to=False), "higher_is_better spl"),
    "values that are missing": (set_report("invalid_values", to={"spl": ["a"]}), "invalid_values"),
    "a metric of an episode that is shown": (set_shown_line("metrics", "spl", to=0.5), "episode 'b' metrics spl"),
    "a status that is shown": (set_shown_line("status", to="failed"), "episode 'b' status"),
    "no report": (remove_report, "the report is missing"),
    "no episodes in the report": (set_report("episodes", to=[]), "list of episodes"),
    # run.json
    "another title": (set_manifest("benchmark", to="R2R"), "name of the benchmark"),
    "another rule": (set_manifest("config", "evaluation", "success_distance", to=9.0), "digest of rules"),
    "another version": (set_manifest("engine_version", to="0.0.1"), "engine version"),
    "fewer episodes": (drop_an_episode_everywhere, "list of episodes"),
    # episodes.jsonl
    "a score": (set_line("metrics", "spl", to=0.5), "episode 'b': spl"),
    "a metric that no replay has": (add_a_metric, "made_up"),
    "an easier episode": (set_line("shortest_path_length", to=99.0), "shortest_path_length"),
    "another scene": (set_line("scene_id", to="castle.glb"), "scene_id"),
    "a longer instruction": (set_line("instruction_length", to=99), "instruction_length"),
    "another instruction": (set_line("instruction", to="Stand still."), "instruction"),
    "a group of its own": (set_line("groups", to={"instruction_type": "hard"}), "groups"),
    "fewer steps": (set_line("num_steps", to=1), "num_steps"),
    "another action": (set_line("actions", 0, to="turn_right"), "episode 'b'"),
    "actions after the end": (walk_on, "over already"),
    "a point": (set_line("trajectory", 2, to=[0.0, 0.0, 0.0]), "position"),
    "a shorter trajectory": (cut_the_way, "episode 'b'"),
    "a longer trajectory": (lengthen_the_way, "trajectory"),
    "no log": (forget_the_log, "episode 'b'"),
    "a digest": (set_line("action_digest", to="00"), "action digest"),
    "an easier world": (set_line("randomization", to={"level": 0}), "randomization"),
    "an earlier end": (break_off_earlier, "episode 'b'"),
    "our fault": (hide_behind_our_fault, "cause is infrastructure"),
    "a person's fault": (hide_behind_a_person, "cause is cancelled"),
    "a status": (set_line("status", to="timeout"), "status"),
    "a cause that there is none of": (set_line("cause", to="bad_luck"), "cause is bad_luck"),
    "a detail": (set_line("detail", to="The judges agreed."), "detail"),
    "an episode left out": (drop_a_line, "no line for b"),
    "an episode and the report left out": (drop_a_line_everywhere, "no line for b"),
    "an episode twice": (repeat_a_line, "lines is 2"),
    "an episode that is none": (invent_an_episode, "no such episode"),
    "two episodes exchanged": (exchange_two_lines, "episode 'a'"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_found(name: str, cache: Path, tmp_path: Path) -> None:
    forge, said = FORGERIES[name]
    run = copy_run("vln", tmp_path)
    forge(run)
    run.write()
    report = verify(run.folder, cache=cache)
    assert not report.equal
    assert said in report.summary()
    assert not report.summary().startswith("Verified")
    assert "replayed" not in report.summary()


def never_begun(cause: str = "infrastructure", status: str = "failed", **said: Any) -> Callable[[Run], None]:
    """Hide an episode: it ended before there was anything to play again."""

    def forge(run: Run) -> None:
        line = run.lines[1]
        empty = {"cause": cause, "status": status, "detail": "Lost.", "metrics": {}, "num_steps": 0}
        run.lines[1] = {"episode_id": "b", "scene_id": line["scene_id"], **empty, **said}

    return rebuild_report(forge)


def say_more_of_actions(**said: Any) -> Callable[[Run], None]:
    def forge(run: Run) -> None:
        run.lines[1]["actions"] = [{"action": name, **said} for name in run.lines[1]["actions"]]

    return rebuild_report(forge)


def name_an_episode_twice(run: Run) -> None:
    run.manifest["episode_ids"].append("a")


def show_an_episode_twice(run: Run) -> None:
    assert run.report is not None
    better = json.loads(json.dumps(run.report["episodes"][1]))
    better["metrics"]["spl"] = 0.99
    run.report["episodes"].insert(0, better)


def forget_a_metric(run: Run) -> None:
    del run.lines[1]["metrics"]["collisions"]


NO_ERRORS = dict.fromkeys(["success", "spl", "navigation_error", "path_length", "steps", "dtw"], 0.0)
SUBTASK = {"success": True, "oracle_success": True, "navigation_error": 0.0}
CLEVER: dict[str, tuple[Callable[[Run], None], str]] = {
    # episodes that nobody can play again
    "no way is no error": (never_begun("agent_crash", metrics=NO_ERRORS), "episode 'b'"),
    "a time-out that counts nowhere": (never_begun("agent_timeout", "cancelled"), "status is cancelled"),
    "a broken image that a person cancelled": (never_begun("image_invalid", "cancelled"), "status is cancelled"),
    "a harder way that was not gone": (never_begun(shortest_path_length=99.0), "shortest_path_length"),
    "a longer instruction that nobody read": (never_begun(instruction_length=99), "instruction_length"),
    "a world that nobody saw": (never_begun(randomization={"level": 9}), "randomization"),
    "a group that nobody was in": (never_begun(groups={"instruction_type": "hard"}), "groups"),
    "a digest of nothing": (never_begun(action_digest="00"), "action digest"),
    # lines whose report follows from them
    "a crash that a person cancelled": (
        rebuild_report(lambda run: run.lines[1].update(cause="agent_crash", status="cancelled", detail="Lost.")),
        "status is cancelled",
    ),
    "a yes for a number": (rebuild_report(set_line("metrics", "success", to=True)), "success is True"),
    "a value that is not there": (rebuild_report(set_line("metrics", "navigation_error", to=None)), "navigation_error"),
    "a metric left out": (rebuild_report(forget_a_metric), "collisions is missing"),
    "a value beyond all numbers": (rebuild_report(set_line("metrics", "path_length", to=1e300)), "path_length"),
    "a sub-task of a task without": (
        rebuild_report(
            set_line("subtasks", to=[SUBTASK | {"ground_truth_distance": 1.0, "ground_truth_steps": 5, "steps": 5}])
        ),
        "subtasks",
    ),
    "words beside an action": (say_more_of_actions(teleport=[0, 0, 0]), "actions is"),
    "arguments that an action has not": (say_more_of_actions(arguments={"distance": 9.0}), "actions is"),
    "an empty trajectory": (rebuild_report(set_line("trajectory", to=[])), "position"),
    "a name that looks alike": (rebuild_report(set_line("episode_id", to="b\u200b")), "no such episode"),
    "a key that nobody reads": (set_line("verified_by", to="the judges"), "key verified_by"),
    # run.json
    "an episode named twice": (rebuild_report(name_an_episode_twice), "list of episodes"),
    "a digest of its own": (rebuild_report(set_manifest("digests", "official", to="sha256:1")), "digest of official"),
    "another controller": (rebuild_report(set_manifest("controller", to={"name": "mine"})), "controller"),
    "another format": (set_manifest("format", to="nav-eval/run/9"), "format"),
    "a rig that there is none of": (rebuild_report(set_manifest("agent", "rig", to="eagle")), "rig is eagle"),
    "a key of run.json that nobody reads": (set_manifest("official", to=True), "key official"),
    # results.json
    "an episode shown twice": (show_an_episode_twice, "list of episodes"),
    "a rank": (set_report("rank", to=1), "rank"),
    "another agent": (set_report("agent", to={"name": "other"}), "agent"),
    "a metric that is not shown": (drop_from_report("aggregated", "navigation_error"), "navigation_error"),
    "a number as text": (set_report("aggregated", "spl", "mean", to="1.0"), "mean"),
    "a count that is a fraction": (set_shown_line("num_steps", to=18.0), "num_steps"),
    "the last bit": (set_report("aggregated", "soft_spl", "mean", to=0.6853244599441838), "mean"),
}


@pytest.mark.parametrize("name", CLEVER)
def test_a_clever_forgery_is_found(name: str, cache: Path, tmp_path: Path) -> None:
    forge, said = CLEVER[name]
    run = copy_run("vln", tmp_path)
    forge(run)
    run.write()
    report = verify(run.folder, cache=cache)
    assert not report.equal
    assert said in report.summary()


@pytest.mark.parametrize("cause", ["infrastructure", "agent_crash"])
def test_an_episode_that_never_began_is_not_called_played(cause: str, cache: Path, tmp_path: Path) -> None:
    """It may be true: a server writes such lines for agents that are gone. Nothing speaks for it, and that is said."""
    run = copy_run("vln", tmp_path)
    never_begun(cause)(run)
    run.write()
    report = verify(run.folder, cache=cache)
    assert "3 of the run's 4 episodes were played again" in report.summary()
    assert "that 1 episode never began" in report.summary()


def test_a_configuration_that_is_none_is_refused_by_name(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    run.manifest["config"]["official"] = True
    run.write()
    with pytest.raises(RecordError, match=r"run\.json: config: unknown key"):
        verify(run.folder, cache=cache)


LONG_HORIZON: dict[str, tuple[Callable[[Run], None], str]] = {
    "the row": (set_report("scores", "tar", to=0.999), "score tar"),
    "a sub-task": (set_line("subtasks", 0, "navigation_error", to=0.01), "subtasks"),
    "the expert": (set_line("subtasks", 0, "ground_truth_steps", to=500), "subtasks"),
}


@pytest.mark.parametrize("name", LONG_HORIZON)
def test_a_forged_long_horizon_run_is_found(name: str, cache: Path, tmp_path: Path) -> None:
    forge, said = LONG_HORIZON[name]
    run = copy_run("lh_vln", tmp_path)
    forge(run)
    run.write()
    assert said in verify(run.folder, cache=cache).summary()


@pytest.mark.parametrize(
    ("file", "key", "lie"),
    [
        ("episodes.jsonl", "num_steps", "1000"),
        ("results.json", "benchmark", '"World Cup"'),
        ("run.json", "engine_version", '"9.9"'),
    ],
)
def test_a_key_that_stands_twice_is_found(file: str, key: str, lie: str, cache: Path, tmp_path: Path) -> None:
    """Other readers take the first of them, and show what nobody has checked."""
    run = copy_run("vln", tmp_path)
    path = run.folder / file
    path.write_text(path.read_text().replace(f'"{key}"', f'"{key}": {lie}, "{key}"', 1))
    report = verify(run.folder, cache=cache)
    assert f"key {key} is there twice, should be there once" in report.summary()
    assert report.summary().startswith("NOT verified: 1 difference. 4 of the run's 4 episodes")


def test_a_line_that_stands_twice_is_no_further_episode(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    repeat_a_line(run)
    run.write()
    assert "4 of the run's 4 episodes were played again" in verify(run.folder, cache=cache).summary()


def test_what_cannot_be_proven_is_named(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    run.manifest["agent"]["name"] = "The best agent there is"
    run.write()
    report = verify(run.folder, cache=cache)
    assert report.equal
    assert (
        "Not proven by a replay: who chose the actions, timing, the date, what the agent says of itself (name"
        in report.summary()
    )


def test_a_run_that_was_cut_off_is_accepted_where_somebody_says_so(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    drop_a_line_everywhere(run)
    run.write()
    report = verify(run.folder, partial=True, cache=cache)
    assert report.equal
    assert "3 of the run's 4 episodes were played again" in report.summary()
    assert "not complete: 1 episode has no result" in report.summary()


def test_an_episode_that_our_fault_broke_off_is_played_as_far_as_it_went(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    run.report = None
    line = run.lines[1]
    line |= {"cause": "infrastructure", "status": "failed", "detail": "lost", "actions": line["actions"][:-1]}
    run.write()
    report = verify(run.folder, partial=True, cache=cache)
    assert line["cause"] in UNSCORED
    assert "episode 'b'" in report.summary(), "its digest and metrics are still those of the whole episode"
