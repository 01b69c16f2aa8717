"""Where the mesh says one can stand, against worlds whose answer is known."""

import math
import time

import numpy as np
import pytest
from navigation_worlds import Box, Geometry, floor, gap_to, room, room_mesh, solid, stairs, together

from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.scene.navigation.islands import IslandVerdict
from nav_eval.scene.navigation.tiles import MAX_TILES

SQUARE = [(-3, -3), (3, -3), (3, 3), (-3, 3)]


def square(half, y=0.0, x=0.0, z=0.0):
    return floor([(x - half, z - half), (x + half, z - half), (x + half, z + half), (x - half, z + half)], y)


@pytest.mark.parametrize("turn", [0.0, 17.0, 45.0])
@pytest.mark.parametrize("radius", [0.1, 0.25])
def test_the_area_of_a_room_is_its_floor_less_the_radius(turn, radius):
    geometry, _ = room(6, 4, turn=turn)
    mesh = build_navigation(geometry, AgentShape(radius=radius))
    assert mesh.area == pytest.approx((6 - 2 * radius) * (4 - 2 * radius), rel=5e-3)


@pytest.mark.parametrize("turn", [0.0, 17.0, 30.0, 45.0, 71.0])
def test_the_border_is_one_radius_from_the_wall_to_some_millimetres(turn):
    mesh, boxes = room_mesh("boxes", turn=turn)
    gaps = []
    for box in boxes:
        for x, z in box.corners():
            snapped = mesh.snap_point((0.7 * x + 0.3 * box.x, 0.0, 0.7 * z + 0.3 * box.z))
            if snapped is not None:
                gaps.append(min(gap_to(other, snapped) for other in boxes))
    assert len(gaps) > 15
    assert gaps == pytest.approx([0.2] * len(gaps), abs=8e-3)


@pytest.mark.parametrize(
    ("radius", "islands"),
    [
        (0.3, 1),  # the door is 1.8 m wide
        (0.85, 1),
        (0.95, 2),  # the body is wider than the door
    ],
)
def test_a_door_lets_through_what_is_narrower(radius, islands):
    mesh, _ = room_mesh("door", radius=radius)
    assert sum(part.index is not None for part in mesh.islands) == islands


def test_a_sheet_without_thickness_is_a_wall():
    sheet = Geometry(
        np.array([(0, 0, -3), (0, 2, -3), (0, 2, 3), (0, 0, 3)], np.float32),
        np.array([(0, 1, 2), (0, 2, 3)], np.uint32),
    )
    mesh = build_navigation(together(floor(SQUARE), sheet))
    left, right = mesh.snap_point((-1.0, 0.0, 0.0)), mesh.snap_point((1.0, 0.0, 0.0))
    assert mesh.island(left) != mesh.island(right)
    assert mesh.geodesic_distance(left, right) == math.inf


@pytest.mark.parametrize(
    ("rise", "climb", "connected"),
    [(0.18, 0.2, True), (0.2, 0.2, True), (0.25, 0.2, False), (0.25, 0.3, True)],
)
def test_stairs_connect_floors_when_each_step_is_within_the_climb(rise, climb, connected):
    top = 12 * rise
    upper = square(2, y=top, x=12 * 0.28 + 2)
    mesh = build_navigation(
        together(square(2, x=-2), stairs(12, rise=rise), upper), AgentShape(max_climb=climb), least_area=0.0
    )
    below, above = (-2.0, 0.0, 0.0), (12 * 0.28 + 2, top, 0.0)
    distance = mesh.geodesic_distance(below, above)
    assert math.isfinite(distance) is connected
    if connected:
        assert distance == pytest.approx(2 + math.hypot(12 * 0.28, top) + 2, rel=0.02)


@pytest.mark.parametrize(("degrees", "connected"), [(20, True), (40, True), (50, False)])
def test_ramps_connect_floors_up_to_the_slope(degrees, connected):
    length, height = 2.0, 2.0 * math.tan(math.radians(degrees))
    ramp = floor([(0, 0, -1), (length, height, -1), (length, height, 1), (0, 0, 1)])
    mesh = build_navigation(together(square(2, x=-2), ramp, square(2, y=height, x=length + 2)), least_area=0.0)
    distance = mesh.geodesic_distance((-2.0, 0.0, 0.0), (length + 2, height, 0.0))
    assert math.isfinite(distance) is connected
    if connected:
        assert distance == pytest.approx(4 + math.hypot(length, height), rel=0.015)
        middle = mesh.snap_point((1.0, height / 2, 0.0))
        assert middle[1] == pytest.approx(height / 2, abs=0.01)


@pytest.mark.parametrize(("clearance", "passes"), [(1.4, False), (1.6, True)])
def test_an_overhang_needs_headroom(clearance, passes):
    beam = solid(Box(0, 0, 0.5, 3, bottom=clearance, top=clearance + 0.2))
    mesh = build_navigation(together(floor(SQUARE), beam))
    assert mesh.is_navigable((0.0, 0.0, 0.0)) is passes


