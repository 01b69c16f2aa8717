"""Libraries whose version or build decides how fast things are, or whether they work at all."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import nav_eval
from nav_eval_worker.doctor.findings import Finding, note, ok, warn
from nav_eval_worker.doctor.surroundings import Surroundings


def libraries(_: Surroundings) -> Iterator[Finding]:
    yield ok("nav-eval", nav_eval.__version__)
    yield from _sdk()
    yield from _protobuf()


def _sdk() -> Iterator[Finding]:
    try:
        yield ok("nav-eval-sdk", version("nav-eval-sdk"))
    except PackageNotFoundError:
        yield note("nav-eval-sdk", "not installed", "Teams need it, and `nav-eval demo`: pip install nav-eval-sdk.")


def _protobuf() -> Iterator[Finding]:
    from google.protobuf.internal import api_implementation

    found = f"grpcio {version('grpcio')}, protobuf {version('protobuf')} ({api_implementation.Type()})"
    if api_implementation.Type() == "python":
        advice = "Messages are read by slow Python code: install a protobuf wheel for this platform, and unset "
        yield warn("grpc", found, advice + "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION.")
    else:
        yield ok("grpc", found)
