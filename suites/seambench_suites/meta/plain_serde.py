"""A serde made of the suite's own witnesses, in plain Python, and bent ones that must be found.

It reads and writes pages and writes rows as the witnesses do. It is no oracle for the cases whose
bytes the witnesses made, but a second implementation against which the checks can be tried.
"""

import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.pages.reader import Page, frame, page_options, read_pages
from seambase.serde import SerdeRequest
from seambase.types import SerdeType, arrow_type, parse_schema, schema_of
from seambench.contracts.common import Kind
from seambench.contracts.serde import StreamStep
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
            payload = self.written(payload_of(listed, types, options), types)
            parts.append(_cheapest(batch.num_rows, payload, options.codec, checksum))
        return b"".join(parts)

    def given(self, batch: pa.RecordBatch, request: SerdeRequest) -> list[list[Any]]:
        """Plain values by column."""
        for field, column in zip(schema_of(request), batch.columns, strict=True):
            if flat_type(column.type) != field.type:
                raise UsageError(f"column {field.name!r} is {column.type}, not {field.type}")
        return [plain_values(column) for column in batch.columns]

    def written(self, payload: bytes, types: Sequence[SerdeType]) -> bytes:
        """A payload before it is framed; there to be bent."""
        del types
        return payload

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
        for page in self.pages(request, bytes(data), types):
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

    def pages(self, request: SerdeRequest, data: bytes, types: list[SerdeType]) -> list[Page]:
        """Pages of bytes."""
        return read_pages(data, page_options(request), types)

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


class StartsNotEnds(PlainSerde):
    """Writes where strings start, as the published description once said."""

    def written(self, payload: bytes, types: Sequence[SerdeType]) -> bytes:
        """Offsets of the first column moved by one."""
        if [type_.kind for type_ in types] != ["varchar"]:
            return payload
        at = payload.index(b"VARIABLE_WIDTH") + 14
        rows = struct.unpack_from("<i", payload, at)[0]
        ends = payload[at + 4 : at + 4 + 4 * rows]
        return payload[: at + 4] + (bytes(4) + ends)[: 4 * rows] + payload[at + 4 + 4 * rows :]


class NoNegativeZero(PlainSerde):
    """Adds zero to every float."""

    def given(self, batch: pa.RecordBatch, request: SerdeRequest) -> list[list[Any]]:
        """-0.0 becomes 0.0."""
        return [
            [v + 0.0 if isinstance(v, float) else v for v in column]
            for column in super().given(batch, request)
        ]


class IgnoresChecksums(PlainSerde):
    """Reads pages whatever their checksum says."""

    def pages(self, request: SerdeRequest, data: bytes, types: list[SerdeType]) -> list[Page]:
        """Pages with the checksum taken off."""
        at, parts = 0, []
        while len(data) - at >= 21:
            size = struct.unpack_from("<i", data, at + 9)[0]
            head = data[at : at + 4] + bytes([data[at + 4] & ~4]) + data[at + 5 : at + 13]
            parts.append(head + bytes(8) + data[at + 21 : at + 21 + max(size, 0)])
            at += 21 + max(size, 0)
        return super().pages(request, b"".join(parts) + data[at:], types)


class RaisesOutOfRange(PlainSerde):
    """Lets Python's own exceptions out."""

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Damage becomes an IndexError."""
        try:
            return super().deserialize(request, data)
        except InputError as error:
            raise IndexError(str(error)) from error


class Forgetful(PlainSerde):
    """Gives the last page of a stream no second look."""

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """All pages but the last of several."""
        batches = super().deserialize(request, data)
        return batches[:-1] if len(batches) > 1 else batches


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


class PlainStreams(PlainSerde):
    """Collects batches of rows and writes them by the witness."""

    capabilities: Mapping[str, bool] = dict.fromkeys(
        (*PlainSerde.capabilities, "stream", "reread"), True
    )

    def stream(
        self, request: SerdeRequest, batches: Sequence[pa.RecordBatch], steps: Sequence[StreamStep]
    ) -> bytes:
        """Pages of what the steps collect."""
        held: list[pa.RecordBatch] = []
        out = b""
        for step in steps:
            batch = batches[step.batch]
            if step.do == "append":
                held.append(batch.take(pa.array(self.rows(step, batch), pa.int64())))
            elif step.do == "clear":
                held = self.cleared(held)
            else:
                table = pa.Table.from_batches([batch.slice(0, 0), *held]).combine_chunks()
                [page] = table.to_batches() or [batch.slice(0, 0)]
                if step.do == "write":
                    page = batch.take(pa.array(self.rows(step, batch), pa.int64()))
                out += self.serialize(request, [page])
                held = self.flushed(held)
        return out

    def rows(self, step: StreamStep, batch: pa.RecordBatch) -> list[int]:
        """The rows of a step."""
        every = range(batch.num_rows) if step.range is None else range(*step.range)
        rows = list(every if step.rows is None else step.rows)
        if any(not 0 <= row < batch.num_rows for row in rows):
            raise UsageError(f"rows {rows} are not all in a batch of {batch.num_rows}")
        return rows

    def cleared(self, held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """What is held after a clear."""
        del held
        return []

    def flushed(self, held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """What is held after a flush."""
        return held

    def reread(
        self, request: SerdeRequest, data: bytes, times: int
    ) -> tuple[list[pa.RecordBatch], list[int]]:
        """As if one block were enough."""
        return self.deserialize(request, data), self.counted(times)

    def counted(self, times: int) -> list[int]:
        """Blocks until the end of each time."""
        return [1] * times


class NeverClears(PlainStreams):
    """Keeps rows when told to forget them."""

    def cleared(self, held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """All."""
        return held


class FlushesAway(PlainStreams):
    """Forgets rows that were flushed."""

    def flushed(self, held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Nothing."""
        del held
        return []


class SortsRows(PlainStreams):
    """Takes lists of rows in ascending order."""

    def rows(self, step: StreamStep, batch: pa.RecordBatch) -> list[int]:
        """Sorted."""
        return sorted(super().rows(step, batch))


class TakesAnyRow(PlainStreams):
    """Counts rows below 0 from the end, and leaves out those beyond it."""

    def rows(self, step: StreamStep, batch: pa.RecordBatch) -> list[int]:
        """Whatever there is."""
        span = range(*step.range) if step.range is not None else range(batch.num_rows)
        rows = span if step.rows is None else step.rows
        return [row % batch.num_rows for row in rows if row < batch.num_rows]


class FreshEachTime(PlainStreams):
    """Allocates anew whenever it reads."""

    def counted(self, times: int) -> list[int]:
        """One more each time."""
        return list(range(1, times + 1))


class CountsNothing(PlainStreams):
    """Says that rows take no memory."""

    def counted(self, times: int) -> list[int]:
        """Never any."""
        return [0] * times
