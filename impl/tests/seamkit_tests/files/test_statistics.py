"""What is ruled out by statistics holds no row of the answer."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seamkit.files.statistics import that_may_match

_I = pc.field("i")
_SCHEMA = pa.schema([("i", pa.int64())])


def test_what_cannot_match_is_ruled_out_and_what_nothing_is_known_of_is_not() -> None:
    """A range outside of the condition goes; what has no guarantee stays."""
    low, high = (_I >= 0) & (_I <= 9), (_I >= 10) & (_I <= 19)
    assert that_may_match([low, high, None], _I > 9, _SCHEMA) == [1, 2]


@pytest.mark.parametrize("condition", [_I > 34.5, _I == 34.5, _I < 1e20], ids=str)
def test_bounds_that_the_condition_cannot_hold_rule_nothing_out(condition: pc.Expression) -> None:
    """Arrow compares no 2**53 + 1 with a fraction: rows decide, statistics do not fail."""
    large = (_I >= 1) & (_I <= 2**53 + 1)
    assert that_may_match([large, None], condition, _SCHEMA) == [0, 1]
