"""Does run.json follow from its configuration, and is that the configuration of the benchmark that somebody expects?"""

from collections.abc import Iterator
from typing import Any

import nav_eval
from nav_eval.config import BenchmarkConfig, compute_config_digest, compute_rules_digest
from nav_eval.config.loader import NOT_RULES
from nav_eval.dataset.loader import TaskDataset
from nav_eval.evaluation.differences import Difference, compare_stated, compare_values
from nav_eval.evaluation.run_folder import FORMAT, MANIFEST_FILE, SEEDS, RunManifest, describe_controller
from nav_eval.records.results import EpisodeResult

CHOICE_OF_EPISODES = ("episodes", "episode_ids", "scenes")
"""Keys of `dataset`: a run of some episodes says so, and plays by the same rules."""


def compare_manifest(manifest: RunManifest, benchmark: BenchmarkConfig, episodes: TaskDataset) -> Iterator[Difference]:
    """Where run.json says something else than its own configuration."""
    yield from compare_stated(MANIFEST_FILE, "configuration", manifest.config, benchmark.model_dump(mode="json"))
    yield from _compare_digests(manifest, benchmark, episodes)
    rigs = {rig.name for rig in benchmark.rigs}
    expected: dict[str, tuple[object, object]] = {
        "format": (manifest.format, FORMAT),
        "name of the benchmark": (manifest.benchmark, benchmark.name),
        "controller": (manifest.controller, describe_controller(benchmark)),
    }
    if not is_seed_drawn(benchmark):
        expected["run_seed"] = (manifest.run_seed, 0)
    elif not 0 <= manifest.run_seed < SEEDS:
        expected["run_seed"] = (manifest.run_seed, f"a draw from 0 to {SEEDS - 1}")
    if (rig := manifest.agent.get("rig")) and rig not in rigs:
        expected["rig"] = (rig, ", ".join(rigs) or "none")
    if sorted(manifest.episode_ids) != sorted(episodes.episode_ids):
        expected["list of episodes"] = (", ".join(manifest.episode_ids), ", ".join(episodes.episode_ids))
    if manifest.engine_version not in nav_eval.REPLAYABLE_VERSIONS:
        expected["engine version"] = (manifest.engine_version, nav_eval.__version__)
    for what, (stated, found) in expected.items():
        if stated != found:
            yield Difference(where="run", what=what, stated=str(stated), found=str(found))


def _compare_digests(manifest: RunManifest, benchmark: BenchmarkConfig, episodes: TaskDataset) -> Iterator[Difference]:
    found = {
        "config": compute_config_digest(benchmark),
        "rules": compute_rules_digest(benchmark),
        "episodes": f"sha256:{episodes.digest}",
    }
    for name in {**found, **manifest.digests}:
        stated, digest = manifest.digests.get(name, "missing"), found.get(name, "none")
        if stated != digest:
            yield Difference(where="run", what=f"digest of {name}", stated=stated, found=digest)


def is_seed_drawn(benchmark: BenchmarkConfig) -> bool:
    """Whether a run draws the seed of its randomisation itself."""
    randomization = benchmark.scenario_config.domain_randomization
    return randomization.varies and randomization.seed is None


def compare_episode_set(manifest: RunManifest, results: list[EpisodeResult]) -> Iterator[Difference]:
    played = [result.episode_id for result in results]
    for name in sorted(set(played) - set(manifest.episode_ids)):
        yield Difference(where=f"episode {name!r}", what="part of the run", stated="yes", found="no such episode")
    for name in sorted({name for name in played if played.count(name) > 1}):
        yield Difference(where=f"episode {name!r}", what="lines", stated=str(played.count(name)), found="1")


def compare_choice(manifest: RunManifest, expected: TaskDataset) -> Iterator[Difference]:
    """Where a run has episodes that are none of the benchmark's: fewer of them are no lie, others are."""
    known = set(expected.episode_ids)
    for name in sorted(set(manifest.episode_ids) - known):
        yield Difference(where=f"episode {name!r}", what="part of the benchmark", stated="yes", found="no such episode")


def compare_rules(stated: BenchmarkConfig, expected: BenchmarkConfig) -> Iterator[Difference]:
    """Where a run was played by other rules than those of the benchmark that it should be of."""
    rig = next(iter(stated.rigs), None)
    pair = (_list_rules(stated), _list_rules(expected.with_rig(None if rig is None else rig.name)))
    yield from compare_values(MANIFEST_FILE, "rule", *pair)


def _list_rules(benchmark: BenchmarkConfig) -> dict[str, Any]:
    rules: dict[str, Any] = benchmark.model_dump(mode="json", exclude=dict(NOT_RULES))
    for key in CHOICE_OF_EPISODES:
        del rules["dataset"][key]
    return rules
