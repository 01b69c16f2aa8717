"""A way through a house as evenly spaced points: which rooms it leads through, and where it turns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Region
from nav_eval_worlds.episodes.site import Site, compute_heading, wrap_degrees

SPACING = 0.1  #: metres between samples of the path
WINDOW, HALF_METRE = 10, 5  #: samples over which a direction is measured
STOREY, STEP = 1.0, 0.12  #: metres of height: between floors, and less than one step of stairs
GRAZED = 0.7  #: metres; rooms that the way only grazes are not worth a word


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the way in one room."""

    region: Region
    first: int
    last: int  #: samples, both included

    @property
    def metres(self) -> float:
        return (self.last - self.first) * SPACING


class Way:
    """Points `SPACING` apart, and what they say about turns."""

    def __init__(self, site: Site, points: Sequence[Vec3]) -> None:
        self.points = points
        self.stretches = _find_stretches(site, points)

    def changes_floor(self, before: Stretch, after: Stretch) -> bool:
        """Whether one climbs or descends between two rooms."""
        return abs(after.region.lower[1] - before.region.lower[1]) > STOREY

    def list_flights(self) -> list[tuple[Stretch, Stretch]]:
        """The pairs of rooms between which the way leads to another floor."""
        pairs = zip(self.stretches, self.stretches[1:], strict=False)
        return [(before, after) for before, after in pairs if self.changes_floor(before, after)]

    def leads_to_stairs(self, stretch: Stretch) -> bool:
        """Whether stairs to another floor begin or end in this stretch."""
        number = self.stretches.index(stretch)
        neighbours = self.stretches[max(number - 1, 0) : number + 2]
        return any(self.changes_floor(stretch, other) for other in neighbours)

    def find_level_part(self, stretch: Stretch) -> Stretch:
        """What of a stretch is not on stairs."""
        floor = stretch.region.lower[1]
        level = [n for n in range(stretch.first, stretch.last + 1) if abs(self.points[n][1] - floor) <= STEP]
        return replace(stretch, first=level[0], last=level[-1]) if level else replace(stretch, last=stretch.first)

    def compute_heading(self, first: int, last: int) -> float:
        """The direction from one sample to another, both moved onto the way."""
        top = len(self.points) - 1
        a, b = min(max(first, 0), top - 1), min(max(last, 1), top)
        return compute_heading(self.points[a], self.points[max(b, a + 1)])

    def list_headings(self, first: int, last: int) -> list[float]:
        """The direction of every half metre between two samples."""
        return [self.compute_heading(start, start + HALF_METRE) for start in range(first, last - HALF_METRE + 1)]

    def measure_turn(self, at: int) -> float:
        """Degrees to the left around a sample."""
        return wrap_degrees(self.compute_heading(at + 2, at + WINDOW) - self.compute_heading(at - WINDOW, at - 2))

    def measure_bearing(self, at: int, to: Vec3) -> float:
        """Degrees to the left at which a place lies for somebody who walks here."""
        return wrap_degrees(compute_heading(self.points[at], to) - self.compute_heading(at - 5, at + 5))


def _find_stretches(site: Site, points: Sequence[Vec3]) -> list[Stretch]:
    """The rooms along the way, those that it only grazes left out."""
    found: list[Stretch] = []
    for number, point in enumerate(points):
        region = site.around.region_at(point) or (found[-1].region if found else None)
        if region is None:
            continue
        if found and found[-1].region is region:
            found[-1] = Stretch(region, found[-1].first, number)
        else:
            found.append(Stretch(region, number, number))
    kept: list[Stretch] = []
    for place, stretch in enumerate(found):
        is_end = place in (0, len(found) - 1)
        if kept and kept[-1].region is stretch.region:
            kept[-1] = Stretch(stretch.region, kept[-1].first, stretch.last)
        elif is_end or stretch.metres >= GRAZED:
            kept.append(stretch)
    return kept
