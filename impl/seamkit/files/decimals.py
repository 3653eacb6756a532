"""Decimals that Parquet files hold as bytes of one length, read as bytes and turned by the core.

pyarrow makes a decimal of such bytes value by value, which takes longer than all that it does to
find them. Where the footer does not say that a column is one of decimals, it hands out the bytes:
so columns are read by a footer that leaves it out; see `private_forms.py`. Writers of such bytes
are those that go by Avro schemas, Hudi's among them, and Hive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from seamkit.core._seam import ffi, lib
from seamkit.files.private_forms import PrivateForm

_MOST_BYTES = 16  # of a decimal of 128 bits
# A footer is read once more. Below so many rows for its size that costs more than is gained.
_BYTES_A_ROW = 8

_MAGIC = b"PAR1"
_TAIL_BYTES = 4 + len(_MAGIC)
# Fields of a column: its name, how many columns are below it; converted type, scale, precision and
# logical type.
_NAME, _CHILDREN, _OF_DECIMALS = 4, 5, frozenset((6, 7, 8, 10))
# Types of Thrift's compact protocol.
_BOOLEANS, _BYTE, _INTEGERS, _INT32, _BINARY, _LIST, _STRUCT = (1, 2), 3, (4, 5, 6), 5, 8, 9, 12


def byte_decimals(footer: pq.FileMetaData) -> dict[str, pa.DataType]:
    """Columns of decimals that are stored as bytes and worth to be read so, with their types."""
    if footer.serialized_size > _BYTES_A_ROW * footer.num_rows:
        return {}
    found = _byte_decimals(footer)
    return found if found and DECIMALS.is_open else {}


def _byte_decimals(footer: pq.FileMetaData) -> dict[str, pa.DataType]:
    columns = (footer.schema.column(i) for i in range(footer.num_columns))
    stored = {
        column.path
        for column in columns
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and 0 < column.length <= _MOST_BYTES
    }
    # A name with a dot in it may be the path of a column within another.
    return {
        field.name: field.type
        for field in footer.schema.to_arrow_schema()
        if pa.types.is_decimal128(field.type) and field.name in stored and "." not in field.name
    }


def footer_of_bytes(footer: pq.FileMetaData, names: Collection[str]) -> pq.FileMetaData | None:
    """The footer of a file without a word of some columns being decimals.

    They are top-level columns of bytes of one length. None where pyarrow writes footers, or reads
    this one, otherwise than is known here.
    """
    sink = pa.BufferOutputStream()
    footer.write_metadata_file(sink)
    whole = sink.getvalue()
    try:
        at, begin = _without_decimals(memoryview(whole).cast("B"), names)
        body = begin + whole.slice(at, whole.size - at - _TAIL_BYTES).to_pybytes()
        tail = len(body).to_bytes(4, "little") + _MAGIC
        found = pq.read_metadata(pa.BufferReader(_MAGIC + body + tail))
        kinds = found.schema.to_arrow_schema()
    except (ValueError, KeyError, IndexError, OSError, pa.ArrowException):
        return None
    are_bytes = all(pa.types.is_fixed_size_binary(kinds.field(name).type) for name in names)
    return found if are_bytes and found.num_row_groups == footer.num_row_groups else None


def decimals_of(batch: pa.RecordBatch, kinds: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """A batch read by a footer of bytes, with decimals of these types by column."""
    for number, name in enumerate(batch.schema.names):
        if name in kinds and pa.types.is_fixed_size_binary(batch.schema.field(name).type):
            column = _decimals(batch.column(number), kinds[name])
            batch = batch.set_column(number, pa.field(name, column.type), column)
    return batch


def _decimals(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same numbers in a writable buffer of their own."""
    n, begin, width = len(column), column.offset, column.type.byte_width
    validity, stored = column.buffers()
    values = pa.allocate_buffer(16 * (begin + n))
    if n:
        lib.seam_decimals_of_bytes(
            ffi.cast("uint8_t *", stored.address) + begin * width,
            width,
            n,
            ffi.cast("uint8_t *", values.address) + 16 * begin,
        )
    return pa.Array.from_buffers(kind, begin + n, [validity, values]).slice(begin)


