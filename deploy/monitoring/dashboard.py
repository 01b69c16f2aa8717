"""The Grafana dashboard as code: `python deploy/monitoring/dashboard.py` writes grafana/dashboards/nav-eval.json."""

import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent / "grafana" / "dashboards" / "nav-eval.json"
WIDTH, HEIGHT = 8, 7

#: title, kind, unit, and what is asked: legend by expression
PANELS: list[tuple[str, str, str, dict[str, str]]] = [
    ("Submissions that have not ended", "timeseries", "short", {"nav_eval_submissions": "{{state}}"}),
    ("Jobs", "timeseries", "short", {"nav_eval_jobs": "{{kind}} {{state}}"}),
    ("Oldest waiting job", "stat", "s", {"nav_eval_oldest_waiting_job_seconds": ""}),
    (
        "Workers",
        "timeseries",
        "short",
        {"nav_eval_workers_alive": "alive", "nav_eval_workers_draining": "draining", "nav_eval_worker_slots": "slots"},
    ),
    ("Oldest heartbeat of a held job", "timeseries", "s", {"nav_eval_oldest_heartbeat_seconds": ""}),
    (
        "Boards and webhooks that wait",
        "timeseries",
        "short",
        {"nav_eval_unranked_boards": "boards", "nav_eval_webhook_deliveries_waiting": "deliveries"},
    ),
    ("Requests", "timeseries", "reqps", {"sum by (status) (rate(nav_eval_http_requests_total[5m]))": "{{status}}"}),
    (
        "Time of an answer",
        "timeseries",
        "s",
        {
            f"histogram_quantile({q}, sum by (le) (rate(nav_eval_http_request_seconds_bucket[5m])))": f"{q:.0%}"
            for q in (0.5, 0.95, 0.99)
        },
    ),
    (
        "Uploads and downloads",
        "timeseries",
        "Bps",
        {
            "sum(rate(nav_eval_http_received_bytes_total[5m]))": "received",
            "sum(rate(nav_eval_http_sent_bytes_total[5m]))": "sent",
        },
    ),
]


def dashboard() -> dict[str, Any]:
    return {
        "uid": "nav-eval",
        "title": "nav-eval",
        "tags": ["nav-eval"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "panels": [_panel(number, *panel) for number, panel in enumerate(PANELS)],
    }


def _panel(number: int, title: str, kind: str, unit: str, queries: dict[str, str]) -> dict[str, Any]:
    return {
        "id": number + 1,
        "title": title,
        "type": kind,
        "datasource": {"type": "prometheus", "uid": "prometheus"},
        "gridPos": {"x": number % 3 * WIDTH, "y": number // 3 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "expr": expression, "legendFormat": legend}
            for place, (expression, legend) in enumerate(queries.items())
        ],
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(dashboard(), indent=1) + "\n")
