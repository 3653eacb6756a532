"""Texts that a file holds once and rows name often: what they take when each row has its own.

A page of a dictionary may hold one text of a megabyte, and a data page of a few bytes name it a
million times. Where a scan's limit of memory is stated, such columns are read as dictionaries, and
become texts in batches that stay within the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.encodings import made_anew
from seamkit.core.border import numpy_of
from seamkit.core.unpack import Bound
from seamkit.files.footers.chunks import chunk_paths, dictionary_bytes, most_of_pages
from seamkit.files.promotion import inner_of

#: Rows that are looked at together where a file is only measured.
_MEASURED_ROWS = 4096


def long_dictionaries(
    footer: pq.FileMetaData,
    names: Collection[str] | None,
    row_groups: Sequence[int],
    read: Callable[[int, int], bytes],
    bound: Bound,
    where: str,
) -> list[str]:
    """Paths of columns of texts whose dictionaries may become too large when they are spread."""
    found: dict[str, None] = {}
    for number, path in chunk_paths(footer, names):
        if footer.schema.column(number).physical_type != "BYTE_ARRAY":
            continue
        for group in row_groups:
            chunk = footer.row_group(group).column(number)
            values, place = chunk.num_values, f"{where}, column {path!r}, row group {group}"
            if values * most_of_pages(chunk) <= bound.most or not values:
                continue
            if values * dictionary_bytes(chunk, read, place) > bound.most:
                found[path] = None
                break
    return list(found)


def rows_at_once(
    footer: pq.FileMetaData, names: Collection[str], most_rows: int, bound: Bound
) -> int:
    """Rows of which the values of a fixed length stay within a bound; those of lists aside.

    A dictionary has such a value once, and a few bytes name it in every row. `bound` is what the
    values of a batch may take.
    """
    row_bytes = 0
    for number, _ in chunk_paths(footer, names):
        column = footer.schema.column(number)
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and not column.max_repetition_level:
            row_bytes += column.length
    return max(1, min(most_rows, bound.most // row_bytes)) if row_bytes else most_rows


def check_whole(
    opened: Callable[[Sequence[str]], pq.ParquetFile],
    paths: Sequence[str],
    bound: Bound,
    where: str,
) -> None:
    """Make sure that columns of a file which is read whole do not become too large."""
    for path in paths:
        total = 0
        for batch in opened([path]).iter_batches(_MEASURED_ROWS, columns=[path]):
            total += int(_batch_sizes(batch, ()).sum())
            bound.check(total, None, f"{where}, the texts of column {path!r}")


def texts_within(
    batch: pa.RecordBatch, kept: Collection[str], bound: Bound, where: str
) -> Iterator[pa.RecordBatch]:
    """The rows of a batch with texts for dictionaries, as many at once as the bound allows."""
    ends = np.cumsum(_batch_sizes(batch, kept))
    begin = 0
    while begin < batch.num_rows:
        before = int(ends[begin - 1]) if begin else 0
        end = int(np.searchsorted(ends, before + bound.most, "right"))
        if end == begin:
            bound.check(int(ends[begin]) - before, None, f"{where}, the texts of one row")
        whole = begin == 0 and end == batch.num_rows
        piece = batch if whole else batch.take(pa.array(range(begin, end)))
        yield _with_texts(piece, kept)
        begin = end


def _with_texts(batch: pa.RecordBatch, kept: Collection[str]) -> pa.RecordBatch:
    fields = [
        field if field.name in kept else field.with_type(made_anew(field.type, _texts_of))
        for field in batch.schema
    ]
    columns = [
        column if column.type.equals(field.type) else pc.cast(column, field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _batch_sizes(batch: pa.RecordBatch, kept: Collection[str]) -> npt.NDArray[np.int64]:
    """Bytes that the dictionaries' texts in each row take."""
    total = np.zeros(batch.num_rows, np.int64)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name not in kept:
            total += _sizes(column)
    return total


def _sizes(array: pa.Array) -> npt.NDArray[np.int64]:
    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = pc.fill_null(pc.binary_length(array.dictionary), 0)
        return np.asarray(numpy_of(pc.fill_null(lengths.take(array.indices), 0)), np.int64)
    if pa.types.is_struct(kind):
        inner = [_sizes(array.field(number)) for number in range(kind.num_fields)]
        return sum(inner, np.zeros(len(array), np.int64))
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        items = inner_of(array)
        sizes = sum(map(_sizes, items), np.zeros(len(items[0]), np.int64))
        return np.diff(np.append(0, np.cumsum(sizes)).take(numpy_of(array.offsets)))
    return np.zeros(len(array), np.int64)


def _texts_of(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
