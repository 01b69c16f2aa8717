"""The connection to an engine, and what its refusals mean: its trouble is ours, a missing program is the team's."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import docker
from docker.constants import DEFAULT_DOCKER_API_VERSION
from docker.errors import APIError, DockerException, NotFound
from requests.exceptions import RequestException

from nav_eval.agents.description import short
from nav_eval.agents.failures import AgentCrash
from nav_eval_worker.runtime.base import RuntimeUnavailable

SECONDS = 120
"""For one answer of the engine; loading a large image takes longer and has no limit."""
_NOT_STARTED = (
    "executable file not found",
    "no such file or directory",
    "permission denied",
    "exec format error",
    # an image that has a file or a link where a folder belongs
    "not a directory",
    "too many levels of symbolic links",
    "cannot be mounted because",
)
_HOST_PATHS = re.compile(r"/\S*?/(?:overlay2/[0-9a-f]+/merged|volumes/[\w.-]+/_data)")


def connect(timeout: float | None = SECONDS) -> docker.DockerClient:
    """The engine that DOCKER_HOST names, with its TLS settings, as the docker command would find it."""
    with ours():
        with closing(_client(timeout, DEFAULT_DOCKER_API_VERSION)) as asking:
            version = asking.api.version(api_version=False)["ApiVersion"]
        return _client(timeout, version)


def _client(timeout: float | None, version: str) -> docker.DockerClient:
    client = docker.from_env(timeout=timeout, version=version)  # type: ignore[arg-type]
    client.api.trust_env = False  # REQUESTS_CA_BUNDLE would take the place of the CA in DOCKER_CERT_PATH
    return client


@contextmanager
def ours() -> Iterator[None]:
    """What goes wrong in here is the engine's trouble: retried, never the team's."""
    try:
        yield
    except (DockerException, RequestException, OSError) as error:
        raise RuntimeUnavailable(f"The Docker engine does not do as it is told: {error}") from error


def missing_walls(facts: Mapping[str, Any]) -> list[str]:
    """Which walls an engine leaves out, by what it says of itself (`docker info`): it would do so without a word."""
    limits = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "processor time"}
    missing = [f"limits of {what}" for name, what in limits.items() if not facts.get(name)]
    if not any("name=seccomp" in option for option in facts.get("SecurityOptions") or ()):
        missing.append("a filter of system calls")
    return missing


def check_walls(client: docker.DockerClient) -> None:
    """Refuse an engine on which an agent's cell would stand open."""
    with ours():
        facts = client.info()
    if missing := missing_walls(facts):
        raise RuntimeUnavailable(
            f"The Docker engine has no {', no '.join(missing)}: strangers' code is not run there. "
            "A rootless engine needs cgroup v2 with its controllers delegated; see docs/security.md."
        )


@contextmanager
def starting_agent() -> Iterator[None]:
    """Starting a team's container: a command that is not in the image is the team's fault."""
    try:
        yield
    except NotFound as error:  # the image was dropped in this very moment: it is admitted again
        raise RuntimeUnavailable(f"The agent's image is gone: {error.explanation}") from error
    except APIError as error:
        said = str(error.explanation or error)
        if any(words in said for words in _NOT_STARTED):
            raise AgentCrash(f"The image cannot be started: {_told(said)}") from error
        raise RuntimeUnavailable(f"The Docker engine cannot start the agent: {said}") from error
    except (DockerException, RequestException, OSError) as error:
        raise RuntimeUnavailable(f"The Docker engine does not answer: {error}") from error


def _told(said: str) -> str:
    """What the engine said, without where it keeps things on its host."""
    return short(_HOST_PATHS.sub("", said.rpartition("container init: ")[2]).strip(), limit=300)
