"""Which files an engine's own Parquet reader may read in our place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.blooms.split_block import are_filters_true
from seamkit.files.footers.chunks import (
    bounds_nan,
    bounds_pages,
    constant_beside_nulls,
    contradicts_anywhere,
    counts_nulls,
    in_rare_forms,
    orders_bytes,
    orders_decimals,
    paths_twice,
)
from seamkit.files.parquet import ParquetReader
from seamkit.files.promotion import LOSSLESS, has_within
from seamkit.files.reader import FileReader
from seamkit.files.statistics import ColumnRange

if TYPE_CHECKING:
    import pyarrow.dataset as ds

ELSEWHERE = "it does not lie in a local folder"
"""Why an engine may not read a file."""

_PATTERN_CHARACTERS = frozenset("*?[]{}\\")


@dataclass(frozen=True)
class EngineFiles:
    """Files that an engine's own reader reads as we would, and alike.

    Attributes:
        paths: local Parquet files. None has a character that engines take for a pattern.
        schema: the columns of the scan.
        stored: for each column that is read from the files, what these call it, and its type in
            all of them, whose values the engine casts to the scan's without a loss.
        values: for each other column the value that it has in all rows; null where files lack it.
        ours: columns that only we read, each with why. The engine reads the files for queries that
            read none of these, be it to test them; of all others nothing but `instead`.
        instead: the same rows as we read them, with all columns. None if no column is ours.
        gone: which rows are gone, as a dataset with a row for each file: its number among `paths`
            (`file`) and a bit for each of its rows (`bits`), the first being the highest of its
            byte, 1 where the row is gone. None if no row is gone.
    """

    paths: Sequence[str]
    schema: pa.Schema
    stored: Mapping[str, pa.Field]
    values: Mapping[str, pa.Scalar]
    ours: Mapping[str, str] = field(default_factory=dict)
    instead: ds.Dataset | None = None
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

    def part_bytes(self) -> list[int]:
        """What there is to read for each part."""

    def groups(self, count: int) -> list[list[int]]:
        """The parts, shared out among at most so many workers."""

    @property
    def n_parts(self) -> int:
        """How many parts there are."""

    def plans(self, groups: Sequence[Sequence[int]]) -> tuple[list[str], Callable[[str], Rest]]:
        """A plan as JSON for each group of parts, and what reads one in another process."""

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Any:
        """One part, a scan of some columns."""

    @property
    def part_values(self) -> frozenset[str]:
        """Columns that may have one value in all rows of a part, so that files may lack them."""

    def masked_part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> MaskedPart:
        """One part, split; what of `part_values` is among the columns is known of a file's rows."""


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
    """A file for an engine's own reader; or why the engine may not read it in our place at all.

    `values` are of columns that have one value in all rows, whatever the file holds.
    """
    wanted = pa.schema([one for one in schema if one.name not in values])
    file, columns = _sources(reader, wanted)
    if not isinstance(file, ParquetReader):
        return "its columns are made of what it stores, or it is no Parquet file"
    path = file.local_path
    if path is None:
        return ELSEWHERE
    if _PATTERN_CHARACTERS.intersection(path):
        return "an engine would take its path for a pattern"
    if _is_passed_over(Path(path).name):
        return "Spark passes over files of such names, or cannot open them"
    if why := _why_not_its_names(file):
        return why
    return _shared(path, file, schema, dict(zip(wanted.names, columns, strict=True)), values)


def _is_passed_over(name: str) -> bool:
    """Whether Spark takes a file for one that is hidden, or not whole yet: its rows do not come."""
    # One with a colon is none that Hadoop can open.
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return hidden or name.endswith("._COPYING_") or ":" in name


def _shared(
    path: str,
    file: ParquetReader,
    schema: pa.Schema,
    sources: Mapping[str, pa.Field | pa.Scalar | None],
    values: Mapping[str, pa.Scalar],
) -> EngineFiles | str:
    """The columns of a file, shared out; or why none is left for an engine."""
    stored, values, ours = {}, dict(values), {}
    for name, column in sources.items():
        own = file.schema.field(column.name) if isinstance(column, pa.Field) else None
        kind = schema.field(name).type
        if column is None:
            ours[name] = f"column {name!r} is made of what the file stores"
        elif own is None or pa.types.is_null(own.type):
            values[name] = column if own is None else pa.scalar(None, kind)
        elif why := _why_not_its_values(file, own, kind):
            ours[name] = why
        else:
            stored[name] = own
    for name, value in values.items():
        if _is_lost(value):
            ours[name] = f"an engine would not be given the value of column {name!r} exactly"
    of_bytes = _why_not_their_bytes(file, {own.name for own in stored.values()})
    ours |= {name: of_bytes[own.name] for name, own in stored.items() if own.name in of_bytes}
    if ours and len(ours) == len(schema):
        return next(iter(ours.values()))
    stored = {name: own for name, own in stored.items() if name not in ours}
    values = {name: value for name, value in values.items() if name not in ours}
    return EngineFiles([path], schema, stored, values, ours)


