"""Parquet files written again in other physical forms: same rows, same columns by name.

A file is read and written by pyarrow; then the schema of the first writer is put back into the
footer, element by element, so that a form changes what it names and nothing else. What pyarrow
cannot write (two-level lists, decimals in byte arrays, partial statistics) is made in the footer.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambench.contracts.tables import Form
from seambench.formats.forms.containers import put_file
from seambench.formats.forms.footer import Binary, Footer, Leaf, Listed, Number, Struct, leaves

__all__ = [
    "PARQUET_FORMS",
    "ParquetForm",
    "data_forms",
    "parquet_bytes",
    "read_parquet",
    "rewritten",
    "rewritten_as",
    "rewritten_bytes",
]

#: Physical types of Parquet by number.
_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BYTES, _FIXED = range(8)
#: No file is cut into more parts than this: large golden tables stay quick.
_MOST_PARTS = 64
_HINT = "ARROW:schema"
_DIGITS = Context(prec=80)


@dataclass(frozen=True)
class ParquetForm:
    """One way to write a file.

    Attributes:
        name: of the form.
        title: what it is, for people.
        rows: of a row group; 0 for as many as there were.
        page_rows: of a page; 0 for as many as the writer likes.
        options: arguments of pyarrow's writer.
        encodings: of physical types, by number.
        table: of the rows, how the columns become others; None where the form has no place.
        footer: changes the new footer, given the old one; False where it has no place.
        only_larger: files with no more rows than `rows` in a group are left as they are.
        spelled: the schema is spelled as before; if not, as pyarrow does.
        around: row groups without rows before and after the others.
    """

    name: str
    title: str
    rows: int = 0
    page_rows: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    encodings: Mapping[int, str] = field(default_factory=dict)
    table: Callable[[pa.Table], pa.Table | None] | None = None
    footer: Callable[[Footer, Footer], bool] | None = None
    only_larger: bool = False
    spelled: bool = True
    around: bool = False


def rewritten(data: bytes, form: ParquetForm) -> bytes | None:
    """A file in another form; None where it has no place in it.

    Raises:
        ValueError: the file cannot be written with its schema.
    """
    before = Footer(data)
    file = pq.ParquetFile(io.BytesIO(data), coerce_int96_timestamp_unit="us")
    if not file.metadata.num_rows or not file.metadata.num_columns:
        return None
    table: pa.Table | None = _without_views(file.read())
    assert table is not None
    if any(leaf.physical == _INT96 for leaf in leaves(before.schema)):
        table = _of_moments(table)
    largest = max(file.metadata.row_group(n).num_rows for n in range(file.num_row_groups))
    if form.only_larger and form.rows >= largest:
        return None
    if form.table is not None and (table := form.table(table)) is None:
        return None
    rows = _at_most(form.rows, table.num_rows) or largest
    after = Footer(_written(table, rows, form, before))
    if 5 in before.tree:
        after.tree[5] = before.tree[5]
    if form.spelled:
        after.schema = _as_before(before.schema, after.schema)
    if form.footer is not None and not form.footer(after, before):
        return None
    return after.file()


def _without_views(table: pa.Table) -> pa.Table:
    """The rows without views of texts, which pyarrow does not write in several row groups."""
    fields = [
        field.with_type(_unviewed(field.type)) if "view" in str(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def _unviewed(kind: pa.DataType) -> pa.DataType:
    if kind == pa.string_view():
        return pa.string()
    if kind == pa.binary_view():
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_unviewed(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(_unviewed(kind.key_type), _unviewed(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(_unviewed(kind.value_type)))
    return kind


def _at_most(rows: int, whole: int) -> int:
    """A number of rows that cuts a file into no more than `_MOST_PARTS` parts; 0 stays."""
    return max(rows, -(-whole // _MOST_PARTS)) if rows else 0


def _written(table: pa.Table, rows: int, form: ParquetForm, before: Footer) -> bytes:
    physical = {leaf.physical for leaf in leaves(before.schema)}
    integers = any(
        _is_decimal(one) and one.whole(1) in (_INT32, _INT64) for one in before.schema.items
    )
    options: dict[str, Any] = {
        "store_schema": False,
        "store_decimal_as_integer": integers,
        "use_deprecated_int96_timestamps": _INT96 in physical,
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


def _kinds(schema: pa.Schema) -> Iterable[pa.DataType]:
    """Types of a schema's leaves, in order."""

    def below(kind: pa.DataType) -> Iterable[pa.DataType]:
        if pa.types.is_nested(kind):
            inner = [kind.key_type, kind.item_type] if pa.types.is_map(kind) else None
            if pa.types.is_struct(kind):
                inner = [kind.field(at).type for at in range(kind.num_fields)]
            for one in inner or [kind.value_type]:
                yield from below(one)
        else:
            yield kind

    for one in schema:
        yield from below(one.type)


