"""What is known of values before they are read, and what it rules out."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from seambase.errors import InputError
from seambase.filters import all_of, filter_text
from seamkit.files.footers.chunks import (
    bound_of,
    bounds_count,
    chunk_paths,
    contradicts,
    leaves,
    null_counts,
)


@dataclass(frozen=True)
class ColumnRange:
    """What is known of a column's values in a file."""

    nulls: int | None = None  # how many are null; None where nobody knows
    # no value is less than it; None where there is none, or nobody knows
    least: pa.Scalar | None = None
    greatest: pa.Scalar | None = None  # likewise, no value is greater
    # which of both, `least` and `greatest`, are values of the column
    exact: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class FileStatistics:
    """What is known of a file without reading its rows."""

    rows: int | None = None  # in it; None where nobody knows
    # by name; never of nested types or of floating-point numbers, as writers differ in what NaN
    # does to them
    columns: Mapping[str, ColumnRange] = field(default_factory=dict)


def guarantee_of(known: FileStatistics) -> pc.Expression | None:
    """What statistics say of all rows, as a condition that these meet; None if nothing."""
    parts: list[pc.Expression] = []
    for name, one in known.columns.items():
        if one.nulls and one.nulls == known.rows:
            parts.append(pc.field(name).is_null())
        parts += bounds(name, one.least, one.greatest, nullable=one.nulls != 0)
    return all_of(*parts)


def bounds(
    name: str, least: pa.Scalar | None, most: pa.Scalar | None, *, nullable: bool
) -> Iterator[pc.Expression]:
    """What bounds say of a column, as expressions that all hold.

    A bound that is not known is None or NULL; `nullable`: there may be rows without a value.
    """
    column = pc.field(name)
    if least is not None and least.is_valid:
        yield or_null(column >= least, column, nullable=nullable)
    if most is not None and most.is_valid:
        yield or_null(column <= most, column, nullable=nullable)


def or_null(comparison: pc.Expression, column: pc.Expression, *, nullable: bool) -> pc.Expression:
    """A comparison that holds for all values of a column, of which some may be NULL.

    pyarrow reasons about a column with NULLs only where each comparison stands with `is_null` by
    itself.
    """
    return comparison | column.is_null() if nullable else comparison


def is_misjudged(condition: pc.Expression, schema: pa.Schema) -> bool:
    """Whether pyarrow's datasets reason of a condition otherwise than its rows are tested.

    They take `x < NaN` for true wherever they know a bound of x, so that `not x < NaN`, which all
    rows meet, would leave out every file. A column of that name is taken for it, too. Times in a
    list are cut to days where a row's day is looked for among them, but not where bounds are.
    """
    text = filter_text(condition)
    if "{value_set=timestamp" in text and any(
        pa.types.is_date(field.type) and f"is_in({field.name}, {{value_set=timestamp" in text
        for field in schema
    ):
        return True
    return re.search(r"\bnan\b", text) is not None


def that_may_match(
    guarantees: Sequence[pc.Expression | None], condition: pc.Expression, schema: pa.Schema
) -> list[int]:
    """Numbers of those whose guarantee leaves room for rows that meet a condition.

    pyarrow's datasets do the reasoning: a guarantee is to them what all rows of a file have in
    common. No file is opened. A guarantee is None where nothing is known.
    """
    if is_misjudged(condition, schema):
        return list(range(len(guarantees)))
    import pyarrow.dataset as ds

    format_, nowhere = ds.ParquetFileFormat(), pafs.LocalFileSystem()
    known = {number: one for number, one in enumerate(guarantees) if one is not None}
    fragments = [format_.make_fragment(str(n), nowhere, one) for n, one in known.items()]
    planned = ds.FileSystemDataset(fragments, schema, format_, nowhere)
    try:
        left = {int(fragment.path) for fragment in planned.get_fragments(filter=condition)}
    except pa.ArrowInvalid:
        # A bound that the condition's type does not hold: 2**53 + 1 compared with a fraction.
        return list(range(len(guarantees)))
    return [number for number in range(len(guarantees)) if number in left or number not in known]


def footer_statistics(
    file: pq.ParquetFile, schema: pa.Schema, row_groups: Sequence[int] | None = None
) -> FileStatistics:
    """What the footer of a Parquet file tells of all its rows, or of those of some row groups.

    Writers may cut long values of a chunk's statistics (`Statistics` in parquet.thrift), and
    pyarrow does not show whether they did: texts and binaries are bounded, all others are values.
    Columns of the schema that the file lacks are null in all rows.
    """
    footer, own = file.metadata, file.schema_arrow
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    numbers = range(footer.num_row_groups) if row_groups is None else row_groups
    groups = [footer.row_group(i) for i in numbers]
    rows = [group.num_rows for group in groups]
    ranges, nulls, counts = {}, null_counts(footer), bounds_count(footer)
    for wanted in schema:
        name, kind = wanted.name, wanted.type
        if name not in own.names:
            ranges[name] = ColumnRange(sum(rows))
        elif not _is_ordered(kind) or own.field(name).type != kind or paths.count(name) != 1:
            continue
        else:
            chunks = [group.column(paths.index(name)) for group in groups]
            column = footer.schema.column(paths.index(name))
            is_sure = counts(column, kind) and not any(contradicts(one, column) for one in chunks)
            known = [(one.statistics if is_sure else None, nulls(one)) for one in chunks]
            ranges[name] = _of_chunks(known, rows, kind)
    return FileStatistics(sum(rows), ranges)


