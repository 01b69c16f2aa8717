"""What images are made of: every file by its hash, every base by its digest, each library looked up and listed."""

import json
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

RELEASE = ROOT / "deploy" / "release"
LOCKS = sorted((ROOT / "deploy" / "docker" / "locks").glob("*.txt"))
AUDIT = runpy.run_path(str(RELEASE / "audit.py"))
DIGEST = "sha256:" + "0a" * 32


def versions(file: Path) -> dict[str, str]:
    return {pin.name: pin.version for pin in AUDIT["read_pins"](file.read_text())}


@pytest.mark.parametrize("lock", [*LOCKS, ROOT / "constraints.txt"], ids=lambda file: file.stem)
def test_every_library_has_hashes(lock: Path) -> None:
    entries = re.split(r"\n(?=\S)", lock.read_text().strip())
    bare = [entry for entry in entries if "--hash=sha256:" not in entry]
    assert [entry.partition("==")[0] for entry in bare] == (["torch"] if lock.stem == "constraints" else [])


@pytest.mark.parametrize("lock", LOCKS, ids=lambda file: file.stem)
def test_images_have_the_versions_that_are_tested(lock: Path) -> None:
    tested = versions(ROOT / "constraints.txt")
    older = {"async-timeout"}  # for Debian's Python 3.11.2 alone
    assert {name: v for name, v in versions(lock).items() if tested.get(name) != v and name not in older} == {}


