"""Runs as datasets that other people's libraries load: `nav-eval export RUN --format …`."""

from nav_eval.evaluation.export.registry import EXPORTERS, Exported, Exporter, ExportSetup, register_exporter
from nav_eval.evaluation.export.running import Progress, export_run

from nav_eval.evaluation.export import formats  # isort: skip - they register themselves

__all__ = [
    "EXPORTERS",
    "ExportSetup",
    "Exported",
    "Exporter",
    "Progress",
    "export_run",
    "formats",
    "register_exporter",
]
