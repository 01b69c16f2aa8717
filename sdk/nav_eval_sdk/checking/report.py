"""Running the checks, and saying what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TextIO

from nav_eval_sdk.checking import acting, presence, robustness
from nav_eval_sdk.checking.checks import Check, Context, Doubtful, Failed, NotApplicable
from nav_eval_sdk.errors import SdkError

CHECKS = (*presence.CHECKS, *acting.CHECKS, *robustness.CHECKS)

PASS, WARN, FAIL, SKIP = "pass", "warn", "fail", "skip"
LIMIT = "Raise your server's limit for messages (grpc.max_receive_message_length); it is 4 MB by default."
_SIGNS = {PASS: "✓", WARN: "!", FAIL: "✗", SKIP: "–"}
_COLOURS = {PASS: "32", WARN: "33", FAIL: "31", SKIP: "90"}


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    name: str
    title: str
    verdict: str  #: pass, warn, fail or skip
    remark: str = ""
    fix: str = ""  #: what to do, where something is to do

    def document(self) -> dict[str, str]:
        return {key: value for key, value in vars(self).items() if value}


def run_checks(context: Context, *, out: TextIO | None = None) -> list[Finding]:
    """Every check of the agent's protocol, in order; a line for each as it comes."""
    findings: list[Finding] = []
    broken = ""
    for check in CHECKS:
        if context.probe.protocol not in check.protocols:
            continue
        finding = _skipped(check, broken) if broken else _run(check, context)
        broken = check.name if finding.verdict == FAIL and check.essential else broken
        findings.append(finding)
        if out is not None:
            print_finding(finding, out)
    return findings


def print_finding(finding: Finding, out: TextIO) -> None:
    sign = _SIGNS[finding.verdict]
    sign = f"\x1b[{_COLOURS[finding.verdict]}m{sign}\x1b[0m" if out.isatty() else sign
    remark = f"  {_shown(finding.remark)}" if finding.remark else ""
    print(f" {sign} {finding.name:<20} {finding.title}{remark}", file=out, flush=True)
    if finding.verdict in (FAIL, WARN):
        print(f"   {'':<20} → {finding.fix}", file=out, flush=True)


def summary(findings: list[Finding]) -> str:
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


def _run(check: Check, context: Context) -> Finding:
    def finding(verdict: str, remark: object, fix: str = "") -> Finding:
        return Finding(check.name, check.title, verdict, str(remark or ""), fix)

    try:
        return finding(PASS, check.run(context))
    except Doubtful as doubt:
        return finding(WARN, doubt, check.fix)
    except NotApplicable as reason:
        return finding(SKIP, reason)
    except (Failed, SdkError, TimeoutError) as error:
        return finding(FAIL, error, LIMIT if "larger than max" in str(error) else check.fix)


def _skipped(check: Check, broken: str) -> Finding:
    return Finding(check.name, check.title, SKIP, f"because of {broken}")


def _shown(text: str) -> str:
    """One line, without signs that could move the cursor: an agent's words are not ours."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return clean if len(clean) <= 300 else clean[:300] + "…"
