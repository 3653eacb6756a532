"""A serde made of the suite's own witnesses, in plain Python, and bent ones that must be found.

It reads and writes pages and writes rows as the witnesses do. It is no oracle for the cases whose
bytes the witnesses made, but a second implementation against which the checks can be tried.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.pages.reader import frame, page_options, read_pages
from seambase.serde import SerdeRequest
from seambase.types import SerdeType, arrow_type, parse_schema, schema_of
from seambench.contracts.common import Kind
from seambench.seams.serde.blocks import block_array, block_values
from seambench.seams.serde.plain_pages import payload_of
from seambench.seams.serde.plain_rows import framed, unsafe_row
from seambench.seams.serde.values import arrow_array, flat_type, plain_values

_TYPES = (
    *("boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "decimal"),
    *("varchar", "char", "varbinary", "json", "uuid", "ipaddress", "ipprefix", "unknown", "date"),
    *("time", "timestamp", "timestamp microseconds", "time with time zone", "array", "map", "row"),
    *("timestamp with time zone", "interval year to month", "interval day to second"),
    *("hyperloglog", "p4hyperloglog", "setdigest", "qdigest", "tdigest"),
)


class PlainSerde:
    """Implements `seambench.contracts.serde.Serde` for pages, and writes UnsafeRows."""

    name = "plain"
    version = "0"
    kind: Kind = "reference"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *("serialize", "deserialize", "formats.presto", "checksum", "strict", "limits"),
            *("encodings.rle", "encodings.dictionary", "nulls-first", "dialects.velox"),
            *("timestamps.lossless", "timestamps.micros"),
            *(f"codecs.{codec}" for codec in ("lz4", "zstd", "snappy", "gzip", "zlib")),
            *(f"types.{word}" for word in _TYPES),
        ),
        True,
    )

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Every column flat."""
        types = parse_schema(request)
        columns = [self.given(batch, request) for batch in batches]
        if request.format == "unsaferow":
            rows = [row for batch in columns for row in zip(*batch, strict=True)]
            return framed([unsafe_row(row, types) for row in rows], request.options["framing"])
        options = page_options(request)
        checksum = bool(request.options.get("checksum"))
        parts = []
        for batch, listed in zip(batches, columns, strict=True):
            payload = payload_of(listed, types, options)
            parts.append(_cheapest(batch.num_rows, payload, options.codec, checksum))
        return b"".join(parts)

    def given(self, batch: pa.RecordBatch, request: SerdeRequest) -> list[list[Any]]:
        """Plain values by column."""
        for field, column in zip(schema_of(request), batch.columns, strict=True):
            if flat_type(column.type) != field.type:
                raise UsageError(f"column {field.name!r} is {column.type}, not {field.type}")
        return [plain_values(column) for column in batch.columns]

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Pages as the witness reads them."""
        if request.format != "presto":
            raise RefusedError("rows are only written")
        types = parse_schema(request)
        timestamps = str(request.options.get("timestamps", "millis"))
        flat = request.options.get("encodings") == "flatten"
        found = []
        for page in read_pages(bytes(data), page_options(request), types):
            arrays = [
                self.column(block, type_, timestamps, flat)
                for block, type_ in zip(page.columns, types, strict=True)
            ]
            names = [field.name for field in request.fields]
            batch = pa.RecordBatch.from_arrays(arrays, names)
            if not arrays:
                empty = pa.Array.from_buffers(pa.struct([]), page.rows, [None])
                batch = pa.RecordBatch.from_struct_array(empty)
            found.append(batch)
        return found

    def column(self, block: Any, type_: SerdeType, timestamps: str, flat: bool) -> pa.Array:
        """A column of a block."""
        try:
            if flat:
                flat_type = arrow_type(type_, timestamps)
                return arrow_array(block_values(block, type_, timestamps), flat_type)
            array = block_array(block, type_, timestamps)
            array.validate(full=True)
        except (pa.ArrowException, ArithmeticError, UnicodeDecodeError, ValueError) as error:
            raise InputError(f"a column of type {type_.text} at byte 0: {error}") from error
        return array

    def live_blocks(self) -> int:
        """It holds nothing."""
        return 0


def _cheapest(rows: int, payload: bytes, codec: str, checksum: bool) -> bytes:
    """A page, compressed where that pays as Presto 0.296 sees it."""
    plain = frame(rows, payload, checksum=checksum)
    if codec == "none":
        return plain
    squeezed = frame(rows, payload, codec, checksum)
    return squeezed if len(squeezed) - 21 <= 0.9 * len(payload) else plain


class LosesTheSign(PlainSerde):
    """Writes long decimals in two's complement."""

    def given(self, batch: pa.RecordBatch, request: SerdeRequest) -> list[list[Any]]:
        """What the bits of two's complement mean where the sign is a bit of its own."""
        types = parse_schema(request)
        columns = super().given(batch, request)
        return [
            [_misread(v) for v in column] if type_.precision > 18 else column
            for column, type_ in zip(columns, types, strict=True)
        ]


def _misread(value: Decimal | None) -> Decimal | None:
    """A negative number taken for the other form."""
    if value is None or value >= 0:
        return value
    sign, digits, exponent = value.as_tuple()
    bits = (1 << 127) - int("".join(map(str, digits)))
    text = str(bits % 10 ** len(digits))
    return Decimal((sign, tuple(map(int, text)), int(exponent)))


class Leaking(PlainSerde):
    """Never lets go."""

    def __init__(self) -> None:
        self._held = 0

    def live_blocks(self) -> int:
        """One more each time."""
        self._held += 1
        return self._held


class RefusesAll(PlainSerde):
    """Claims everything and refuses it."""

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Refuse."""
        raise UsageError(f"{request.format}: {len(batches)} batches are too many")