def _as_before(before: Listed, after: Listed) -> Listed:
    """The schema of the first writer, which must mean the same bytes in the new file.

    Raises:
        ValueError: it does not.
    """
    own: dict[str, list[Leaf]] = {}
    for leaf in leaves(after):
        own.setdefault(leaf.path[0], []).append(leaf)
    spelled = Listed(before.kind, before.items[:1])
    for name, found in own.items():
        elements = _column(before, name)
        known = leaves(Listed(before.kind, [Struct({5: Number(5, 1)}), *elements]))
        if [_shape(one) for one in known] != [_shape(one) for one in found]:
            raise ValueError(f"column {name} is written as {found}, it was {known}")
        lengths = iter(found)
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
        end = _end(schema, at)
        if schema.items[at].text(4) == name:
            return [Struct(element) for element in schema.items[at:end]]
        at = end
    raise ValueError(f"no column {name}")


def _end(schema: Listed, at: int) -> int:
    """Number behind the last element of the subtree that begins at one."""
    end = at + 1
    for _ in range(schema.items[at].whole(5)):
        end = _end(schema, end)
    return end


# What changes columns.


def _reversed(table: pa.Table) -> pa.Table | None:
    return table.select(table.column_names[::-1]) if table.num_columns > 1 else None


def _with_nulls(nullable: Callable[[pa.Field, pa.ChunkedArray], bool]) -> Any:
    def changed(table: pa.Table) -> pa.Table | None:
        pairs = zip(table.schema, table.columns, strict=True)
        fields = [one.with_nullable(nullable(one, column)) for one, column in pairs]
        schema = pa.schema(fields, table.schema.metadata)
        return None if schema.equals(table.schema) else table.cast(schema)

    return changed


def _recast(
    kind: Callable[[pa.Field, pa.ChunkedArray], pa.DataType | None],
) -> Callable[[pa.Table], pa.Table | None]:
    """Casts top-level columns that have another type; no other table has a place in the form."""

    def changed(table: pa.Table) -> pa.Table | None:
        pairs = zip(table.schema, table.columns, strict=True)
        wanted = [kind(one, column) for one, column in pairs]
        if not any(wanted):
            return None
        fields = [
            one if new is None else one.with_type(new)
            for one, new in zip(table.schema, wanted, strict=True)
        ]
        return table.cast(pa.schema(fields, table.schema.metadata))

    return changed


def _of_moments(table: pa.Table) -> pa.Table:
    """Timestamps of 96 bits, which pyarrow reads without a zone, as the moments that they are."""
    moment = pa.timestamp("us", "UTC")
    kinds = [moment if pa.types.is_timestamp(one.type) else one.type for one in table.schema]
    fields = [one.with_type(kind) for one, kind in zip(table.schema, kinds, strict=True)]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _in_millis(one: pa.Field, column: pa.ChunkedArray) -> pa.DataType | None:
    """Timestamps in microseconds that are whole milliseconds."""
    if not pa.types.is_timestamp(one.type) or one.type.unit != "us":
        return None
    ticks = column.cast(pa.int64())
    whole = pc.all(pc.equal(pc.multiply(pc.divide(ticks, 1000), 1000), ticks)).as_py()
    return pa.timestamp("ms", one.type.tz) if whole is not False else None