@pytest.mark.parametrize(("lock", "extras"), [("gateway", ("gateway", "worker", "s3")), ("simulator", ("render",))])
def test_locks_follow_the_project(lock: str, extras: tuple[str, ...]) -> None:
    """A dependency that was added is in the lock; otherwise `make lock` was forgotten."""
    script = runpy.run_path(str(ROOT / "deploy" / "docker" / "requirements.py"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {script["name_of"](each) for each in script["requirements"](project, extras)}
    left_out = set(
        re.findall(r"[\w-]+", re.search(r"--without (numba.*) \|", (ROOT / "deploy/lock.sh").read_text())[1])
    )
    assert wanted - versions(ROOT / "deploy" / "docker" / "locks" / f"{lock}.txt").keys() <= left_out


def test_images_install_nothing_without_a_hash() -> None:
    script = (ROOT / "deploy" / "docker" / "install.sh").read_text()
    installs = [line for line in script.splitlines() if re.search(r"pip\" (--python \S+ )?(install|wheel)", line)]
    assert len(installs) == 4
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)
    assert "--no-build-isolation" in script


def record(name: str = "Some_Lib", **affected: Any) -> dict[str, Any]:
    package = {"ecosystem": "PyPI", "name": name}
    return {"id": "PYSEC-1", "summary": "It leaks.", "affected": [{"package": package, **affected}]}


def made_range(*events: dict[str, str]) -> dict[str, Any]:
    return {"ranges": [{"type": "ECOSYSTEM", "events": list(events)}]}


@pytest.mark.parametrize(
    ("affected", "found"),
    [
        ({"versions": ["1.2.0"]}, True),
        ({"versions": ["1.1.0"]}, False),
        (made_range({"introduced": "0"}), True),
        (made_range({"introduced": "0"}, {"fixed": "1.2.0"}), False),
        (made_range({"introduced": "0"}, {"fixed": "1.2.1"}), True),
        (made_range({"introduced": "0"}, {"last_affected": "1.2.0"}), True),
        (made_range({"introduced": "1.3"}), False),
        (made_range({"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "1.1"}, {"fixed": "1.10"}), True),
        (made_range({"fixed": "1.10"}, {"introduced": "1.1"}, {"fixed": "1.0"}, {"introduced": "0"}), True),
    ],
)
def test_a_record_means_versions(affected: dict[str, Any], found: bool) -> None:
    pins = AUDIT["read_pins"]("some-lib==1.2.0 \\\n    --hash=sha256:00\nother[extra]==2.0\n")
    assert pins == [("some-lib", "1.2.0"), ("other", "2.0")]
    assert bool(AUDIT["find_in_database"](pins, [record(**affected)])) is found
    assert AUDIT["find_in_database"](pins, [{**record(**affected), "withdrawn": "2026-01-01T00:00:00Z"}]) == []


@pytest.mark.parametrize("form", ["zip", "folder", "list"])
def test_known_vulnerabilities_are_named(form: str, tmp_path: Path) -> None:
    (tmp_path / "lock.txt").write_text("some-lib==1.2.0 \\\n    --hash=sha256:00\n")
    place = tmp_path / "database"
    if form == "zip":
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr("PYSEC-1.json", json.dumps(record(versions=["1.2.0"])))
    elif form == "folder":
        place.mkdir()
        (place / "PYSEC-1.json").write_text(json.dumps(record(versions=["1.2.0"])))
    else:
        place.write_text(json.dumps([record(versions=["1.2.0"])]))
    done = audit(tmp_path / "lock.txt", "--database", place)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "some-lib 1.2.0: PYSEC-1 It leaks.")
    (tmp_path / "lock.txt").write_text("some-lib==1.2.1 \\\n    --hash=sha256:00\n")
    done = audit(tmp_path / "lock.txt", "--database", place)
    assert (done.returncode, done.stdout) == (0, "1 libraries, 0 known vulnerabilities.\n")


def audit(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(RELEASE / "audit.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("content", [None, "[]", "<html>"])
def test_a_database_that_says_nothing_is_no_good_news(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "database").write_text(content)
    done = audit(LOCKS[0], "--database", tmp_path / "database")
    assert done.returncode == 2
    assert done.stderr.startswith("Not audited.")


def test_what_the_service_does_not_know_is_no_good_news() -> None:
    known = {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-2"}]}
    assert AUDIT["judge_answer"]([known]) == ["a 1: PYSEC-2"]
    with pytest.raises(Exception, match=r"1 of 2 libraries are unknown .* b the first: not found"):
        AUDIT["judge_answer"]([known, {"name": "b", "skip_reason": "not found"}])


@pytest.mark.integration
def test_an_image_is_listed(tmp_path: Path) -> None:
    (tmp_path / "packages").write_text("libc6:amd64\t2.36-9+deb12u10\nbash\t5.2.15-2+b7\n")
    lock, output = ROOT / "deploy" / "docker" / "locks" / "agent.txt", tmp_path / "out" / "agent.cdx.json"
    command = [sys.executable, str(RELEASE / "sbom.py"), str(lock), str(output), "--name", "nav-eval-agent"]
    subprocess.run(
        [*command, "--version", "1.0", "--base", f"x@{DIGEST}", "--packages", str(tmp_path / "packages")], check=True
    )
    document = json.loads(output.read_text())
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["component"]["name"] == "nav-eval-agent"
    purls = {part["purl"] for part in document["components"]}
    assert {f"pkg:pypi/{name}@{version}" for name, version in versions(lock).items()} <= purls
    assert "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10" in purls
    assert len(purls) == len({part["bom-ref"] for part in document["components"]})


@pytest.mark.parametrize("base", ["", "python:3.11-slim", "python@sha256:0a", f"python @{DIGEST}", f"{DIGEST}:latest"])
def test_a_release_refuses_a_base_without_digest(base: str) -> None:
    done = subprocess.run([RELEASE / "release.sh", base], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "has no digest" in done.stderr


@pytest.mark.parametrize("base", [f"python@{DIGEST}", f"registry.example.org:5000/python:3.11@{DIGEST}", DIGEST])
def test_a_release_is_audited_before_it_is_built(base: str, tmp_path: Path) -> None:
    (tmp_path / "advisories").write_text("[]")
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
    command = [str(RELEASE / "release.sh"), base, str(tmp_path / "advisories")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("Not audited.")
