"""The kinds of configuration file: how each begins, where it lives, what it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nav_eval.config.origin import Layer, Tree
from nav_eval.config.schema import (
    BenchmarkConfig,
    CompetitionConfig,
    ConfigModel,
    DRConfig,
    ObjectConfig,
    RobotConfig,
    ScenarioConfig,
    SimulatorConfig,
    TaskConfig,
)
from nav_eval.config.schema.base import did_you_mean
from nav_eval.errors import ConfigError


class ObjectsConfig(ConfigModel):
    """A set of objects that scenarios can refer to by name."""

    objects: tuple[ObjectConfig, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One kind of configuration file."""

    name: str
    keys: tuple[str, ...]  #: what its files begin with; the first is ours
    folder: str  #: below a configuration root
    model: type[ConfigModel]
    references: Mapping[str, str] = field(default_factory=dict)  #: key → kind of file that it may name


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="benchmark",
            keys=("benchmark",),
            folder="benchmarks",
            model=BenchmarkConfig,
            references={"task": "task", "scenario_config": "scenario", "simulator": "simulator"},
        ),
        Kind(name="task", keys=("task",), folder="tasks", model=TaskConfig),
        Kind(
            name="scenario",
            keys=("scenario_config", "scenario"),
            folder="scenarios",
            model=ScenarioConfig,
            references={"robots": "robot", "objects": "objects", "obstacles": "objects"},
        ),
        Kind(name="simulator", keys=("simulator",), folder="simulator", model=SimulatorConfig),
        Kind(name="competition", keys=("competition",), folder="competitions", model=CompetitionConfig),
        Kind(name="robot", keys=("robot_config",), folder="scenarios/robots", model=RobotConfig),
        Kind(name="objects", keys=("object_config",), folder="scenarios/objects", model=ObjectsConfig),
        Kind(
            name="randomization",
            keys=("domain_randomization",),
            folder="scenarios/randomization",
            model=DRConfig,
        ),
    )
}

#: Keys that seed 004 writes beside `benchmark:` and seed 003 inside it.
BENCHMARK_SECTIONS = frozenset(BenchmarkConfig.model_fields) | {"extends", *BenchmarkConfig.aliases}
_ONLY_IN_BENCHMARKS = frozenset({"benchmark", "extends", "dataset", "evaluation", "output", "agent_service"})


def kind_of(layer: Layer, *, source: str) -> Kind:
    """What kind of configuration a file holds, by how it begins."""
    if _ONLY_IN_BENCHMARKS & layer.tree.keys():
        return KINDS["benchmark"]
    for kind in KINDS.values():
        if any(key in layer.tree for key in kind.keys):
            return kind
    known = sorted(key for kind in KINDS.values() for key in kind.keys)
    first = next(iter(layer.tree), "")
    raise ConfigError(
        f"{layer.origin((first,)) or source}: unknown key {first}.{did_you_mean(first, known)} "
        f"A configuration begins with one of: {', '.join(known)}."
    )


def unwrapped(layer: Layer, kind: Kind, *, source: str) -> Layer:
    """The configuration without the key that says its kind."""
    if kind.name == "benchmark":
        return _unwrapped_benchmark(layer, source=source)
    found = kind_of(layer, source=source)
    if found is not kind:
        raise ConfigError(f"{source} holds a {found.name}, but a {kind.name} is wanted (`{kind.keys[0]}:`).")
    key = next(key for key in kind.keys if key in layer.tree)
    for other in layer.tree:
        if other != key:
            raise ConfigError(
                f"{layer.origin((other,))}: unknown key {other} beside `{key}:`; a file holds one {kind.name}."
            )
    return _body(layer, key, kind)


def _unwrapped_benchmark(layer: Layer, *, source: str) -> Layer:
    found = kind_of(layer, source=source)
    if found.name != "benchmark":
        raise ConfigError(f"{source} holds a {found.name}, but a benchmark is wanted (`benchmark:`).")
    body = _body(layer, "benchmark", KINDS["benchmark"]) if "benchmark" in layer.tree else Layer({}, {})
    tree, origins = dict(body.tree), dict(body.origins)
    for key, value in layer.tree.items():
        if key == "benchmark":
            continue
        if key not in BENCHMARK_SECTIONS:
            raise ConfigError(
                f"{layer.origin((key,))}: unknown key {key}.{did_you_mean(key, BENCHMARK_SECTIONS)} "
                f"Allowed here: benchmark, {', '.join(sorted(BENCHMARK_SECTIONS))}."
            )
        if key in tree:
            raise ConfigError(
                f"{layer.origin((key,))}: {key} is given inside `benchmark:` (line {origins[key,].line}) and beside it."
            )
        tree[key] = value
        origins |= {path: origin for path, origin in layer.origins.items() if path[:1] == (key,)}
    return Layer(tree, origins)


def _body(layer: Layer, key: str, kind: Kind) -> Layer:
    body = layer.tree[key]
    if kind.name == "objects" and isinstance(body, list):
        return Layer({"objects": body}, {("objects", *p[1:]): o for p, o in layer.origins.items() if p[:1] == (key,)})
    if body is None:
        raise ConfigError(f"{layer.origin((key,))}: `{key}:` is empty.")
    if not isinstance(body, dict):
        raise ConfigError(f"{layer.origin((key,))}: `{key}:` must be a mapping (indented `key: value` lines).")
    return sub_layer(layer, key)


def sub_layer(layer: Layer, *path: str | int) -> Layer:
    """The part of a layer below `path`."""
    tree: Tree = layer.tree
    for key in path:
        tree = tree[key]  # type: ignore[index]
    depth = len(path)
    return Layer(dict(tree), {p[depth:]: origin for p, origin in layer.origins.items() if p[:depth] == path})
