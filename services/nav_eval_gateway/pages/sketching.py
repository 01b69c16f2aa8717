"""A replay of what an agent did, and of nothing else: its way and its actions, on plain paper.

Made of the line that the API gives to the same reader, so it can show no more than they may know. The line has no
headings; an arrow points where the agent went next.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from nav_eval.dataset.episode import Vec3
from nav_eval.evaluation.replay.model import Event, Floor, Picture, Replay, Step

MARGIN = 1.0
"""Metres of paper around the way."""
LONGEST_SIDE = 900.0
FINEST = 60.0
"""Pixels per metre."""
NOWHERE: Vec3 = (0.0, 0.0, 0.0)


def sketch(line: Mapping[str, Any], *, benchmark: str) -> Replay:
    """A line of episodes.jsonl as a replay."""
    actions = [_named(entry) for entry in line.get("actions") or ()]
    points = _way(line) or [NOWHERE]
    places = [points[min(number, len(points) - 1)] for number in range(len(actions) + 1)]
    headings = _headings(places)
    steps = [
        Step(
            position=place,
            yaw=headings[number],
            action=None if number == 0 else actions[number - 1][0],
            arguments={} if number == 0 else actions[number - 1][1],
        )
        for number, place in enumerate(places)
    ]
    last = actions[-1][0] if actions else ""
    reason = line.get("cause") or (last if last in ("stop", "answer") else "step limit")
    return Replay(
        benchmark=benchmark,
        task="",
        episode_id=str(line["episode_id"]),
        scene_id="",
        status=str(line.get("status") or ""),
        steps=steps,
        stages=[],
        events=[Event(step=len(steps) - 1, kind="end", stage=0, reason=str(reason))],
        floors=[paper(places)],
        paths=[],
        metrics=line.get("metrics") or {},
        success_distance=0.0,
        max_steps=len(actions),
        cause=line.get("cause"),
        detail=line.get("detail"),
    )


def _way(line: Mapping[str, Any]) -> list[Vec3]:
    """Where the agent went; of one that answers where it is, its answers."""
    answers = [
        entry["poses"][0] for entry in line.get("actions") or () if isinstance(entry, dict) and entry.get("poses")
    ]
    return [(float(x), float(y), float(z)) for x, y, z, *_ in answers or line.get("trajectory") or ()]


def _named(entry: object) -> tuple[str, dict[str, float]]:
    """An entry of the log: a name, or an object with arguments."""
    if not isinstance(entry, dict):
        return str(entry), {}
    given = entry.get("action_args") or {}
    return str(entry.get("action")), {str(k): float(v) for k, v in given.items() if isinstance(v, int | float)}


def _headings(places: Sequence[Vec3]) -> list[float]:
    """Where each step looks: along the next piece of the way, or as before where there is none."""
    found: list[float | None] = [_direction(a, b) for a, b in pairwise(places)]
    heading = 0.0
    turned = []
    for direction in reversed([*found, None]):
        heading = heading if direction is None else direction
        turned.append(heading)
    return turned[::-1]


def _direction(start: Vec3, end: Vec3) -> float | None:
    x, z = end[0] - start[0], end[2] - start[2]
    return None if math.hypot(x, z) < 1e-6 else math.atan2(-x, -z)


def paper(places: Sequence[Vec3]) -> Floor:
    """A sheet with a line per metre, large enough for the whole way."""
    left, right = min(p[0] for p in places) - MARGIN, max(p[0] for p in places) + MARGIN
    top, bottom = min(p[2] for p in places) - MARGIN, max(p[2] for p in places) + MARGIN
    left, top = math.floor(left), math.floor(top)
    scale = min(FINEST, LONGEST_SIDE / max(right - left, bottom - top))
    width, height = math.ceil((right - left) * scale), math.ceil((bottom - top) * scale)
    columns = "".join(f"M{n * scale:.1f} 0V{height}" for n in range(math.ceil(right - left) + 1))
    rows = "".join(f"M0 {n * scale:.1f}H{width}" for n in range(math.ceil(bottom - top) + 1))
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        '<rect width="100%" height="100%" fill="#eef0ea"/>'
        f'<path d="{columns}{rows}" stroke="#cfd4c8" fill="none"/></svg>'
    )
    picture = Picture(data=drawn.encode(), width=width, height=height, media_type="image/svg+xml")
    height_above = min(p[1] for p in places)
    return Floor(height=height_above, left=left, top=top, pixels_per_metre=scale, picture=picture)
