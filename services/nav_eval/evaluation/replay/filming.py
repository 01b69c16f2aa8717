"""The first episodes of a run as replays: `python -m nav_eval.evaluation.replay.filming RUN OUT CACHE COUNT`.

A process of its own, because it draws: whoever starts it may give it a time, and a driver that crashes takes nothing
else along. Each file is complete when it appears, so that what was made in time can be used.
"""

import sys
from itertools import islice
from pathlib import Path

from nav_eval.evaluation.replay.film import PictureSize
from nav_eval.evaluation.replay.model import encode_replay
from nav_eval.evaluation.replay.studio import Studio
from nav_eval.evaluation.report import write_atomically

SIDE = 220
"""Pixels of a camera picture's longer side: three beside each other, on a page."""


def film(run: Path, out: Path, *, cache: Path, count: int) -> None:
    """Write OUT/0.json, 1.json, …; with pictures if a renderer can be used."""
    out.mkdir(parents=True, exist_ok=True)
    with Studio(run, cache=cache, size=PictureSize(side=SIDE)) as studio:
        for number, episode_id in enumerate(islice(studio.results, count)):
            replay = studio.with_views(studio.replay(episode_id))
            write_atomically(out / f"{number}.json", encode_replay(replay))


if __name__ == "__main__":
    film(Path(sys.argv[1]), Path(sys.argv[2]), cache=Path(sys.argv[3]), count=int(sys.argv[4]))
