"""Runs as datasets that other people's libraries load: `nav-eval export RUN --format …`."""

from nav_eval.evaluation.export.exporters import (
    EXPORTERS,
    Exported,
    Exporter,
    ExportProgress,
    ExportSetup,
    export_run,
    register_exporter,
)

__all__ = ["EXPORTERS", "ExportProgress", "ExportSetup", "Exported", "Exporter", "export_run", "register_exporter"]