def _sources(
    reader: FileReader, wanted: pa.Schema
) -> tuple[FileReader | None, Sequence[pa.Field | pa.Scalar | None]]:
    """The reader of the file itself, and where columns come from; None where more is done to it."""
    found = reader.stored(wanted)
    if found is not None:
        return found
    apart = [reader.stored(pa.schema([one])) for one in wanted]
    file = next((one[0] for one in apart if one is not None), None)
    return file, [None if one is None else one[1][0] for one in apart]


def _is_lost(value: pa.Scalar) -> bool:
    """Whether a value is not the same as Python's, as which engines are given it."""
    kind = value.type
    if pa.types.is_nested(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return bool(value.is_valid)
    try:
        value.as_py()
    except (ValueError, OverflowError):  # a day or a time beyond those of Python's
        return True
    return False


def _why_not_its_names(reader: ParquetReader) -> str | None:
    """Why an engine would take columns of a file for others, or their ranges; None where not."""
    own = reader.schema.names
    folded = [name.casefold() for name in own]
    if "" in folded:
        return "one of its columns has no name"
    if len(set(folded)) < len(folded):
        return "two of its columns differ in upper and lower case alone"
    if paths_twice(reader.footer):  # parquet-mr takes the ranges of one for those of the other
        return "one of its columns is called as the path of a field within another"
    if reader.names_extensions:
        return "its writer named types for columns that Parquet does not know"
    for name, is_refused in reader.told_otherwise.items():
        if is_refused:
            return f"the type of its column {name!r} is told in a way that some engines refuse"
    return _why_not_its_ranges(reader)


def _why_not_its_ranges(reader: ParquetReader) -> str | None:
    """Why an engine would pass over rows of a file, or refuse it, by what it says of them."""
    footer = reader.footer
    if not orders_bytes(footer):
        return "its writer told ranges of bytes by other rules, and engines go by these"
    if not bounds_pages(footer):
        return "its writer told ranges of pages that may be too small, and Spark goes by these"
    if not counts_nulls(footer):
        return "its writer may have counted other nulls than there are, by which engines go"
    if reader.of_footer(contradicts_anywhere):
        return "ranges in it contradict themselves, by which engines go"
    if reader.has_cut_bounds:
        return "bounds of values of a fixed length are cut, for which engines refuse the file"
    if not are_filters_true(footer):
        return "its writer may have made Bloom filters of other values, by which engines go"
    return None


def _why_not_its_values(reader: ParquetReader, own: pa.Field, want: pa.DataType) -> str | None:
    """Why a column of a file is not what an engine makes of it; None where it is."""
    if not own.type.equals(want) and not _is_exact(reader, own, want):
        return f"its column {own.name!r} is a {own.type}"
    if has_within(pa.types.is_decimal, own.type) and not orders_decimals(reader.footer):
        return f"its writer compared decimals of {own.name!r} without signs, as engines do not"
    # DuckDB 2.0 takes NaN for greater than all numbers, and the range of a row group for all of its
    # values; most writers leave NaN out of that range.
    if has_within(pa.types.is_floating, own.type) and not bounds_nan(reader.footer):
        return f"the ranges of column {own.name!r} may leave out NaN"
    return None


def _is_exact(reader: ParquetReader, own: pa.Field, want: pa.DataType) -> bool:
    """Whether an engine's cast gives each value of a column as the table's rules do, or fails."""
    # Rules that go by the text of a float, or round, or give null, are the table format's own.
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


def _why_not_their_bytes(reader: ParquetReader, names: Set[str]) -> Mapping[str, str]:
    """Why engines would not decode columns, or test them by other rules, each by its name."""
    footer = reader.footer
    rare, one = in_rare_forms(footer, names), constant_beside_nulls(footer, names)
    # Engines cut other digits and years off INT96; DuckDB 2.0 tests one value by its ranges alone.
    return {
        **{
            own: f"column {at!r} has nulls beside one value, and an engine takes all for null"
            for own, at in one.items()
        },
        **{
            own: f"column {at!r} is in an encoding or codec that not all engines know for its type"
            for own, at in rare.items()
        },
        **{
            own: f"the type of its column {own!r} is told in a way that not all engines know"
            for own in names & reader.told_otherwise.keys()
        },
        **{own: f"its column {own!r} has times of INT96" for own in reader.int96_columns(names)},
        **{own: f"keys of maps in {own!r} may be null" for own in reader.maps_as_pairs(names)},
    }