def _only(test: Callable[[pa.DataType], bool]) -> Callable[[pa.Table], pa.Table | None]:
    """A table as it is, if it has a leaf of a type."""
    return lambda table: table if any(map(test, _kinds(table.schema))) else None


def _zoned_only(table: pa.Table) -> pa.Table | None:
    """A table whose timestamps are all moments: in INT96 there are no others."""
    times = [kind for kind in _kinds(table.schema) if pa.types.is_timestamp(kind)]
    return table if times and all(kind.tz for kind in times) else None


def _other_nans(table: pa.Table) -> pa.Table | None:
    """Each NaN of a top-level column with other bits: negative, and with a payload."""
    found = False
    for at, one in enumerate(table.schema):
        if not pa.types.is_float32(one.type) and not pa.types.is_float64(one.type):
            continue
        column = table[at].combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
        is_nan = pc.fill_null(pc.is_nan(column), False).to_numpy(zero_copy_only=False)
        if is_nan.any():
            found = True
            wide = pa.types.is_float64(one.type)
            bits = np.array(pc.fill_null(column, 0)).view(np.uint64 if wide else np.uint32)
            bits = np.where(is_nan, 0xFFF8000000000123 if wide else 0xFFC00123, bits)
            values = bits.astype(np.uint64 if wide else np.uint32).view(
                np.float64 if wide else np.float32
            )
            mask = np.array(column.is_null())
            table = table.set_column(at, one, pa.array(values, one.type, mask=mask))
    return table if found else None


def _decimals_as_bytes(table: pa.Table) -> pa.Table | None:
    """Decimals as the fewest big-endian bytes that hold them; the footer says what they are."""
    found = False
    for at, one in enumerate(table.schema):
        if pa.types.is_decimal(one.type):
            found = True
            scale = one.type.scale
            raw = [
                None if value is None else _fewest_bytes(int(value.scaleb(scale, _DIGITS)))
                for value in table[at].to_pylist()
            ]
            marked = one.with_type(pa.binary())
            table = table.set_column(at, marked, pa.array(raw, pa.binary()))
    return table if found else None


def _fewest_bytes(value: int) -> bytes:
    return value.to_bytes(
        (value if value >= 0 else ~value).bit_length() // 8 + 1, "big", signed=True
    )


# What changes footers.


def _each_statistics(change: Callable[[Leaf, Struct], bool]) -> Callable[[Footer, Footer], bool]:
    """Changes the statistics of each chunk that has some."""

    def changed(footer: Footer, _before: Footer) -> bool:
        done = [change(leaf, chunk[3][12]) for leaf, chunk in footer.chunks() if 12 in chunk[3]]
        return any(done)

    return changed


def _without(*fields: int) -> Callable[[Leaf, Struct], bool]:
    def change(_leaf: Leaf, statistics: Struct) -> bool:
        found = [one for one in fields if one in statistics]
        for one in found:
            del statistics[one]
        return bool(found)

    return change


def _old_bounds(leaf: Leaf, statistics: Struct) -> bool:
    """Bounds in the fields that signed comparison was meant for, and no others."""
    if leaf.physical not in (_INT32, _INT64, _FLOAT, _DOUBLE) or 5 not in statistics:
        return _without(5, 6)(leaf, statistics)
    statistics[1], statistics[2] = statistics.pop(5), statistics.pop(6)
    return _without(7, 8)(leaf, statistics) or True


