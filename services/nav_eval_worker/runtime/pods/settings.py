"""How a worker uses its cluster; every field is a variable `NAV_EVAL_KUBERNETES_…`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from nav_eval.errors import ConfigError

PREFIX = "NAV_EVAL_KUBERNETES_"


@dataclass(frozen=True, kw_only=True, slots=True)
class KubernetesSettings:
    """One namespace of one cluster, and the registry that its nodes pull from."""

    api: str = ""  #: address of the cluster; empty is the cluster that the worker itself runs in
    account: str = "/var/run/secrets/kubernetes.io/serviceaccount"  #: folder with `token` and `ca.crt`
    namespace: str = "nav-eval-shards"  #: of pods with teams' code; nothing else may be in it
    registry: str = ""  #: where images are pushed, with a path of ours: https://registry.example.org/nav-eval
    registry_login: str = ""  #: file with `user:password` for pushing; empty where nobody asks
    pull_from: str = ""  #: the same place as nodes call it, if they call it differently: localhost:5000/nav-eval
    pull_secret: str = ""  #: name of a secret in the namespace that nodes pull with
    simulator_image: str = "nav-eval-simulator:latest"  #: as nodes call it; better by digest
    site: str = "nav-eval"  #: whose pods these are, when several installations share a namespace
    data: str = "data"  #: claim, or absolute path on every node, with scenes and episodes
    data_target: str = "/srv/nav-eval/data"  #: where the simulator sees it; benchmarks say data/… relative to it
    prepared: str = ""  #: claim (ReadWriteMany) of what is made from scenes; empty: every pod makes its own
    runtime_class: str = ""  #: RuntimeClass of pods with agents, e.g. gvisor
    seccomp: str = ""  #: a profile on every node, below the kubelet's folder; empty is the container runtime's own
    nodes: str = ""  #: labels of nodes that may run agents: "nav-eval/shards=true"
    gpu_resource: str = "nvidia.com/gpu"  #: what a GPU is called on this cluster
    simulator_cpus: float = 2.0  #: of one simulator
    simulator_memory_gb: float = 8.0  #: of one simulator, its share of the observations included
    scratch_mb: int = 512  #: the agent's /tmp
    observations_mb: int = 512  #: memory in which the agent reads pictures
    start_seconds: float = 900.0  #: until a pod has found a node and its images are there
    deadline_seconds: int = 86_400  #: after which the cluster itself ends a pod that everybody has forgotten

    def __post_init__(self) -> None:
        if not self.registry.startswith(("http://", "https://")):
            raise ConfigError(
                f"{PREFIX}REGISTRY={self.registry!r} is no address; agents' images go through a registry that "
                "the nodes pull from: https://registry.example.org/nav-eval."
            )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "KubernetesSettings":
        variables = os.environ if environ is None else environ
        given: dict[str, Any] = {}
        for field in fields(cls):
            text = variables.get(PREFIX + field.name.upper())
            if text is not None:
                given[field.name] = _value(text, field.name, type(field.default))
        return cls(**given)

    @property
    def address(self) -> str:
        """Of the cluster's API."""
        host, port = (os.environ.get(f"KUBERNETES_SERVICE_{part}") for part in ("HOST", "PORT"))
        if not self.api and not host:
            raise ConfigError(f"This worker runs in no cluster; {PREFIX}API says where one is.")
        bracketed = f"[{host}]" if host and ":" in host else host
        return self.api or f"https://{bracketed}:{port or 443}"

    @property
    def login(self) -> tuple[str, str] | None:
        if not self.registry_login:
            return None
        user, _, password = Path(self.registry_login).read_text().strip().partition(":")
        return user, password

    @property
    def pulled_from(self) -> str:
        return self.pull_from or self.registry.split("://", 1)[1]

    @property
    def node_selector(self) -> dict[str, str]:
        return dict(pair.strip().partition("=")[::2] for pair in self.nodes.split(",") if pair.strip())


def _value(text: str, name: str, kind: type) -> object:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"{PREFIX}{name.upper()}={text!r} is no {kind.__name__}.") from None