def test_tables_block_and_their_tops_are_no_ground():
    legs = [solid(Box(x, z, 0.03, 0.03, top=0.7)) for x in (-0.9, 0.9) for z in (-0.9, 0.9)]
    table = solid(Box(0, 0, 1, 1, bottom=0.7, top=0.75))
    mesh = build_navigation(together(floor(SQUARE), table, *legs))
    assert not mesh.is_navigable((0.0, 0.0, 0.0))
    assert not mesh.is_navigable((0.0, 0.75, 0.0))
    assert [part.verdict for part in mesh.islands if part.height > 0.5] == [IslandVerdict.PLATFORM]


def test_a_kerb_is_walked_over():
    mesh = build_navigation(together(floor(SQUARE), solid(Box(0, 0, 0.2, 3.5, top=0.1))))
    assert mesh.snap_point((0.0, 0.0, 0.0))[1] == pytest.approx(0.1, abs=1e-3)
    assert mesh.island((-2.0, 0.0, 0.0)) == mesh.island((2.0, 0.0, 0.0)) == 0


def test_floors_above_each_other_stay_apart():
    mesh = build_navigation(together(square(3), square(3, y=3.0)), keep_platforms=True)
    assert mesh.snap_point((0.0, 0.2, 0.0))[1] == 0.0
    assert mesh.snap_point((0.0, 3.1, 0.0))[1] == 3.0
    assert mesh.geodesic_distance((0.0, 0.0, 0.0), (1.0, 3.0, 0.0)) == math.inf
    assert mesh.try_step((0.0, 3.0, 0.0), (0.25, 3.0, 0.0), sliding=True).position == (0.25, 3.0, 0.0)


def test_things_belong_to_the_floor_below_them():
    mesh = build_navigation(together(square(3), square(3, y=3.0)), keep_platforms=True)
    assert mesh.snap_point((0.0, 2.0, 0.0))[1] == 0.0


@pytest.mark.parametrize(("gap", "closed"), [(0.05, True), (0.1, True), (0.15, True), (0.5, False)])
def test_small_gaps_in_the_floor_are_closed(gap, closed):
    left = floor([(-3, -2), (-gap / 2, -2), (-gap / 2, 2), (-3, 2)])
    right = floor([(gap / 2, -2), (3, -2), (3, 2), (gap / 2, 2)])
    mesh = build_navigation(together(left, right))
    assert (mesh.island((-2.0, 0.0, 0.0)) == mesh.island((2.0, 0.0, 0.0))) is closed


def test_a_gap_with_a_wall_in_it_is_not_closed():
    left, right = floor([(-3, -2), (-0.07, -2), (-0.07, 2), (-3, 2)]), floor([(0.07, -2), (3, -2), (3, 2), (0.07, 2)])
    mesh = build_navigation(together(left, right, solid(Box(0, 0, 0.05, 2))))
    assert mesh.geodesic_distance((-2.0, 0.0, 0.0), (2.0, 0.0, 0.0)) == math.inf


