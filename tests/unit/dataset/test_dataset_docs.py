"""The page about datasets names every format, and its examples work."""

import json
import re

import msgspec

from nav_eval.dataset.loader import DATASETS, DatasetRequest, load_dataset
from support.paths import ROOT

PAGE = (ROOT / "docs" / "datasets.md").read_text()


def test_every_format_is_on_the_page():
    named = set(re.findall(r"^\| (?:\[)?`(\w+)`", PAGE, flags=re.MULTILINE))
    assert {name for name in DATASETS.names() if not name.startswith("test-")} <= named


def test_the_line_of_our_own_format_loads(tmp_path):
    (line,) = (line for line in PAGE.splitlines() if line.startswith('{"public"'))
    path = tmp_path / "episodes.jsonl"
    path.write_text(line)
    episode = load_dataset(DatasetRequest(format="nav_eval", path=path))[0]
    assert msgspec.json.encode(episode) == line.encode()
    assert json.loads(line)["private"]["scene_id"] == episode.scene_id
