"""Loading a configuration: the one way from a name or a file to a validated model, and to its digest.

The digest says whether two configurations mean the same. It is made of the validated model, in which spelling, key
order, comments, files and inheritance have vanished, as JSON with sorted keys; floats read the same everywhere.
"""

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from pydantic import ValidationError

from nav_eval.config.file_kinds import BENCHMARK_SECTIONS, KINDS, ConfigKind, find_kind
from nav_eval.config.layers import ConfigLayer, KeyPath, Origin, format_path, make_nested_layer
from nav_eval.config.resolver import SUFFIXES, ConfigSearchPath, Resolver
from nav_eval.config.schema import (
    BenchmarkConfig,
    CompetitionConfig,
    ConfigModel,
    ScenarioConfig,
    SimulatorConfig,
    TaskConfig,
)
from nav_eval.config.split_secrecy import check_visibility
from nav_eval.config.validation import describe_errors
from nav_eval.config.yaml_reader import parse_value, read_yaml
from nav_eval.config_model import KnownNames
from nav_eval.errors import ConfigError

#: What a benchmark says that no score depends on. A named filter of textures is not among it; `auto` is not even said.
NOT_RULES: Mapping[str, Any] = {
    "name": True,
    "description": True,
    "version": True,
    "tags": True,
    "agent_service": True,
    "output": True,
    "evaluation": {"workers": True},
    "simulator": {"rendering": {"gpu": True, "cache_mb": True, "culling": True, "threads": True}},
}


