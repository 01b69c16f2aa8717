"""What an issue should say about the machine."""

import platform
import sys

from nav_eval import __version__ as engine_version
from nav_eval_habitat import __version__


def main() -> None:
    parts = (f"nav-eval-habitat {__version__}", f"nav-eval {engine_version}", f"Python {sys.version.split()[0]}")
    print(", ".join((*parts, platform.platform())))


if __name__ == "__main__":
    main()
