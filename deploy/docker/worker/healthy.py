"""Whether this worker has given a sign of life to the store lately, and its engine to it: exit code 0 if both have.

usage: healthy.py [alive]     with `alive` the engine is not asked: a worker that waits for one need not be restarted

Asked every half minute on hosts that may have better things to do, so it loads nothing: the worker leaves marks.
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
    marks = sys.argv[1:] or ["alive", "ready"]
    try:
        return int(any(time.time() - Path(home, mark, name).stat().st_mtime > SECONDS for mark in marks))
    except OSError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
