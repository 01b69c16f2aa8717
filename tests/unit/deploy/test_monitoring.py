"""Prometheus' own opinion of what we give it, where its tool is installed (Debian: apt-get install prometheus)."""

import runpy
import subprocess
from pathlib import Path
from typing import Any

import yaml

from support.paths import ROOT
from support.tools import program

MONITORING = ROOT / "deploy" / "monitoring"
ALERTS: list[dict[str, Any]] = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]


def promtool(*arguments: str) -> None:
    tool = program("promtool", package="prometheus")
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_configuration_is_valid() -> None:
    promtool("check", "config", "--syntax-only", str(MONITORING / "prometheus.yml"))


def test_alarms_ring_when_they_must_and_not_before() -> None:
    promtool("check", "rules", str(MONITORING / "alerts.yml"))
    promtool("test", "rules", str(MONITORING / "alerts.test.yml"))


def test_panels_ask_in_valid_promql(tmp_path: Path) -> None:
    panels = runpy.run_path(str(MONITORING / "dashboard.py"))["PANELS"]
    queries = [query for _, _, _, asked in panels for query in asked]
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(queries)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", str(file))


def test_every_alarm_has_a_story_that_rings_it_and_one_that_does_not() -> None:
    stories = yaml.safe_load((MONITORING / "alerts.test.yml").read_text())["tests"]
    told = [test for story in stories for test in story["alert_rule_test"]]
    names = {alert["alert"] for alert in ALERTS}
    assert {test["alertname"] for test in told if test.get("exp_alerts")} == names
    assert {test["alertname"] for test in told if not test.get("exp_alerts")} == names


def test_every_alarm_says_what_to_do() -> None:
    assert [alert["alert"] for alert in ALERTS if not alert["annotations"]["summary"]] == []


def test_what_the_compose_file_mounts_is_there() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    mounted = [volume.split(":")[0] for name in ("prometheus", "grafana") for volume in services[name]["volumes"]]
    assert [path for path in mounted if path.startswith("./") and not (ROOT / path).exists()] == []
    scraped = yaml.safe_load((MONITORING / "prometheus.yml").read_text())["scrape_configs"][0]
    assert scraped["static_configs"] == [{"targets": ["gateway:8000"]}]
    assert scraped["authorization"]["credentials_file"] == "/run/secrets/metrics_token"
    assert "metrics_token" in services["prometheus"]["secrets"]
