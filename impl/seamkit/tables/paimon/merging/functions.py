"""The aggregate functions of fields, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from seambase.errors import RefusedError
from seamkit.tables.paimon.merging.choosing import (
    FieldOptions,
    FirstNonNull,
    FirstValue,
    Function,
    LastNonNull,
    LastValue,
    Max,
    Min,
)
from seamkit.tables.paimon.merging.computing import BoolAnd, BoolOr, ListAgg, Product, Sum
from seamkit.tables.paimon.merging.nested import (
    Collect,
    MergeMap,
    MergeMapWithKeyTime,
    NestedPartialUpdate,
    NestedUpdate,
)
from seamkit.tables.paimon.merging.sketches import Bitmap32, HllSketch, ThetaSketch

__all__ = ["FUNCTIONS", "make_function"]

FUNCTIONS: Mapping[str, Callable[[pa.Array, FieldOptions, str], Function]] = {
    one.name: one
    for one in (
        LastValue,
        LastNonNull,
        FirstValue,
        FirstNonNull,
        Max,
        Min,
        Sum,
        Product,
        BoolAnd,
        BoolOr,
        ListAgg,
        Collect,
        MergeMap,
        MergeMapWithKeyTime,
        NestedUpdate,
        NestedPartialUpdate,
        ThetaSketch,
        HllSketch,
        Bitmap32,
    )
} | {"first_not_null_value": FirstNonNull}


def make_function(name: str, column: pa.Array, options: FieldOptions, where: str) -> Function:
    """A function by its name.

    Raises:
        RefusedError: it is not supported, or not for this type.
        InputError: its options name fields that are not there.
        UnavailableError: it needs a package that is not installed.
    """
    if name not in FUNCTIONS:
        known = ", ".join(FUNCTIONS)
        raise RefusedError(
            f"{where}: the aggregate function {name!r} is not supported; there are {known}"
        )
    return FUNCTIONS[name](column, options, where)
