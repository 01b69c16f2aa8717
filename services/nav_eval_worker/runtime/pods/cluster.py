"""The few things that we ask of a cluster: make a pod, look at it, listen to it, talk to it, remove it."""

import ssl
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from nav_eval_worker.runtime.base import RuntimeUnavailable
from nav_eval_worker.runtime.pods import attachment
from nav_eval_worker.runtime.pods.attachment import Attachment
from nav_eval_worker.runtime.pods.settings import KubernetesSettings

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
        with clusters_fault():
            return Attachment(url, trust=self._trust, token=token, seconds=SECONDS)

    def _ask(self, method: str, place: str, *, missing: bool = False, **what: Any) -> Pod | None:  # noqa: ANN401
        with clusters_fault():
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
def clusters_fault() -> Iterator[None]:
    """What goes wrong in here is the cluster's trouble: retried, never the team's."""
    try:
        yield
    except (*TROUBLE, ValueError) as error:
        raise RuntimeUnavailable(f"The cluster does not do as it is told: {error}") from error
