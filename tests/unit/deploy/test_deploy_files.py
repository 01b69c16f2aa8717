"""Files of deploy/ that no program of ours reads: parsed, compared with what they describe, run where that is cheap."""

import ast
import importlib
import json
import os
import re
import runpy
import shutil
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from nav_eval.compilation import hash_package
from support.paths import ROOT

DOCKERFILES = sorted((ROOT / "deploy" / "docker").glob("Dockerfile.*"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SISTERS = (".gateway", ".worker")
LONG_RUNNING = ("postgres", "redis", "gateway", "worker", "worker-gpu", "prometheus", "grafana")


def required(*extras: str) -> set[str]:
    script = runpy.run_path(str(ROOT / "deploy" / "docker" / "requirements.py"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {script["name_of"](requirement) for requirement in script["requirements"](project, extras)}


def test_requirements_follow_extras_of_extras() -> None:
    assert {"numpy", "celery", "docker", "sqlalchemy"} <= required("worker")
    assert "celery" not in required("render")


#: pictures, tables of a terminal, a login by a provider, a broker that is none: a gateway starts without them
ON_DEMAND = ("PIL", "rich", "authlib", "joserfc", "requests", "redis", "celery", "confusable_homoglyphs")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("package", "more"),
    [
        ("nav_eval_gateway.app", ON_DEMAND),
        ("nav_eval_worker.context", ("confusable_homoglyphs",)),
        ("nav_eval_worker.job_runner", ("rich",)),
    ],
)
def test_what_images_leave_out_is_not_loaded(package: str, more: tuple[str, ...]) -> None:
    left_out = ("numba", "moderngl", "DracoPy", "trimesh", "lxml", "networkx", "collada", "rtree", *more)
    code = f"import {package}, sys; print([m for m in {left_out} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("script", sorted((ROOT / "deploy/docker").rglob("*.py")), ids=lambda file: file.stem)
def test_what_scripts_of_images_import_is_there(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("nav_eval"):
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or importlib.import_module(f"{node.module}.{name.name}")


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.suffix)
def test_dockerfiles_are_pinned_small_and_without_root(file: Path) -> None:
    text = file.read_text()
    assert "# syntax=" not in text  # it would be fetched from a registry
    assert re.search(r"^ARG BASE=\S+:\d+\.\d+\.\d+\S*$", text, re.MULTILINE)
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE))
    assert re.findall(r"^ARG KERNELS=(.+)$", text, re.MULTILINE) in ([], ["${BASE}"])
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) - stages - {"${KERNELS}"} == {"${BASE}"}
    assert re.findall(r"^USER (\d+):\d+$", text, re.MULTILINE)[-1] != "0"
    assert "org.opencontainers.image.version" in text
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    for source in (word for line in copied for word in line.split()):
        assert (ROOT / source).exists(), source


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.suffix)
def test_libraries_are_a_layer_that_our_code_does_not_change(file: Path) -> None:
    lines = file.read_text().splitlines()
    layers = [line for line in lines if line.startswith("COPY --from=build /opt/")]
    assert layers == ["COPY --from=build /opt/nav-eval /opt/nav-eval", "COPY --from=build /opt/ours /opt/nav-eval"]


