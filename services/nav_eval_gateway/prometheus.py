"""What a monitor wants to know, in the text format of Prometheus.

Requests are counted as they pass, by the template of their route: a path with an id in it would make a new
series of every submission. What the store knows (queue, jobs, workers) is read when somebody scrapes, and kept
for a few seconds, so that several scrapers cost one look. Each process counts for itself.
"""

from collections.abc import Callable, Iterator
from threading import Lock
from time import monotonic
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import nav_eval
from nav_eval_store import gauges
from nav_eval_store.database import Database
from nav_eval_store.gauges import Gauges

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
KEEP_SECONDS = 5.0
API = "/api/v1"
NO_ROUTE = "(none)"
"""Paths that lead nowhere share one label: strangers must not invent series."""


class RequestSeries(NamedTuple):
    """The counters of one kind of answer."""

    requests: Counter
    seconds: Histogram
    received: Counter
    sent: Counter


class Metrics:
    """The figures of one gateway process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "nav_eval_http_requests", "Answered requests.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "nav_eval_http_request_seconds",
            "Until the first byte of the answer.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.running = Gauge("nav_eval_http_requests_running", "Requests under way.", registry=self.registry)
        self.received = Counter(
            "nav_eval_http_received_bytes", "Bytes of request bodies, uploads above all.", ("route",),
            registry=self.registry,
        )  # fmt: skip
        self.sent = Counter("nav_eval_http_sent_bytes", "Bytes of answers.", ("route",), registry=self.registry)
        Gauge("nav_eval_build", "Always 1.", ("version",), registry=self.registry).labels(nav_eval.__version__).set(1)
        self._series: dict[tuple[str, str, int], RequestSeries] = {}
        self._store = StoreCollector()
        self.registry.register(self._store)

    def watch(self, database: Database) -> None:
        """Read the store's figures from here, once the gateway has started."""
        self._store.database = database

    def series(self, method: str, route: str, status: int) -> "RequestSeries":
        """What an answer counts into; looked up once."""
        known = self._series.get((method, route, status))
        if known is None:
            known = self._series[method, route, status] = RequestSeries(
                self.requests.labels(method, route, str(status)),
                self.seconds.labels(method, route),
                self.received.labels(route),
                self.sent.labels(route),
            )
        return known

    def text(self) -> bytes:
        """All figures; reads the store."""
        return generate_latest(self.registry)


class StoreCollector(Collector):
    """What the store knows, read at most every few seconds."""

    def __init__(self, database: Database | None = None, *, clock: Callable[[], float] = monotonic) -> None:
        self.database, self._clock, self._lock = database, clock, Lock()
        self._kept: tuple[float, Gauges] | None = None

    def describe(self) -> Iterator[Metric]:
        """Registering must not read the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        if self.database is None:
            return
        try:
            now = self._read_gauges(self.database)
        except Exception:  # noqa: BLE001  # a scrape says that the database is gone; it does not fail with it
            yield GaugeMetricFamily("nav_eval_database_up", "1 while the database answers.", value=0)
            return
        yield GaugeMetricFamily("nav_eval_database_up", "1 while the database answers.", value=1)
        yield from make_metric_families(now)

    def _read_gauges(self, database: Database) -> Gauges:
        with self._lock:
            if self._kept is None or self._clock() - self._kept[0] > KEEP_SECONDS:
                with database.read() as session:
                    self._kept = (self._clock(), gauges.read_gauges(session))
            return self._kept[1]


def make_metric_families(now: Gauges) -> Iterator[Metric]:
    """The store's figures as series."""
    submissions = GaugeMetricFamily("nav_eval_submissions", "Submissions that have not ended.", labels=("state",))
    for state, number in now.submissions.items():
        submissions.add_metric([state], number)
    jobs = GaugeMetricFamily("nav_eval_jobs", "Jobs that wait or are held by a worker.", labels=("kind", "state"))
    for (kind, job_state), number in now.jobs.items():
        jobs.add_metric([kind, job_state], number)
    yield submissions
    yield jobs
    for name, gloss, value in (
        ("nav_eval_jobs_running", "Jobs that a worker holds.", now.jobs_running),
        ("nav_eval_oldest_waiting_job_seconds", "How long the oldest job has been ready.", now.oldest_waiting_seconds),
        ("nav_eval_workers_alive", "Workers with a heartbeat in the last minute.", now.workers_alive),
        ("nav_eval_workers_draining", "Of those, how many take nothing new.", now.workers_draining),
        ("nav_eval_worker_slots", "Jobs that living workers can do at once.", now.slots),
        ("nav_eval_oldest_heartbeat_seconds", "Age of the oldest heartbeat of a held job.", now.oldest_heartbeat),
        ("nav_eval_unranked_boards", "Boards whose shared ranks wait to be computed.", now.unranked_boards),
        ("nav_eval_webhook_deliveries_waiting", "Webhook deliveries not made yet.", now.deliveries_waiting),
        ("nav_eval_last_event_id", "Grows by one with every event.", now.last_event_id),
    ):
        yield GaugeMetricFamily(name, gloss, value=value)


class MetricsMiddleware:
    """Counts what passes."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        watch = _Watch(scope, receive, send)
        self._metrics.running.inc()
        try:
            await self._app(scope, watch.receive, watch.send)
        finally:
            self._metrics.running.dec()
            self._count(scope, watch)

    def _count(self, scope: Scope, watch: "_Watch") -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        series = self._metrics.series(method, find_route_template(scope), watch.status)
        series.requests.inc()
        series.seconds.observe((watch.answered or monotonic()) - watch.started)
        series.received.inc(watch.received)
        series.sent.inc(watch.sent)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _Watch:
    """One request on its way through."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.started, self.answered = monotonic(), 0.0
        self.status, self.received, self.sent = 499, 0, 0  # 499: the client left before an answer

    async def receive(self) -> Message:
        message = await self._receive()
        self.received += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.answered = message["status"], monotonic()
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)


def find_route_template(scope: Scope) -> str:
    """The path of the route that answered, with names in the place of ids."""
    path: str | None = getattr(scope.get("route"), "path", None)
    if not path:
        return NO_ROUTE
    inside = scope["path"].startswith(f"{API}/") and not path.startswith(API)  # a route knows no prefix of its router
    return f"{API}{path}" if inside else path
