"""Whether this worker has given a sign of life to the store lately: exit code 0 if it has.

Asked every half minute on hosts that may have better things to do, so it loads nothing: the worker leaves a mark.
"""

import os
import socket
import sys
import time
from pathlib import Path

SECONDS = 60.0


def main() -> int:
    home = os.environ.get("NAV_EVAL_WORKER_HOME") or Path(os.environ.get("NAV_EVAL_HOME", "var")) / "worker"
    name = os.environ.get("NAV_EVAL_WORKER_NAME") or socket.gethostname()
    try:
        return 0 if time.time() - Path(home, "alive", name).stat().st_mtime < SECONDS else 1
    except OSError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