def test_gateway_and_worker_share_their_layers() -> None:
    gateway, worker = (file.read_text().split("\nARG BASE=")[1] for file in DOCKERFILES if file.suffix in SISTERS)
    ours, theirs = gateway.split("# --- here they part")[0], worker.split("# --- here they part")[0]
    assert ours == theirs
    assert "COPY --from=build" in ours


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_services_restart_and_are_limited(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["restart"] == ("always" if name.startswith("worker") else "unless-stopped")
    assert "mem_limit" in service
    assert "no-new-privileges:true" in service["security_opt"]


def test_the_socket_of_the_engine_is_for_workers_alone() -> None:
    holders = {name for name, service in COMPOSE["services"].items() if "docker.sock" in json.dumps(service)}
    assert holders == {"worker", "worker-gpu"}
    mounts = {name for name, service in COMPOSE["services"].items() if "/run/engine" in json.dumps(service)}
    assert mounts == holders


def test_workers_mount_the_folder_of_the_socket() -> None:
    """A mounted file keeps its inode: it would still be the socket of an engine that is gone."""
    for file in (COMPOSE, yaml.safe_load((ROOT / "deploy" / "worker-host" / "docker-compose.yml").read_text())):
        worker = file["services"]["worker"]
        assert not [mount for mount in worker["volumes"] if ".sock" in mount]
        assert "${DOCKER_SOCKET_FOLDER:-/var/run}:/run/engine:ro" in worker["volumes"]
        assert worker["environment"]["DOCKER_HOST"].startswith("unix:///run/engine/")


def test_no_password_stands_in_a_file() -> None:
    values = json.dumps([service.get("environment") for service in COMPOSE["services"].values()])
    assert not re.search(r"PASSWORD\W+[^_]", values.replace("PASSWORD_FILE", "").replace("PASSWORD__FILE", ""))
    assert all(secret["file"].startswith("${NAV_EVAL_SECRETS:-") for secret in COMPOSE["secrets"].values())


@pytest.mark.parametrize("name", ["worker", "worker-gpu"])
def test_workers_reach_mail_webhooks_and_object_stores(name: str) -> None:
    """An internal network alone leads nowhere."""
    networks = COMPOSE["services"][name]["networks"]
    assert any(not COMPOSE["networks"][network].get("internal") for network in networks)


def test_databases_are_not_reachable_from_outside() -> None:
    assert COMPOSE["networks"]["backend"]["internal"] is True
    for name in ("postgres", "redis"):
        assert COMPOSE["services"][name]["networks"] == ["backend"]
        assert "ports" not in COMPOSE["services"][name]


@pytest.mark.slow
@pytest.mark.parametrize("profiles", [(), ("gpu", "monitoring", "demo")])
def test_docker_compose_1_29_takes_the_file(profiles: tuple[str, ...], tmp_path: Path) -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed (Debian: apt-get install docker-compose)")
    make_secrets(tmp_path)
    options = [part for profile in profiles for part in ("--profile", profile)]
    done = subprocess.run(
        [program, *options, "config"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "NAV_EVAL_SECRETS": str(tmp_path / "secrets")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def make_secrets(folder: Path) -> None:
    command = [str(ROOT / "deploy" / "secrets.sh"), str(folder / "secrets"), str(folder / "env")]
    subprocess.run(command, check=True, capture_output=True)


def test_secrets_are_made_once_and_are_nobody_elses(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    before = {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()}
    assert set(before) == set(COMPOSE["secrets"])
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert len(set(before.values())) == len(before)
    assert before["postgres_password"] in before["database_url"]
    make_secrets(tmp_path)
    assert {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()} == before


def test_the_dashboard_is_what_its_source_says() -> None:
    made = runpy.run_path(str(ROOT / "deploy" / "monitoring" / "dashboard.py"))
    assert json.loads(made["TARGET"].read_text()) == made["dashboard"]()


def test_panels_and_alerts_ask_for_what_the_gateway_tells() -> None:
    told = (ROOT / "services" / "nav_eval_gateway" / "prometheus.py").read_text()
    asked = (ROOT / "deploy" / "monitoring" / "dashboard.py").read_text()
    asked += (ROOT / "deploy" / "monitoring" / "alerts.yml").read_text()
    names = {re.sub(r"_(total|bucket)$", "", name) for name in re.findall(r"\bnav_eval_\w+", asked)}
    assert {name for name in names if f'"{name}"' not in told} == set()


@pytest.mark.parametrize(
    ("ages", "code"), [((5, 5), 0), ((500, 5), 1), ((5, 500), 1), ((None, None), 1), ((5, None), 1)]
)
def test_a_worker_is_healthy_while_it_leaves_its_marks(
    tmp_path: Path, ages: tuple[float | None, float | None], code: int
) -> None:
    """One for the store, one for the engine."""
    for kind, age in zip(("alive", "ready"), ages, strict=True):
        mark = tmp_path / "worker" / kind / "w1"
        mark.parent.mkdir(parents=True)
        if age is not None:
            mark.touch()
            os.utime(mark, (time.time() - age,) * 2)
    script = ROOT / "deploy" / "docker" / "worker" / "healthy.py"
    environment = {"NAV_EVAL_HOME": str(tmp_path), "NAV_EVAL_WORKER_NAME": "w1"}
    assert subprocess.run([sys.executable, "-I", "-S", str(script)], env=environment, check=False).returncode == code


def test_the_demo_prints_a_board_that_can_be_read() -> None:
    board = {"columns": ["sr", "ne"], "rows": [{"rank": 1, "team": "Team demo-1", "scores": {"sr": 0.5, "ne": None}}]}
    printed = runpy.run_path(str(ROOT / "deploy" / "docker" / "agent" / "demo.py"))["table"](board)
    assert printed.splitlines() == ["rank  team         sr     ne", "1     Team demo-1  0.500  -"]


def test_machine_code_of_another_source_leaves_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the simulator's image keeps what an earlier one compiled."""
    package = Path(importlib.import_module("nav_eval.scene.navigation").__file__).parent
    current = f"objects_navigation/walk_{hash_package(package)}.0123.kernel"
    for name in (
        current,
        "objects_navigation/walk_0123456789ab.0123.kernel",
        "navigation/walk_0123456789ab-7.py311.nbi",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    runpy.run_path(str(ROOT / "deploy/docker/simulator/drop_stale.py"), run_name="__main__")
    assert [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()] == [current]
