"""The simulator's process without an agent: plays a finished run again from its logs, to check it or to film it.

    python -m nav_eval.replay.process ORDER.json

The sister of `nav_eval.evaluation.shard`: an order in (`ReplayOrder`), messages out, nothing else. A driver that
crashes takes nobody along, and what was told before it did can be used.
"""

import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from nav_eval.evaluation.shard_protocol import (
    LONGEST_MESSAGE,
    Checked,
    Drawn,
    Ended,
    Filmed,
    Message,
    MessageWriter,
    Purpose,
    Recorded,
    ReplayOrder,
    read_replay_order,
)
from nav_eval.evaluation.verification import verify
from nav_eval.replay.builder import ReplayBuilder
from nav_eval.replay.drawings import write_replay_video
from nav_eval.replay.model import encode_replay
from nav_eval.replay.video import PictureSize, check_video
from nav_eval.replay.view_kinds import ViewKind

SIDE = 220  #: pixels of a camera picture's longer side: three beside each other, on a page
TOLD_EVERY = 10  #: steps of a video
LONGEST_VIDEO = LONGEST_MESSAGE // 4 * 3 - 4096  #: bytes; in a message they are base64
DIFFERENCES = 20  #: told at most; one is enough to know


def check(order: ReplayOrder, say: Callable[[Message], None]) -> None:
    """Compare what comes out with what the run says."""
    report = verify(
        Path(order.run), limit=order.episodes, only=order.episode_ids, partial=True, cache=Path(order.cache)
    )
    differences = tuple(str(difference)[:1000] for difference in report.differences[:DIFFERENCES])
    say(Checked(episodes=report.episodes, missing=report.missing, steps=report.steps, differences=differences))


def film(order: ReplayOrder, say: Callable[[Message], None]) -> None:
    """What the replay page shows of an episode; with pictures if a renderer can be used."""
    with ReplayBuilder(
        Path(order.run), cache=Path(order.cache), size=PictureSize(side=SIDE), kinds=tuple(ViewKind)
    ) as builder:
        for episode_id in islice(builder.results, order.episodes):
            made = encode_replay(builder.with_views(builder.replay(episode_id)))
            if len(made) < LONGEST_MESSAGE - 1024:  # a page could not show more
                say(Filmed(episode_id=episode_id, replay=msgspec.Raw(made)))


def record(order: ReplayOrder, say: Callable[[Message], None]) -> None:
    """The episode as a video, and how it comes along."""
    check_video()
    with ReplayBuilder(Path(order.run), cache=Path(order.cache)) as builder, TemporaryDirectory() as folder:
        path = Path(folder) / "episode.mp4"
        for episode_id in islice(builder.results, order.episodes):
            replay = builder.replay(episode_id)
            write_replay_video(path, replay, builder, told=_make_teller(say, len(replay.steps)))
            if path.stat().st_size < LONGEST_VIDEO:
                say(Recorded(episode_id=episode_id, video=path.read_bytes()))


def _make_teller(say: Callable[[Message], None], total: int) -> Callable[[int], None]:
    def tell(number: int) -> None:
        if number % TOLD_EVERY == 0:
            say(Drawn(steps=number, total=total))

    return tell


def play(data: bytes, say: Callable[[Message], None]) -> Ended:
    order = read_replay_order(data)
    {Purpose.CHECK: check, Purpose.FILM: film, Purpose.VIDEO: record}[order.purpose](order, say)
    return Ended()


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m nav_eval.replay.process ORDER.json\n")
        return 2
    writer, order = MessageWriter.on_stdout(), Path(arguments[0])
    return writer.run(lambda: play(order.read_bytes(), writer.write))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
