"""Compiled code in the cache belongs to the code it was made from."""

import os
import subprocess
import sys

import pytest

CALLER = """
from nav_eval.compilation import compile_kernel
from cached_package.helper import step

@compile_kernel
def twice(value):
    return step(step(value))
"""
HELPER = """
from nav_eval.compilation import compile_kernel

@compile_kernel
def step(value):
    return value + {step}
"""


@pytest.mark.slow
def test_a_kernel_is_compiled_again_when_what_it_calls_has_changed(tmp_path):
    package = tmp_path / "cached_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER)
    answers = []
    for step in (1, 1, 10):
        (package / "helper.py").write_text(HELPER.format(step=step))
        code = "from cached_package.caller import twice; print(twice(0), sum(twice.stats.cache_hits.values()))"
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        environ = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        answers.append(
            subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, check=True).stdout
        )
    assert [tuple(map(int, answer.split())) for answer in answers] == [(2, 0), (2, 1), (20, 0)]
