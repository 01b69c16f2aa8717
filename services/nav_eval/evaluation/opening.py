"""Agents for a run: whatever `--agent` says, baselines included."""

from nav_eval.agents.address import connect
from nav_eval.agents.baselines import BaselineContext, make_baseline
from nav_eval.agents.client import AgentClient
from nav_eval.agents.local import LocalAgentClient
from nav_eval.agents.settings import ClientSettings
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.dataset import TaskDataset
from nav_eval.evaluation.interface import client_settings

BASELINE = "baseline:"


def open_agent(
    address: str, benchmark: BenchmarkConfig, episodes: TaskDataset, settings: ClientSettings | None = None
) -> AgentClient:
    """The client of the agent at `address`; `baseline:NAME` is one of ours, in this process."""
    settings = settings or client_settings(benchmark)
    if not address.startswith(BASELINE):
        return connect(address, settings)
    by_id = {episode.episode_id: episode for episode in episodes}
    context = BaselineContext(benchmark=benchmark, episodes=by_id)
    text = address.removeprefix(BASELINE)
    make_baseline(text, context)  # a wrong name or option is refused here, not in the first episode
    return LocalAgentClient(lambda: make_baseline(text, context), settings)
