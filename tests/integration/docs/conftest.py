"""The modules of the behaviour-cloning example, which are scripts beside each other."""

import sys

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "sdk/examples/behaviour_cloning"))
