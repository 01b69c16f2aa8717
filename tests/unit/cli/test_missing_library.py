"""An installation without the extra that a command needs: a line says which, and never a traceback."""

import os
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from nav_eval.cli.missing_library import EXTRAS
from support.paths import TESTS

RUNS = TESTS / "data" / "run_0_1_0"


@pytest.mark.parametrize("module", EXTRAS)
def test_the_extra_brings_the_module(module: str) -> None:
    name = {"rerun": "rerun-sdk"}.get(module, module.lower())
    required = [line.replace('"', "'") for line in requires("nav-eval") or ()]
    assert [line for line in required if line.startswith(name) and f"extra == '{EXTRAS[module]}'" in line]


@pytest.mark.parametrize(("module", "said"), [("moderngl", "pip install 'nav-eval[render]'"), ("numpy", "Traceback")])
def test_a_library_that_is_missing(module: str, said: str, tmp_path: Path) -> None:
    """What nav-eval itself always brings is missing only where an installation is broken."""
    hidden = f"import sys; sys.modules[{module!r}] = None; sys.argv = ['nav-eval', 'verify', 'vln']; "
    done = subprocess.run(
        [sys.executable, "-c", hidden + "from nav_eval.cli import main; main()"],
        cwd=RUNS,
        env={**os.environ, "NAV_EVAL_CACHE": str(tmp_path)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert said in done.stderr
    assert ("Traceback" in done.stderr) == (said == "Traceback")
