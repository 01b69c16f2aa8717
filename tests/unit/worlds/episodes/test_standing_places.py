"""Places beside a thing: around it, in its room, with it in sight."""

from collections.abc import Callable

import pytest

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval.scene.navigation import OpenPlane
from nav_eval_worlds.episodes.footprint import measure_footprint_distance
from nav_eval_worlds.episodes.site import (
    NearbyPlace,
    PlaceLattice,
    Site,
    spread_out,
)

L_SHAPE = Region(
    region_id="l",
    category="room",
    lower=(0.0, 0.0, 0.0),
    upper=(4.0, 2.5, 4.0),
    floor_polygon=((0, 0), (4, 0), (4, 2), (2, 2), (2, 4), (0, 4)),
)


@pytest.mark.parametrize(
    ("point", "inside"),
    [
        ((1.0, 0.0, 1.0), True),
        ((3.0, 0.0, 1.0), True),
        ((3.0, 0.0, 3.0), False),  # in the box, not in the polygon
        ((1.0, 2.8, 1.0), False),  # the floor above
        ((1.0, -0.3, 1.0), True),  # floors are not quite even
    ],
)
def test_rooms_are_polygons_on_a_floor(point: Vec3, inside: bool) -> None:
    assert L_SHAPE.contains(point) is inside


def test_a_lattice_gives_every_side_of_a_bed_in_its_room_only() -> None:
    bed = SceneObject(object_id=1, category="bed", center=(1.0, 0.3, 1.0), size=(1.0, 0.6, 1.0), region="l")
    around = PlaceLattice(OpenPlane(), Semantics(regions=(L_SHAPE,)), spacing=0.25).around(bed, within=0.75)
    assert around == sorted(around)
    assert all(
        L_SHAPE.contains(place) and measure_footprint_distance(bed, place[0], place[2]) <= 0.75 for _, place in around
    )
    assert {(place[0] > 1.5, place[0] < 0.5, place[2] > 1.5, place[2] < 0.5) for _, place in around} >= {
        (True, False, False, False),
        (False, True, False, False),
        (False, False, True, False),
        (False, False, False, True),
    }


def test_few_places_are_kept_and_they_are_apart() -> None:
    row = [NearbyPlace(0.1 * n, (0.2 * n, 0.0, 0.0)) for n in range(8)]
    assert [place[0] for place in spread_out(row)] == pytest.approx([0.0, 0.6, 1.2])


def test_everything_that_is_described_in_a_flat_can_be_stood_beside(site_of: Callable[[str], Site]) -> None:
    site = site_of("lh_vln")
    things = [t for t in site.around.semantics.objects if site.around.describer.describe(t) and t.region][::4]
    reached = [thing for thing in things if site.places_beside(thing)]
    assert len(reached) >= 0.9 * len(things)
    for thing in reached:
        for place in site.places_beside(thing):
            region = site.around.region_at(place)
            assert region is not None
            assert region.region_id == thing.region
            assert site.sees(place, thing)
