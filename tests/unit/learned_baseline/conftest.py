"""The example's modules are scripts beside each other; these tests import them as it does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "sdk/examples/behaviour_cloning"))
