"""What stands on slats and grates stands; what is above them floats."""

import pytest

from nav_eval_worlds.furniture.piece import BODY, make_parts
from nav_eval_worlds.houses.support import measure_to_support
from nav_eval_worlds.shapes import make_box


@pytest.mark.parametrize("above", [0.0, 0.04])
def test_a_board_on_two_bars_is_as_far_from_them_as_it_is(above: float) -> None:
    bars = make_parts(BODY, *(make_box((0.012, 0.05, 0.4), (side * 0.063, 0, 0)) for side in (-1, 1)))
    board = make_box((0.2, 0.02, 0.2), (0, 0.05 + above, 0))
    assert measure_to_support(board.positions, bars) == pytest.approx(above, abs=1e-6)
