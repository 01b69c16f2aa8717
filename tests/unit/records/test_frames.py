"""Other people's frames against geometry one can check by hand."""

import math

import pytest

from nav_eval.errors import RecordError
from nav_eval.records import geometry


def test_z_up_there_and_back() -> None:
    assert geometry.from_z_up((1.0, 2.0, 3.0)) == (1.0, 3.0, -2.0)
    assert geometry.to_z_up(geometry.from_z_up((1.0, 2.0, 3.0))) == (1.0, 2.0, 3.0)
    assert geometry.to_z_up((0.1, 0.2, 0.3, 0.4)) == (0.1, -0.3, 0.2, 0.4)
    with pytest.raises(RecordError, match="not 2"):
        geometry.to_z_up((1.0, 2.0))


@pytest.mark.parametrize(("recorded", "ours"), [(180, 0.0), (-150, math.radians(30)), (90, -math.pi / 2)])
def test_lh_vln_yaw(recorded: float, ours: float) -> None:
    assert geometry.from_lh_vln_yaw(recorded) == pytest.approx(ours)
