"""What is in an image, as a CycloneDX document: Python libraries by their lock, and Debian packages if they are given.

usage: sbom.py LOCK OUTPUT --name NAME --version VERSION [--base BASE] [--packages FILE]

FILE is what `dpkg-query -W` prints inside the image. cyclonedx-py reads the lock; hashes are those that are checked
when the image is built.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote


def read_lock(lock: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", str(lock), "--output-reproducible", "--of", "JSON"]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"cyclonedx-py cannot read {lock}: {done.stderr.decode(errors='replace').strip()}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def read_packages(listed: str) -> Iterator[dict[str, str]]:
    """Components out of lines with a name and a version."""
    for line in listed.splitlines():
        name, version = line.split("\t")
        name = name.partition(":")[0]
        purl = f"pkg:deb/debian/{quote(name)}@{quote(version)}"
        yield {"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lock", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--base")
    parser.add_argument("--packages", type=Path)
    given = parser.parse_args()
    document = read_lock(given.lock)
    about = {"type": "container", "name": given.name, "version": given.version, "bom-ref": given.name}
    if given.base:
        about["properties"] = [{"name": "nav-eval:base", "value": given.base}]
    document.setdefault("metadata", {})["component"] = about
    if given.packages:
        document["components"] += read_packages(given.packages.read_text())
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{given.output}: {len(document['components'])} components")


if __name__ == "__main__":
    main()
