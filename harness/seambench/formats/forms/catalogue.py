"""Every form of a Parquet file, and what forms change of columns.

These are their order, their types, whether they have nulls: each takes the rows of a file and gives
them otherwise; None where the form has no place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Context
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambench.formats.forms.footer import BOOLEAN, BYTES, DOUBLE, FIXED, FLOAT, INT32, INT64
from seambench.formats.forms.footers import (
    dictionary_hint,
    each_statistics,
    hint,
    large_hint,
    new_types,
    no_texts,
    old_bounds,
    old_types,
    spell_decimals,
    two_levels,
    view_hint,
    wider_bounds,
    without,
    zone_hint,
)
from seambench.formats.forms.parquet import ParquetForm

_DIGITS = Context(prec=80)


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


def reversed_columns(table: pa.Table) -> pa.Table | None:
    """The columns in the other order."""
    return table.select(table.column_names[::-1]) if table.num_columns > 1 else None


def with_nulls(nullable: Callable[[pa.Field, pa.ChunkedArray], bool]) -> Any:
    """Says of each column anew whether it may have nulls."""

    def changed(table: pa.Table) -> pa.Table | None:
        pairs = zip(table.schema, table.columns, strict=True)
        fields = [one.with_nullable(nullable(one, column)) for one, column in pairs]
        schema = pa.schema(fields, table.schema.metadata)
        return None if schema.equals(table.schema) else table.cast(schema)

    return changed


def recast(
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


def in_millis(one: pa.Field, column: pa.ChunkedArray) -> pa.DataType | None:
    """Timestamps in microseconds that are whole milliseconds."""
    if not pa.types.is_timestamp(one.type) or one.type.unit != "us":
        return None
    ticks = column.cast(pa.int64())
    whole = pc.all(pc.equal(pc.multiply(pc.divide(ticks, 1000), 1000), ticks)).as_py()
    return pa.timestamp("ms", one.type.tz) if whole is not False else None


def only_with(test: Callable[[pa.DataType], bool]) -> Callable[[pa.Table], pa.Table | None]:
    """A table as it is, if it has a leaf of a type."""
    return lambda table: table if any(map(test, _kinds(table.schema))) else None


def zoned_only(table: pa.Table) -> pa.Table | None:
    """A table whose timestamps are all moments: in INT96 there are no others."""
    times = [kind for kind in _kinds(table.schema) if pa.types.is_timestamp(kind)]
    return table if times and all(kind.tz for kind in times) else None


def other_nans(table: pa.Table) -> pa.Table | None:
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


def decimals_as_bytes(table: pa.Table) -> pa.Table | None:
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


def lists_without_nulls(table: pa.Table) -> pa.Table | None:
    """Columns that are lists of single values, if none of these is null, with required elements."""

    def kind(one: pa.Field, column: pa.ChunkedArray) -> pa.DataType | None:
        if not pa.types.is_list(one.type) or pa.types.is_nested(one.type.value_type):
            return None
        if pc.list_flatten(column).null_count:
            return None
        return pa.list_(one.type.value_field.with_nullable(False))

    return recast(kind)(table)


_V2 = {"data_page_version": "2.0"}
_DELTA = {INT32: "DELTA_BINARY_PACKED", INT64: "DELTA_BINARY_PACKED", BYTES: "DELTA_BYTE_ARRAY"}
_SPLIT = dict.fromkeys((INT32, INT64, FLOAT, DOUBLE, FIXED), "BYTE_STREAM_SPLIT")

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
        "delta-lengths", "texts behind their lengths", encodings={BYTES: "DELTA_LENGTH_BYTE_ARRAY"}
    ),
    ParquetForm("byte-streams", "numbers split into streams of bytes", encodings=_SPLIT),
    ParquetForm(
        "booleans-rle",
        "booleans as runs",
        encodings={BOOLEAN: "RLE"},
        options=_V2,
        table=only_with(pa.types.is_boolean),
    ),
    ParquetForm("statistics-none", "no statistics", rows=2, options={"write_statistics": False}),
    ParquetForm(
        "statistics-counts",
        "numbers of nulls, no bounds",
        rows=2,
        footer=each_statistics(without(1, 2, 5, 6, 7, 8)),
    ),
    ParquetForm(
        "statistics-bounds",
        "bounds, no numbers of nulls",
        rows=2,
        footer=each_statistics(without(1, 2, 3, 4)),
    ),
    ParquetForm(
        "statistics-low",
        "lower bounds alone",
        rows=2,
        footer=each_statistics(without(1, 2, 5, 7)),
    ),
    ParquetForm(
        "statistics-old",
        "bounds in the fields of old writers",
        rows=2,
        footer=each_statistics(old_bounds),
    ),
    ParquetForm(
        "statistics-wide",
        "bounds wider than the values",
        rows=2,
        footer=each_statistics(wider_bounds),
    ),
    ParquetForm("columns-reversed", "columns in the other order", table=reversed_columns),
    ParquetForm(
        "required",
        "columns without nulls cannot have any",
        spelled=False,
        table=with_nulls(lambda one, column: one.nullable and column.null_count > 0),
    ),
    ParquetForm(
        "optional",
        "each column could have nulls",
        spelled=False,
        table=with_nulls(lambda _one, _column: True),
    ),
    ParquetForm("spelled-otherwise", "the schema as Arrow spells it", spelled=False),
    ParquetForm("types-old", "types as old readers know them, and not otherwise", footer=old_types),
    ParquetForm("types-new", "types as new readers know them, and not otherwise", footer=new_types),
    ParquetForm("texts-absent", "no key-value metadata in the footer", footer=no_texts),
    ParquetForm(
        "decimals-integers",
        "decimals as integers",
        spelled=False,
        options={"store_decimal_as_integer": True},
        table=only_with(pa.types.is_decimal),
    ),
    ParquetForm(
        "decimals-fixed",
        "decimals as fixed bytes",
        spelled=False,
        options={"store_decimal_as_integer": False},
        table=only_with(pa.types.is_decimal),
    ),
    ParquetForm(
        "decimals-bytes",
        "decimals as bytes of any length",
        spelled=False,
        table=decimals_as_bytes,
        footer=spell_decimals,
    ),
    ParquetForm(
        "timestamps-millis",
        "timestamps in milliseconds",
        spelled=False,
        options={"use_deprecated_int96_timestamps": False},
        table=recast(in_millis),
    ),
    ParquetForm(
        "timestamps-micros",
        "timestamps in microseconds",
        spelled=False,
        options={"use_deprecated_int96_timestamps": False},
        table=only_with(pa.types.is_timestamp),
    ),
    ParquetForm(
        "timestamps-int96",
        "timestamps in 96 bits",
        spelled=False,
        options={"use_deprecated_int96_timestamps": True},
        table=zoned_only,
    ),
    ParquetForm(
        "lists-two-levels",
        "lists of two levels",
        spelled=False,
        footer=two_levels,
        table=lists_without_nulls,
    ),
    ParquetForm("hint-large", "Arrow's schema says large texts and lists", footer=hint(large_hint)),
    ParquetForm("hint-view", "Arrow's schema says views", footer=hint(view_hint)),
    ParquetForm(
        "hint-dictionary", "Arrow's schema says dictionaries", footer=hint(dictionary_hint)
    ),
    ParquetForm("hint-zones", "Arrow's schema says other zones and units", footer=hint(zone_hint)),
    ParquetForm("nan-bits", "other bits of each NaN", table=other_nans),
)
"""Every form of a Parquet file. A format names those that its files cannot have."""
