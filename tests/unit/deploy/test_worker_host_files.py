"""The files by which another host joins: Compose takes them, scripts do what they say, the tunnel's ends agree."""

import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.paths import ROOT

FOLDER = ROOT / "deploy" / "worker-host"
PARTS: dict[str, Any] = {
    name: yaml.safe_load((FOLDER / name).read_text()) for name in ("hub.yml", "docker-compose.yml")
}
SERVICES = [(file, name) for file, document in PARTS.items() for name in document["services"]]


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Secrets of a hub, certificates, and what the host gpu-1 gets of them."""
    folder = tmp_path_factory.mktemp("joined")
    for command in (
        [ROOT / "deploy" / "secrets.sh", folder / "hub", folder / "env"],
        [FOLDER / "certificates.sh", folder / "tunnel", "hub.example.org", "gpu-1"],
        [FOLDER / "join.sh", folder / "hub", folder / "tunnel", "gpu-1", folder / "gpu-1"],
    ):
        subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return folder


def test_a_host_gets_addresses_through_the_tunnel_and_no_key_of_the_authority(joined: Path) -> None:
    given = {file.name: file.read_text() for file in (joined / "gpu-1").iterdir()}
    assert set(given) == {"database_url", "broker_url", "tunnel.pem", "ca.crt"}
    password = (joined / "hub" / "postgres_password").read_text()
    assert given["database_url"] == f"postgresql://nav_eval:{password}@tunnel:5432/nav_eval"
    assert "@tunnel:6379/" in given["broker_url"]
    assert (joined / "tunnel" / "ca.key").read_text() not in given["tunnel.pem"]
    assert stat.S_IMODE((joined / "gpu-1").stat().st_mode) == 0o700


def test_certificates_are_made_once_and_hosts_can_be_added(joined: Path) -> None:
    before = {file.name: file.read_bytes() for file in (joined / "tunnel").glob("*.pem")}
    command = [str(FOLDER / "certificates.sh"), str(joined / "tunnel"), "hub.example.org", "gpu-1", "gpu-2"]
    subprocess.run(command, check=True, capture_output=True)
    after = {file.name: file.read_bytes() for file in (joined / "tunnel").glob("*.pem")}
    assert set(after) - set(before) == {"gpu-2.pem"}
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(("file", "name"), SERVICES)
def test_services_restart_are_limited_and_gain_nothing(file: str, name: str) -> None:
    service = PARTS[file]["services"][name]
    assert service["restart"] == ("always" if name == "worker" else "unless-stopped")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert {"mem_limit", "pids_limit"} <= set(service)


def test_one_port_is_open_and_only_on_the_hub() -> None:
    ports = [service.get("ports") for document in PARTS.values() for service in document["services"].values()]
    assert [port for port in ports if port] == [["${TUNNEL_LISTEN:-0.0.0.0:7443}:7443"]]


def test_both_ends_of_the_tunnel_speak_of_the_same_services() -> None:
    hub, worker = ((FOLDER / f"haproxy.{end}.cfg").read_text() for end in ("hub", "worker"))
    offered = set(re.findall(r"use_backend (\w+) if \{ ssl_fc_alpn (\w+) \}", hub))
    assert offered == {(name, name) for name in re.findall(r"alpn (\w+)$", worker, re.MULTILINE)}
    assert "verify required" in re.search(r"^ +bind .*$", hub, re.MULTILINE)[0]
    assert "verify required" in re.search(r"^ +default-server .*$", worker, re.MULTILINE)[0]
    assert hub.count("ssl-min-ver TLSv1.3") == worker.count("ssl-min-ver TLSv1.3") == 1


@pytest.mark.slow
@pytest.mark.parametrize("where", ["hub", "worker host"])
def test_docker_compose_1_29_takes_the_files(joined: Path, where: str) -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed (Debian: apt-get install docker-compose)")
    files = ["docker-compose.yml"] if where == "worker host" else ["docker-compose.yml", "deploy/worker-host/hub.yml"]
    options = [part for file in files for part in ("-f", file)]
    secrets = joined / ("gpu-1" if where == "worker host" else "hub")
    variables = {
        "PATH": "/usr/bin:/bin",
        "NAV_EVAL_SECRETS": str(secrets),
        "TUNNEL_CERTIFICATES": str(joined / "tunnel"),
        "HUB_ADDRESS": "hub.example.org:7443",
        "HUB_NAME": "hub.example.org",
    }
    folder = FOLDER if where == "worker host" else ROOT
    done = subprocess.run(
        [program, *options, "config"], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert "tunnel" in services
    if where == "worker host":  # which reaches the tunnel, and nothing outside
        assert set(services["worker"]["networks"]) == {"inside"}
