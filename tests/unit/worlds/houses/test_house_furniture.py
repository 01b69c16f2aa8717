"""The catalogue: every piece in every split is complete, upright, and of a known category."""

import numpy as np
import pytest

from nav_eval_worlds.furniture.piece import BODY, CATALOGUE, SHAPES, PlacementRule, settle_piece
from nav_eval_worlds.furniture.real_sizes import REAL_SIZES, find_wrong_size
from nav_eval_worlds.houses.house import CATEGORIES, FURNITURE, LATER_CATEGORIES, PUBLIC_FURNITURE, SMALL_THINGS
from nav_eval_worlds.houses.placement.wall_pieces import OVERHEAD
from nav_eval_worlds.materials import FINISH_KINDS
from nav_eval_worlds.randomness import RandomStream


def _made(name: str, seed: int, split: str = "seen"):
    return CATALOGUE[name](RandomStream(seed, "test", name, split=split))


def test_there_are_enough_categories_and_none_is_only_a_word() -> None:
    made = {_made(name, seed).category for name in CATALOGUE for seed in range(3)}
    assert made == {*FURNITURE, *PUBLIC_FURNITURE, *SMALL_THINGS}
    assert len(made) >= 45


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_piece_is_complete(name: str) -> None:
    for seed in range(4):
        piece = _made(name, seed, "unseen" if seed % 2 else "seen")
        assert piece.category in LATER_CATEGORIES
        assert {part.slot for part in piece.parts} <= set(piece.finishes)
        assert BODY in {part.slot for part in piece.parts}, "nothing would have the colour that sentences name"
        assert all(finish.kind in FINISH_KINDS for finish in piece.finishes.values())
        assert sum(len(part.mesh.triangles) for part in piece.parts) < 1500


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_piece_stands_on_its_origin_and_its_surfaces_are_on_it(name: str) -> None:
    piece = _made(name, 7)
    low = np.min([part.mesh.bounds[0] for part in piece.parts], axis=0)
    high = np.max([part.mesh.bounds[1] for part in piece.parts], axis=0)
    assert np.allclose(low[[0, 2]], -high[[0, 2]], atol=1e-5)
    assert -0.01 <= low[1] <= 0.04
    assert np.allclose(piece.size, (high[0] - low[0], high[1], high[2] - low[2]), atol=1e-3)
    for surface in piece.surfaces:
        assert low[0] <= surface.x[0] < surface.x[1] <= high[0]
        assert low[2] <= surface.z[0] < surface.z[1] <= high[2]
        assert 0 < surface.y <= high[1] + 0.06


COMMON = (
    "armchair", "bathtub", "bed", "book", "bookshelf", "bottle", "bowl", "cabinet", "ceiling lamp", "chair", "clock",
    "coffee table", "cup", "curtain", "cushion", "desk", "dining table", "dresser", "floor lamp", "kitchen cabinet",
    "mirror", "nightstand", "office chair", "painting", "picture", "plant", "refrigerator", "rug", "shower",
    "side table", "sink", "sofa", "stool", "stove", "table lamp", "toilet", "towel", "trash can", "tv", "tv stand",
    "vase", "wardrobe",
)  # fmt: skip


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_piece_is_as_large_as_real_ones(name: str) -> None:
    for maker in SHAPES.get(name, [CATALOGUE[name]]):
        for seed in range(12):
            piece = maker(RandomStream(seed, "size", name, split="unseen" if seed % 2 else "seen", generator=2))
            assert find_wrong_size(piece.category, piece.size) is None, (name, seed)


def test_every_category_has_a_real_size() -> None:
    assert {*FURNITURE, *PUBLIC_FURNITURE, *SMALL_THINGS} <= set(REAL_SIZES)
    assert find_wrong_size("chair", (4.0, 0.9, 0.5)) == "its longer side is 4.00 m, real ones have 0.36 to 0.65 m"


def test_common_things_come_in_at_least_four_shapes() -> None:
    """That they look different is for eyes; that they are not one solid in several sizes is counted here."""
    solids: dict[str, set[bytes]] = {}
    for name in CATALOGUE:
        for maker in SHAPES.get(name, [CATALOGUE[name]]):
            piece = maker(RandomStream(3, "shape", generator=2))
            points = np.concatenate([part.mesh.positions for part in piece.parts]) / np.array(piece.size)
            solids.setdefault(piece.category, set()).add(points.round(1).tobytes())
    assert {category: len(solids[category]) for category in COMMON if len(solids[category]) < 4} == {}


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_settled_piece_touches_what_it_stands_on(name: str) -> None:
    piece = settle_piece(_made(name, 5))
    if piece.rule not in (PlacementRule.ON_WALL, PlacementRule.CEILING):
        assert min(part.mesh.bounds[0][1] for part in piece.parts) == pytest.approx(0, abs=1e-6)


def test_the_first_generator_knows_one_shape_only() -> None:
    for seed in range(20):
        first = CATALOGUE["clock"](RandomStream(seed, "clock"))
        again = SHAPES["clock"][0](RandomStream(seed, "clock"))
        assert [len(part.mesh.triangles) for part in first.parts] == [len(part.mesh.triangles) for part in again.parts]
    later = {len(CATALOGUE["clock"](RandomStream(seed, "clock", generator=2)).parts) for seed in range(20)}
    assert len(later) > 2


def test_nothing_that_hangs_from_the_ceiling_hits_a_head() -> None:
    lowest_ceiling = 2500
    for name in (name for name in CATALOGUE if name.startswith(("pendant_lamp", "ceiling_disc"))):
        for seed in range(10):
            assert lowest_ceiling - 1000 * _made(name, seed).size[1] > OVERHEAD - 100


@pytest.mark.parametrize("name", ["sofa", "double_bed", "dining_table", "wardrobe", "bookshelf"])
def test_splits_share_no_measure_and_no_shade(name: str) -> None:
    seen = [_made(name, seed) for seed in range(60)]
    unseen = [_made(name, seed, "unseen") for seed in range(60)]
    looks = [
        {(f.shade, f.pattern, f.variant) for p in pieces for f in p.finishes.values() if f.pattern}
        for pieces in (seen, unseen)
    ]
    assert not looks[0] & looks[1]
    if name not in ("wardrobe", "bookshelf"):  # their widths are products of two draws
        widths = [sorted(round(p.size[0], 3) for p in pieces) for pieces in (seen, unseen)]
        assert not set(widths[0]) & set(widths[1])


def test_ids_of_categories_stay() -> None:
    assert LATER_CATEGORIES[: len(CATEGORIES)] == CATEGORIES


def test_a_draw_keeps_to_its_bands() -> None:
    for split, bands in (("seen", (0, 2, 4)), ("unseen", (1, 3))):
        draw = RandomStream(0, "bands", split=split)
        values = [draw.between(10, 15) for _ in range(300)]
        assert {int(value - 10) for value in values} == set(bands)
