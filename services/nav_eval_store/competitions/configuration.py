"""A competition as code: `apply` makes the database say what the YAML says, and tells what changed.

Published numbers must not change their meaning behind anybody's back. What would do that (another
benchmark, another ranking, showing what was promised to stay private, dropping a phase that has
submissions) is refused unless it is explicitly allowed, and is in the audit log either way.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, select

from nav_eval.config import (
    BenchmarkConfig,
    CompetitionConfig,
    compute_config_digest,
    compute_rules_digest,
    load_benchmark,
)
from nav_eval.config.schema.competition import PhaseConfig
from nav_eval.metrics import METRICS
from nav_eval.records.scoring import is_higher_better
from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.boards import scores
from nav_eval_store.boards.leaderboard import mark_board_changed
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, DangerousChange, NameInUse, NotFound
from nav_eval_store.models import BoardEntry, Competition, Phase, Submission, Team, TeamKind
from nav_eval_store.notifications import events
from nav_eval_store.people import teams
from nav_eval_store.people.names import make_name_key

BenchmarkOf = Callable[[str], BenchmarkConfig]
USUAL_RANKING = ("score", "spl", "success", "sr")
"""Metrics that rank when neither the phase nor the task says so: the first of these that is measured."""
_AUDIENCES = ("organiser", "team", "public")


class Change(NamedTuple):
    """One difference between what is and what the YAML says."""

    path: str
    before: Any
    after: Any
    danger: "Danger | None" = None
    """Why it would make published numbers wrong."""

    def __str__(self) -> str:
        return f"{self.path}: {self.before!r} → {self.after!r}"


class Danger(NamedTuple):
    """How a change would make published numbers wrong."""

    kind: str
    """For pages, which say it in their own words: `benchmark`, `rules`, …"""
    text: str

    def __str__(self) -> str:
        return self.text


class Plan(NamedTuple):
    """What applying a configuration would do."""

    competition: Competition | None
    """The one that would change; None is a new one."""
    changes: Sequence[Change]


class Applied(NamedTuple):
    """What `apply` did."""

    competition: Competition
    created: bool
    changes: Sequence[Change]


def apply(
    session: Session,
    config: CompetitionConfig,
    *,
    actor: Actor,
    allow_dangerous: bool = False,
    benchmark_of: BenchmarkOf = load_benchmark,
    source: str | None = None,
    reason: str | None = None,
) -> Applied:
    """Create or update a competition. Applying the same twice changes nothing.

    `source` is the text that says all of it, kept for those who edit it next.
    """
    facts = _find_facts(config, benchmark_of)
    competition = session.scalar(
        select(Competition).where(Competition.name == config.name).with_for_update(key_share=True)
    )
    if competition is None:
        return _create(session, config, facts, actor=actor, source=source, reason=reason)
    changes = list(find_changes(session, competition, config, facts))
    dangerous = [change for change in changes if change.danger]
    if dangerous and not allow_dangerous:
        listed = "".join(f"\n  {change}: {change.danger}" for change in dangerous)
        raise DangerousChange(f"{config.name} was not changed, because this would be dangerous:{listed}")
    if changes:
        _update(session, competition, config, facts, changes, actor=actor, reason=reason)
    competition.source = source
    return Applied(competition, False, changes)


def plan(session: Session, config: CompetitionConfig, *, benchmark_of: BenchmarkOf = load_benchmark) -> Plan:
    """What `apply` would do, without doing it."""
    competition = session.scalar(select(Competition).where(Competition.name == config.name))
    if competition is None:
        return Plan(None, ())
    return Plan(competition, list(find_changes(session, competition, config, _find_facts(config, benchmark_of))))


def _find_facts(config: CompetitionConfig, benchmark_of: BenchmarkOf) -> dict[str, "PhaseFacts"]:
    return {phase.name: PhaseFacts.of(phase, benchmark_of(phase.benchmark)) for phase in config.phases}


class PhaseFacts(NamedTuple):
    """What a phase takes from its benchmark."""

    rules_digest: str
    metrics: list[dict[str, Any]]
    ranking: dict[str, Any]

    @classmethod
    def of(cls, phase: PhaseConfig, benchmark: BenchmarkConfig) -> "PhaseFacts":
        names = benchmark.task.metric_names
        registered = {name: METRICS.get(name).higher_is_better for name in names if name in METRICS}
        metrics = [{"name": name, "higher_is_better": is_higher_better(name, registered)} for name in names]
        return cls(compute_rules_digest(benchmark), metrics, _choose_ranking(phase, benchmark))


def _choose_ranking(phase: PhaseConfig, benchmark: BenchmarkConfig) -> dict[str, Any]:
    """The weights that rank: the phase's, else the task's, else the usual metric."""
    rules, names = phase.ranking, benchmark.task.metric_names
    usual = next((name for name in USUAL_RANKING if name in names), names[0])
    single = {rules.metric: 1.0} if rules.metric is not None else None
    weights = single or rules.weights or benchmark.task.scoring.ranking or {usual: 1.0}
    return {"weights": dict(weights), "higher_is_better": rules.direction == "higher"}


def _create(
    session: Session,
    config: CompetitionConfig,
    facts: Mapping[str, PhaseFacts],
    *,
    actor: Actor,
    source: str | None,
    reason: str | None,
) -> Applied:
    _refuse_look_alike(session, config.name)
    now = session.now()
    competition = Competition(
        name=config.name,
        title=config.title,
        settings=config.model_dump(mode="json"),
        digest=compute_config_digest(config),
        source=source,
        created_at=now,
        updated_at=now,
    )
    session.add(competition)
    session.flush()
    for position, phase in enumerate(config.phases):
        _write_phase(session, competition, phase, facts[phase.name], position)
    _write_baselines(session, competition, config)
    about = audit.make_subject(competition)
    audit.record(session, actor, "competition.create", about, reason=reason, digest=competition.digest)
    return Applied(competition, True, ())


def _refuse_look_alike(session: Session, name: str) -> None:
    """Refuse a name that is not taken, but could be mistaken for one that is."""
    for other in session.scalars(select(Competition.name)):
        if make_name_key(other) == make_name_key(name):
            raise NameInUse(
                "The name {name!r} looks like that of the competition {other!r}; choose another one.",
                name=name,
                other=other,
            )


def _update(
    session: Session,
    competition: Competition,
    config: CompetitionConfig,
    facts: Mapping[str, PhaseFacts],
    changes: Sequence[Change],
    *,
    actor: Actor,
    reason: str | None,
) -> None:
    competition.title, competition.settings = config.title, config.model_dump(mode="json")
    competition.digest, competition.updated_at = compute_config_digest(config), session.now()
    for position, phase in enumerate(config.phases):
        row = _write_phase(session, competition, phase, facts[phase.name], position)
        if any(_is_score_change(change, phase.name) for change in changes):
            _score_again(session, row)
    for row in competition.phases:
        if config.phase(row.name) is None and row.archived_at is None:
            row.archived_at = session.now()
    _write_baselines(session, competition, config)
    mark_board_changed(session, Phase.competition_id == competition.id)
    listed = [{"path": change.path, "before": change.before, "after": change.after} for change in changes]
    about = audit.make_subject(competition)
    audit.record(session, actor, "competition.apply", about, reason=reason, changes=listed)
    events.emit(session, events.PHASE_CHANGED, about)


def _write_phase(
    session: Session, competition: Competition, phase: PhaseConfig, facts: PhaseFacts, position: int
) -> Phase:
    now = session.now()
    row = next((row for row in competition.phases if row.name == phase.name), None)
    if row is None:
        row = Phase(competition_id=competition.id, name=phase.name, created_at=now, board_version=0, ranked_version=-1)
        competition.phases.append(row)
    if row.settings is None or row.config.closes != phase.closes:  # else an organiser may have closed it by hand
        row.closes_at = phase.closes
    row.position, row.settings, row.updated_at = position, phase.model_dump(mode="json"), now
    row.rules_digest, row.metrics, row.ranking = facts
    row.opens_at, row.archived_at = phase.opens, None
    session.flush()
    return row


def _write_baselines(session: Session, competition: Competition, config: CompetitionConfig) -> None:
    """A row of the board for each baseline; the same name is the same row in every phase."""
    rows = session.scalars(select(Team).where(Team.competition_id == competition.id))
    in_order = sorted(rows, key=lambda team: team.kind is not TeamKind.TEAM)  # a baseline before a look-alike of old
    known = {make_name_key(team.name): team for team in in_order}
    for phase in config.phases:
        if len({make_name_key(baseline.name) for baseline in phase.baselines}) < len(phase.baselines):
            raise Conflict("The names of two baselines of {phase} look alike; change one of them.", phase=phase.name)
        for baseline in phase.baselines:
            kind = TeamKind.UPPER_BOUND if baseline.privileged else TeamKind.BASELINE
            team = known.get(make_name_key(baseline.name))
            if team is None:
                team = teams.add_team(session, competition, baseline.name, kind=kind)
                known[make_name_key(baseline.name)] = team
            elif team.kind is TeamKind.TEAM:
                raise Conflict(
                    "There is already a team called {name!r}; give the baseline another name.", name=baseline.name
                )
            team.kind = kind


def _is_score_change(change: Change, phase: str) -> bool:
    prefix = f"phases.{phase}."
    return change.path.startswith((f"{prefix}ranking.", f"{prefix}ranks_by"))


def _score_again(session: Session, phase: Phase) -> None:
    """Another ranking: compute every entry anew from its episodes."""
    query = (
        select(Submission)
        .join(BoardEntry, BoardEntry.submission_id == Submission.id)
        .where(BoardEntry.phase_id == phase.id)
    )
    for submission in session.scalars(query).all():
        scores.write_scores(session, submission, scores.compute_scores(session, submission))


def find_changes(
    session: Session, competition: Competition, config: CompetitionConfig, facts: Mapping[str, PhaseFacts]
) -> Iterator[Change]:
    """How the YAML differs from what was applied last."""
    before, after = competition.config.model_dump(mode="json"), config.model_dump(mode="json")
    for key, old, new in _compare_leaves(_drop_key(before, "phases"), _drop_key(after, "phases")):
        yield Change(key, old, new)
    archived = {row.name for row in competition.phases if row.archived_at is not None}
    rows = {row.name: row for row in competition.phases}
    for phase in config.phases:
        path = f"phases.{phase.name}"
        if phase.name not in rows or phase.name in archived:
            yield Change(path, None, "added")
        else:
            yield from _find_phase_changes(session, rows[phase.name], phase, facts[phase.name], path)
    for name, row in rows.items():
        if config.phase(name) is None and name not in archived:
            count = _count_submissions(session, row)
            danger = Danger("removed", f"the phase has {count} submissions") if count else None
            yield Change(f"phases.{name}", "present", "removed", danger)


def _find_phase_changes(
    session: Session, row: Phase, phase: PhaseConfig, facts: PhaseFacts, path: str
) -> Iterator[Change]:
    count = _count_submissions(session, row)
    for key, old, new in _compare_leaves(row.config.model_dump(mode="json"), phase.model_dump(mode="json")):
        yield Change(f"{path}.{key}", old, new, _explain_danger(key, old, new) if count else None)
    if row.rules_digest != facts.rules_digest:
        again = Danger("rules", f"{count} submissions were evaluated by the old rules; evaluate them again")
        yield Change(f"{path}.rules", row.rules_digest, facts.rules_digest, again if count else None)
    if row.ranking != facts.ranking:
        anew = Danger("ranking", "every score is computed anew, and the order of the board may change")
        yield Change(f"{path}.ranks_by", row.ranking, facts.ranking, anew if count else None)
    if row.metrics != facts.metrics:
        yield Change(f"{path}.columns", [m["name"] for m in row.metrics], [m["name"] for m in facts.metrics])


def _explain_danger(key: str, old: object, new: object) -> Danger | None:
    if key == "benchmark":
        return Danger("benchmark", "scores on different benchmarks cannot stand on one board")
    if key == "ranking.keep":
        return Danger("keep", "another submission of a team counts from now on")
    if key.startswith("visibility.") and old in _AUDIENCES and new in _AUDIENCES:
        wider = _AUDIENCES.index(str(new)) > _AUDIENCES.index(str(old))
        shown = f"what the teams handed in when it was for the {old} would be shown to the {new}"
        return Danger("wider", shown) if wider else None
    return None


def _count_submissions(session: Session, phase: Phase) -> int:
    return session.scalar(select(func.count()).select_from(Submission).where(Submission.phase_id == phase.id)) or 0


def _drop_key(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != key}


def _compare_leaves(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """The keys whose values differ, mappings entered."""
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _compare_leaves(old, new, f"{path}{key}.")
        elif old != new:
            yield f"{path}{key}", old, new


def get_competition(session: Session, name: str) -> Competition:
    competition = session.scalar(select(Competition).where(Competition.name == name))
    if competition is None:
        raise NotFound("There is no competition {name!r}.", name=name)
    return competition


def get_phase(session: Session, competition: Competition, name: str) -> Phase:
    phase = next((phase for phase in competition.phases if phase.name == name), None)
    if phase is None:
        raise NotFound("{competition} has no phase {phase!r}.", competition=competition.name, phase=name)
    return phase


def list_competitions(session: Session) -> Sequence[Competition]:
    return session.scalars(select(Competition).order_by(Competition.created_at, Competition.name)).all()
