"""`nav-eval-sdk check ADDRESS|IMAGE`: run the checks, and say what came of them.

An image is inspected, and its agent checked in a container without network, as a challenge runs it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from nav_eval_sdk.check import protocol_checks, robustness_checks
from nav_eval_sdk.check.checks import (
    FAIL,
    PASS,
    SKIP,
    WARN,
    Check,
    CheckContext,
    CheckDoubtful,
    CheckFailed,
    CheckSkipped,
    Finding,
    Probe,
    make_task,
)
from nav_eval_sdk.check.grpc_probe import GrpcProbe
from nav_eval_sdk.errors import SdkError

LARGE = 20 << 30
USER = "20001:10001"
"""A challenge draws the user for each run: what only the image's own user may read, it cannot read."""

#: What a challenge gives an agent's container, but for its own limits of memory and CPU.
ISOLATION = (
    "--network=none",
    "--read-only",
    f"--user={USER}",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--pids-limit=512",
    "--init",
    "--no-healthcheck",
    "--tmpfs=/tmp:size=512m,mode=1777",
    "--env=HOME=/tmp",
)


def inspect_image(image: str) -> list[Finding]:
    """What can be said without running it."""
    found = json.loads(_run_docker("image", "inspect", image))[0]
    config = found.get("Config") or {}
    platform = f"{found.get('Os')}/{found.get('Architecture')}"
    user = str(config.get("User") or "root").split(":")[0]
    size = int(found.get("Size") or 0)
    return [
        _make_finding(
            "image_platform",
            "it is built for linux/amd64",
            platform == "linux/amd64",
            platform,
            "Build with `docker build --platform linux/amd64 .`",
        ),
        _make_finding(
            "image_user",
            "it does not run as root",
            user not in ("root", "0"),
            user,
            "Add `USER 10001` to the Dockerfile: the challenge runs it without root whatever the image says.",
            otherwise=WARN,
        ),
        _make_finding(
            "image_command",
            "it has a command to run",
            bool(config.get("Cmd") or config.get("Entrypoint")),
            " ".join((config.get("Entrypoint") or []) + (config.get("Cmd") or [])),
            'End the Dockerfile with `CMD ["python", "agent.py"]`.',
        ),
        _make_finding(
            "image_volumes",
            "it declares no volumes",
            not config.get("Volumes"),
            ", ".join(config.get("Volumes") or {}),
            "Remove VOLUME from the Dockerfile: the agent gets a small /tmp and nothing else to write to.",
            otherwise=WARN,
        ),
        _make_finding(
            "image_size",
            "it is not too large",
            size <= LARGE,
            f"{size / 1e9:.2f} GB",
            "Use a slim base image, delete caches in the layer that makes them, keep weights in one layer.",
            otherwise=WARN,
        ),
    ]


class RunningImage:
    """A container with the agent's socket and the memory to share, as on the server."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.target = f"unix:{directory / 'rpc' / 'agent.sock'}"
        self.memory_dir = str(directory / "obs")

    def logs(self) -> str:
        done = subprocess.run(  # noqa: S603
            [_find_docker(), "logs", "--tail=30", self.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.stdout.decode(errors="replace")


@contextmanager
def run_image(image: str, *, memory: str = "8g") -> Iterator[RunningImage]:
    """The image in a container of the challenge's kind; gone afterwards."""
    name = f"nav-eval-check-{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory(prefix="nav-eval-") as scratch:
        directory = Path(scratch)
        directory.chmod(0o755)
        for part, mode in (("rpc", 0o777), ("obs", 0o755)):
            (directory / part).mkdir()
            (directory / part).chmod(mode)
        _run_docker(
            "run",
            "--detach",
            f"--name={name}",
            *ISOLATION,
            f"--memory={memory}",
            f"--memory-swap={memory}",
            f"--volume={directory / 'rpc'}:/rpc",
            f"--volume={directory / 'obs'}:/obs:ro",
            "--env=NAV_EVAL_SOCKET=/rpc/agent.sock",
            "--env=NAV_EVAL_SHM_DIR=/obs",
            image,
        )
        try:
            yield RunningImage(name, directory)
        finally:
            _run_docker("rm", "--force", "--volumes", name)


def _make_finding(name: str, title: str, fine: bool, remark: str, fix: str, *, otherwise: str = FAIL) -> Finding:
    return Finding(name, title, PASS if fine else otherwise, remark, "" if fine else fix)


def _refuse_what_is_no_image(target: str) -> None:
    """A mistake in the address must not sound like a broken Docker."""
    if "://" in target:
        raise SdkError(
            f"{target!r} begins with no protocol that agents speak; write grpc://, http:// or ws://host:port."
        )
    if Path(target).is_dir():
        raise SdkError(
            f"{target} is a folder; start the agent in it and check its address (python {target}/agent.py, then "
            "nav-eval-sdk check grpc://localhost:8085), or build an image of it and check that."
        )
    if Path(target).is_file():
        raise SdkError(f"{target} is a file; check a running agent (grpc://localhost:8085) or the name of an image.")


