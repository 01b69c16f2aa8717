"""Texts and places that several configuration tests use."""

from support.paths import ROOT

REPO = ROOT
DATA = REPO / "tests" / "data" / "config"
SHIPPED = sorted((REPO / "configs").rglob("*.yaml"))

MINIMAL = """
benchmark:
  name: Minimal
  task: vln
  dataset: {type: vln, data_path: data/datasets/vln/R2R/val_seen.json.gz}
  evaluation: {success_distance: 3.0}
"""