def noisy_floor(half, spacing, noise, holes):
    """A scan: bumpy triangles, some of them missing."""
    rng = np.random.default_rng(3)
    n = int(2 * half / spacing) + 1
    x, z = np.meshgrid(np.linspace(-half, half, n), np.linspace(-half, half, n), indexing="ij")
    y = rng.normal(0, noise, x.shape)
    at = np.arange(n * n).reshape(n, n)
    a, b, c, d = (part.ravel() for part in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
    triangles = np.concatenate([np.stack([a, d, c], 1), np.stack([a, c, b], 1)])
    keep = rng.random(len(triangles)) > holes
    return Geometry(np.stack([x, y, z], -1).reshape(-1, 3).astype(np.float32), triangles[keep].astype(np.uint32))


def test_noise_and_holes_of_a_scan_stay_floor():
    mesh = build_navigation(noisy_floor(3, 0.03, noise=0.008, holes=0.15))
    assert mesh.area == pytest.approx(5.8 * 5.8, rel=0.02)
    assert len([part for part in mesh.islands if part.index is not None]) == 1


def test_a_roof_is_not_the_ground():
    walls = [
        solid(Box(x, z, hx, hz)) for x, z, hx, hz in [(-3, 0, 0.1, 3), (3, 0, 0.1, 3), (0, -3, 3, 0.1), (0, 3, 3, 0.1)]
    ]
    furniture = solid(Box(0, 0, 1.5, 1.5, top=2.4))
    roof = solid(Box(0, 0, 3.5, 3.5, bottom=2.5, top=2.7))
    mesh = build_navigation(together(floor(SQUARE), *walls, furniture, roof))
    assert mesh.islands[0].height == pytest.approx(0.0, abs=0.01)
    assert mesh.random_navigable_point(0)[1] == pytest.approx(0.0, abs=0.01)
    assert [part.verdict for part in mesh.islands if part.height > 2.6] == [IslandVerdict.PLATFORM]


def test_a_pit_is_not_the_ground():
    mesh = build_navigation(together(square(3), square(1, y=-3.0, x=8)))
    assert mesh.islands[0].height == 0.0


def test_a_floor_wound_upside_down_is_still_a_floor():
    ground = floor(SQUARE)
    mesh = build_navigation(Geometry(ground.positions, ground.triangles[:, ::-1].copy()))
    assert mesh.area == pytest.approx(5.8 * 5.8, rel=0.01)


def test_degenerate_triangles_are_ignored():
    ground = floor(SQUARE)
    spoilt = np.concatenate([ground.triangles, [[0, 0, 1], [2, 2, 2]]]).astype(np.uint32)
    assert build_navigation(Geometry(ground.positions, spoilt)).area == build_navigation(ground).area


def test_small_parts_are_reported_and_dropped_unless_wanted():
    geometry = together(square(3), square(0.5, x=6))
    mesh = build_navigation(geometry)
    assert [(part.index, part.verdict) for part in mesh.islands] == [
        (0, IslandVerdict.GROUND),
        (None, IslandVerdict.TOO_SMALL),
    ]
    assert not mesh.is_navigable((6.0, 0.0, 0.0))


def test_the_lattice_does_not_move_when_something_is_added():
    alone = build_navigation(square(3)).random_navigable_point(1)
    extended = build_navigation(together(square(3), square(0.4, x=-50)))
    assert extended.snap_point(alone) == alone


def test_a_small_agent_gets_a_finer_lattice():
    mesh = build_navigation(square(1), AgentShape(radius=0.05, height=0.3, max_climb=0.05))
    assert mesh.surface.tiling.spacing == 0.025
    assert mesh.area == pytest.approx(1.9 * 1.9, rel=0.01)


@pytest.mark.parametrize(
    ("positions", "triangles", "message"),
    [
        (np.zeros((0, 3)), np.zeros((0, 3)), "no triangles"),
        ([(0, 0, 0), (1, 0, 0), (0, 0, math.nan)], [(0, 1, 2)], "not finite"),
        ([(0, 0, 0), (1, 0, 0), (0, 0, 1)], [(0, 1, 3)], "vertex 3"),
        ([(0, 0), (1, 0), (0, 1)], [(0, 1, 2)], "N × 3"),
        ([(0, 0, 0), (1e7, 0, 0), (0, 0, 1e7)], [(0, 1, 2)], "spans"),
        ([(0, 0, 0), (3e38, 0, 0), (0, 0, 3e38)], [(0, 1, 2)], "spans"),
        ([(0, 0, 0), (1000, 0, 0), (0, 0, -1000)], [(0, 1, 2)], "larger cell_size"),
    ],
)
def test_what_cannot_be_built_says_why(positions, triangles, message):
    with pytest.raises(NavigationMeshError, match=message):
        build_navigation(Geometry(np.array(positions, np.float32), np.array(triangles, np.uint32)))
    assert MAX_TILES * 64 * 64 * 0.05**2 > 200 * 200  # the largest scene that we promise fits


@pytest.mark.slow
@pytest.mark.parametrize(("count", "half"), [(20_000, 30), (200_000, 60)])
def test_endless_work_is_refused_in_time(count, half):
    y = np.linspace(0, 100, count, dtype=np.float32)
    corners = np.array([(-half, 0, -half), (half, 0, -half), (0, 0, half)], np.float32)
    positions = np.repeat(corners[None], count, axis=0)
    positions[:, :, 1] = y[:, None]
    triangles = np.arange(3 * count, dtype=np.uint32).reshape(-1, 3)
    started = time.process_time()
    with pytest.raises(NavigationMeshError, match="simplify"):
        build_navigation(Geometry(positions.reshape(-1, 3), triangles))
    assert time.process_time() - started < 60


def test_nothing_to_stand_on_is_an_empty_mesh():
    wall = Geometry(np.array([(0, 0, 0), (0, 2, 0), (0, 0, 3)], np.float32), np.array([(0, 1, 2)], np.uint32))
    mesh = build_navigation(wall)
    assert mesh.area == 0.0
    assert mesh.snap_point((0.0, 0.0, 0.0)) is None
    with pytest.raises(NavigationMeshError, match="Nobody can stand"):
        mesh.random_navigable_point(0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("radius", 0.0),
        ("height", math.nan),
        ("max_climb", -1),
        ("max_slope_degrees", 90),
        ("cell_size", 0),
        ("max_climb", 1.5),
    ],
)
def test_impossible_agents_are_refused(name, value):
    with pytest.raises(NavigationMeshError, match=name):
        AgentShape(**{name: value})
