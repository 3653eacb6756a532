"""Parquet files written again in other physical forms: same rows, same columns by name.

A file is read and written by pyarrow; then the schema of the first writer is put back into the
footer, element by element, so that a form changes what it names and nothing else. What pyarrow
cannot write (two-level lists, decimals in byte arrays, partial statistics) is made in the footer.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.encodings import made_anew
from seambench.formats.forms.footer import (
    BYTES,
    INT32,
    INT64,
    INT96,
    Footer,
    Leaf,
    Listed,
    Number,
    Struct,
    is_decimal,
    leaves,
    subtree_end,
)

#: No file is cut into more parts than this: large golden tables stay quick.
_MOST_PARTS = 64


@dataclass(frozen=True)
class ParquetForm:
    """One way to write a file."""

    name: str
    title: str  # what it is, for people
    rows: int = 0  # of a row group; 0 for as many as there were
    page_rows: int = 0  # of a page; 0 for as many as the writer likes
    options: Mapping[str, Any] = field(default_factory=dict)  # arguments of pyarrow's writer
    encodings: Mapping[int, str] = field(default_factory=dict)  # of physical types, by number
    # of the rows, how the columns become others; None where the form has no place
    table: Callable[[pa.Table], pa.Table | None] | None = None
    # changes the new footer, given the old one; False where it has no place
    footer: Callable[[Footer, Footer], bool] | None = None
    only_larger: bool = False  # files with no more rows than `rows` in a group are left as they are
    spelled: bool = True  # the schema is spelled as before; if not, as pyarrow does
    around: bool = False  # row groups without rows before and after the others

    def rewritten(self, data: bytes) -> bytes | None:
        """A file in another form; None where it has no place in it."""
        before = Footer(data)
        file = _opened(data)
        if file is None or not file.metadata.num_rows or not file.metadata.num_columns:
            return None
        if self.spelled and _has_decimals_of_any_length(before.schema):
            return None
        table = _rows_of(file, data, before)
        if table is None:
            return None
        largest = max(file.metadata.row_group(n).num_rows for n in range(file.num_row_groups))
        if self.only_larger and self.rows >= largest:
            return None
        if self.table is not None and (table := self.table(table)) is None:
            return None
        rows = _at_most(self.rows, table.num_rows) or largest
        after = Footer(_written(table, rows, self, before))
        if 5 in before.tree:
            after.tree[5] = before.tree[5]
        if self.spelled:
            after.schema = _as_before(before.schema, after.schema)
        if self.footer is not None and not self.footer(after, before):
            return None
        return after.file()


def _has_decimals_of_any_length(schema: Listed) -> bool:
    """Whether there are decimals in bytes whose number is not fixed: pyarrow writes none."""
    return any(is_decimal(one) and one.whole(1) == BYTES for one in schema.items)


def _opened(data: bytes) -> pq.ParquetFile | None:
    """A file; None where pyarrow does not read it, as one with maps whose keys could be null."""
    try:
        return pq.ParquetFile(io.BytesIO(data), coerce_int96_timestamp_unit="us")
    except pa.ArrowInvalid:
        return None


def _rows_of(file: pq.ParquetFile, data: bytes, footer: Footer) -> pa.Table | None:
    """Its rows; None where pyarrow reads times of INT96 otherwise in nanoseconds.

    In microseconds it errs where a time of day is counted back from midnight, in nanoseconds beyond
    64 bits.
    """
    table = _without_views(file.read())
    if not any(leaf.physical == INT96 for leaf in leaves(footer.schema)):
        return table
    times = table.select([one.name for one in table.schema if "timestamp" in str(one.type)])
    nanos = pq.ParquetFile(io.BytesIO(data)).read(times.column_names)
    if not nanos.cast(times.schema, safe=False).equals(times):
        return None
    return _of_moments(table)


def _of_moments(table: pa.Table) -> pa.Table:
    """Timestamps of 96 bits, which pyarrow reads without a zone, as the moments that they are."""
    moment = pa.timestamp("us", "UTC")
    kinds = [moment if pa.types.is_timestamp(one.type) else one.type for one in table.schema]
    fields = [one.with_type(kind) for one, kind in zip(table.schema, kinds, strict=True)]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _without_views(table: pa.Table) -> pa.Table:
    """The rows without views of texts, which pyarrow does not write in several row groups."""
    fields = [
        field.with_type(made_anew(field.type, _unviewed)) if "view" in str(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def _unviewed(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(kind):
        return pa.list_(kind.value_field)
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def _at_most(rows: int, whole: int) -> int:
    """A number of rows that cuts a file into no more than `_MOST_PARTS` parts; 0 stays."""
    return max(rows, -(-whole // _MOST_PARTS)) if rows else 0


def _written(table: pa.Table, rows: int, form: ParquetForm, before: Footer) -> bytes:
    physical = {leaf.physical for leaf in leaves(before.schema)}
    integers = any(
        is_decimal(one) and one.whole(1) in (INT32, INT64) for one in before.schema.items
    )
    options: dict[str, Any] = {
        "store_schema": False,
        "store_decimal_as_integer": integers,
        "use_deprecated_int96_timestamps": INT96 in physical,
        **form.options,
    }
    if form.page_rows:
        each = _at_most(form.page_rows, table.num_rows)
        options |= {"max_rows_per_page": each, "write_batch_size": each}
    if form.encodings:
        # Of the file as it is to be: the types of its leaves may be others than before.
        plain = Footer(_put(table, rows, options, around=False))
        options |= {
            "use_dictionary": False,
            "column_encoding": {
                ".".join(leaf.path): form.encodings.get(leaf.physical, "PLAIN")
                for leaf in leaves(plain.schema)
            },
        }
    return _put(table, rows, options, around=form.around)


def _put(table: pa.Table, rows: int, options: Mapping[str, Any], *, around: bool) -> bytes:
    out = io.BytesIO()
    with pq.ParquetWriter(out, table.schema, **options) as writer:
        if around:
            writer.write_table(table.slice(0, 0))
        writer.write_table(table, row_group_size=rows)
        if around:
            writer.write_table(table.slice(0, 0))
    return out.getvalue()


def _as_before(before: Listed, after: Listed) -> Listed:
    """The schema of the first writer, which must mean the same bytes in the new file."""
    own: dict[str, list[Leaf]] = {}
    for leaf in leaves(after):
        own.setdefault(leaf.path[0], []).append(leaf)
    spelled = Listed(before.kind, before.items[:1])
    for name, shapes in own.items():
        elements = _column(before, name)
        known = leaves(Listed(before.kind, [Struct({5: Number(5, 1)}), *elements]))
        if [_shape(one) for one in known] != [_shape(one) for one in shapes]:
            raise ValueError(f"column {name} is written as {shapes}, it was {known}")
        lengths = iter(shapes)
        for element in elements:
            if element.whole(5) == 0:
                length = next(lengths).length
                if length:
                    element[2] = Number(5, length)
        spelled.items += elements
    return spelled


def _shape(leaf: Leaf) -> tuple[int, int, int]:
    return leaf.physical, leaf.definition, leaf.repetition


def _column(schema: Listed, name: str) -> list[Struct]:
    """The elements of a column, itself first."""
    at = 1
    while at < len(schema.items):
        end = subtree_end(schema, at)
        if schema.items[at].text(4) == name:
            return [Struct(element) for element in schema.items[at:end]]
        at = end
    raise ValueError(f"no column {name}")


def read_parquet(file: Path) -> pa.Table:
    """All columns of a file."""
    return pq.ParquetFile(file).read()


def parquet_bytes(table: pa.Table) -> bytes:
    """A file as pyarrow writes it, without Arrow's schema."""
    return _put(table, max(1, table.num_rows), {"store_schema": False}, around=False)
