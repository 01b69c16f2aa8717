"""Compiled code in the cache belongs to the code it was made from."""

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from nav_eval import machine_code
from nav_eval.compilation import bind_kernel, compile_nogil_kernel, compile_scalar_kernel

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
        code = "import sys; from cached_package.caller import twice; print(twice(0), int('numba' in sys.modules))"
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        environ = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        answers.append(
            subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, check=True).stdout
        )
    assert [tuple(map(int, answer.split())) for answer in answers] == [(2, 1), (2, 0), (20, 1)]


@pytest.mark.slow
def test_processes_that_start_together_compile_a_kernel_once(tmp_path):
    package = tmp_path / "cached_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER)
    (package / "helper.py").write_text(HELPER.format(step=1))
    code = (
        "import sys, numba\n"
        "from cached_package.caller import twice\n"
        "twice.dispatcher\n"  # ready to compile
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(twice(0), sum(twice.dispatcher.stats.cache_misses.values()))\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environ = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 3
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = sorted(process.communicate()[0].split() for process in processes)
    assert answers == [["2", "0"], ["2", "0"], ["2", "1"]]


@compile_scalar_kernel
def measure(values, place):
    """A sum, and whether it is large; of arrays, named tuples and plain numbers."""
    total = place[0] * values.second
    for value in values.first:
        total += value
    return total > 10.0, total, len(values.first)


class Values(NamedTuple):
    first: NDArray[np.float32]
    second: float


@pytest.mark.slow
def test_an_object_file_answers_as_numba_does(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    arguments = Values(np.array([1.5, 2.25, 4.0], np.float32), 0.1), (3.0, 7)
    compiled = bind_kernel(measure, arguments[0], like=(arguments[1],))
    file = machine_code.find_object_file(measure.__wrapped__, measure.cache_name, arguments)
    native = machine_code.load_function.__wrapped__(file)
    assert native(*arguments) == compiled(arguments[1]) == (False, 7.75 + 3.0 * 0.1, 3)
    other = (Values(arguments[0].first.astype(float), 0.1), arguments[1])
    assert machine_code.find_object_file(measure.__wrapped__, measure.cache_name, other) != file  # another type
    file.write_bytes(file.read_bytes()[:-200])
    assert machine_code.load_function.__wrapped__(file) is None


@compile_nogil_kernel
def fill_shares(values, out):
    """With arrays of its own, as numba's run-time makes them; by rows, however they lie in memory."""
    for row in range(len(values)):
        shares = np.empty(values.shape[1])
        for column in range(values.shape[1]):
            shares[column] = values[row, column] / values[row].sum()
        out[row] = shares
    if len(values) > 3:
        raise ValueError("too many rows")
    return len(values)


@pytest.mark.slow
def test_a_kernel_that_makes_arrays_is_loaded_too(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    square = np.arange(1.0, 10.0).reshape(3, 3)
    shares = square / square.sum(axis=1, keepdims=True)
    answers = []
    for values in (square, np.asfortranarray(square), np.repeat(square, 2, axis=1)[:, ::2], square, square[:2]):
        out = np.zeros_like(values, order="C")
        answers.append(fill_shares(values, out))
        assert np.array_equal(out, shares[: len(values)])
    assert answers == [3, 3, 3, 3, 2]
    assert len(list(tmp_path.glob("objects_*/*.kernel"))) == 3, "one for each way to lie in memory"

    out = np.zeros_like(square)
    file = machine_code.find_object_file(fill_shares.__wrapped__, fill_shares.cache_name, (square, out))
    native = machine_code.load_function.__wrapped__(file)
    assert native(square, out) == 3
    assert np.array_equal(out, shares)
    with pytest.raises(ValueError, match="too many rows"):
        native(np.ones((4, 3)), np.ones((4, 3)))
    with pytest.raises(TypeError):
        native(square)


def test_arguments_are_told_apart_as_numba_does():
    square = np.zeros((2, 2))
    frozen = square.copy()
    frozen.flags.writeable = False
    others = [square.T[::-1], frozen, square.astype(np.float32), square[0], square.astype(">f8"), 1, 1.0, True]
    types = [machine_code.list_types((each,)) for each in (square, *others)]
    assert len(set(types)) == len(types)
    assert machine_code.list_types((square,)) == machine_code.list_types((np.ones((3, 5)),))
    assert machine_code.list_types((1 << 63,)) is None
    assert machine_code.list_types(("text",)) is None
    assert machine_code.list_types((Values(square, 1.0),)) != machine_code.list_types(((square, 1.0),))


def test_code_for_every_processor_is_found_on_every_processor(monkeypatch):
    monkeypatch.setattr(machine_code, "_describe_processor", lambda: ["flags: this one alone"])
    describe = machine_code._describe_compiler.__wrapped__
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    assert "flags: this one alone" in describe()
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert "flags: this one alone" not in describe()
