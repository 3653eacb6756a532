"""Values as Java writes them: what a number or date becomes in a column that turned into text."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["java_text"]


def java_text(column: pa.Array) -> pa.Array:
    """The column's values as text, as `String.valueOf` gives it.

    Integers, dates and decimals have one plain form. Floating point follows `Double.toString`: the
    shortest digits that read back as the same number, with a point, and with an exponent below
    1e-3 and from 1e7 on.

    Args:
        column: integers, floats, doubles, decimals or dates.
    """
    if not pa.types.is_floating(column.type):
        return pc.cast(column, pa.string())
    values = column.to_numpy(zero_copy_only=False)
    present = column.is_valid().to_pylist()
    texts = [
        _floating(value) if valid else None for value, valid in zip(values, present, strict=True)
    ]
    return pa.array(texts, pa.string())


def _floating(value: np.floating) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    size = abs(value)
    if size == 0 or 1e-3 <= size < 1e7:
        return str(np.format_float_positional(value, unique=True, trim="0"))
    text = np.format_float_scientific(value, unique=True, trim="0", exp_digits=1)
    return str(text).replace("e+", "E").replace("e", "E")
