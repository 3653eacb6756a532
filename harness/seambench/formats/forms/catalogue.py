"""Every form of a Parquet file."""

from __future__ import annotations

import pyarrow as pa

from seambench.formats.forms.columns import (
    decimals_as_bytes,
    in_millis,
    lists_without_nulls,
    only_with,
    other_nans,
    recast,
    reversed_columns,
    with_nulls,
    zoned_only,
)
from seambench.formats.forms.footer import BOOLEAN, BYTES, DOUBLE, FIXED, FLOAT, INT32, INT64
from seambench.formats.forms.footers import (
    dictionary_hint,
    each_statistics,
    hint,
    large_hint,
    no_texts,
    old_bounds,
    spell_decimals,
    two_levels,
    view_hint,
    wider_bounds,
    without,
    zone_hint,
)
from seambench.formats.forms.parquet import ParquetForm

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
