"""Whether this worker has given a sign of life to the store lately: exit code 0 if it has."""

import sys

from nav_eval_store import workers
from nav_eval_store.settings import StoreSettings
from nav_eval_worker.settings import WorkerSettings


def main() -> int:
    name = WorkerSettings.from_environment().name
    database = StoreSettings.from_environment().open_database()
    with database.read() as session:
        return 0 if name in {worker.name for worker in workers.alive(session)} else 1


if __name__ == "__main__":
    sys.exit(main())
