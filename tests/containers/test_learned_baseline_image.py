"""The example image of docs/learned_baseline.md, as a challenge runs it: no network, no root, read-only."""

import os
import subprocess
import sys
from pathlib import Path

from support.engine import ROOT, DockerEngine

EXAMPLE = ROOT / "sdk/examples/behaviour_cloning"


def test_the_cloned_policy_is_an_image_that_passes_the_checks(engine: DockerEngine) -> None:
    tag = "test-behaviour-cloning"
    engine.docker("build", "--tag", tag, "--build-arg", "BASE=nav-eval-agent:latest", str(EXAMPLE))
    script = Path(sys.executable).with_name("nav-eval-sdk")
    checked = subprocess.run(
        [script, "check", tag],
        env={**os.environ, **engine.environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    files = engine.docker("run", "--rm", "--network", "none", tag, "ls", "/agent").split()
    assert {"agent.py", "policy.npz", "policy.py", "features.py"} <= set(files)
    assert "train.py" not in files
