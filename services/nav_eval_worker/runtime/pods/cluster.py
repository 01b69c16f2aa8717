"""The few things that we ask of a cluster: make a pod, look at it, listen to it, talk to it, remove it."""

import os
import ssl
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import httpx

from nav_eval.errors import ConfigError
from nav_eval_worker.runtime.base import RuntimeUnavailable
from nav_eval_worker.runtime.containers.users import parse_uids
from nav_eval_worker.runtime.pods import attachment
from nav_eval_worker.runtime.pods.attachment import Attachment

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
    uids: str = "20000-59999"  #: of which every shard gets one; empty is one user for all
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
        parse_uids(self.uids, variable=f"{PREFIX}UIDS")

    @property
    def uid_range(self) -> range:
        return parse_uids(self.uids, variable=f"{PREFIX}UIDS")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "KubernetesSettings":
        variables = os.environ if environ is None else environ
        given: dict[str, Any] = {}
        for field in fields(cls):
            text = variables.get(PREFIX + field.name.upper())
            if text is not None:
                given[field.name] = _parse_value(text, field.name, type(field.default))
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


def _parse_value(text: str, name: str, kind: type) -> object:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"{PREFIX}{name.upper()}={text!r} is no {kind.__name__}.") from None


SECONDS = 30.0
Pod = dict[str, Any]
TROUBLE = (httpx.HTTPError, httpx.StreamError, *attachment.TROUBLE)


class Cluster:
    """One namespace, seen with the rights of the worker's service account."""

    def __init__(self, settings: KubernetesSettings) -> None:
        self._account = Path(settings.account)
        self._address = settings.address
        self._pods = f"/api/v1/namespaces/{settings.namespace}/pods"
        authority = self._account / "ca.crt"
        self._trust = ssl.create_default_context(cafile=str(authority) if authority.exists() else None)
        self._client = httpx.Client(
            base_url=self._address,
            verify=self._trust,
            auth=_Token(self._account / "token"),
            timeout=SECONDS,
            trust_env=False,
        )

    def create(self, pod: Pod) -> None:
        self._ask("POST", self._pods, json=pod)

    def pod(self, name: str) -> Pod | None:
        """As the cluster sees it now; None if it is gone."""
        return self._ask("GET", f"{self._pods}/{name}", missing=True)

    def pods(self, labels: Mapping[str, str], *, limit: int = 500) -> list[Pod]:
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        found = self._ask("GET", self._pods, params={"labelSelector": selector, "limit": limit})
        return list((found or {}).get("items") or ())

    def delete(self, name: str) -> None:
        """At once; a pod that is not there is fine."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        self._ask("DELETE", f"{self._pods}/{name}", missing=True, json=options)

    def follow(self, name: str, container: str) -> Iterator[bytes]:
        """What a container prints, from its beginning to its end."""
        place = f"{self._pods}/{name}/log"
        asked = {"container": container, "follow": "true"}
        limits = httpx.Timeout(SECONDS, read=None)
        with self._client.stream("GET", place, params=asked, timeout=limits) as answer:
            if answer.is_error:
                raise OSError(f"no log of {name}: {answer.status_code} {answer.read()[:300]!r}")
            yield from answer.iter_bytes()

    def attach(self, name: str, container: str) -> Attachment:
        """A container's standard input and output."""
        place = f"{self._pods}/{name}/attach?container={container}&stdin=1&stdout=1&stderr=1"
        url, token = f"ws{self._address.removeprefix('http')}{place}", _read(self._account / "token")
        with translate_cluster_errors():
            return Attachment(url, trust=self._trust, token=token, seconds=SECONDS)

    def _ask(self, method: str, place: str, *, missing: bool = False, **what: Any) -> Pod | None:  # noqa: ANN401
        with translate_cluster_errors():
            answer = self._client.request(method, place, **what)
            if missing and answer.status_code == httpx.codes.NOT_FOUND:
                return None
            if answer.is_error:
                raise OSError(f"{method} {place} is answered with {answer.status_code}: {answer.text[:500]}")
            found: Pod = answer.json()
            return found


class _Token(httpx.Auth):
    """The account's token; the cluster puts a new one into the file now and then."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {_read(self._file)}"
        yield request


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError as error:
        raise RuntimeUnavailable(f"There is no token for the cluster in {file}: {error.strerror}.") from error


@contextmanager
def translate_cluster_errors() -> Iterator[None]:
    """What goes wrong in here is the cluster's trouble: retried, never the team's."""
    try:
        yield
    except (*TROUBLE, ValueError) as error:
        raise RuntimeUnavailable(f"The cluster does not do as it is told: {error}") from error
