"""docs/organisers.md, typed from top to bottom in one shell, on a server of its own."""

import os
import re
import shutil
import signal
import subprocess

import pytest
from processes import processes_with, until

from support.paths import ROOT

PAGE = ROOT / "docs" / "organisers.md"
READY = "until curl --silent --fail http://127.0.0.1:8080/readyz; do sleep 0.2; done\n"

SHORT = """
benchmark:
  extends: vln_base
  name: Short VLN
  dataset:
    format: nav_eval
    data_path: data/vln/{split}.json.gz
    scene_path: data/scenes/
    split: val_unseen
    generate: {houses: 1, seed: 11, episodes: 2, split: val_unseen}
"""
"""The page's benchmark with two episodes: a name in ./configs goes before ours."""

pytestmark = pytest.mark.integration


def script(port: int) -> str:
    """Every command of the page; only the port is another, and the reader's patience is spelled out."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 7
    typed = "\n".join(blocks).replace("serve --with-worker &\n", f"serve --with-worker --port {port} &\n{READY}")
    return "set -euo pipefail\n" + typed.replace("127.0.0.1:8080", f"127.0.0.1:{port}")


def test_the_page_works_as_written(tmp_path, unused_port):
    (tmp_path / "configs" / "benchmarks").mkdir(parents=True)
    (tmp_path / "configs" / "benchmarks" / "demo_vln.yaml").write_text(SHORT)
    environment = {
        **os.environ,
        "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    with (tmp_path / "log.txt").open("w") as log:
        shell = subprocess.Popen(
            [shutil.which("bash"), "-c", script(unused_port)],
            cwd=tmp_path,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    home = f"NAV_EVAL_HOME={tmp_path / 'var'}"
    try:
        code = shell.wait(timeout=400)
    finally:
        for pid in processes_with(home):  # the server that the page starts in the background, and its children
            os.kill(pid, signal.SIGTERM)
    printed = (tmp_path / "log.txt").read_text()
    assert code == 0, printed[-4000:]
    assert "spring: created." in printed
    assert "completed: " in printed, "the submission was evaluated"
    assert re.search(r"^1\s+Ants\s+", printed, re.MULTILINE), "and is on the board"
    assert (tmp_path / "elsewhere" / "nav-eval.db").exists()
    until(lambda: not processes_with(home), seconds=60, what="the end of the server")
