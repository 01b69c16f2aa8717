"""Texts and places that several configuration tests use."""

from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
DATA = REPO / "tests" / "data" / "config"
SHIPPED = sorted((REPO / "configs").rglob("*.yaml"))

MINIMAL = """
benchmark:
  name: Minimal
  task: vln
  dataset: {type: vln, data_path: data/datasets/vln/R2R/val_seen.json.gz}
  evaluation: {success_distance: 3.0}
"""