def _wider_bounds(leaf: Leaf, statistics: Struct) -> bool:
    """Bounds that no row has, as writers cut long texts; whether they are exact is not said."""
    _without(7, 8)(leaf, statistics)
    if 5 not in statistics or 6 not in statistics:
        return False
    high, low = statistics[5].value, statistics[6].value
    if leaf.physical in (_INT32, _INT64) and not leaf.annotated:
        most = 1 << 8 * len(high) - 1
        top, bottom = (int.from_bytes(one, "little", signed=True) for one in (high, low))
        if top + 1 >= most or bottom - 1 < -most:
            return False
        high = (top + 1).to_bytes(len(high), "little", signed=True)
        low = (bottom - 1).to_bytes(len(low), "little", signed=True)
    elif leaf.physical == _BYTES and high and high[0] < 0x7E and (not low or low[0] < 0x80):
        high, low = bytes([high[0] + 1]), low[:1]
    else:
        return False
    statistics[5], statistics[6] = Binary(high), Binary(low)
    return True


def _two_levels(footer: Footer, _before: Footer) -> bool:
    """Lists whose elements are never null, without the level that would say so."""
    schema, found = footer.schema, False
    items, at = list(schema.items), 0
    while at < len(items) - 2:
        group, middle, element = items[at : at + 3]
        is_list = group.whole(5) == 1 and (group.whole(6, -1) == 3 or 3 in group.get(10, ()))
        if is_list and middle.whole(3) == 2 and middle.whole(5) == 1 and not element.whole(3):
            element[3], element[4] = Number(5, 2), Binary(b"array")
            group.pop(10, None)
            group[6] = Number(5, 3)
            del items[at + 1]
            found = True
        at += 1
    footer.schema = Listed(schema.kind, items)
    return found


def _lists_without_nulls(table: pa.Table) -> pa.Table | None:
    """Columns that are lists of single values, if none of these is null, with required elements."""

    def kind(one: pa.Field, column: pa.ChunkedArray) -> pa.DataType | None:
        if not pa.types.is_list(one.type) or pa.types.is_nested(one.type.value_type):
            return None
        if pc.list_flatten(column).null_count:
            return None
        return pa.list_(one.type.value_field.with_nullable(False))

    return _recast(kind)(table)


def _hint(kind: Callable[[pa.DataType], pa.DataType]) -> Callable[[Footer, Footer], bool]:
    """Adds Arrow's own schema, in which columns have types of another library's taste."""

    def changed(footer: Footer, _before: Footer) -> bool:
        schema = pq.read_schema(io.BytesIO(footer.file())).remove_metadata()
        fields = [one.with_type(kind(one.type)) for one in schema]
        told = pa.schema(fields).serialize().to_pybytes()
        footer.put_text(_HINT, base64.b64encode(told).decode())
        return True

    return changed


