"""What a job has to know about its submission, read at once; and the benchmark that it is played on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from nav_eval.agents.failures import InfrastructureFailure
from nav_eval.config import BenchmarkConfig, compute_rules_digest, load_benchmark
from nav_eval.config.schema.competition import PhaseConfig
from nav_eval_store.database import Session
from nav_eval_store.submissions import queries
from nav_eval_store.work.jobs import EPISODE_SEED
from nav_eval_worker.context import WorkerContext


class OtherRules(InfrastructureFailure):
    """This worker's copy of the benchmark has other rules than the phase; update the one that is old."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmissionDetails:
    """A submission, as a job sees it."""

    submission_id: UUID
    phase_id: UUID
    phase: PhaseConfig
    rules_digest: str  #: of the benchmark when it was submitted
    agent: str | None  #: an organiser's agent, where there is no image
    image_key: str | None
    image_id: str | None
    weights_key: str | None
    weights_digest: str | None
    drawn_seed: int  #: for what the scenario leaves to chance; the same in all shards
    episode_seed: str | None  #: what the agent's names of the episodes, their order and the sample are drawn from
    canary: dict[str, Any]  #: the first verdict, once it is there

    @classmethod
    def from_row(cls, session: Session, submission_id: UUID) -> "SubmissionDetails":
        row = queries.get_submission(session, submission_id)
        return cls(
            submission_id=row.id,
            phase_id=row.phase_id,
            phase=row.phase.config,
            rules_digest=row.rules_digest,
            agent=row.agent,
            image_key=row.image_key,
            image_id=row.image_id,
            weights_key=row.weights_key,
            weights_digest=row.weights_digest,
            drawn_seed=int(row.provenance.get("run_seed", 0)),
            episode_seed=row.provenance.get(EPISODE_SEED),
            canary=dict(row.canary or {}),
        )

    def run_seed(self, benchmark: BenchmarkConfig) -> int:
        """As `nav-eval evaluate` has it: drawn only where the scenario varies and has no seed of its own."""
        randomization = benchmark.scenario_config.domain_randomization
        return self.drawn_seed if randomization.varies and randomization.seed is None else 0


def load_details(context: WorkerContext, submission_id: UUID) -> SubmissionDetails:
    return context.transact(lambda session: SubmissionDetails.from_row(session, submission_id))


def open_benchmark(context: WorkerContext, details: SubmissionDetails) -> BenchmarkConfig:
    """The benchmark, if it still is the one that was submitted to; its data is there afterwards."""
    benchmark = load_benchmark(details.phase.benchmark)
    if compute_rules_digest(benchmark) != details.rules_digest:
        raise OtherRules
    _generate_data(benchmark, context)
    return benchmark


def _generate_data(benchmark: BenchmarkConfig, context: WorkerContext) -> None:
    """Make what the benchmark says how to make, the first time."""
    path = benchmark.dataset.data_path
    if benchmark.dataset.generate is None or path is None or Path(path).exists():
        return
    from nav_eval.generators import ensure_generated  # draws and walks: only where it is needed

    ensure_generated(benchmark, cache=context.settings.cache)
