"""Habitat's own files: the same ground, the same questions."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from navigation_worlds import Box, exact_distances, flat, turn_box
from navmesh_files import DEFAULTS, navmesh, rectangle, tile, turned

from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation import AgentShape, read_navmesh

#: a room of 6 × 4 m around a pillar of 2 × 1 m, as a ring of rectangles that share whole edges
RING = [
    rectangle(*bounds)
    for bounds in [
        (-3, -2, -1, -0.5), (-1, -2, 1, -0.5), (1, -2, 3, -0.5), (-3, -0.5, -1, 0.5),
        (1, -0.5, 3, 0.5), (-3, 0.5, -1, 2), (-1, 0.5, 1, 2), (1, 0.5, 3, 2),
    ]
]  # fmt: skip
PILLAR, WALLS = (
    Box(0, 0, 1, 0.5),
    [Box(0, -2.5, 4, 0.5), Box(0, 2.5, 4, 0.5), Box(-3.5, 0, 0.5, 3), Box(3.5, 0, 0.5, 3)],
)


@pytest.fixture
def read(tmp_path):
    def write_and_read(data):
        path = tmp_path / "scene.navmesh"
        path.write_bytes(data)
        return read_navmesh(path)

    return write_and_read


@pytest.mark.parametrize("degrees", [0, 17, 45])
def test_the_region_is_that_of_the_polygons(read, degrees):
    mesh = read(navmesh(tile(turned(RING, degrees))))
    assert mesh.area == pytest.approx(6 * 4 - 2 * 1, rel=3e-3)
    assert [part.index for part in mesh.islands] == [0]
    box = turn_box(PILLAR, degrees)
    assert not mesh.is_navigable((box.x, 0.0, box.z))
    edge = turn_box(Box(1.0, 0, 0, 0), degrees)  # on the pillar's side
    assert math.dist(mesh.snap_point((0.99 * edge.x, 0.0, 0.99 * edge.z)), (edge.x, 0.0, edge.z)) < 2e-3


@pytest.mark.parametrize("version", [1, 2])
def test_wide_references_are_read_as_well(read, version):
    mesh = read(navmesh(tile(RING, wide=True), version=version, wide=True))
    assert mesh.area == pytest.approx(22, rel=3e-3)


def test_the_agent_is_the_one_in_the_file(read):
    custom = (0.05, 0.2, 0.88, 0.18, 0.2, 30.0, *DEFAULTS[6:])
    mesh = read(navmesh(tile(RING), settings=custom))
    assert mesh.shape == AgentShape(radius=0.18, height=0.88, max_slope_degrees=30.0)


@pytest.mark.parametrize("envelope", [{"version": 1}, {"settings_size": 80}])
def test_older_files_are_read_as_well(read, envelope):
    mesh = read(navmesh(tile(RING), **envelope))
    assert mesh.shape == AgentShape()
    assert mesh.area == pytest.approx(22, rel=2e-3)


@pytest.mark.parametrize("degrees", [0, 17])
def test_distances_match_the_exact_ones(read, degrees):
    mesh = read(navmesh(tile(turned(RING, degrees))))
    boxes = [turn_box(box, degrees) for box in [PILLAR, *WALLS]]
    goal = mesh.random_navigable_point(1)
    points = [mesh.random_navigable_point(seed) for seed in range(10, 70)]
    exact = exact_distances(boxes, 1e-4, flat(goal), np.array([flat(point) for point in points]))
    ours = np.array([mesh.geodesic_distance(point, goal) for point in points])
    errors = (ours - exact)[exact > 1] / exact[exact > 1]
    assert errors.mean() < 0.01
    assert errors.max() < 0.03
    assert errors.min() > -2e-3


def test_steps_follow_the_official_border(read):
    mesh = read(navmesh(tile(RING)))
    free = mesh.try_step((-2.0, 0.0, 0.0), (-1.75, 0.0, 0.0), sliding=False)
    assert free == ((-1.75, 0.0, 0.0), False)
    stopped, collided = mesh.try_step((-1.1, 0.0, 0.0), (-0.85, 0.0, 0.1), sliding=False)
    assert stopped == pytest.approx((-1.0, 0.0, 0.04), abs=1e-3)
    assert collided
    slid, _ = mesh.try_step((-1.1, 0.0, 0.0), (-0.85, 0.0, 0.1), sliding=True)
    assert slid == pytest.approx((-1.0, 0.0, 0.1), abs=1e-3)


def test_an_infinitely_thin_wall_holds(read):
    halves = [rectangle(-3, -2, 0, 2), rectangle(0, -2, 3, 2)]
    mesh = read(navmesh(tile(halves, unlinked=[(0, 1)])))
    assert [part.index for part in mesh.islands] == [0, 1]
    assert mesh.area == pytest.approx(24, rel=0.01)
    assert mesh.try_step((-0.2, 0.0, 0.0), (0.3, 0.0, 0.0), sliding=True).position[0] < 0
    assert mesh.geodesic_distance((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)) == math.inf


@given(st.floats(0, 90), st.floats(-1, 1), st.floats(0, 2 * math.pi))
@settings(deadline=None, max_examples=30)
def test_no_step_slips_through_a_thin_wall(tmp_path_factory, degrees, where, angle):
    path = tmp_path_factory.mktemp("thin") / "scene.navmesh"
    halves = [rectangle(-2, -2, 0, 2), rectangle(0, -2, 2, 2)]
    path.write_bytes(navmesh(tile(turned(halves, degrees), unlinked=[(0, 1)])))
    mesh = read_navmesh(path)
    start = turn_box(Box(-0.2, where, 0, 0), degrees)
    position = (start.x, 0.0, start.z)
    for _ in range(5):
        end = (position[0] + 0.3 * math.cos(angle), 0.0, position[2] + 0.3 * math.sin(angle))
        position, _ = mesh.try_step(position, end, sliding=True)
        assert turn_box(Box(position[0], position[2], 0, 0), -degrees).x < 0


def test_storeys_stay_apart(read):
    lower, upper = rectangle(-3, -2, 3, 2), rectangle(-3, -2, 3, 2, y=3.0)
    mesh = read(navmesh(tile([lower, upper])))
    assert mesh.snap_point((0.0, 0.3, 0.0))[1] == 0.0
    assert mesh.snap_point((0.0, 3.2, 0.0))[1] == 3.0
    assert mesh.geodesic_distance((0.0, 0.0, 0.0), (0.0, 3.0, 0.0)) == math.inf


def test_heights_come_from_the_detail_mesh(read):
    square = rectangle(-2, -2, 2, 2)
    tent = ([(0.0, 0.8, 0.0)], [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)])
    mesh = read(navmesh(tile([square], details={0: tent})))
    assert mesh.snap_point((0.0, 0.8, 0.0))[1] == pytest.approx(0.8, abs=0.02)
    assert mesh.snap_point((1.0, 0.4, 0.0))[1] == pytest.approx(0.4, abs=0.01)


def test_tiles_are_one_ground(read):
    left, right = rectangle(-2, -2, 0, 2), rectangle(0, -2, 2, 2)
    mesh = read(navmesh(tile([left], portals={(0, 2): 0}), tile([right], x=1, portals={(0, 0): 4})))
    assert mesh.geodesic_distance((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)) == pytest.approx(2.0)
    lonely = read(navmesh(tile([left], portals={(0, 2): 0})))
    assert lonely.area == pytest.approx(8, rel=2e-3)


def test_disabled_and_empty_polygons_are_no_ground(read):
    halves = [rectangle(-3, -2, 0, 2), rectangle(0, -2, 3, 2), [(5, 0, 0), (6, 0, 0), (7, 0, 0)]]
    mesh = read(navmesh(tile(halves, flags=[1, 4, 1])))
    assert mesh.area == pytest.approx(12, rel=2e-3)
    assert not mesh.is_navigable((1.0, 0.0, 0.0))
    with pytest.raises(NavigationMeshError, match="no walkable polygons"):
        read(navmesh(tile(halves, flags=[4, 4, 1])))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Habitat's mark"),
        (b"glTF" + bytes(200), "Habitat's mark"),
        (navmesh(version=1), "no tile follows"),
        (navmesh(version=2), "no tile follows"),
        (navmesh(tile(RING), version=3), "version is 3"),
        (navmesh(tile(RING))[:-1], "ends within tile 0"),
        (navmesh(tile(RING)).replace(struct.pack("<2i", 2, 1), struct.pack("<2i", 2, 0)), "no tiles"),
        (navmesh(tile(RING).replace(b"VAND", b"NAND"), version=1), "no tile follows"),
        (navmesh(tile(RING), tile(RING).replace(b"VAND", b"NAND"), version=1), "not of Detour version"),
    ],
)
def test_what_is_no_navmesh_says_why(tmp_path, data, message):
    path = tmp_path / "bad.navmesh"
    path.write_bytes(data)
    with pytest.raises(NavigationMeshError, match=message):
        read_navmesh(path)
    with pytest.raises(NavigationMeshError, match="does not exist"):
        read_navmesh(tmp_path / "none.navmesh")


def test_a_file_cut_anywhere_is_refused(tmp_path):
    whole = navmesh(tile(RING))
    path = tmp_path / "cut.navmesh"
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(NavigationMeshError):
            read_navmesh(path)


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_rubbish_in_a_file_is_refused_or_harmless(tmp_path_factory, data):
    whole = bytearray(navmesh(tile(RING[:3])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 4))
        whole[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    path = tmp_path_factory.mktemp("rubbish") / "scene.navmesh"
    path.write_bytes(bytes(whole))
    try:
        mesh = read_navmesh(path)
    except NavigationMeshError:
        return
    assert mesh.snap_point((0.0, 0.0, 0.0)) is None or mesh.area > 0
