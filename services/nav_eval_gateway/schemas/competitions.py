"""Competitions and phases, as everybody may see them."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal

from nav_eval.config.schema.competition import VISIBILITY_PRESETS, VisibilityConfig
from nav_eval_gateway.schemas.base import Answer, make_example
from nav_eval_store.models import Competition, Phase


class PhaseState(StrEnum):
    """Whether a phase takes submissions."""

    UPCOMING = "upcoming"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class QuotaRules(Answer):
    """How often a team may submit; null is without limit."""

    per_day: int | None
    total: int | None
    concurrent: int


class Limits(Answer):
    """What one submission may use."""

    image_gb: float
    memory_gb: float
    cpus: float
    gpus: int
    shm_gb: float
    pids: int
    log_kb: int
    start_seconds: float
    step_seconds: float | None
    episode_seconds: float | None
    submission_hours: float


class VisibilityRules(Answer):
    """Who sees what of a submission: everybody, its team, or organisers only."""

    preset: Literal["test", "practice"]
    """`test` keeps its split secret; what is said below counts."""
    scores: Literal["public", "team", "organiser"]
    logs: Literal["public", "team", "organiser"]
    replays: Literal["public", "team", "organiser"]
    episodes: Literal["public", "team", "organiser"]

    @classmethod
    def of(cls, config: VisibilityConfig) -> "VisibilityRules":
        return cls(preset=config.preset, **{part: config.get_audience(part) for part in VISIBILITY_PRESETS["test"]})


class RankingRules(Answer):
    """What decides the order of the board."""

    weights: Mapping[str, float]
    higher_is_better: bool
    keep: Literal["best", "last"]
    shared_ranks: bool


class PhaseMetric(Answer):
    """A column of the board."""

    name: str
    higher_is_better: bool


class Baseline(Answer):
    """A row of the board that no team made."""

    name: str
    upper_bound: bool
    """It knows what agents must not: never ranked."""


class PhaseAnswer(Answer):
    """A part of a competition with its own benchmark, time and rules."""

    name: str
    title: str
    description: str
    state: PhaseState
    reason: str | None
    """Why it is paused."""
    opens_at: datetime | None
    closes_at: datetime | None
    benchmark: str
    requires: str | None
    """A phase in which a team must first have a completed submission."""
    quota: QuotaRules
    limits: Limits
    visibility: VisibilityRules
    board_is_public: bool
    ranking: RankingRules
    metrics: list[PhaseMetric]
    baselines: list[Baseline]
    rules_digest: str
    """Equal for evaluations by the same rules."""

    @classmethod
    def of(cls, phase: Phase, now: datetime) -> "PhaseAnswer":
        config = phase.config
        return cls.from_row(
            phase,
            title=config.title or phase.name,
            description=config.description,
            state=get_phase_state(phase, now),
            reason=phase.paused_reason if phase.paused_at is not None else None,
            benchmark=config.benchmark,
            requires=config.requires,
            quota=config.quota,
            limits=config.limits,
            visibility=VisibilityRules.of(config.visibility),
            board_is_public=config.visibility.scores == "public" or phase.published_at is not None,
            ranking={**phase.ranking, "keep": config.ranking.keep, "shared_ranks": config.ranking.shared_ranks},
            baselines=[Baseline(name=row.name, upper_bound=row.privileged) for row in config.baselines],
        )


def get_phase_state(phase: Phase, now: datetime) -> PhaseState:
    """Whether the phase takes submissions at this moment."""
    if phase.archived_at is not None or (phase.closes_at is not None and now >= phase.closes_at):
        return PhaseState.CLOSED
    if phase.opens_at is not None and now < phase.opens_at:
        return PhaseState.UPCOMING
    return PhaseState.PAUSED if phase.paused_at is not None else PhaseState.OPEN


class CompetitionSummary(Answer):
    """A competition in a list."""

    model_config = make_example(name="demo", title="nav-eval demo challenge", registration="open", phases=["dev"])

    name: str
    title: str
    registration: Literal["open", "approval", "closed"]
    phases: list[str]

    @classmethod
    def of(cls, competition: Competition) -> "CompetitionSummary":
        phases = [phase.name for phase in competition.phases if phase.archived_at is None]
        return cls.from_row(competition, registration=competition.config.registration, phases=phases)


class CompetitionAnswer(Answer):
    """A competition."""

    name: str
    title: str
    description: str
    organiser: str
    contact: str
    url: str
    max_team_size: int
    registration: Literal["open", "approval", "closed"]
    """Whether teams are in at once, after an organiser's nod, or not at all."""
    verified_email: bool
    """Whether only people with a verified e-mail address may submit."""
    phases: list[PhaseAnswer]

    @classmethod
    def of(cls, competition: Competition, now: datetime) -> "CompetitionAnswer":
        phases = [PhaseAnswer.of(phase, now) for phase in competition.phases]
        return cls.from_row(
            competition.config,
            name=competition.name,
            title=competition.title,
            phases=phases,
            verified_email=competition.config.eligibility.needs_email,
        )
