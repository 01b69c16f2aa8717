"""Loading a configuration: the one way from a name or a file to a validated model."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypedDict, TypeVar, Unpack

from pydantic import ValidationError

from nav_eval.config.digest import config_digest
from nav_eval.config.kinds import KINDS, Kind, kind_of
from nav_eval.config.library import SUFFIXES, Library
from nav_eval.config.names import Names
from nav_eval.config.origin import Layer, shown
from nav_eval.config.overrides import from_command_line, from_environment
from nav_eval.config.problems import described
from nav_eval.config.reading import read_yaml
from nav_eval.config.resolving import Resolver
from nav_eval.config.schema import (
    BenchmarkConfig,
    CompetitionConfig,
    ConfigModel,
    ScenarioConfig,
    SimulatorConfig,
    TaskConfig,
)
from nav_eval.errors import ConfigError

log = logging.getLogger(__name__)

M = TypeVar("M", bound=ConfigModel)
Search = Sequence[Path | str]


class Options(TypedDict, total=False):
    """What every way of loading takes."""

    overrides: Sequence[str]
    """`key=value` texts, as on a command line; they win over everything."""
    environ: Mapping[str, str] | None
    """Where `NAV_EVAL__…` variables are read from; the process's own when not given."""
    search: Search | None
    """Configuration roots instead of `./configs`; those that come with nav-eval always follow."""
    names: Names | None
    """The tasks, metrics, formats and backends that exist; built-in ones and plug-ins when not given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved(Generic[M]):
    """A configuration, and how it came to be."""

    config: M
    kind: Kind
    source: str  #: the file it was asked for
    files: tuple[str, ...]  #: every file that took part, parents first
    layer: Layer  #: what the files and overrides said, with the origin of every value
    notes: tuple[str, ...]  #: what was understood differently from how it was written

    @property
    def digest(self) -> str:
        return config_digest(self.config)


def resolve(
    name_or_path: str | Path,
    *,
    kind: str | None = None,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    search: Search | None = None,
    names: Names | None = None,
) -> Resolved[ConfigModel]:
    """A configuration of any kind with its history; templates too. `kind` decides between equal names."""
    library = Library.default(search)
    which, path = _located(name_or_path, kind, library)
    resolver = Resolver(library)
    layer = resolver.file(which, path)
    layer = _overridden(layer, which, resolver, overrides, os.environ if environ is None else environ)
    config = validated(which, layer, source=shown(path), names=names or Names.installed())
    return Resolved(
        config=config,
        kind=which,
        source=shown(path),
        files=tuple(shown(file) for file in resolver.files),
        layer=layer,
        notes=(*resolver.notes, *_doubts(config)),
    )


def load_benchmark(name_or_path: str | Path, **options: Unpack[Options]) -> BenchmarkConfig:
    """A benchmark that can be run; a template is refused."""
    resolved = _load(BenchmarkConfig, "benchmark", name_or_path, options)
    if resolved.config.is_template:
        raise ConfigError(
            f"{resolved.source}: dataset.data_path must be set by a child: this benchmark is a template. "
            f"Write one with `extends: {Path(resolved.source).stem}`, or set dataset.data_path=… on the command line."
        )
    return resolved.config


def load_task(name_or_path: str | Path, **options: Unpack[Options]) -> TaskConfig:
    """A task by itself."""
    return _load(TaskConfig, "task", name_or_path, options).config


def load_scenario(name_or_path: str | Path, **options: Unpack[Options]) -> ScenarioConfig:
    """A scenario by itself."""
    return _load(ScenarioConfig, "scenario", name_or_path, options).config


def load_simulator(name_or_path: str | Path = "default", **options: Unpack[Options]) -> SimulatorConfig:
    """A simulator by itself."""
    return _load(SimulatorConfig, "simulator", name_or_path, options).config


def load_competition(name_or_path: str | Path, **options: Unpack[Options]) -> CompetitionConfig:
    """A competition whose every phase has a benchmark that can be run."""
    resolved = _load(CompetitionConfig, "competition", name_or_path, options)
    check_phases(
        resolved.config,
        resolved.layer,
        source=resolved.source,
        search=options.get("search"),
        names=options.get("names"),
    )
    return resolved.config


def check_phases(
    competition: CompetitionConfig,
    layer: Layer,
    *,
    source: str,
    search: Search | None = None,
    names: Names | None = None,
) -> None:
    """Every phase's benchmark loads and measures what the phase ranks by."""
    for index, phase in enumerate(competition.phases):
        origin = layer.origin(("phases", index, "benchmark")) or source
        try:
            benchmark = load_benchmark(phase.benchmark, environ={}, search=search, names=names)
        except ConfigError as error:
            raise ConfigError(f"{origin}: the benchmark of phase {phase.name!r} cannot be used: {error}") from error
        for metric in phase.ranking.metrics:
            if metric not in benchmark.task.metric_names:
                measured = ", ".join(benchmark.task.metric_names)
                raise ConfigError(
                    f"{origin}: phase {phase.name!r} ranks by {metric!r}, which {phase.benchmark} does not measure; "
                    f"it measures {measured}."
                )


def validated(kind: Kind, layer: Layer, *, source: str, names: Names) -> ConfigModel:
    """The model that a layer describes, or one message about everything that is wrong with it."""
    try:
        return kind.model.model_validate(layer.tree, context={"names": names})
    except ValidationError as error:
        raise ConfigError(described(error, layer, kind=kind.name, source=source)) from error


def _load(model: type[M], kind: str, name_or_path: str | Path, options: Options) -> Resolved[M]:
    resolved = resolve(name_or_path, kind=kind, **options)
    assert isinstance(resolved.config, model)
    for note in resolved.notes:
        log.warning("%s", note)
    return resolved  # type: ignore[return-value]


def _located(name_or_path: str | Path, kind: str | None, library: Library) -> tuple[Kind, Path]:
    """What is asked for: a path says its kind itself, a name may belong to several kinds."""
    text = str(name_or_path)
    is_file = text.endswith(SUFFIXES) or (not text.isidentifier() and Path(text).is_file())
    if isinstance(name_or_path, Path) or is_file:
        path = Path(text)
        return KINDS[kind] if kind else kind_of(read_yaml(path), source=shown(path)), path
    which = KINDS[kind] if kind else next(iter(library.kinds_with(text)), KINDS["benchmark"])
    return which, library.find(which, text)


def _overridden(
    layer: Layer, kind: Kind, resolver: Resolver, overrides: Sequence[str], environ: Mapping[str, str]
) -> Layer:
    for change in (*from_environment(environ, kind), *from_command_line(overrides, kind)):
        source = next(iter(change.origins.values())).source
        layer = resolver.with_references(kind, change, over=layer, source=source)
    return layer


def _doubts(config: ConfigModel) -> list[str]:
    """What is allowed but deserves a second look."""
    if not isinstance(config, BenchmarkConfig):
        return []
    randomization = config.scenario_config.domain_randomization
    if randomization.varies and randomization.seed is None:
        return [
            f"domain randomisation is at level {randomization.level} without a seed: every run draws anew. "
            "For a ranking use level 0 or set scenario_config.domain_randomization.seed."
        ]
    return []
