"""A competition as code: phases, who may submit how often, who sees what, and who wins."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, model_validator

from nav_eval.config_model import ConfigModel, Count, Flag, Fraction, Index, Positive, Text, check_unique, make_refusal

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]


class QuotaConfig(ConfigModel):
    """How often a team, and each person in it, may submit; null is without limit."""

    per_day: Count | None = 5
    """In any 24 hours."""
    total: Count | None = None
    """Over the whole phase."""
    concurrent: Count = 1
    """Submissions of one team that wait or run at the same time."""
    refunds_per_day: Index = 5
    """Slots that a team gets back in 24 hours because we failed; more than that is for the organiser to look at."""

    @model_validator(mode="after")
    def _total_is_reachable(self) -> "QuotaConfig":
        if self.total is not None and self.per_day is not None and self.per_day > self.total:
            raise make_refusal(f"allows {self.per_day} per day but only {self.total} in total")
        return self


AudienceName = Literal["public", "team", "organiser"]

VISIBILITY_PRESETS: Mapping[str, Mapping[str, AudienceName]] = MappingProxyType(
    {
        "test": {"scores": "public", "logs": "team", "replays": "organiser", "episodes": "organiser"},
        "practice": {"scores": "public", "logs": "team", "replays": "team", "episodes": "team"},
    }
)
"""What each preset shows, and to whom."""
ANSWERS = ("replays", "episodes")
"""Parts that show ground truth: who has them can work out the goals, and every score."""
_AUDIENCES: tuple[AudienceName, ...] = ("public", "team", "organiser")


class VisibilityConfig(ConfigModel):
    """Who sees what of a submission: a preset by its name (`visibility: practice`), or one with exceptions.

    `test` is for a split that nobody may learn by heart: scores are shown, but nothing that gives its answers away.
    `practice` is for one whose answers are known anyway. Organisers see everything, and what a privileged baseline did
    is theirs alone.
    """

    preset: Literal["test", "practice"] = "test"
    """What holds where no exception is named."""
    scores: AudienceName = "public"
    """`organiser` keeps the board hidden until the organiser publishes it."""
    logs: AudienceName = "team"
    """What the team's own container printed, up to `limits.log_kb`. An agent can print what it sees."""
    replays: AudienceName = "organiser"
    """Action logs, trajectories, maps, reference paths and films; `team` in the preset `practice`."""
    episodes: AudienceName = "organiser"
    """Metrics episode by episode, and means while a run goes on; `team` in the preset `practice`."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_preset(cls, data: object) -> object:
        given = {"preset": data} if isinstance(data, str) else data
        if not isinstance(given, Mapping):
            return data
        preset = VISIBILITY_PRESETS.get(str(given.get("preset", "test")), {})
        return {**preset, **given}

    @property
    def exceptions(self) -> dict[str, AudienceName]:
        """What differs from the preset."""
        usual = VISIBILITY_PRESETS[self.preset]
        return {part: getattr(self, part) for part in usual if getattr(self, part) != usual[part]}

    def get_audience(self, part: str) -> AudienceName:
        """Who sees a part. Answers are never for more people than the scores: who has them can compute those."""
        stated: AudienceName = getattr(self, part)
        return max(stated, self.scores, key=_AUDIENCES.index) if part in ANSWERS else stated

    @property
    def contradictions(self) -> dict[str, AudienceName]:
        """Parts that are stated for more people than may see the scores that follow from them."""
        return {part: getattr(self, part) for part in ANSWERS if self.get_audience(part) != getattr(self, part)}

    @property
    def shown_answers(self) -> dict[str, AudienceName]:
        """Parts that give answers away to others than organisers, and to whom."""
        return {part: shown for part in ANSWERS if (shown := self.get_audience(part)) != "organiser"}


class LimitsConfig(ConfigModel):
    """What one submission may use."""

    image_gb: Positive = 20.0
    memory_gb: Positive = 16.0
    cpus: Positive = 4.0
    gpus: Index = 0
    shm_gb: Positive = 1.0
    pids: Count = 512
    log_kb: Count = 256
    """Per episode; the rest is cut."""
    start_seconds: Positive = 120.0
    """Until the agent answers `Describe`."""
    step_seconds: Positive | None = None
    """Per action; as the benchmark says when not given."""
    episode_seconds: Positive | None = None
    submission_hours: Positive = 24.0
    """Over all episodes; what is finished by then is scored."""


class RankingConfig(ConfigModel):
    """What decides the order of the board."""

    metric: Text | None = None
    """The metric that ranks; `weights` may say so instead."""
    weights: dict[Text, Fraction] | None = None
    """Weights of a sum of metrics, which add up to 1; the task's own ranking when neither is given."""
    direction: Literal["higher", "lower"] = "higher"
    """Which is better."""
    keep: Literal["best", "last"] = "best"
    """Which of a team's submissions counts."""
    shared_ranks: Flag = True
    """Teams whose difference is not significant share a rank."""

    @model_validator(mode="after")
    def _one_score(self) -> "RankingConfig":
        if self.metric is not None and self.weights is not None:
            raise make_refusal("has a metric and weights; give one of them")
        if self.weights is not None and not math.isclose(math.fsum(self.weights.values()), 1.0, abs_tol=1e-9):
            raise make_refusal(f"has weights that add up to {math.fsum(self.weights.values()):g}; they must give 1")
        return self

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it looks at; nothing when the task's own ranking holds."""
        return (self.metric,) if self.metric is not None else tuple(self.weights or ())