def _run_docker(*arguments: str) -> str:
    done = subprocess.run([_find_docker(), *arguments], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SdkError(f"docker {arguments[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _find_docker() -> str:
    found: Any = shutil.which("docker") or shutil.which("podman")
    if not found:
        raise SdkError("There is no docker on this machine; check a running agent instead: nav-eval-sdk check grpc://…")
    return str(found)


CHECKS = (*protocol_checks.DESCRIPTION_CHECKS, *protocol_checks.ACTION_CHECKS, *robustness_checks.ROBUSTNESS_CHECKS)
LIMIT = "Raise your server's limit for messages (grpc.max_receive_message_length); it is 4 MB by default."
_SIGNS = {PASS: "✓", WARN: "!", FAIL: "✗", SKIP: "–"}
_COLOURS = {PASS: "32", WARN: "33", FAIL: "31", SKIP: "90"}


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
    interface = make_task(task, extra_sensors=sensors, action_seconds=action_seconds)

    def context(probe: Probe) -> CheckContext:
        return CheckContext(probe, interface, start_seconds)

    probe = make_probe(target, timeout=action_seconds)
    protocol = "grpc" if probe is None else probe.protocol
    if probe is None:
        _refuse_what_is_no_image(target)
        findings = _check_image(target, context, out=out, timeout=action_seconds)
    else:
        if probe.port and out is not None:
            print(f"Waiting for the agent on port {probe.port} …", file=out, flush=True)
        try:
            findings = run_checks(context(probe), out=out)
        finally:
            probe.close()
    if as_json:
        print(json.dumps(report_document(findings, address=target, protocol=protocol), indent=2))
    else:
        print(f"\n{format_summary(findings)}")
    return all(finding.verdict != FAIL for finding in findings)


def make_probe(address: str, *, timeout: float) -> Probe | None:
    """What talks to the agent at `address`; None for an image."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or 8085 if "://" in address else 8085
    if parts.scheme == "grpc":
        return GrpcProbe(f"{host}:{port}", timeout=timeout)
    if address.startswith("unix:"):
        return GrpcProbe(address, timeout=timeout)
    if parts.scheme in ("http", "https"):
        from nav_eval_sdk.check.rest_probe import RestProbe

        return RestProbe(address, timeout=timeout)
    if parts.scheme == "ws":
        from nav_eval_sdk.check.websocket_probe import WebSocketProbe

        return WebSocketProbe(host, port, timeout=timeout)
    name, _, number = address.rpartition(":")
    if name in ("localhost", "127.0.0.1", "0.0.0.0") and number.isdigit():  # noqa: S104
        return GrpcProbe(address, timeout=timeout)
    return None


def _check_image(
    image: str, context: Callable[[Probe], CheckContext], *, out: TextIO | None, timeout: float
) -> list[Finding]:
    findings = inspect_image(image)
    for finding in findings:
        if out is not None:
            print_finding(finding, out)
    with run_image(image) as container:
        probe = GrpcProbe(container.target, timeout=timeout, memory_dir=container.memory_dir)
        try:
            findings += run_checks(context(probe), out=out)
        finally:
            probe.close()
        if out is not None and any(finding.verdict == FAIL for finding in findings):
            print(f"\nThe end of the agent's log:\n{container.logs()}", file=out)
    return findings


def run_checks(context: CheckContext, *, out: TextIO | None = None) -> list[Finding]:
    """Every check of the agent's protocol, in order; a line for each as it comes."""
    findings: list[Finding] = []
    broken = ""
    for check in CHECKS:
        if context.probe.protocol not in check.protocols:
            continue
        finding = _skip(check, broken) if broken else _run_check(check, context)
        broken = check.name if finding.verdict == FAIL and check.essential else broken
        findings.append(finding)
        if out is not None:
            print_finding(finding, out)
    return findings


def print_finding(finding: Finding, out: TextIO) -> None:
    sign = _SIGNS[finding.verdict]
    sign = f"\x1b[{_COLOURS[finding.verdict]}m{sign}\x1b[0m" if out.isatty() else sign
    remark = f"  {_clean(finding.remark)}" if finding.remark else ""
    print(f" {sign} {finding.name:<20} {finding.title}{remark}", file=out, flush=True)
    if finding.verdict in (FAIL, WARN):
        print(f"   {'':<20} → {finding.fix}", file=out, flush=True)


def format_summary(findings: list[Finding]) -> str:
    count = {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in _SIGNS}
    text = f"{count[PASS]} passed, {count[WARN]} doubtful, {count[FAIL]} failed, {count[SKIP]} not applicable"
    return f"{text}. {'Not ready to submit.' if count[FAIL] else 'Ready to submit.'}"


def report_document(findings: list[Finding], *, address: str, protocol: str) -> dict[str, Any]:
    return {
        "address": address,
        "protocol": protocol,
        "passed": all(finding.verdict != FAIL for finding in findings),
        "checks": [finding.document() for finding in findings],
    }


def _run_check(check: Check, context: CheckContext) -> Finding:
    def make_finding(verdict: str, remark: object, fix: str = "") -> Finding:
        return Finding(check.name, check.title, verdict, str(remark or ""), fix)

    try:
        return make_finding(PASS, check.run(context))
    except CheckDoubtful as doubt:
        return make_finding(WARN, doubt, check.fix)
    except CheckSkipped as reason:
        return make_finding(SKIP, reason)
    except (CheckFailed, SdkError, TimeoutError) as error:
        return make_finding(FAIL, error, LIMIT if "larger than max" in str(error) else check.fix)


def _skip(check: Check, broken: str) -> Finding:
    return Finding(check.name, check.title, SKIP, f"because of {broken}")


def _clean(text: str) -> str:
    """One line, without signs that could move the cursor: an agent's words are not ours."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return clean if len(clean) <= 300 else clean[:300] + "…"
