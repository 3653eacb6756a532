"""Columns in other dresses than Arrow's own: constants, biased numbers, rows that load late.

Dictionaries are Arrow's dictionary arrays, constants its run-end encoded arrays of one run, which
serializers know as they are. What a dress is called, and that lazy columns are asked for the rows
that are needed, follows Velox (BiasVector, LazyVector, snapshot of August 2026).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.serde.selection import Rows, row_numbers


def constant(value: Any, type_: pa.DataType, rows: int) -> pa.Array:
    """The same value, or null, in every row: a run-end encoded array of one run.

    Args:
        value: as `pyarrow.scalar` takes it.
        type_: of the value.
        rows: how many; 0 is legal.
    """
    values = pa.array([value], type_)
    whole = pa.RunEndEncodedArray.from_arrays(pa.array([max(rows, 1)], pa.int32()), values)
    return whole.slice(0, rows)


class BiasVector:
    """Whole numbers as a base and a small difference a row: row i is `base + deltas[i]`.

    Args:
        base: fits `type_`.
        deltas: an array of a narrower integer type; its nulls are those of the column.
        type_: int16, int32 or int64.

    Raises:
        UsageError: other types.
    """

    def __init__(self, base: int, deltas: pa.Array, type_: pa.DataType) -> None:
        if type_ not in (pa.int16(), pa.int32(), pa.int64()):
            raise UsageError(f"a biased column is of int16, int32 or int64, not of {type_}")
        narrow = pa.types.is_signed_integer(deltas.type)
        if not narrow or deltas.type.bit_width >= type_.bit_width:
            raise UsageError(f"differences of {deltas.type} are not narrower than {type_}")
        self.base = base
        self.deltas = deltas
        self.type = type_

    def __len__(self) -> int:
        return len(self.deltas)

    def array(self) -> pa.Array:
        """The values, plain."""
        try:
            base = pa.scalar(self.base, self.type)
            return pc.add_checked(pc.cast(self.deltas, self.type), base)
        except (pa.ArrowInvalid, OverflowError) as error:
            raise UsageError(f"a biased column goes beyond {self.type}: {error}") from error


class LazyVector:
    """A column whose rows are loaded when they are first written.

    Args:
        rows: how many the column has.
        load: gets the numbers of the rows that are needed, ascending, each once, as an int64
            array; returns a `pyarrow.Array` of all `rows` rows, in which the others may be
            anything of the type.
    """

    def __init__(self, rows: int, load: Callable[[npt.NDArray[np.int64]], pa.Array]) -> None:
        self._rows = rows
        self._load = load
        self._loaded: pa.Array | None = None
        self._known = np.zeros(rows, np.bool_)

    def __len__(self) -> int:
        return self._rows

    def array(self, rows: npt.NDArray[np.int64]) -> pa.Array:
        """The column, of which at least these rows are loaded; others than before are asked for."""
        needed = np.zeros(self._rows, np.bool_)
        needed[rows] = True
        if self._loaded is None or bool((needed & ~self._known).any()):
            # One load answers for all rows so far: two answers need not be of one dress.
            self._known |= needed
            self._loaded = self._load(np.flatnonzero(self._known))
        if len(self._loaded) != self._rows:
            raise UsageError(
                f"a lazy column of {counted(self._rows, 'row')} was loaded with {len(self._loaded)}"
            )
        return self._loaded


Columns: TypeAlias = pa.RecordBatch | Sequence[pa.Array | BiasVector | LazyVector]
"""A batch; or its columns one by one, in any dress."""


def plain_arrays(
    columns: Sequence[pa.Array | BiasVector | LazyVector], selections: Sequence[Rows]
) -> list[pa.Array]:
    """Columns as Arrow arrays of one length; lazy ones are asked for the rows selected."""
    if len({len(column) for column in columns}) != 1:
        raise UsageError("columns of different lengths, or none: a batch knows its number of rows")
    arrays = []
    for column in columns:
        if isinstance(column, LazyVector):
            arrays.append(column.array(np.unique(row_numbers(selections, len(column))[0])))
        else:
            arrays.append(column.array() if isinstance(column, BiasVector) else column)
    return arrays


def fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether the core writes a type from arrays of another; encodings and offsets may differ."""
    while pa.types.is_dictionary(given) or pa.types.is_run_end_encoded(given):
        given = given.value_type
    if given == wanted:
        return True
    large = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    if given in large:
        return bool(large[given] == wanted)
    if pa.types.is_list(wanted) and (pa.types.is_list(given) or pa.types.is_large_list(given)):
        return fits(given.value_type, wanted.value_type)
    if pa.types.is_map(wanted) and pa.types.is_map(given):
        keys = fits(given.key_type, wanted.key_type)
        return keys and fits(given.item_type, wanted.item_type)
    if pa.types.is_struct(wanted) and pa.types.is_struct(given):
        same = [field.name for field in given] == [field.name for field in wanted]
        return same and all(fits(g.type, w.type) for g, w in zip(given, wanted, strict=True))
    return False
