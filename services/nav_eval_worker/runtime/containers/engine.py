"""The connection to an engine, and what a worker is told about it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from typing import Any

import docker
from docker.constants import DEFAULT_DOCKER_API_VERSION
from docker.errors import DockerException
from requests.exceptions import RequestException

from nav_eval.errors import ConfigError
from nav_eval_worker.runtime.base import RuntimeUnavailable
from nav_eval_worker.runtime.containers.users import parse_uids

SECONDS = 120
"""For one answer of the engine; loading a large image takes longer and has no limit."""


def connect(timeout: float | None = SECONDS) -> docker.DockerClient:
    """The engine that DOCKER_HOST names, with its TLS settings, as the docker command would find it."""
    with translate_engine_errors():
        with closing(_make_client(timeout, DEFAULT_DOCKER_API_VERSION)) as asking:
            version = asking.api.version(api_version=False)["ApiVersion"]
        return _make_client(timeout, version)


def _make_client(timeout: float | None, version: str) -> docker.DockerClient:
    client = docker.from_env(timeout=timeout, version=version)  # type: ignore[arg-type]
    client.api.trust_env = False  # REQUESTS_CA_BUNDLE would take the place of the CA in DOCKER_CERT_PATH
    return client


@contextmanager
def translate_engine_errors() -> Iterator[None]:
    """What goes wrong in here is the engine's trouble: retried, never the team's."""
    try:
        yield
    except (DockerException, RequestException, OSError) as error:
        raise RuntimeUnavailable(f"The Docker engine does not do as it is told: {error}") from error


def list_missing_limits(facts: Mapping[str, Any]) -> list[str]:
    """Which walls an engine leaves out, by what it says of itself (`docker info`): it would do so without a word."""
    limits = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "processor time"}
    missing = [f"limits of {what}" for name, what in limits.items() if not facts.get(name)]
    if not any("name=seccomp" in option for option in facts.get("SecurityOptions") or ()):
        missing.append("a filter of system calls")
    return missing


def check_isolation(client: docker.DockerClient) -> None:
    """Refuse an engine on which an agent would not be isolated."""
    with translate_engine_errors():
        facts = client.info()
    if missing := list_missing_limits(facts):
        raise RuntimeUnavailable(
            f"The Docker engine has no {', no '.join(missing)}: strangers' code is not run there. "
            "A rootless engine needs cgroup v2 with its controllers delegated; see docs/security.md."
        )


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
    uids: str = "20000-59999"  #: of which every run gets one; empty is one user for all runs
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
                given[field.name] = _parse_value(text, field.name, type(field.default))
        return cls(**given)

    def __post_init__(self) -> None:
        if self.seccomp not in ("strict", "engine"):
            raise ConfigError(f"{PREFIX}SECCOMP={self.seccomp!r} is neither strict nor engine.")
        parse_uids(self.uids, variable=f"{PREFIX}UIDS")

    @property
    def uid_range(self) -> range:
        return parse_uids(self.uids, variable=f"{PREFIX}UIDS")

    @property
    def gpu_ids(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.gpus.split(",") if part.strip())


def _parse_value(text: str, name: str, kind: type) -> object:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"{PREFIX}{name.upper()}={text!r} is no {kind.__name__}.") from None
