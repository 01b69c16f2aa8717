"""Agents see opaque episode ids, which differ from run to run; results keep the dataset's."""

from collections.abc import Callable
from pathlib import Path

from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession
from nav_eval.agents.failures import AgentCrash
from nav_eval.agents.messages import AgentDescription, TaskInterface
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.evaluation.aliases import EpisodeAliases, derive_home_seed, draw_order, draw_sample, draw_seed
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.executor import EpisodeExecutor, make_aliases
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.evaluation.verification import verify
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.tasks.base import build_task

NAMES = [f"scene_{n % 3}/ep_{n}" for n in range(40)]


def test_aliases_say_nothing_and_differ_by_run() -> None:
    one, other = EpisodeAliases(draw_seed()), EpisodeAliases(draw_seed())
    names = {one.get_alias(name) for name in NAMES}
    assert len(names) == len(NAMES)
    assert not names & {other.get_alias(name) for name in NAMES}
    assert not any(part in alias for alias in names for part in ("scene", "ep_"))
    assert {len(alias) for alias in names} == {19}
    assert one.get_alias("a") == EpisodeAliases(one.seed).get_alias("a")


def test_the_order_and_the_sample_are_drawn_from_the_seed(room_benchmark: Callable[..., BenchmarkConfig]) -> None:
    benchmark = room_benchmark("demo_vln")
    episodes = list(load_episodes(benchmark))
    seeds = [f"{n:032x}" for n in range(20)]
    orders = [tuple(draw_order(episodes, seed, benchmark.evaluation)) for seed in seeds]
    assert {frozenset(order) for order in orders} == {frozenset("abcd")}
    assert len(set(orders)) > 5
    assert {order[0] for order in orders} == set("abcd")
    assert orders[3] == tuple(draw_order(episodes[::-1], seeds[3], benchmark.evaluation))
    samples = {draw_sample(NAMES, seed, 5) for seed in seeds}
    assert len(samples) == len(seeds)
    assert all(len(set(sample)) == 5 for sample in samples)
    assert set(draw_sample(("a", "b"), seeds[0], 5)) == {"a", "b"}


class WireClient(AgentClient):
    """An agent somewhere else; writes down which episodes it is told of."""

    def __init__(self) -> None:
        super().__init__(ClientSettings())
        self.told: list[PublicEpisode] = []

    def health_check(self) -> AgentHealth:
        return AgentHealth.SERVING

    def close(self) -> None:
        pass

    def _describe(self, task: TaskInterface) -> AgentDescription:
        return AgentDescription()

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> EpisodeSession:
        self.told.append(episode)
        raise AgentCrash("that is all we want to know")


def test_an_agent_on_the_wire_is_told_aliases_and_nothing_else_of_the_dataset(
    room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path
) -> None:
    benchmark, client, seed = room_benchmark("demo_vln"), WireClient(), draw_seed()
    client.describe(make_task_interface(benchmark).only(frozenset()))
    aliases = make_aliases(client, seed)
    assert make_aliases(client, None) is None
    task = build_task(benchmark.task, benchmark.evaluation)
    with open_simulator(SimulatorSetup(benchmark=benchmark, cache=tmp_path, pictures=False)) as simulator:
        executor = EpisodeExecutor(task=task, simulator=simulator, client=client, aliases=aliases)
        results = [executor.run(episode) for episode in load_episodes(benchmark)]
    assert [result.episode_id for result in results] == list("abcd")
    assert [episode.episode_id for episode in client.told] == [EpisodeAliases(seed).get_alias(name) for name in "abcd"]
    assert "room.glb" not in repr(client.told)


def test_a_run_at_home_keeps_its_seed_and_verifies(
    room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path
) -> None:
    benchmark, folder = room_benchmark("demo_vln", "evaluation.max_steps=3"), tmp_path / "run"
    EvaluationOrchestrator(cache=tmp_path / "cache").run_benchmark(benchmark, agent="baseline:forward", out=folder)
    assert RunFolder(folder).manifest().episode_seed == derive_home_seed(benchmark, 0)
    assert verify(folder, cache=tmp_path / "cache").equal
    only = verify(folder, only=["c", "a"], cache=tmp_path / "cache")
    assert (only.equal, only.episodes) == (True, 2)
