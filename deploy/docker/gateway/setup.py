"""First start and every update: tables, the organiser with a token of their own, and the competitions as code.

usage: setup.py COMPETITION…       (names, or files)
"""

import os
import sys
from pathlib import Path

from nav_eval.config import load_competition
from nav_eval_gateway import cli
from nav_eval_store.audit import make_system_actor
from nav_eval_store.competitions import configuration
from nav_eval_store.settings import StoreSettings


def main(names: list[str]) -> None:
    database = StoreSettings.from_environment().open_database()
    token_file = cli.prepare_database(database, Path(os.environ["NAV_EVAL_HOME"]))
    if token_file is not None:
        print(f"A new installation. Its organiser's token: docker compose exec gateway cat {token_file}")
    for name in names:
        with database.begin() as session:
            applied = configuration.apply(session, load_competition(name), actor=make_system_actor("setup"))
        print(f"{name}: {len(applied.changes)} changes")


if __name__ == "__main__":
    main(sys.argv[1:])