def to_canonical_json(config: ConfigModel, *, exclude: Mapping[str, Any] | None = None) -> str:
    """The configuration as one line of JSON, the same for every way of writing it."""
    data = config.model_dump(mode="json", exclude=dict(exclude or {}))
    return json.dumps(
        _normalize_zeros(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def compute_config_digest(config: ConfigModel) -> str:
    """`sha256:…` over everything that the configuration says."""
    return _hash_text(to_canonical_json(config))


def compute_rules_digest(benchmark: BenchmarkConfig) -> str:
    """`sha256:…` over what can change a score: equal for runs that may be compared."""
    return _hash_text(to_canonical_json(benchmark, exclude=NOT_RULES))


def _hash_text(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _normalize_zeros(value: Any) -> Any:  # noqa: ANN401
    """The value with one zero: −0.0 and 0.0 are equal and must be written alike."""
    if isinstance(value, dict):
        return {key: _normalize_zeros(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_normalize_zeros(entry) for entry in value]
    return value + 0.0 if isinstance(value, float) else value


ENVIRONMENT_PREFIX = "NAV_EVAL__"


def read_environment(environ: Mapping[str, str], kind: ConfigKind) -> Iterator[ConfigLayer]:
    """One layer per variable that speaks about a configuration of this kind, in a fixed order."""
    for name in sorted(environ):
        if not name.startswith(ENVIRONMENT_PREFIX):
            continue
        path = _parse_path(
            name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__"), source := f"environment variable {name}"
        )
        if _is_addressed_to(kind, path):
            yield _make_layer(_to_relative(path, kind), environ[name], source)


def parse_overrides(overrides: Sequence[str], kind: ConfigKind) -> Iterator[ConfigLayer]:
    """One layer per `key=value`, in the order given."""
    for text in overrides:
        key, equals, value = text.partition("=")
        source = f"override '{text}'"
        if not equals:
            raise ConfigError(f"{source} has no '='; write key=value, e.g. evaluation.max_steps=100.")
        yield _make_layer(_to_relative(_parse_path(key.strip().split("."), source), kind), value, source)


def _make_layer(path: KeyPath, value: str, source: str) -> ConfigLayer:
    if not path:
        raise ConfigError(f"{source} names no key; write e.g. evaluation.max_steps=100.")
    return make_nested_layer(path, parse_value(value, source=source), Origin(source))


def _parse_path(parts: list[str], source: str) -> KeyPath:
    if not all(parts):
        raise ConfigError(f"{source} has an empty part in its key; write e.g. evaluation.max_steps=100.")
    return tuple(int(part) if part.isdigit() and len(part) < 10 else part for part in parts)


def _is_addressed_to(kind: ConfigKind, path: KeyPath) -> bool:
    """Variables are addressed from the top of a benchmark; other kinds listen to their own key."""
    if path[0] in kind.keys:
        return True
    others = {key for other in KINDS.values() for key in other.keys} - BENCHMARK_SECTIONS
    return kind.name == "benchmark" and path[0] not in others


def _to_relative(path: KeyPath, kind: ConfigKind) -> KeyPath:
    return path[1:] if path and path[0] in kind.keys else path


log = logging.getLogger(__name__)

M = TypeVar("M", bound=ConfigModel)
Search = Sequence[Path | str]


class LoadOptions(TypedDict, total=False):
    """What every way of loading takes."""

    overrides: Sequence[str]
    """`key=value` texts, as on a command line; they win over everything."""
    environ: Mapping[str, str] | None
    """Where `NAV_EVAL__…` variables are read from; the process's own when not given."""
    search: Search | None
    """Configuration roots instead of `./configs`; those that come with nav-eval always follow."""
    names: KnownNames | None
    """The tasks, metrics, formats and backends that exist; built-in ones and plug-ins when not given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedConfig(Generic[M]):
    """A configuration, and how it came to be."""

    config: M
    kind: ConfigKind
    source: str  #: the file it was asked for
    files: tuple[str, ...]  #: every file that took part, parents first
    layer: ConfigLayer  #: what the files and overrides said, with the origin of every value
    notes: tuple[str, ...]  #: what was understood differently from how it was written

    @property
    def digest(self) -> str:
        return compute_config_digest(self.config)


def resolve(
    name_or_path: str | Path,
    *,
    kind: str | None = None,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    search: Search | None = None,
    names: KnownNames | None = None,
) -> ResolvedConfig[ConfigModel]:
    """A configuration of any kind with its history; templates too. `kind` decides between equal names."""
    library = ConfigSearchPath.default(search)
    which, path = _locate_file(name_or_path, kind, library)
    resolver = Resolver(library)
    layer = resolver.file(which, path)
    layer = _apply_overrides(layer, which, resolver, overrides, os.environ if environ is None else environ)
    config = validate_layer(which, layer, source=format_path(path), names=names or KnownNames.from_installation())
    return ResolvedConfig(
        config=config,
        kind=which,
        source=format_path(path),
        files=tuple(format_path(file) for file in resolver.files),
        layer=layer,
        notes=(*resolver.notes, *_find_doubts(config)),
    )


def load_benchmark(name_or_path: str | Path, **options: Unpack[LoadOptions]) -> BenchmarkConfig:
    """A benchmark that can be run; a template is refused."""
    resolved = _load(BenchmarkConfig, "benchmark", name_or_path, options)
    if resolved.config.is_template:
        raise ConfigError(
            f"{resolved.source}: dataset.data_path must be set by a child: this benchmark is a template. "
            f"Write one with `extends: {Path(resolved.source).stem}`, or set dataset.data_path=… on the command line."
        )
    return resolved.config


def load_task(name_or_path: str | Path, **options: Unpack[LoadOptions]) -> TaskConfig:
    """A task by itself."""
    return _load(TaskConfig, "task", name_or_path, options).config


def load_scenario(name_or_path: str | Path, **options: Unpack[LoadOptions]) -> ScenarioConfig:
    """A scenario by itself."""
    return _load(ScenarioConfig, "scenario", name_or_path, options).config


def load_simulator(name_or_path: str | Path = "default", **options: Unpack[LoadOptions]) -> SimulatorConfig:
    """A simulator by itself."""
    return _load(SimulatorConfig, "simulator", name_or_path, options).config


def load_competition(name_or_path: str | Path, **options: Unpack[LoadOptions]) -> CompetitionConfig:
    """A competition whose every phase has a benchmark that can be run."""
    resolved = _load(CompetitionConfig, "competition", name_or_path, options)
    notes = check_phases(
        resolved.config,
        resolved.layer,
        source=resolved.source,
        search=options.get("search"),
        names=options.get("names"),
    )
    for note in notes:
        log.warning("%s", note)
    return resolved.config


def check_phases(
    competition: CompetitionConfig,
    layer: ConfigLayer,
    *,
    source: str,
    search: Search | None = None,
    names: KnownNames | None = None,
) -> list[str]:
    """Every phase's benchmark loads and measures what the phase ranks by; says what deserves a second look."""
    benchmarks: dict[str, BenchmarkConfig] = {}
    for index, phase in enumerate(competition.phases):
        origin = layer.origin(("phases", index, "benchmark")) or source
        try:
            benchmark = load_benchmark(phase.benchmark, environ={}, search=search, names=names)
        except ConfigError as error:
            raise ConfigError(f"{origin}: the benchmark of phase {phase.name!r} cannot be used: {error}") from error
        benchmarks[phase.name] = benchmark
        for metric in phase.ranking.metrics:
            if metric not in benchmark.task.metric_names:
                measured = ", ".join(benchmark.task.metric_names)
                raise ConfigError(
                    f"{origin}: phase {phase.name!r} ranks by {metric!r}, which {phase.benchmark} does not measure; "
                    f"it measures {measured}."
                )
    return check_visibility(competition, benchmarks, layer, source=source)


def validate_layer(kind: ConfigKind, layer: ConfigLayer, *, source: str, names: KnownNames) -> ConfigModel:
    """The model that a layer describes, or one message about everything that is wrong with it."""
    try:
        return kind.model.model_validate(layer.tree, context={"names": names})
    except ValidationError as error:
        raise ConfigError(describe_errors(error, layer, kind=kind.name, source=source)) from error


def _load(model: type[M], kind: str, name_or_path: str | Path, options: LoadOptions) -> ResolvedConfig[M]:
    resolved = resolve(name_or_path, kind=kind, **options)
    assert isinstance(resolved.config, model)
    for note in resolved.notes:
        log.warning("%s", note)
    return resolved  # type: ignore[return-value]


def _locate_file(name_or_path: str | Path, kind: str | None, library: ConfigSearchPath) -> tuple[ConfigKind, Path]:
    """What is asked for: a path says its kind itself, a name may belong to several kinds."""
    text = str(name_or_path)
    is_file = text.endswith(SUFFIXES) or (not text.isidentifier() and Path(text).is_file())
    if isinstance(name_or_path, Path) or is_file:
        path = Path(text)
        return KINDS[kind] if kind else find_kind(read_yaml(path), source=format_path(path)), path
    which = KINDS[kind] if kind else next(iter(library.kinds_with(text)), KINDS["benchmark"])
    return which, library.find(which, text)


def _apply_overrides(
    layer: ConfigLayer, kind: ConfigKind, resolver: Resolver, overrides: Sequence[str], environ: Mapping[str, str]
) -> ConfigLayer:
    for change in (*read_environment(environ, kind), *parse_overrides(overrides, kind)):
        source = next(iter(change.origins.values())).source
        layer = resolver.apply_override(kind, change, over=layer, source=source)
    return layer


def _find_doubts(config: ConfigModel) -> list[str]:
    """What is allowed but deserves a second look."""
    if not isinstance(config, BenchmarkConfig):
        return []
    return [*_find_unseeded_draws(config), *_find_unread_limits(config)]


def _find_unread_limits(config: BenchmarkConfig) -> Iterator[str]:
    """How long an agent may take decides scores, so it is a rule; whoever calls the agent has no say in it."""
    rules, service = config.evaluation, config.agent_service
    if service is None:
        return
    for name, here, rule, there in (
        ("timeout", service.timeout, "step_timeout", rules.step_timeout),
        ("retries", service.retries, "retries", rules.retries),
    ):
        if name in service.model_fields_set and here != there:
            yield (
                f"agent_service.{name} = {here:g} is not read: evaluation.{rule} = {there:g} counts. "
                f"Set evaluation.{rule} and remove agent_service.{name}."
            )


def _find_unseeded_draws(config: BenchmarkConfig) -> list[str]:
    randomization = config.scenario_config.domain_randomization
    if randomization.varies and randomization.seed is None:
        return [
            f"domain randomisation is at level {randomization.level} without a seed: every run draws anew. "
            "For a ranking use level 0 or set scenario_config.domain_randomization.seed."
        ]
    return []
