"""The modules of the behaviour-cloning example, which are scripts beside each other; and the room as a scene."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS.parent / "sdk/examples/behaviour_cloning"))

_spec = spec_from_file_location("rooms", TESTS / "conftest.py")
assert _spec is not None
assert _spec.loader is not None
sys.modules["rooms"] = module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["rooms"])
