"""Lines of episodes.jsonl: written, read back, refused by file and line."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import episode, played

from nav_eval.errors import RecordError
from nav_eval.records.results import (
    EpisodeOutcome,
    EpisodeResult,
    EpisodeStatus,
    ResultWriter,
    encode_result,
    read_results,
)


def test_what_is_written_is_read_back(run_folder):
    results = played(5)
    assert list(read_results(run_folder(results) / "episodes.jsonl", EpisodeResult)) == results


def test_outcomes_skip_what_statistics_do_not_need(run_folder):
    outcome = next(read_results(run_folder(played(1)) / "episodes.jsonl", EpisodeOutcome))
    assert not hasattr(outcome, "trajectory")
    assert outcome.subtasks[0].ground_truth_distance == 4.0


@given(st.dictionaries(st.text(), st.one_of(st.none(), st.booleans(), st.floats())), st.text())
@settings(max_examples=60)
def test_a_line_is_strict_json_whatever_it_holds(metrics, text):
    line = encode_result(episode(metrics=metrics, episode_id=text, instruction=text))
    assert b"\n" not in line

    def refuse(constant):
        raise AssertionError(constant)

    parsed = json.loads(line, parse_constant=refuse)
    assert parsed["episode_id"] == text
    assert parsed["metrics"].keys() == metrics.keys()
    for name, value in metrics.items():
        finite = value is not None and math.isfinite(value)
        assert parsed["metrics"][name] == (value if finite else None)


def test_unknown_keys_of_newer_versions_are_ignored(tmp_path):
    path = tmp_path / "episodes.jsonl"
    line = {"episode_id": "a", "status": "completed", "metrics": {}, "num_steps": 1, "from_the_future": {"x": [1]}}
    path.write_text("\n" + json.dumps(line) + "\n\n")
    assert [result.episode_id for result in read_results(path, EpisodeResult)] == ["a"]


GOOD = '{"episode_id": "a", "status": "completed", "metrics": {}, "num_steps": 1}'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"episode_id": "b"', "not valid JSON"),
        ('{"status": "completed", "metrics": {}, "num_steps": 1}', "episode_id"),
        ('{"episode_id": 7, "status": "completed", "metrics": {}, "num_steps": 1}', r"\$.episode_id"),
        ('{"episode_id": "b", "status": "flying", "metrics": {}, "num_steps": 1}', "flying"),
        ('{"episode_id": "b", "status": "completed", "metrics": {"spl": "high"}, "num_steps": 1}', r"\$.metrics"),
        ('{"episode_id": "b", "status": "completed", "metrics": {"spl": NaN}, "num_steps": 1}', "write null"),
        ('{"episode_id": "b", "status": "completed", "metrics": {"spl": 1e999}, "num_steps": 1}', "out of range"),
        ('{"episode_id": "b", "status": "completed", "metrics": {}, "num_steps": 1, "x": ' + "[" * 100_000, "JSON"),
        ("[1, 2]", "Expected `object`"),
        ("\udcff", "not valid JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, words):
    path = tmp_path / "episodes.jsonl"
    path.write_text(f"{GOOD}\n{line}\n", errors="surrogateescape")
    with pytest.raises(RecordError, match=rf"episodes.jsonl line 2: .*{words}"):
        list(read_results(path, EpisodeResult))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RecordError, match=r"Cannot read .*nowhere"):
        list(read_results(tmp_path / "nowhere.jsonl", EpisodeResult))


def test_a_line_without_end_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("nav_eval.records.results.LONGEST_LINE", 1000)
    path = tmp_path / "episodes.jsonl"
    path.write_text(f"{GOOD}\n" + "x" * 5000)
    with pytest.raises(RecordError, match="line 2: longer than"):
        list(read_results(path, EpisodeResult))


@pytest.mark.parametrize("torn", ["", "{", encode_result(episode(9)).decode()[:-1], "x" * 200_000])
def test_a_killed_run_goes_on_after_its_last_whole_line(run_folder, torn):
    path = run_folder([episode(1), episode(2)]) / "episodes.jsonl"
    with path.open("a") as file:
        file.write(torn)
    with ResultWriter(path) as writer:
        writer.write(episode(3))
    assert [result.episode_id for result in read_results(path, EpisodeResult)] == ["ep_1", "ep_2", "ep_3"]


def test_each_line_is_on_disk_before_the_next_episode(tmp_path):
    path = tmp_path / "episodes.jsonl"
    with ResultWriter(path) as writer:
        writer.write(episode(1))
        assert len(list(read_results(path, EpisodeResult))) == 1


def test_a_writer_writes_only_while_open(tmp_path):
    with pytest.raises(ValueError, match="with"):
        ResultWriter(tmp_path / "episodes.jsonl").write(episode())


def test_statuses_are_the_seeds_words():
    assert {status.value for status in EpisodeStatus} >= {"completed", "failed", "timeout"}
