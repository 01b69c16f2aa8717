"""results.json: the seeds' keys, strict JSON, whole or not at all."""

import json
import math

import msgspec
import pytest
from report_samples import episode, played

from nav_eval.evaluation.aggregation import MetricsAggregator, build_report
from nav_eval.evaluation.report import (
    ReportHeader,
    encode_report,
    read_header,
    read_report_episodes,
    write_report,
)
from nav_eval.metrics.statistics import Statistics
from nav_eval.records.results import EpisodeOutcome, EpisodeStatus


class SeedEpisode(msgspec.Struct):
    episode_id: str
    status: str
    metrics: dict[str, float | None]
    trajectory: list[tuple[float, float, float]]
    num_steps: int


class SeedAggregate(msgspec.Struct):
    mean: float
    std: float
    count: int


class SeedFailure(msgspec.Struct):
    episode_id: str
    reason: str


class SeedReport(msgspec.Struct):
    """§3.1.7 of the seeds, key by key, as a consumer of theirs would read it."""

    benchmark: str
    timestamp: str
    config: dict[str, object]
    episodes: list[SeedEpisode]
    aggregated: dict[str, SeedAggregate]
    failed_episodes: list[SeedFailure]


HEADER = ReportHeader(benchmark="VLN Challenge 2024", config={"evaluation": {"max_steps": 500}})


def strict(data):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(data, parse_constant=refuse)


def test_a_reader_of_the_seeds_finds_every_key():
    timed_out = episode(50, status=EpisodeStatus.TIMEOUT, cause="timeout", trajectory=((0.0, 0.0, 0.0),))
    data = encode_report(build_report([*played(10), timed_out], header=HEADER))
    report = msgspec.json.decode(data, type=SeedReport)
    assert report.benchmark == "VLN Challenge 2024"
    assert report.config == {"evaluation": {"max_steps": 500}}
    assert report.timestamp.endswith("Z")
    assert len(report.timestamp) == len("2024-01-15T10:30:00Z")
    assert [e.num_steps for e in report.episodes] == [45] * 11
    assert report.aggregated["spl"].count == 11
    assert [(f.episode_id, f.reason) for f in report.failed_episodes] == [("ep_50", "timeout")]


def test_what_we_add_stands_beside_it():
    report = strict(encode_report(build_report(played(12), header=HEADER)))
    assert report["engine_version"]
    assert report["higher_is_better"] == {"success": True, "spl": True, "navigation_error": False}
    assert report["groups"]["scene"].keys() == {"scene_0", "scene_1", "scene_2", "scene_3"}
    assert report["bootstrap"] == {"replicates": 9999, "confidence": 0.95, "seed": 0, "method": "percentile"}
    assert report["counts"] == {"episodes": 12, "scored": 12, "completed": 12, "scenes": 4}
    item = report["aggregated"]["spl"]
    assert item.keys() == set(Statistics.__dataclass_fields__)
    assert item["ci_low"] <= item["mean"] <= item["ci_high"]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_does_not_exist_is_null(bad):
    odd = episode(1, metrics={"spl": bad, "success": 1.0}, trajectory=((bad, 0.0, 0.0),), timing={"wall": bad})
    header = ReportHeader(config={"limits": [bad, {"deep": bad}]})
    report = strict(encode_report(build_report([odd], header=header)))
    assert report["episodes"][0]["metrics"]["spl"] is None
    assert report["config"] == {"limits": [None, {"deep": None}]}
    assert report["aggregated"]["spl"] | {"mean": None, "count": 0, "invalid": 1} == report["aggregated"]["spl"]
    assert report["invalid_values"] == {"spl": ["ep_1"]}


def test_no_episodes_is_still_a_report():
    report = strict(encode_report(build_report([], header=HEADER)))
    assert (report["episodes"], report["aggregated"]) == ([], {})


def test_each_episode_is_one_line():
    data = encode_report(build_report(played(7), header=HEADER))
    assert sum(b'"episode_id"' in line for line in data.splitlines()) == 7


def test_reports_of_equal_runs_are_equal():
    header = ReportHeader(benchmark="b", timestamp="2026-01-01T00:00:00Z")
    results = played(20)
    assert encode_report(build_report(results, header=header)) == encode_report(
        build_report(results[::-1], header=header)
    )


def test_a_report_is_read_back(tmp_path):
    path = tmp_path / "results.json"
    results = played(5)
    write_report(path, build_report(results, header=HEADER))
    assert read_report_episodes(path) == results
    assert read_header(path).benchmark == "VLN Challenge 2024"


def test_outcomes_without_trajectories_make_a_report_too(tmp_path):
    outcome = EpisodeOutcome(episode_id="a", status=EpisodeStatus.COMPLETED, metrics={"spl": 1.0}, num_steps=1)
    aggregator = MetricsAggregator(HEADER)
    aggregator.add_episode_result(outcome)
    aggregator.export_json(tmp_path / "results.json")
    assert read_report_episodes(tmp_path / "results.json")[0].trajectory is None
