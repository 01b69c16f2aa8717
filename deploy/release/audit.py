"""Does anything that an image installs have a known vulnerability? Ends with 0 if not, 1 if so, 2 if nobody can tell.

    audit.py LOCK…                        asks PyPI's advisory service, through pip-audit
    audit.py LOCK… --database FILE        without a network: records of OSV, as a .zip of .json files, a folder or one
                                          file (osv-vulnerabilities.storage.googleapis.com/PyPI/all.zip has them all)

A library that the service does not know counts as "nobody can tell": silence is no good news.
"""

import argparse
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[\w,.-]*\])?==([^\s;\\]+)", re.MULTILINE)


class Pin(NamedTuple):
    """A library as it is locked."""

    name: str
    version: str


class NobodyKnows(Exception):
    """The question could not be answered; the message says why."""


def read_pins(text: str) -> list[Pin]:
    return [Pin(canonicalize_name(name), version) for name, version in _PIN.findall(text)]


def read_database(path: Path) -> Iterator[dict[str, Any]]:
    """Records of OSV."""
    try:
        if path.is_dir():
            yield from (json.loads(file.read_bytes()) for file in sorted(path.glob("*.json")))
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from (json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".json"))
        else:
            found = json.loads(path.read_bytes())
            yield from found if isinstance(found, list) else [found]
    except (OSError, ValueError) as error:
        raise NobodyKnows(f"{path} cannot be read as OSV's records: {error}") from error


def find_in_database(pins: Iterable[Pin], records: Iterable[dict[str, Any]]) -> list[str]:
    """What is known of the pins, a line each."""
    locked = {pin.name: pin.version for pin in pins}
    found, read = [], 0
    for record in records:
        read += 1
        for affected in () if record.get("withdrawn") else record.get("affected", ()):
            package = affected.get("package", {})
            name = canonicalize_name(package.get("name", ""))
            if package.get("ecosystem") == "PyPI" and name in locked and is_affected(locked[name], affected):
                found.append(f"{name} {locked[name]}: {record['id']} {record.get('summary', '')}".rstrip())
    if not read:
        raise NobodyKnows("The database of advisories is empty.")
    return sorted(set(found))


def is_affected(version: str, affected: dict[str, Any]) -> bool:
    """Whether a record means this version: it lists it, or has it in a range."""
    if version in affected.get("versions", ()):
        return True
    ranges = [each for each in affected.get("ranges", ()) if each.get("type") == "ECOSYSTEM"]
    return any(_is_within(Version(version), each.get("events", ())) for each in ranges)


def _is_within(version: Version, events: Sequence[dict[str, str]]) -> bool:
    inside = False
    for kind, bound in sorted(_read_events(events), key=lambda event: event[1]):
        if kind == "introduced" and version >= bound:
            inside = True
        elif (kind == "fixed" and version >= bound) or (kind == "last_affected" and version > bound):
            inside = False
    return inside


def _read_events(events: Sequence[dict[str, str]]) -> Iterator[tuple[str, Version]]:
    for event in events:
        for kind, bound in event.items():
            try:
                yield kind, Version("0.dev0" if bound == "0" else bound)
            except InvalidVersion:
                continue


def ask_service(locks: Sequence[Path]) -> list[str]:
    """What PyPI's advisory service says."""
    files = [word for lock in locks for word in ("--requirement", str(lock))]
    command = [sys.executable, "-m", "pip_audit", *files, "--require-hashes", "--disable-pip", "--format", "json"]
    done = subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True, check=False)  # noqa: S603
    try:
        answer = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError) as error:
        said = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise NobodyKnows(f"pip-audit could not ask PyPI's advisory service: {said}") from error
    return judge_answer(answer)


def judge_answer(answer: Sequence[dict[str, Any]]) -> list[str]:
    """Vulnerabilities in pip-audit's answer; what it skipped was not looked at."""
    if skipped := [each for each in answer if "skip_reason" in each]:
        first = skipped[0]
        raise NobodyKnows(
            f"{len(skipped)} of {len(answer)} libraries are unknown to the advisory service that this host reaches, "
            f"{first['name']} the first: {first['skip_reason']}"
        )
    return sorted({f"{each['name']} {each['version']}: {found['id']}" for each in answer for found in each["vulns"]})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locks", nargs="+", type=Path)
    parser.add_argument("--database", type=Path)
    given = parser.parse_args()
    pins = {pin for lock in given.locks for pin in read_pins(lock.read_text())}
    try:
        if given.database is None:
            found = ask_service(given.locks)
        else:
            found = find_in_database(pins, read_database(given.database))
    except NobodyKnows as trouble:
        advice = "" if given.database else " Give a database of advisories instead: make audit ADVISORIES=all.zip"
        print(f"Not audited. {trouble}{advice}", file=sys.stderr)
        return 2
    for line in found:
        print(line)
    print(f"{len(pins)} libraries, {len(found)} known vulnerabilities.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
