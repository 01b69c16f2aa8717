"""A competition as text that somebody typed into a page or sent to the API, and a competition written as such a text.

Whoever types it has no shell here, so the text may name only what the installation has: benchmarks by their names,
baselines that come with nav-eval. It inherits from nothing, and no path in it is ever opened.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from nav_eval.config.file_kinds import KINDS, unwrap_layer
from nav_eval.config.layers import ConfigLayer
from nav_eval.config.loader import check_phases, load_benchmark, validate_layer
from nav_eval.config.resolver import ConfigSearchPath
from nav_eval.config.schema.competition import CompetitionConfig, PhaseConfig
from nav_eval.config.yaml_reader import parse_mapping, read_text
from nav_eval.config.yaml_writer import to_yaml
from nav_eval.config_model import KnownNames
from nav_eval.errors import ConfigError
from nav_eval.suggestions import suggest_known

MAX_TEXT_BYTES = 100_000
_OWN_BASELINE = re.compile(r"baseline:[a-z0-9_]+\Z")


class CompetitionText(NamedTuple):
    """What a text says."""

    config: CompetitionConfig
    notes: list[str]
    """What deserves a second look."""


def parse_competition(text: str, *, source: str, agents: Collection[str] = ()) -> CompetitionText:
    """The competition that a text describes; `agents` are other baselines that it may name, because it did before."""
    if len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        raise ConfigError(f"{source} is larger than {MAX_TEXT_BYTES:,} bytes; that is no competition.")
    kind = KINDS["competition"]
    layer = unwrap_layer(parse_mapping(text, source=source), kind, source=source)
    if "extends" in layer.tree:
        raise ConfigError(
            f"{layer.origin(('extends',))}: `extends` names a file, which a text cannot; write the values, "
            "or apply the file with `nav-eval competition apply`."
        )
    config = validate_layer(kind, layer, source=source, names=KnownNames.from_installation())
    assert isinstance(config, CompetitionConfig)
    for refusal in _find_strangers(config, layer, agents):
        raise ConfigError(refusal)
    return CompetitionText(config, check_phases(config, layer, source=source))


def _find_strangers(config: CompetitionConfig, layer: ConfigLayer, agents: Collection[str]) -> Iterator[str]:
    """What the text names and this installation does not have, or does not give to those who have no shell."""
    known = ConfigSearchPath.default().names(KINDS["benchmark"])
    for index, phase in enumerate(config.phases):
        if phase.benchmark not in known:
            where = layer.origin(("phases", index, "benchmark"))
            suggestion = suggest_known(phase.benchmark, known)
            yield f"{where}: there is no benchmark {phase.benchmark!r} in this installation.{suggestion}"
        for place, baseline in enumerate(phase.baselines):
            if baseline.agent not in agents and not _OWN_BASELINE.match(baseline.agent):
                where = layer.origin(("phases", index, "baselines", place, "agent"))
                yield (
                    f"{where}: the baseline {baseline.name!r} names code ({baseline.agent!r}), which a text cannot; "
                    "write baseline:NAME, or apply the file with `nav-eval competition apply`."
                )


def render_competition(config: CompetitionConfig) -> str:
    """The competition as YAML that says what differs from the usual; reading it gives the same competition."""
    return to_yaml({"competition": _describe(config)})


def _describe(config: CompetitionConfig) -> dict[str, Any]:
    tree: dict[str, Any] = config.model_dump(mode="json", exclude_defaults=True, exclude={"phases"})
    return {**tree, "phases": [_describe_phase(phase) for phase in config.phases]}


def _describe_phase(phase: PhaseConfig) -> dict[str, Any]:
    written: dict[str, Any] = phase.model_dump(mode="json", exclude_defaults=True)
    visibility = {"preset": phase.visibility.preset, **phase.visibility.exceptions}
    names = [name for name in PhaseConfig.model_fields if name in {*written, "visibility"}]
    return {name: visibility if name == "visibility" else written[name] for name in names}


def list_benchmarks() -> list[str]:
    """The names of the benchmarks that a phase can be played on here; templates are none."""
    return [name for name in ConfigSearchPath.default().names(KINDS["benchmark"]) if _can_be_run(name)]


def _can_be_run(name: str) -> bool:
    try:
        load_benchmark(name, environ={})
    except ConfigError:
        return False
    return True


class PhaseWish(NamedTuple):
    """A phase as a form asks for it; the text says the rest."""

    name: str
    benchmark: str
    title: str | None = None
    opens: str | None = None
    closes: str | None = None
    preset: str = "test"
    per_day: int | None = 5

    def describe(self) -> dict[str, Any]:
        said = {"name": self.name, "title": self.title, "benchmark": self.benchmark}
        times = {"opens": self.opens, "closes": self.closes}
        usual = {"quota": {"per_day": self.per_day}, "visibility": {"preset": self.preset}}
        return {key: value for key, value in {**said, **times, **usual}.items() if value not in (None, "")}


def write_draft(phase: PhaseWish, **said: str) -> str:
    """The text of a new competition, to be looked at and completed."""
    told = {key: value for key, value in said.items() if value}
    return to_yaml({"competition": {**told, "phases": [phase.describe()]}})


def write_phase_draft(config: CompetitionConfig, phase: PhaseWish) -> str:
    """The text of a competition with one phase more."""
    tree = _describe(config)
    tree["phases"] = [*tree["phases"], phase.describe()]
    return to_yaml({"competition": tree})


def write_copy(config: CompetitionConfig, *, name: str, title: str) -> str:
    """The text of a competition like another one, without the other's dates."""
    tree = {**_describe(config), "name": name, "title": title}
    tree["phases"] = [_drop_dates(phase) for phase in tree["phases"]]
    return to_yaml({"competition": tree})


def _drop_dates(phase: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in phase.items() if key not in ("opens", "closes")}


def find_whole_text(file: Path, config: CompetitionConfig) -> str | None:
    """The text of a file, where it says all of the competition by itself: no parent, no override."""
    text = read_text(file)
    try:
        whole = parse_mapping(text, source=str(file))
        alone = CompetitionConfig.model_validate(unwrap_layer(whole, KINDS["competition"], source=str(file)).tree)
    except (ConfigError, ValidationError):
        return None
    return text if alone == config else None
