"""`nav-eval-sdk check ADDRESS|IMAGE`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import TextIO
from urllib.parse import urlsplit

from nav_eval_sdk.checking.checks import Context
from nav_eval_sdk.checking.document_probes import RestProbe, WebSocketProbe
from nav_eval_sdk.checking.grpc_probe import GrpcProbe
from nav_eval_sdk.checking.image import inspect_image, running
from nav_eval_sdk.checking.probe import Probe
from nav_eval_sdk.checking.report import (
    FAIL,
    Finding,
    print_finding,
    report_document,
    run_checks,
    summary,
)
from nav_eval_sdk.checking.scene import task_for


def check_agent(
    target: str,
    *,
    task: str = "navigation",
    sensors: Iterable[str] = (),
    start_seconds: float = 60.0,
    action_seconds: float = 30.0,
    as_json: bool = False,
) -> bool:
    """Check the agent at an address, or in an image; True if nothing failed."""
    out = None if as_json else sys.stdout
    interface = task_for(task, extra_sensors=sensors, action_seconds=action_seconds)

    def context(probe: Probe) -> Context:
        return Context(probe, interface, start_seconds)

    probe = probe_for(target, timeout=action_seconds)
    protocol = "grpc" if probe is None else probe.protocol
    if probe is None:
        findings = _check_image(target, context, out=out, timeout=action_seconds)
    else:
        if isinstance(probe, WebSocketProbe) and out is not None:
            print(f"Waiting for the agent on port {probe.port} …", file=out, flush=True)
        try:
            findings = run_checks(context(probe), out=out)
        finally:
            probe.close()
    if as_json:
        print(json.dumps(report_document(findings, address=target, protocol=protocol), indent=2))
    else:
        print(f"\n{summary(findings)}")
    return all(finding.verdict != FAIL for finding in findings)


def probe_for(address: str, *, timeout: float) -> Probe | None:
    """What talks to the agent at `address`; None for an image."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or 8085 if "://" in address else 8085
    if parts.scheme == "grpc":
        return GrpcProbe(f"{host}:{port}", timeout=timeout)
    if address.startswith("unix:"):
        return GrpcProbe(address, timeout=timeout)
    if parts.scheme in ("http", "https"):
        return RestProbe(address, timeout=timeout)
    if parts.scheme == "ws":
        return WebSocketProbe(host, port, timeout=timeout)
    name, _, number = address.rpartition(":")
    if name in ("localhost", "127.0.0.1", "0.0.0.0") and number.isdigit():  # noqa: S104
        return GrpcProbe(address, timeout=timeout)
    return None


def _check_image(
    image: str, context: Callable[[Probe], Context], *, out: TextIO | None, timeout: float
) -> list[Finding]:
    findings = inspect_image(image)
    for finding in findings:
        if out is not None:
            print_finding(finding, out)
    with running(image) as container:
        probe = GrpcProbe(container.target, timeout=timeout, memory_dir=container.memory_dir)
        try:
            findings += run_checks(context(probe), out=out)
        finally:
            probe.close()
        if out is not None and any(finding.verdict == FAIL for finding in findings):
            print(f"\nThe end of the agent's log:\n{container.logs()}", file=out)
    return findings
