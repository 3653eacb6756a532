"""Sequence files of Hadoop whose values are rows of text; keys are passed over, as Hive does.

A header names the classes of keys and values and the codec; a mark of sixteen bytes, drawn for the
file, stands between records. Records are compressed one by one, in blocks, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.files.reader import FileReader, RowsWanted
from seamkit.files.storage import Storage
from seamkit.tables.hive.codecs import CODEC_CLASSES, decompressed
from seamkit.tables.hive.line_reader import TextParser, without_first, without_last
from seamkit.tables.hive.row_format import RowFormat
from seamkit.tables.hive.types import HiveType

_VERSION = 6
_MARK_BYTES = 16
_ESCAPE = -1
_TEXT = "org.apache.hadoop.io.Text"
_BYTES = "org.apache.hadoop.io.BytesWritable"
_PIECE_ROWS = 4096
_MOST_BYTES = 1 << 31


@dataclass(frozen=True)
class _Header:
    """What a sequence file says of itself."""

    codec: str | None  # of its records or blocks; None where they are not compressed
    in_blocks: bool  # whether several records are compressed as one
    of_text: bool  # whether a value is a `Text`, or else a `BytesWritable`
    mark: bytes  # that stands between records


class _Bytes:
    """Bytes read from left to right."""

    def __init__(self, content: memoryview, where: str) -> None:
        self.content, self.at, self._where = content, 0, where

    def wrong(self, what: str) -> InputError:
        return InputError(f"{self._where}: {what} (at byte {self.at})")

    def take(self, size: int) -> memoryview:
        if size < 0 or size > len(self.content) - self.at:
            raise self.wrong(f"{counted(size, 'byte', 'are')} missing")
        self.at += size
        return self.content[self.at - size : self.at]

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def varint(self) -> int:
        """Hadoop's number of variable length: one byte, or a length and a big-endian number."""
        first = int.from_bytes(self.take(1), "big", signed=True)
        if first >= -112:
            return first
        size = -112 - first if first >= -120 else -120 - first
        value = int.from_bytes(self.take(size), "big")
        return value if first >= -120 else ~value

    def text(self) -> str:
        try:
            return bytes(self.take(self.varint())).decode()
        except UnicodeDecodeError as error:
            raise self.wrong(f"a name that is no text ({error})") from error

    def left(self) -> int:
        return len(self.content) - self.at


class SequenceReader(FileReader):
    """One sequence file: a `FileReader`."""

    def __init__(
        self, storage: Storage, path: str, columns: Mapping[str, HiveType], rows: RowFormat
    ) -> None:
        self.name = storage.full(path)
        self._storage, self._path = storage, path
        self._columns, self._format = columns, rows
        self.schema = pa.schema([(name, kind.arrow) for name, kind in columns.items()])
        if rows.encoding != "utf-8":
            raise RefusedError(f"{self.name}: sequence files in another encoding than UTF-8")
        self._header(self._content())

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`."""
        if wanted.row_groups is not None and not wanted.row_groups:
            return
        parsed = self._rows(wanted.schema, wanted.batch_rows)
        rows = without_first(parsed, self._format.header_lines)
        yield from without_last(rows, self._format.footer_lines)

    def _rows(self, schema: pa.Schema, batch_rows: int) -> Iterator[pa.RecordBatch]:
        parser = TextParser(self._columns, schema.names, self._format, self.name)
        for values in self._pieces(min(_PIECE_ROWS, batch_rows)):
            ends = np.cumsum([0, *map(len, values)], dtype=np.int64)
            parser.parse_rows(b"".join(values), ends)
            if parser.rows + _PIECE_ROWS > batch_rows:
                yield parser.finish()
        if parser.rows:
            yield parser.finish()

    def _content(self) -> _Bytes:
        content = self._storage.read(self._path, most_bytes=_MOST_BYTES)
        return _Bytes(memoryview(content), self.name)

    def _header(self, file: _Bytes) -> _Header:
        magic = bytes(file.take(4))
        if magic[:3] == b"RCF" or b"RCFile" in bytes(file.content[:200]):
            raise RefusedError(f"{self.name}: RC files are not supported")
        if magic[:3] != b"SEQ":
            raise InputError(f"{self.name}: no sequence file, it begins with {magic!r}")
        if magic[3] != _VERSION:
            raise RefusedError(f"{self.name}: a sequence file of version {magic[3]}")
        file.text()
        value = file.text()
        if value not in (_TEXT, _BYTES):
            raise RefusedError(f"{self.name}: values of the class {value!r} are not supported")
        compressed, in_blocks = (byte != 0 for byte in file.take(2))
        codec = None
        if compressed:
            name = file.text()
            codec = CODEC_CLASSES.get(name)
            if codec is None:
                raise RefusedError(f"{self.name}: the codec {name!r} is not supported")
        elif in_blocks:
            raise file.wrong("blocks that are not compressed")
        for _ in range(2 * max(0, file.int32())):
            file.text()
        return _Header(codec, in_blocks, value == _TEXT, bytes(file.take(_MARK_BYTES)))

    def _pieces(self, most: int) -> Iterator[list[bytes]]:
        file = self._content()
        header = self._header(file)
        records = self._blocks(file, header) if header.in_blocks else self._records(file, header)
        rows: list[bytes] = []
        for row in records:
            rows.append(row)
            if len(rows) == most:
                yield rows
                rows = []
        if rows:
            yield rows

    def _records(self, file: _Bytes, header: _Header) -> Iterator[bytes]:
        while file.left():
            size = file.int32()
            if size == _ESCAPE:
                self._check_mark(file, header)
                if not file.left():  # a writer may end with its mark
                    return
                size = file.int32()
            of_key = file.int32()
            if not 0 <= of_key <= size:
                raise file.wrong(f"a record of {counted(size, 'byte')} with a key of {of_key}")
            file.take(of_key)
            value = bytes(file.take(size - of_key))
            if header.codec is not None:
                value = decompressed(value, header.codec, self.name, self._storage.bound)
            yield self._unwrapped(value, header)

    def _blocks(self, file: _Bytes, header: _Header) -> Iterator[bytes]:
        assert header.codec is not None
        while file.left():
            if file.int32() != _ESCAPE:
                raise file.wrong("no mark before a block")
            self._check_mark(file, header)
            count = file.varint()
            file.take(file.varint())  # lengths of keys
            file.take(file.varint())  # keys
            parts = [
                decompressed(packed, header.codec, self.name, self._storage.bound)
                for packed in (bytes(file.take(file.varint())) for _ in range(2))
            ]
            lengths, values = (_Bytes(memoryview(part), self.name) for part in parts)
            if not 0 <= count <= len(parts[0]):
                raise file.wrong(f"a block of {counted(count, 'record')}")
            for _ in range(count):
                yield self._unwrapped(bytes(values.take(lengths.varint())), header)
            if lengths.left() or values.left():
                raise file.wrong(f"a block with more than its {counted(count, 'record')}")

    def _check_mark(self, file: _Bytes, header: _Header) -> None:
        if bytes(file.take(_MARK_BYTES)) != header.mark:
            raise file.wrong("a mark that is not the file's")

    def _unwrapped(self, value: bytes, header: _Header) -> bytes:
        """The bytes that a `Text` or `BytesWritable` holds."""
        inner = _Bytes(memoryview(value), self.name)
        size = inner.varint() if header.of_text else inner.int32()
        content = bytes(inner.take(size))
        if inner.left():
            raise inner.wrong(f"a value of {counted(len(value), 'byte')} that holds {size}")
        return content
