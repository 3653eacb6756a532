"""Arrow's numbers and booleans as numpy's, of any part of an array."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seamkit.core.border import numpy_of

_BITS = [(i * i) % 3 == 0 for i in range(40)]
_NO_ROWS = pa.Array.from_buffers(
    pa.list_(pa.int8()), 0, [None, None], children=[pa.array([], pa.int8())]
)


@pytest.mark.parametrize("begin", range(18))
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 22])
def test_parts_of_bitmaps_begin_at_any_bit(begin: int, count: int) -> None:
    """What comes is the caller's to change."""
    found = numpy_of(pa.array(_BITS).slice(begin, count))
    assert found.dtype == np.bool_
    assert found.tolist() == _BITS[begin : begin + count]
    found[:] = True


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1.5, 2.5, 3.5], pa.float32()).slice(1), [2.5, 3.5]),
        (pa.array([1, 2, 3], pa.uint64()).slice(1, 1), [2]),
        (pa.array([[1], [2, 3]]).slice(1).offsets, [1, 3]),
        (_NO_ROWS.offsets, [0]),
        (pa.array([], pa.bool_()), []),
    ],
    ids=["floats", "unsigned", "offsets", "an offset of no rows", "no booleans"],
)
def test_numbers_are_those_of_the_part(array: Any, expected: list[Any]) -> None:
    """The first offset of an array without rows is 0, whether it has a buffer or not."""
    assert numpy_of(array).tolist() == expected
