"""Which files an engine's own Parquet reader may read in our place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader

if TYPE_CHECKING:
    import pyarrow.dataset as ds

CHUNK_ROWS = 1 << 15
"""Places of one row of a mask: few bytes, so that an engine may join them either way round."""

_PATTERN_CHARACTERS = frozenset("*?[]{}")


@dataclass(frozen=True)
class EngineFiles:
    """Files that an engine's own reader reads as we would, and alike.

    Attributes:
        paths: local Parquet files of one schema. None has a character that engines take for a
            pattern.
        schema: the columns of the scan; those that the files have are of these types in them.
        values: columns that have one value in all rows, and are not read from the files.
        absent: columns that the files lack; they are null.
        gone: which rows are gone, as a dataset with a row for each `CHUNK_ROWS` places: its number
            (`chunk`) and a bit for each place (`bits`), the first being the highest of its byte, 1
            where the row is gone. The place of a row is `number of its file * stride + number of
            the row`. None if no row is gone.
        stride: see above.
    """

    paths: Sequence[str]
    schema: pa.Schema
    values: Mapping[str, pa.Scalar]
    absent: frozenset[str]
    gone: ds.Dataset | None = None
    stride: int = 0


@dataclass(frozen=True)
class MaskedPart:
    """A part of a scan, split between an engine's own reader and ours.

    Attributes:
        file: the one file of which the engine reads the rows that are not gone; None where all rows
            of the part are among `rows`.
        gone: for each row of the file whether it is gone.
        rows: a scan of all other rows of the part.
    """

    file: EngineFiles | None
    gone: npt.NDArray[np.bool_]
    rows: Any


class Rest(Protocol):
    """What is read by us: a scan. It can be pickled, and cut into parts for several processes."""

    def dataset(self) -> ds.Dataset:
        """Its rows, to which engines push columns and filters."""
        ...

    def part_bytes(self) -> list[int]:
        """What there is to read for each part."""
        ...

    def groups(self, count: int) -> list[list[int]]:
        """The parts, shared out among at most so many workers."""
        ...

    @property
    def n_parts(self) -> int:
        """How many parts there are."""
        ...

    def plans(self, groups: Sequence[Sequence[int]]) -> tuple[list[str], Callable[[str], Rest]]:
        """A plan as JSON for each group of parts, and what reads one in another process."""
        ...

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Any:
        """One part, a scan of some columns."""
        ...

    @property
    def part_values(self) -> frozenset[str]:
        """Columns that may have one value in all rows of a part, so that files may lack them."""
        ...

    def masked_part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> MaskedPart:
        """One part, split; what of `part_values` is among the columns is known of a file's rows."""
        ...


@dataclass(frozen=True)
class EnginePlan:
    """A scan as an engine reads it.

    Attributes:
        files: what its own reader reads; each entry is one read.
        rest: a scan of all other rows; None where there are none.
        schema: the columns, in order.
        rest_bytes: about how many bytes the files of the rest have; None where nobody knows.
        rest_rows: about how many rows the rest has, likewise.
    """

    files: Sequence[EngineFiles]
    rest: Rest | None
    schema: pa.Schema
    rest_bytes: int | None = None
    rest_rows: int | None = None


def why_not(reader: FileReader, wanted: pa.Schema) -> str | None:
    """Why an engine's own reader may not read a file in our place; None where it may.

    Columns are wanted in the table's types.
    """
    reader = reader.as_it_stands(wanted)
    if not isinstance(reader, ParquetReader):
        return "its columns are not found by their names alone, or it is no Parquet file"
    path = reader.local_path
    if path is None:
        return "it does not lie in a local folder"
    if _PATTERN_CHARACTERS.intersection(path):
        return "an engine would take its path for a pattern"
    return _why_not_these(reader, wanted)


def _why_not_these(reader: ParquetReader, wanted: pa.Schema) -> str | None:
    """Why the columns of a file are not what an engine makes of them; None where they are."""
    own = reader.schema
    folded = [name.casefold() for name in own.names]
    if "" in folded:
        return "one of its columns has no name"
    if len(set(folded)) < len(folded):
        return "two of its columns differ in upper and lower case alone"
    if reader.names_extensions:
        return "its writer named types for columns that Parquet does not know"
    for field in wanted:
        number = own.get_field_index(field.name)
        if number < 0:
            if field.name.casefold() in folded:
                return f"its column {field.name!r} is written in other letters"
            continue
        if not own.field(number).type.equals(field.type):
            return f"its column {field.name!r} is a {own.field(number).type}"
        if _may_hide_nan(field.type) and not reader.created_by.startswith("parquet-mr"):
            return f"the ranges of column {field.name!r} may leave out NaN"
    return _why_not_their_bytes(reader, wanted.names)


def _why_not_their_bytes(reader: ParquetReader, names: Sequence[str]) -> str | None:
    """Why engines would prune texts by other rules, or not decode fixed bytes; None where not."""
    if not reader.orders_bytes:
        return "its writer compared bytes as numbers with signs, and engines go by its ranges"
    if column := reader.in_new_encoding(names):
        return f"column {column!r} is in an encoding that not all engines know for its type"
    return None


def _may_hide_nan(kind: pa.DataType) -> bool:
    """Whether engines prune by ranges of numbers that leave NaN out.

    DuckDB 2.0 takes NaN for greater than all numbers, and the range of a row group for all of its
    values; writers other than Java's leave NaN out of that range.
    """
    if pa.types.is_nested(kind):
        return any(_may_hide_nan(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_floating(kind))
