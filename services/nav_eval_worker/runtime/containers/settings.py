"""How a worker uses its engine; every field is a variable `NAV_EVAL_DOCKER_…`, e.g. NAV_EVAL_DOCKER_SIMULATOR_IMAGE."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from nav_eval.errors import ConfigError

PREFIX = "NAV_EVAL_DOCKER_"


@dataclass(frozen=True, kw_only=True, slots=True)
class DockerSettings:
    """One engine. Where it is, DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH say, as for the docker command."""

    simulator_image: str = "nav-eval-simulator:latest"  #: ours; better by digest where a registry is used
    site: str = "nav-eval"  #: whose containers these are, when several installations share an engine
    data: str = "nav-eval-data"  #: volume, or absolute path on the engine's host, with scenes and episodes
    data_target: str = (
        "/srv/nav-eval/data"  #: where the simulator sees it; benchmarks say data/… relative to /srv/nav-eval
    )
    prepared: str = "nav-eval-prepared"  #: volume of what was made from scenes; read-only beside agents
    runtime: str = ""  #: `runsc` runs agents in gVisor; empty is the engine's default
    seccomp: str = "strict"  #: our list of system calls; `engine` leaves it to the engine's own, which allows more
    gpus: str = ""  #: device ids that this worker hands to agents, e.g. "0,1"
    simulator_gpu: str = ""  #: device id that simulators draw on; empty draws on the processor
    simulator_cpus: float = 2.0  #: of one simulator
    simulator_memory_gb: float = 8.0  #: of one simulator, its share of the observations included
    scratch_mb: int = 512  #: the agent's /tmp
    observations_mb: int = 512  #: memory in which the agent reads pictures
    image_cache_gb: float = 100.0  #: teams' images on this engine, unpacked; the longest unused go first
    weights_cache_gb: float = 100.0  #: teams' weights on this engine, likewise
    stop_seconds: int = 1  #: between asking a container to end and ending it

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "DockerSettings":
        variables = os.environ if environ is None else environ
        given: dict[str, Any] = {}
        for field in fields(cls):
            text = variables.get(PREFIX + field.name.upper())
            if text is not None:
                given[field.name] = _value(text, field.name, type(field.default))
        return cls(**given)

    def __post_init__(self) -> None:
        if self.seccomp not in ("strict", "engine"):
            raise ConfigError(f"{PREFIX}SECCOMP={self.seccomp!r} is neither strict nor engine.")

    @property
    def gpu_ids(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.gpus.split(",") if part.strip())


def _value(text: str, name: str, kind: type) -> object:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"{PREFIX}{name.upper()}={text!r} is no {kind.__name__}.") from None