def _without_decimals(footer: memoryview, names: Collection[str]) -> tuple[int, bytes]:
    """A footer up to the end of its list of columns, changed; and where that list ended."""
    words = _Compact(footer, len(_MAGIC))
    for kind in (_INT32, _LIST):  # the version, then the columns
        if words.byte() != 1 << 4 | kind:
            raise ValueError("a footer in another order")
        if kind == _INT32:
            words.varint()
    count = words.elements(_STRUCT)
    out = bytearray(footer[len(_MAGIC) : words.at])
    open_parents = [1]  # columns that are still to come of each, the root's one first
    for _ in range(count):
        fields = list(words.fields())
        known = {number: value for number, _, value in fields}
        is_top = len(open_parents) == 2
        drop = is_top and bytes(_Compact(known[_NAME], 0).text()).decode() in names
        _write(out, [one for one in fields if not (drop and one[0] in _OF_DECIMALS)])
        open_parents[-1] -= 1
        children = _Compact(known[_CHILDREN], 0).integer() if _CHILDREN in known else 0
        if children:
            open_parents.append(children)
        while open_parents and not open_parents[-1]:
            open_parents.pop()
    return words.at, bytes(out)


def _write(out: bytearray, fields: Iterable[tuple[int, int, memoryview]]) -> None:
    """A struct, each field behind the difference of its number to the one before it."""
    last = 0
    for number, kind, value in fields:
        out.append((number - last) << 4 | kind)
        out += value
        last = number
    out.append(0)


class _Compact:
    """Thrift's compact form, from some place on."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self.at = at

    def byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def varint(self) -> int:
        """A number from 0 on, seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def integer(self) -> int:
        """A number whose lowest bit is its sign."""
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def text(self) -> memoryview:
        """Bytes behind their length."""
        size = self.varint()
        self.at += size
        return self._data[self.at - size : self.at]

    def elements(self, kind: int) -> int:
        """How many elements a list has."""
        header = self.byte()
        if header & 0xF != kind:
            raise ValueError("a list of something else")
        return self.varint() if header >> 4 == 0xF else header >> 4

    def fields(self) -> Iterator[tuple[int, int, memoryview]]:
        """The fields of a struct: number, type, bytes."""
        number = 0
        while header := self.byte():
            if not header >> 4:
                raise ValueError("a field far from the one before it")
            number += header >> 4
            begin = self.at
            self.skip(header & 0xF)
            yield number, header & 0xF, self._data[begin : self.at]

    def skip(self, kind: int) -> None:
        """Pass over a value; a boolean is its type."""
        if kind in (_BYTE, *_BOOLEANS):
            self.at += kind == _BYTE
        elif kind in _INTEGERS:
            self.varint()
        elif kind == _BINARY:
            self.text()
        elif kind == _STRUCT:
            for _ in self.fields():
                pass
        else:
            raise ValueError(f"a value of type {kind}")


def _trial() -> bool:
    """Whether a file of decimals is read as bytes by another footer, and turned into the same."""
    kind = pa.decimal128(20, 2)
    table = pa.table({"d": pa.array([Decimal("-1.25"), None, Decimal("3e17")], kind)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    file = pq.ParquetFile(pa.BufferReader(sink.getvalue()))
    footer = footer_of_bytes(file.metadata, _byte_decimals(file.metadata))
    if footer is None:
        return False
    read = pq.ParquetFile(pa.BufferReader(sink.getvalue()), metadata=footer).read()
    [batch] = read.to_batches()
    is_bytes = pa.types.is_fixed_size_binary(batch.column(0).type)
    return is_bytes and bool(decimals_of(batch, {"d": kind}).column(0).equals(table["d"].chunk(0)))


DECIMALS = PrivateForm("decimals", "decimals that are stored as bytes are read more slowly", _trial)
