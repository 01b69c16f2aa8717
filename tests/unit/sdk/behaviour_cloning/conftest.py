"""The example's modules are scripts beside each other; these tests import them as it does."""

import sys

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "sdk/examples/behaviour_cloning"))