def _is_ordered(kind: pa.DataType) -> bool:
    kinds = pa.types
    return not (kinds.is_nested(kind) or kinds.is_floating(kind) or kinds.is_null(kind))


def _of_chunks(
    chunks: Sequence[tuple[Any, int | None]], rows: Sequence[int], kind: pa.DataType
) -> ColumnRange:
    """What the statistics and nulls of a column's chunks, one for each row group, say together."""
    counts = [count for _, count in chunks if count is not None]
    nulls = sum(counts) if len(counts) == len(chunks) else None
    valued = [
        one
        for (one, count), n in zip(chunks, rows, strict=True)
        if n and (nulls is None or count != n)
    ]
    if not valued or any(one is None or not one.has_min_max for one in valued):
        return ColumnRange(nulls)
    try:
        ends = [[bound_of(one, end, kind) for one in valued] for end in ("min", "max")]
    except (pa.ArrowNotImplementedError, UnicodeDecodeError):
        # Decimals, to releases of early 2025; texts that are cut within a character.
        return ColumnRange(nulls)
    if len(valued) == 1:
        least, greatest = (values[0] for (values,) in ends)
    else:
        least, greatest = pc.min(pa.concat_arrays(ends[0])), pc.max(pa.concat_arrays(ends[1]))
    is_cut = pa.types.is_binary(kind) or pa.types.is_string(kind)
    return ColumnRange(nulls, least, greatest, (not is_cut, not is_cut))


@dataclass
class FooterBounds:
    """Holds the values that are read of a Parquet file against the bounds that its footer tells.

    Most writers give pages no checksum, and a flipped bit is another value: mostly one beyond the
    bounds of its column chunk. Floating-point numbers count where no NaN is among them, as writers
    differ in what NaN does to bounds; dictionaries with what rows name of them, as some writers put
    more there.
    """

    footer: pq.FileMetaData
    where: str

    @functools.cached_property
    def _counts(self) -> Callable[[pq.ColumnSchema, pa.DataType], bool]:
        return bounds_count(self.footer)

    @functools.cached_property
    def _chunks(self) -> Mapping[tuple[str, bool], Sequence[tuple[int, str]]]:
        """Numbers and paths of chunks by the column that they may be of, and whether within it."""
        # A name with a dot looks like the path of a column within another.
        found: dict[tuple[str, bool], list[tuple[int, str]]] = {}
        for number, path in chunk_paths(self.footer, None):
            first, dot, _ = path.partition(".")
            found.setdefault((path, False), []).append((number, path))
            if dot:
                found.setdefault((first, True), []).append((number, path))
        return found

    def check(self, batch: pa.RecordBatch, row_group: int) -> None:
        """Hold the rows of a batch, all of which are of one row group."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            chunks = self._chunks.get((name, pa.types.is_nested(column.type)), ())
            parts = [*leaves(column)]
            if len(chunks) == len(parts):
                for (number, path), values in zip(chunks, parts, strict=True):
                    self._check(values, row_group, number, path)

    def _check(self, values: pa.Array, row_group: int, number: int, path: str) -> None:
        known = self.footer.row_group(row_group).column(number).statistics
        is_sure = self._counts(self.footer.schema.column(number), values.type)
        if known is None or not known.has_min_max or not is_sure:
            return
        if pa.types.is_dictionary(values.type):
            values = values.dictionary.take(values.indices.unique())
        if pa.types.is_float16(values.type):  # whose bounds pyarrow hands out as bytes
            return
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            return
        where = f"{self.where}: column {path!r}, row group {row_group}"
        try:
            least, greatest = (_bound(known, end, values.type) for end in ("min", "max"))
        except pa.ArrowNotImplementedError:  # decimals, to releases of early 2025
            return
        except (ValueError, OverflowError) as error:
            raise InputError(f"{where}: its statistics are not readable ({error})") from error
        ends = pc.min_max(values.cast(least.type))
        for value, bound, word, beyond in (
            (ends["min"], least, "less than the least", pc.less),
            (ends["max"], greatest, "greater than the greatest", pc.greater),
        ):
            if beyond(value, bound).as_py():
                raise InputError(
                    f"{where}: its value {_shown(value)} is {word} that its footer tells, "
                    f"{_shown(bound)}"
                )


def _bound(known: Any, end: str, kind: pa.DataType) -> pa.Scalar:
    """A bound; of texts its bytes, which may be cut within a character."""
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.scalar(getattr(known, f"{end}_raw"), pa.binary())
    return bound_of(known, end, kind)[0]


def _shown(value: pa.Scalar) -> str:
    """A value for messages; a date or time that is none of Python's as its number."""
    try:
        return str(value)
    except (ValueError, OverflowError):
        return str(value.value)
