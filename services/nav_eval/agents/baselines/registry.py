"""Which baselines there are, and how a command line asks for one: `noisy_oracle?skill=0.8&seed=3`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias
from urllib.parse import parse_qsl

from nav_eval.agents.description import AgentDescription, Encoding
from nav_eval.config.schema import BenchmarkConfig, ImageGoalSensor, PictureSensor
from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.registry import Registry


class Senses(Protocol):
    """What `act` gets: the SDK's observation and ours both have this."""

    @property
    def sensors(self) -> Mapping[str, Any]: ...

    @property
    def texts(self) -> Mapping[str, str]: ...


class Baseline:
    """An agent in this process; the class attributes describe it."""

    name: ClassVar[str] = "baseline"
    version: ClassVar[str] = "1"
    sensors: Sequence[str] = ()
    """Empty means all."""
    max_episodes: ClassVar[int] = 64
    """Every episode gets an instance of its own."""

    def describe(self) -> AgentDescription:
        return AgentDescription(
            name=self.name,
            version=self.version,
            sensors=dict.fromkeys(self.sensors, (Encoding.RAW,)),
            max_episodes=self.max_episodes,
        )

    def reset(self, episode: PublicEpisode) -> None:
        """A new episode begins."""

    def act(self, observation: Senses) -> str | list[str]:
        """The name of the next action, or of the next few."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineContext:
    """What a baseline may be made from. Only oracles look at the episodes."""

    benchmark: BenchmarkConfig
    episodes: Mapping[str, Episode]  #: by id, private halves included


Factory: TypeAlias = Callable[..., Baseline]
"""Called with the context and the options of the command line as keywords."""

BASELINES: Registry[Factory] = Registry("baseline", entry_point_group="nav_eval.baselines")


def register_baseline(name: str) -> Callable[[Factory], Factory]:
    """Decorator: make a baseline available as `baseline:name`."""
    return BASELINES.register(name)


def make_baseline(text: str, context: BaselineContext) -> Baseline:
    """The baseline that `name?option=value&…` asks for."""
    name, _, query = text.partition("?")
    options = {key: _value(value) for key, value in parse_qsl(query, keep_blank_values=True)}
    factory = BASELINES.get(name)
    try:
        return factory(context, **options)
    except TypeError as error:
        raise ConfigError(f"Baseline {name!r} does not take these options: {query}. ({error})") from error


def _value(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def blind(context: BaselineContext) -> tuple[str, ...]:
    """One sensor that costs nothing: an agent that asks for none gets, and pays for, all of them."""
    suite = context.benchmark.sensors()
    plain = [name for name, sensor in suite.items() if not isinstance(sensor, PictureSensor | ImageGoalSensor)]
    return tuple(plain[:1])
