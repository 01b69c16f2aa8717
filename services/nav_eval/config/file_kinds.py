"""The kinds of configuration file: how each begins, where it lives, what it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nav_eval.config.layers import ConfigLayer, Tree
from nav_eval.config.schema import (
    BenchmarkConfig,
    CompetitionConfig,
    ConfigModel,
    DRConfig,
    ObjectConfig,
    RigConfig,
    RobotConfig,
    ScenarioConfig,
    SimulatorConfig,
    TaskConfig,
)
from nav_eval.errors import ConfigError
from nav_eval.suggestions import suggest_close_match


class ObjectsConfig(ConfigModel):
    """A set of objects that scenarios can refer to by name."""

    objects: tuple[ObjectConfig, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigKind:
    """One kind of configuration file."""

    name: str
    keys: tuple[str, ...]  #: what its files begin with; the first is ours
    folder: str  #: below a configuration root
    model: type[ConfigModel]
    references: Mapping[str, str] = field(default_factory=dict)  #: key → kind of file that it may name


KINDS: dict[str, ConfigKind] = {
    kind.name: kind
    for kind in (
        ConfigKind(
            name="benchmark",
            keys=("benchmark",),
            folder="benchmarks",
            model=BenchmarkConfig,
            references={"task": "task", "scenario_config": "scenario", "simulator": "simulator", "rigs": "rig"},
        ),
        ConfigKind(name="task", keys=("task",), folder="tasks", model=TaskConfig),
        ConfigKind(
            name="scenario",
            keys=("scenario_config", "scenario"),
            folder="scenarios",
            model=ScenarioConfig,
            references={"robots": "robot", "objects": "objects", "obstacles": "objects"},
        ),
        ConfigKind(name="simulator", keys=("simulator",), folder="simulator", model=SimulatorConfig),
        ConfigKind(name="competition", keys=("competition",), folder="competitions", model=CompetitionConfig),
        ConfigKind(name="robot", keys=("robot_config",), folder="scenarios/robots", model=RobotConfig),
        ConfigKind(name="rig", keys=("rig_config",), folder="scenarios/rigs", model=RigConfig),
        ConfigKind(name="objects", keys=("object_config",), folder="scenarios/objects", model=ObjectsConfig),
        ConfigKind(
            name="randomization", keys=("domain_randomization",), folder="scenarios/randomization", model=DRConfig
        ),
    )
}

#: Keys that seed 004 writes beside `benchmark:` and seed 003 inside it.
BENCHMARK_SECTIONS = frozenset(BenchmarkConfig.model_fields) | {"extends", *BenchmarkConfig.aliases}
_ONLY_IN_BENCHMARKS = frozenset({"benchmark", "extends", "dataset", "evaluation", "output", "agent_service"})


def find_kind(layer: ConfigLayer, *, source: str) -> ConfigKind:
    """What kind of configuration a file holds, by how it begins."""
    if _ONLY_IN_BENCHMARKS & layer.tree.keys():
        return KINDS["benchmark"]
    for kind in KINDS.values():
        if any(key in layer.tree for key in kind.keys):
            return kind
    known = sorted(key for kind in KINDS.values() for key in kind.keys)
    first = next(iter(layer.tree), "")
    raise ConfigError(
        f"{layer.origin((first,)) or source}: unknown key {first}.{suggest_close_match(first, known)} "
        f"A configuration begins with one of: {', '.join(known)}."
    )


def unwrap_layer(layer: ConfigLayer, kind: ConfigKind, *, source: str) -> ConfigLayer:
    """The configuration without the key that says its kind."""
    found = find_kind(layer, source=source)
    if found is not kind:
        raise ConfigError(f"{source} holds a {found.name}, but a {kind.name} is wanted (`{kind.keys[0]}:`).")
    if kind.name == "benchmark":
        return _unwrap_benchmark(layer)
    key = next(key for key in kind.keys if key in layer.tree)
    for other in layer.tree:
        if other != key:
            raise ConfigError(
                f"{layer.origin((other,))}: unknown key {other} beside `{key}:`; a file holds one {kind.name}."
            )
    return _get_body(layer, key, kind)


def _unwrap_benchmark(layer: ConfigLayer) -> ConfigLayer:
    """The sections inside `benchmark:` and those beside it."""
    body = _get_body(layer, "benchmark", KINDS["benchmark"]) if "benchmark" in layer.tree else ConfigLayer({}, {})
    tree, origins = dict(body.tree), dict(body.origins)
    for key, value in layer.tree.items():
        if key == "benchmark":
            continue
        if key not in BENCHMARK_SECTIONS:
            raise ConfigError(
                f"{layer.origin((key,))}: unknown key {key}.{suggest_close_match(key, BENCHMARK_SECTIONS)} "
                f"Allowed here: benchmark, {', '.join(sorted(BENCHMARK_SECTIONS))}."
            )
        if key in tree:
            raise ConfigError(
                f"{layer.origin((key,))}: {key} is given inside `benchmark:` (line {origins[key,].line}) and beside it."
            )
        tree[key] = value
        origins |= {path: origin for path, origin in layer.origins.items() if path[:1] == (key,)}
    return ConfigLayer(tree, origins)


def _get_body(layer: ConfigLayer, key: str, kind: ConfigKind) -> ConfigLayer:
    body = layer.tree[key]
    if kind.name == "objects" and isinstance(body, list):
        return ConfigLayer(
            {"objects": body}, {("objects", *p[1:]): o for p, o in layer.origins.items() if p[:1] == (key,)}
        )
    if body is None:
        raise ConfigError(f"{layer.origin((key,))}: `{key}:` is empty.")
    if not isinstance(body, dict):
        raise ConfigError(f"{layer.origin((key,))}: `{key}:` must be a mapping (indented `key: value` lines).")
    return get_sub_layer(layer, key)


def get_sub_layer(layer: ConfigLayer, *path: str | int) -> ConfigLayer:
    """The part of a layer below `path`."""
    tree: Tree = layer.tree
    for key in path:
        tree = tree[key]  # type: ignore[index]
    depth = len(path)
    return ConfigLayer(dict(tree), {p[depth:]: origin for p, origin in layer.origins.items() if p[:depth] == path})
