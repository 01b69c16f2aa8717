"""How many threads draw: as the environment says, as the configuration says, or as was measured."""

import json
import multiprocessing
import os

import pytest

from nav_eval.simulator.rendering import render_threads
from nav_eval.simulator.rendering.render_threads import VARIABLE, measure_speed, pick_threads, set_render_threads


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A machine with four cores on which two threads are fastest; how often it was measured."""
    calls = []

    def measure(cores):
        calls.append(cores)
        return {0: 100.0, 2: 160.0, 4: 162.0}

    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: None)
    monkeypatch.setattr(render_threads, "measure_speeds", measure)
    return calls


@pytest.mark.parametrize(
    ("speeds", "threads"),
    [
        ({0: 100.0, 2: 105.0, 4: 90.0}, 0),
        ({0: 100.0, 2: 150.0, 4: 290.0}, 4),
        ({0: 100.0, 2: 156.0, 4: 160.0, 8: 161.0}, 2),
        ({0: 100.0}, 0),
        ({}, 0),
    ],
)
def test_threads_are_taken_where_they_are_worth_it_and_no_more_than_that(speeds, threads):
    assert pick_threads(speeds) == threads


def test_a_machine_is_measured_once(measured, monkeypatch, tmp_path):
    set_render_threads("auto")
    assert os.environ[VARIABLE] == "2"
    monkeypatch.delenv(VARIABLE)
    set_render_threads("auto")
    assert os.environ[VARIABLE] == "2"
    assert measured == [4]
    (file,) = (tmp_path / "rendering").glob("threads-*.json")
    file.write_text(json.dumps({"0": 100, "4": 300}))
    monkeypatch.delenv(VARIABLE)
    set_render_threads("auto")
    assert os.environ[VARIABLE] == "4"
    file.write_text("[]")
    monkeypatch.delenv(VARIABLE)
    set_render_threads("auto")
    assert (os.environ[VARIABLE], measured) == ("2", [4, 4])


def test_numbers_and_the_environment_are_obeyed_without_measuring(measured, monkeypatch):
    set_render_threads(3)
    assert os.environ[VARIABLE] == "3"
    set_render_threads("auto")
    set_render_threads(0)
    assert os.environ[VARIABLE] == "3"
    assert measured == []


def test_processes_that_were_started_to_be_several_draw_in_their_own_thread(measured, monkeypatch):
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: "somebody")
    set_render_threads("auto")
    assert os.environ[VARIABLE] == "0"
    assert measured == []


@pytest.mark.slow
def test_a_speed_is_measured_with_each_number_of_threads(monkeypatch):
    monkeypatch.setattr(render_threads, "FRAMES", 4)
    assert measure_speed() > 0
    monkeypatch.setattr(render_threads, "ROUNDS", 1)
    speeds = render_threads.measure_speeds(2)
    assert sorted(speeds) == [0, 2]
    assert min(speeds.values()) > 0