class BaselineConfig(ConfigModel):
    """A row of the board that no team made."""

    name: Text
    agent: Text
    """As on the command line: `baseline:random`, `module:Class`, …"""
    privileged: Flag = False
    """It knows what agents must not (the shortest path): an upper bound, never ranked."""


class PhaseConfig(ConfigModel):
    """A part of a competition with its own benchmark, time and rules."""

    name: Slug
    title: Text | None = None
    description: str = ""
    benchmark: Text
    """Name of a benchmark in `configs/benchmarks/`."""
    opens: AwareDatetime | None = None
    """With a time zone, e.g. 2026-09-01T00:00:00Z; null is open already."""
    closes: AwareDatetime | None = None
    """Null never closes."""
    requires: Slug | None = None
    """A phase in which a team must first have a completed submission."""
    quota: QuotaConfig = QuotaConfig()
    visibility: VisibilityConfig = VisibilityConfig()
    limits: LimitsConfig = LimitsConfig()
    ranking: RankingConfig = RankingConfig()
    baselines: tuple[BaselineConfig, ...] = ()
    shards: Count = 1
    """Parts that a submission is split into, to run on several workers; more where they would last too long."""
    verify: Literal["none", "sample", "all"] = "sample"
    """Episodes of a submission that are replayed without the agent before it counts; `all` marks it as verified."""

    @model_validator(mode="after")
    def _check(self) -> "PhaseConfig":
        if self.opens is not None and self.closes is not None and self.closes <= self.opens:
            raise make_refusal(f"closes at {self.closes.isoformat()}, before it opens at {self.opens.isoformat()}")
        check_unique((baseline.name for baseline in self.baselines), what="baseline")
        return self


AllowedAddress = Annotated[str, Field(pattern=r"^[^@\s,<>\"A-Z]{0,64}@[^@\s,<>\"A-Z]{1,190}$")]


class EligibilityConfig(ConfigModel):
    """What a person must have shown before they submit."""

    email: Literal["any", "verified"] = "any"
    """`verified`: an e-mail address that a mailed link, a login provider or the organiser's word has proved."""
    allow: tuple[AllowedAddress, ...] = ()
    """Verified addresses that may submit, in lower case: `ada@example.org`, or all of `@lab.example`; empty is any."""

    @property
    def needs_email(self) -> bool:
        """Whether an address must be verified; a list of addresses that anybody can claim would mean nothing."""
        return self.email == "verified" or bool(self.allow)


class CompetitionConfig(ConfigModel):
    """A competition, in full."""

    name: Slug
    """Its name in addresses; never changes."""
    title: Text
    description: str = ""
    organiser: str = ""
    contact: str = ""
    url: str = ""
    max_team_size: Count = 10
    registration: Literal["open", "approval", "closed"] = "open"
    """Whether teams are in at once, after an organiser's nod, or not at all."""
    eligibility: EligibilityConfig = EligibilityConfig()
    phases: Annotated[tuple[PhaseConfig, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> "CompetitionConfig":
        check_unique((phase.name for phase in self.phases), what="phase")
        earlier: set[str] = set()
        for phase in self.phases:
            if phase.requires is not None and phase.requires not in earlier:
                raise make_refusal(
                    f"has a phase {phase.name!r} that requires {phase.requires!r}, which is no phase before it; "
                    f"before it: {', '.join(sorted(earlier)) or 'none'}"
                )
            earlier.add(phase.name)
        return self

    def phase(self, name: str) -> PhaseConfig | None:
        return next((phase for phase in self.phases if phase.name == name), None)
