"""The modules of the behaviour-cloning example, which are scripts beside each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "sdk/examples/behaviour_cloning"))
