"""Arrays that came by message."""

import pytest

from nav_eval_sdk.arrays import decode_raw
from nav_eval_sdk.errors import BadRequest


@pytest.mark.parametrize(
    ("data", "dtype", "shape"), [(b"1234", "float32", (2,)), (b"1234", "object", (1,)), (b"", "uint8", (2**40,))]
)
def test_a_tensor_that_lies_is_refused(data: bytes, dtype: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(BadRequest):
        decode_raw(data, dtype, shape)