def _large(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    return pa.large_list(kind.value_field) if pa.types.is_list(kind) else kind


def _view(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string(kind):
        return pa.string_view()
    if pa.types.is_binary(kind):
        return pa.binary_view()
    return pa.list_view(kind.value_field) if pa.types.is_list(kind) else kind


def _dictionary(kind: pa.DataType) -> pa.DataType:
    texts = pa.types.is_string(kind) or pa.types.is_binary(kind)
    return pa.dictionary(pa.int32(), kind) if texts else kind


def _seconds(kind: pa.DataType) -> pa.DataType:
    """Units and zones that a writer's memory had and its file has not."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("s" if kind.unit == "ms" else kind.unit, kind.tz and "Asia/Kolkata")
    return pa.date64() if pa.types.is_date32(kind) else kind


def _spell_decimals(footer: Footer, before: Footer) -> bool:
    """Marks byte arrays that are decimals as the first writer marked them."""
    marks = {one.text(4): one for one in _tops(before.schema) if _is_decimal(one)}
    for element in _tops(footer.schema):
        if mark := marks.get(element.text(4)):
            element.update({number: mark[number] for number in (6, 7, 8, 10) if number in mark})
    for leaf, chunk in footer.chunks():
        if leaf.path[0] in marks:
            chunk[3].pop(12, None)  # bounds of bytes are no bounds of numbers
    return True


def _tops(schema: Listed) -> list[Struct]:
    found, at = [], 1
    while at < len(schema.items):
        found.append(schema.items[at])
        at = _end(schema, at)
    return found


def _is_decimal(element: Struct) -> bool:
    return element.whole(6, -1) == 5 or 5 in element.get(10, ())


def _no_texts(footer: Footer, _before: Footer) -> bool:
    return footer.tree.pop(5, None) is not None


_V2 = {"data_page_version": "2.0"}
_DELTA = {_INT32: "DELTA_BINARY_PACKED", _INT64: "DELTA_BINARY_PACKED", _BYTES: "DELTA_BYTE_ARRAY"}
_SPLIT = dict.fromkeys((_INT32, _INT64, _FLOAT, _DOUBLE, _FIXED), "BYTE_STREAM_SPLIT")

PARQUET_FORMS = (
    ParquetForm("row-groups-1", "a row group for each row", rows=1, only_larger=True),
    ParquetForm("row-groups-2", "row groups of two rows", rows=2, only_larger=True),
    ParquetForm("row-groups-7", "row groups of seven rows", rows=7, only_larger=True),
    ParquetForm("row-groups-empty", "row groups without rows around the others", around=True),
    ParquetForm("pages-small", "a page for each row", page_rows=1),
    ParquetForm("pages-v2", "data pages of version 2, a row each", page_rows=1, options=_V2),
    ParquetForm(
        "page-index",
        "small pages with a page index",
        page_rows=1,
        options={"write_page_index": True},
    ),
    ParquetForm("checksums", "checksums of pages", options={"write_page_checksum": True}),
    *(
        ParquetForm(f"codec-{codec}", f"compressed: {codec}", options={"compression": codec})
        for codec in ("none", "gzip", "zstd", "brotli", "lz4")
    ),
    ParquetForm("plain", "no dictionaries", options={"use_dictionary": False}),
    ParquetForm(
        "dictionary-full",
        "dictionaries that are full after a value",
        page_rows=1,
        options={"dictionary_pagesize_limit": 1},
    ),
    ParquetForm("delta", "values as differences to those before", encodings=_DELTA, options=_V2),
    ParquetForm(
        "delta-lengths", "texts behind their lengths", encodings={_BYTES: "DELTA_LENGTH_BYTE_ARRAY"}
    ),
    ParquetForm("byte-streams", "numbers split into streams of bytes", encodings=_SPLIT),
    ParquetForm(
        "booleans-rle",
        "booleans as runs",
        encodings={_BOOLEAN: "RLE"},
        options=_V2,
        table=_only(pa.types.is_boolean),
    ),
    ParquetForm("statistics-none", "no statistics", rows=2, options={"write_statistics": False}),
    ParquetForm(
        "statistics-counts",
        "numbers of nulls, no bounds",
        rows=2,
        footer=_each_statistics(_without(1, 2, 5, 6, 7, 8)),
    ),
    ParquetForm(
        "statistics-bounds",
        "bounds, no numbers of nulls",
        rows=2,
        footer=_each_statistics(_without(1, 2, 3, 4)),
    ),
    ParquetForm(
        "statistics-low",
        "lower bounds alone",
        rows=2,
        footer=_each_statistics(_without(1, 2, 5, 7)),
    ),
    ParquetForm(
        "statistics-old",
        "bounds in the fields of old writers",
        rows=2,
        footer=_each_statistics(_old_bounds),
    ),
    ParquetForm(
        "statistics-wide",
        "bounds wider than the values",
        rows=2,
        footer=_each_statistics(_wider_bounds),
    ),
    ParquetForm("columns-reversed", "columns in the other order", table=_reversed),
    ParquetForm(
        "required",
        "columns without nulls cannot have any",
        spelled=False,
        table=_with_nulls(lambda one, column: one.nullable and column.null_count > 0),
    ),
    ParquetForm(
        "optional",
        "each column could have nulls",
        spelled=False,
        table=_with_nulls(lambda _one, _column: True),
    ),
    ParquetForm("spelled-otherwise", "the schema as Arrow spells it", spelled=False),
    ParquetForm("texts-absent", "no key-value metadata in the footer", footer=_no_texts),
    ParquetForm(
        "decimals-integers",
        "decimals as integers",
        spelled=False,
        options={"store_decimal_as_integer": True},
        table=_only(pa.types.is_decimal),
    ),
    ParquetForm(
        "decimals-fixed",
        "decimals as fixed bytes",
        spelled=False,
        options={"store_decimal_as_integer": False},
        table=_only(pa.types.is_decimal),
    ),
    ParquetForm(
        "decimals-bytes",
        "decimals as bytes of any length",
        spelled=False,
        table=_decimals_as_bytes,
        footer=_spell_decimals,
    ),
    ParquetForm(
        "timestamps-millis",
        "timestamps in milliseconds",
        spelled=False,
        options={"use_deprecated_int96_timestamps": False},
        table=_recast(_in_millis),
    ),
    ParquetForm(
        "timestamps-micros",
        "timestamps in microseconds",
        spelled=False,
        options={"use_deprecated_int96_timestamps": False},
        table=_only(pa.types.is_timestamp),
    ),
    ParquetForm(
        "timestamps-int96",
        "timestamps in 96 bits",
        spelled=False,
        options={"use_deprecated_int96_timestamps": True},
        table=_zoned_only,
    ),
    ParquetForm(
        "lists-two-levels",
        "lists of two levels",
        spelled=False,
        footer=_two_levels,
        table=_lists_without_nulls,
    ),
    ParquetForm("hint-large", "Arrow's schema says large texts and lists", footer=_hint(_large)),
    ParquetForm("hint-view", "Arrow's schema says views", footer=_hint(_view)),
    ParquetForm("hint-dictionary", "Arrow's schema says dictionaries", footer=_hint(_dictionary)),
    ParquetForm("hint-zones", "Arrow's schema says other zones and units", footer=_hint(_seconds)),
    ParquetForm("nan-bits", "other bits of each NaN", table=_other_nans),
)
"""Every form of a Parquet file. A format names those that its files cannot have."""


def read_parquet(file: Path) -> pa.Table:
    """All columns of a file."""
    return pq.ParquetFile(file).read()


def parquet_bytes(table: pa.Table) -> bytes:
    """A file as pyarrow writes it, without Arrow's schema."""
    return _put(table, max(1, table.num_rows), {"store_schema": False}, around=False)


def rewritten_bytes(data: bytes, name: str) -> bytes | None:
    """A file in the form of a name; None where it has no place, as in what is no file at all."""
    [form] = [one for one in PARQUET_FORMS if one.name == name]
    return rewritten(data, form) if data[-4:] == b"PAR1" else None


def rewritten_as(file: Path, name: str) -> bool:
    """Bring one file into the form of a name; False where it has no place."""
    new = rewritten_bytes(file.read_bytes(), name)
    if new is not None:
        put_file(file, new)
    return new is not None


def data_forms(
    files: Callable[[Path], Iterable[Path]],
    mend: Callable[[Path, Mapping[str, int]], None] | None = None,
    without: Sequence[str] = (),
) -> list[Form]:
    """Forms of the Parquet files of a table.

    Args:
        files: which of the files below a table's folder are meant; those that are no Parquet stay.
        mend: puts right in a table's metadata the sizes in bytes of files, by path below its
            folder; None where nothing tells sizes.
        without: names of forms that such files cannot have.
    """

    def form(one: ParquetForm) -> Form:
        def change(table: Path) -> int:
            sizes = {}
            for file in files(table):
                data = file.read_bytes()
                new = rewritten(data, one) if data[-4:] == b"PAR1" else None
                if new is not None:
                    put_file(file, new)
                    sizes[file.relative_to(table).as_posix()] = len(new)
            if sizes and mend is not None:
                mend(table, sizes)
            return len(sizes)

        return Form(one.name, one.title, change)

    return [form(one) for one in PARQUET_FORMS if one.name not in without]
