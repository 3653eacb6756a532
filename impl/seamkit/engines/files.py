"""Which files an engine's own Parquet reader may read in our place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.parquet import ParquetReader
from seamkit.files.promotion import LOSSLESS
from seamkit.files.reader import FileReader
from seamkit.files.statistics import ColumnRange

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_PATTERN_CHARACTERS = frozenset("*?[]{}")


@dataclass(frozen=True)
class EngineFiles:
    """Files that an engine's own reader reads as we would, and alike.

    Attributes:
        paths: local Parquet files. None has a character that engines take for a pattern.
        schema: the columns of the scan.
        stored: for each column that is read from the files, what these call it, and its type in
            all of them, whose values the engine casts to the scan's without a loss.
        values: for each other column the value that it has in all rows; null where files lack it.
        gone: which rows are gone, as a dataset with a row for each file: its number among `paths`
            (`file`) and a bit for each of its rows (`bits`), the first being the highest of its
            byte, 1 where the row is gone. None if no row is gone.
    """

    paths: Sequence[str]
    schema: pa.Schema
    stored: Mapping[str, pa.Field]
    values: Mapping[str, pa.Scalar]
    gone: ds.Dataset | None = None


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


def engine_files(
    reader: FileReader, schema: pa.Schema, values: Mapping[str, pa.Scalar]
) -> EngineFiles | str:
    """A file for an engine's own reader; or why the engine may not read it in our place.

    `values` are of columns that have one value in all rows, whatever the file holds.
    """
    wanted = pa.schema([field for field in schema if field.name not in values])
    found = reader.stored(wanted)
    file, columns = (reader, ()) if found is None else found
    if found is None or not isinstance(file, ParquetReader):
        return "its columns are made of what it stores, or it is no Parquet file"
    path = file.local_path
    if path is None:
        return "it does not lie in a local folder"
    if _PATTERN_CHARACTERS.intersection(path):
        return "an engine would take its path for a pattern"
    if why := _why_not_its_names(file):
        return why
    stored, values = {}, dict(values)
    for field, column in zip(wanted, columns, strict=True):
        own = None if isinstance(column, pa.Scalar) else file.schema.field(column.name)
        if own is None or pa.types.is_null(own.type):
            values[field.name] = column if own is None else pa.scalar(None, field.type)
        elif why := _why_not_its_values(file, own, field):
            return why
        else:
            stored[field.name] = own
    if any(map(_is_lost, values.values())):
        return "an engine would not be told the value of a column exactly"
    if why := _why_not_their_bytes(file, list({own.name for own in stored.values()})):
        return why
    return EngineFiles([path], schema, stored, values)


def _is_lost(value: pa.Scalar) -> bool:
    """Whether a value is not the same as Python's, as which engines are told it."""
    kind = value.type
    if pa.types.is_nested(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return bool(value.is_valid)
    try:
        value.as_py()
    except (ValueError, OverflowError):  # a day or a time beyond those of Python's
        return True
    return False


def _why_not_its_names(reader: ParquetReader) -> str | None:
    """Why an engine would not find the columns of a file; None where it does."""
    own = reader.schema.names
    folded = [name.casefold() for name in own]
    if "" in folded:
        return "one of its columns has no name"
    if len(set(folded)) < len(folded):
        return "two of its columns differ in upper and lower case alone"
    if reader.has_paths_twice:  # parquet-mr takes the ranges of one for those of the other
        return "one of its columns is called as the path of a field within another"
    if reader.names_extensions:
        return "its writer named types for columns that Parquet does not know"
    return None


def _why_not_its_values(reader: ParquetReader, own: pa.Field, wanted: pa.Field) -> str | None:
    """Why a column of a file is not what an engine makes of it; None where it is."""
    if not own.type.equals(wanted.type) and not _is_exact(reader, own, wanted.type):
        return f"its column {own.name!r} is a {own.type}"
    if _may_hide_nan(own.type) and not reader.created_by.startswith("parquet-mr"):
        return f"the ranges of column {own.name!r} may leave out NaN"
    return None


def _is_exact(reader: ParquetReader, own: pa.Field, want: pa.DataType) -> bool:
    """Whether an engine's cast gives each value of a column as the table's rules do, or fails.

    Rules that go by the text of a float, or round, or give null, are the table format's own.
    """
    have, kinds, rules = own.type, pa.types, reader.rules
    if not LOSSLESS.promotes(have, want) or not rules.promotes(have, want):
        return False
    if rules.relabels(have, want) or kinds.is_unsigned_integer(have):
        return False
    if kinds.is_timestamp(have) and have.unit == "ns":  # an instant of INT96, or digits to cut off
        return False
    if kinds.is_float32(have):
        return not rules.floats_by_text
    if kinds.is_temporal(have):
        return _reaches(reader, own, want)
    return True


def _reaches(reader: ParquetReader, own: pa.Field, want: pa.DataType) -> bool:
    """Whether all times of a file, as its footer tells them, are times of another unit, too."""
    try:
        known = reader.statistics(pa.schema([own])).columns.get(own.name, ColumnRange())
        if known.least is None or known.greatest is None:
            return known.nulls == reader.num_rows
        for end in (known.least, known.greatest):
            end.cast(want)
    except (InputError, pa.ArrowInvalid):  # times beyond those of Python's, or of the type
        return False
    return True


def _why_not_their_bytes(reader: ParquetReader, names: Sequence[str]) -> str | None:
    """Why engines would test bytes by other rules, or not decode fixed ones; None where not."""
    if not reader.orders_bytes:
        return "its writer compared bytes as numbers with signs, and engines go by its ranges"
    if columns := reader.int96_columns(names):  # each engine cuts other digits and years off
        return f"its column {columns[0]!r} has times of INT96"
    if column := reader.in_new_encoding(names):
        return f"column {column!r} is in an encoding that not all engines know for its type"
    if column := reader.constant_beside_nulls(names):  # DuckDB 2.0 tests it by its ranges alone
        return f"column {column!r} has nulls beside one value, and an engine takes all for null"
    return None


def _may_hide_nan(kind: pa.DataType) -> bool:
    """Whether engines prune by ranges of numbers that leave NaN out.

    DuckDB 2.0 takes NaN for greater than all numbers, and the range of a row group for all of its
    values; writers other than Java's leave NaN out of that range.
    """
    if pa.types.is_nested(kind):
        return any(_may_hide_nan(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_floating(kind))
