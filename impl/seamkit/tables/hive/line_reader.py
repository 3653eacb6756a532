"""Files of lines: a `FileReader` whose row groups are stretches of bytes, parsed by the core."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import address, batch_of, call, made
from seamkit.core.memory import TrackedAllocator
from seamkit.core.unpack import Bound
from seamkit.files.reader import FileReader, RowsWanted, check_texts
from seamkit.files.storage import Storage
from seamkit.tables.hive.codecs import ByteSource, codec_of, opened
from seamkit.tables.hive.row_format import RowFormat
from seamkit.tables.hive.types import HiveType

#: Rows of one text, taken as it is.
WHOLE = RowFormat(last_takes_rest=True, null=None)
_KINDS = {
    "boolean": lib.SEAM_TEXT_BOOL,
    "tinyint": lib.SEAM_TEXT_INT8,
    "smallint": lib.SEAM_TEXT_INT16,
    "int": lib.SEAM_TEXT_INT32,
    "bigint": lib.SEAM_TEXT_INT64,
    "float": lib.SEAM_TEXT_FLOAT,
    "double": lib.SEAM_TEXT_DOUBLE,
    "decimal": lib.SEAM_TEXT_DECIMAL,
    "date": lib.SEAM_TEXT_DATE,
    "timestamp": lib.SEAM_TEXT_TIMESTAMP,
    "string": lib.SEAM_TEXT_STRING,
    "varchar": lib.SEAM_TEXT_STRING,
    "char": lib.SEAM_TEXT_STRING,
    "binary": lib.SEAM_TEXT_BINARY,
    "array": lib.SEAM_TEXT_LIST,
    "map": lib.SEAM_TEXT_MAP,
    "struct": lib.SEAM_TEXT_STRUCT,
}


class TextParser:
    """Turns rows of text into batches with some of their columns. One thread at a time."""

    def __init__(
        self, row: Mapping[str, HiveType], wanted: Sequence[str], format_: RowFormat, source: str
    ) -> None:
        self._wanted, self._source = wanted, source
        # The core wants columns of one row in the order of its fields.
        places = {name: place for place, name in enumerate(row)}
        in_order = sorted(wanted, key=places.__getitem__)
        self._in_order = pa.schema([(name, row[name].arrow) for name in in_order])
        specs: list[dict[str, int]] = []
        for name in in_order:
            _add(specs, places[name], row[name])
        self._parser = self._made(specs, len(row), format_)

    def _made(self, specs: Sequence[dict[str, int]], n_fields: int, format_: RowFormat) -> Any:
        null = ffi.from_buffer("uint8_t[]", format_.null or b"")
        native = ffi.new(
            "struct seam_text_format *",
            {
                "is_csv": format_.is_csv,
                "n_fields": n_fields,
                "separators": list(format_.separators),
                "n_separators": len(format_.separators),
                "quote": format_.quote,
                "escape": -1 if format_.escape is None else format_.escape,
                "last_takes_rest": format_.last_takes_rest,
                "null_text": null,
                "null_text_bytes": -1 if format_.null is None else len(format_.null),
            },
        )
        columns = ffi.new("struct seam_text_column[]", list(specs))
        self._allocator = TrackedAllocator()
        given = self._allocator.pointer, native, columns, len(specs)
        make, free = lib.seam_text_new, lib.seam_text_free
        return made(ffi.new("struct seam_text_parser **"), make, free, *given, source=self._source)

    @staticmethod
    def line_end(text: bytes, begin: int, *, last: bool) -> int:
        """Where the line that holds a place ends, and the next begins; -1 if its end is not there.

        `last`: the text's end is a line's end.
        """
        view = ffi.from_buffer("uint8_t[]", text)
        return int(lib.seam_text_line_end(view, len(view), begin, last))

    @property
    def rows(self) -> int:
        """Rows parsed since the last batch."""
        return int(lib.seam_text_rows(self._parser))

    def parse(self, text: Any, begin: int, *, last: bool, last_begin: int, most_rows: int) -> int:
        """Parse whole lines; where the next line begins.

        Lines that begin behind `last_begin` are left. `last`: the text's end is a line's end.
        """
        view = ffi.from_buffer("uint8_t[]", text)
        at = ffi.new("int64_t *", begin)
        given = view, len(view), last, last_begin, most_rows, at
        call(lib.seam_text_parse, self._parser, *given, source=self._source)
        return int(at[0])

    def parse_rows(self, text: Any, offsets: npt.NDArray[np.int64]) -> None:
        """Parse rows that lie behind each other, `offsets[i]` to `offsets[i + 1]`."""
        view = ffi.from_buffer("uint8_t[]", text)
        places = ffi.from_buffer("int64_t[]", np.ascontiguousarray(offsets, dtype=np.int64))
        given = view, len(view), places, len(offsets) - 1
        call(lib.seam_text_parse_rows, self._parser, *given, source=self._source)

    def finish(self) -> pa.RecordBatch:
        """Hand over the rows parsed so far."""
        rows = self.rows
        array = ffi.new("struct ArrowArray *")
        call(lib.seam_text_finish, self._parser, array, source=self._source)
        if not self._wanted:
            lib.seam_array_release(array)
            return batch_of([], self._in_order, rows)
        batch = pa.RecordBatch._import_from_c(address(array), self._in_order)
        check_texts(batch, self._source)
        return batch.select(self._wanted)


def parsed_value(text: str, kind: HiveType, where: str) -> pa.Scalar:
    """The value that Hive reads from a text; null where it can't."""
    parser = TextParser({"value": kind}, ["value"], WHOLE, where)
    content = text.encode()
    parser.parse_rows(content, np.array([0, len(content)], np.int64))
    return parser.finish().column(0)[0]


def _add(specs: list[dict[str, int]], position: int, kind: HiveType) -> None:
    """A column and all below it, as the core has them."""
    decimal = kind.word == "decimal"
    specs.append(
        {
            "kind": _KINDS[kind.word],
            "field": position,
            "precision": kind.arrow.precision if decimal else kind.length,
            "scale": kind.arrow.scale if decimal else int(kind.word == "char"),
            "n_fields": len(kind.names),
            "n_children": len(kind.children),
        }
    )
    for number, child in enumerate(kind.children):
        _add(specs, number if kind.word == "struct" else 0, child)


_BLOCK_BYTES = 4 << 20
_GROUP_BYTES = 16 << 20
_MOST_LINE_BYTES = 256 << 20
#: Text of one batch, after which no more is read for it: several batches wait in memory at a time,
#: and rows may be long.
_MOST_BATCH_BYTES = 8 << 20
_BOM = codecs.BOM_UTF8
_ENDLESS = 1 << 62


class LineReader(FileReader):
    """One file of delimited text or CSV.

    A file that is neither compressed nor in another encoding is cut into stretches that are read
    apart: a line belongs to the stretch in which it begins, as in Hadoop's splits. A stretch has
    `group_bytes`.
    """

    def __init__(
        self,
        storage: Storage,
        path: str,
        columns: Mapping[str, HiveType],
        format_: RowFormat,
        group_bytes: int = _GROUP_BYTES,
    ) -> None:
        self.name = storage.full(path)
        self._storage, self._path = storage, path
        self._columns, self._format = columns, format_
        self.schema = pa.schema([(name, kind.arrow) for name, kind in columns.items()])
        self._codec = codec_of(self.name)
        self._group_bytes = group_bytes
        self._size: int = storage.open(path).size()
        if self._codec and not self._size:
            raise InputError(f"{self.name}: it is empty, and was to hold compressed bytes")
        whole = self._codec or format_.footer_lines or format_.encoding != "utf-8"
        self.num_row_groups = 1 if whole else max(1, -(-self._size // group_bytes))

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """Rows of some stretches, or of all (None); they are read for that."""
        none = pa.schema([])
        batches = self.batches(none, 1 << 20, use_threads=False, row_groups=row_groups)
        return sum(batch.num_rows for batch in batches)

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`; texts come as they are."""
        groups = range(self.num_row_groups) if wanted.row_groups is None else wanted.row_groups
        for group in groups:
            rows = self._rows(group, wanted.schema, wanted.batch_rows)
            if group == 0:
                rows = without_first(rows, self._format.header_lines, self._header_missing)
            yield from without_last(rows, self._format.footer_lines)

    def _header_missing(self, left: int) -> None:
        """What to do where a stretch has fewer rows than there are lines of a header."""
        if self.num_row_groups > 1:
            raise InputError(
                f"{self.name}: {counted(left, 'line')} of its header lie behind the first "
                f"{counted(self._group_bytes, 'byte')}"
            )

    def _rows(self, group: int, schema: pa.Schema, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of one stretch, or of a file that has but one."""
        parser = TextParser(self._columns, schema.names, self._format, self.name)
        begin = group * self._group_bytes
        only = self.num_row_groups == 1
        end = _ENDLESS if only else begin + self._group_bytes
        lines = _Lines(self._source(begin), begin, self.name, self._storage.bound)
        if group:
            lines.skip_line()
        else:
            lines.skip_mark()
        while (batch := lines.parse(parser, batch_rows, end)) is not None:
            yield batch

    def _source(self, begin: int) -> ByteSource:
        file = self._storage.open(self._path)
        if begin:
            file.seek(begin)
        source = opened(file, self._codec, self.name, self._storage.bound)
        if self._format.encoding == "utf-8":
            return source
        return _Transcoded(source, self._format.encoding, self.name)


class _Transcoded:
    """Text in another encoding as UTF-8."""

    def __init__(self, source: ByteSource, encoding: str, name: str) -> None:
        self._source, self._name, self._left = source, name, b""
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ended = False

    def read(self, size: int) -> bytes:
        while len(self._left) < size and not self._ended:
            content = self._source.read(size)
            self._ended = len(content) < size
            try:
                text = self._decoder.decode(content, self._ended)
            except UnicodeDecodeError as error:
                raise InputError(f"{self._name}: not in its encoding ({error})") from error
            self._left += text.encode()
        given, self._left = self._left[:size], self._left[size:]
        return given


class _Lines:
    """Bytes of a file from `begin` on, of which whole lines within `bound` are parsed."""

    def __init__(self, source: ByteSource, begin: int, name: str, bound: Bound) -> None:
        self._source, self._name, self._bound = source, name, bound
        self._base, self._at = begin, 0
        self._text = b""
        self._last = False
        self._more(_BLOCK_BYTES)

    def _more(self, size: int) -> None:
        """Drop what was parsed, and read on."""
        left = self._text[self._at :]
        where = f"{self._name}, the line at byte {self._base + self._at}"
        self._bound.check(len(left), None, where)
        if len(left) > _MOST_LINE_BYTES:
            raise InputError(
                f"{self._name}: a line of over {_MOST_LINE_BYTES} bytes (at byte {self._base})"
            )
        self._base += self._at
        self._at = 0
        block = self._source.read(size)
        self._last = len(block) < size
        self._text = left + block if left else block

    def skip_mark(self) -> None:
        """Pass over the mark of UTF-8 that a file may begin with."""
        if self._text.startswith(_BOM):
            self._at = len(_BOM)

    def skip_line(self) -> None:
        """Pass over the line at whose middle, or behind whose end, the bytes begin."""
        while (end := TextParser.line_end(self._text, self._at, last=self._last)) < 0:
            if self._last:
                self._at = len(self._text)
                return
            self._more(max(_BLOCK_BYTES, len(self._text)))
        self._at = end

    def parse(self, parser: TextParser, batch_rows: int, end: int) -> pa.RecordBatch | None:
        """The next batch of the lines that begin up to a place in the file; None at their end."""
        read = 0
        while True:
            before = self._at
            self._at = parser.parse(
                self._text,
                before,
                last=self._last,
                last_begin=end - self._base,
                most_rows=batch_rows - parser.rows,
            )
            read += self._at - before
            ended = self._base + self._at > end or (self._last and self._at == len(self._text))
            if ended or parser.rows == batch_rows or read > _MOST_BATCH_BYTES:
                return parser.finish() if parser.rows else None
            self._more(max(_BLOCK_BYTES, len(self._text) - self._at))


def without_first(
    batches: Iterator[pa.RecordBatch], count: int, missing: object = None
) -> Iterator[pa.RecordBatch]:
    """The batches without their first rows; of rows that are not there it tells the number."""
    for batch in batches:
        gone = min(count, batch.num_rows)
        count -= gone
        if gone < batch.num_rows:
            yield batch.slice(gone) if gone else batch
    if count and callable(missing):
        missing(count)


def without_last(batches: Iterator[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    """The batches without so many rows at their end, which are held back until they are known."""
    held: deque[pa.RecordBatch] = deque()
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        while held and rows - held[0].num_rows >= count:
            rows -= held[0].num_rows
            yield held.popleft()
    left = rows - count
    for batch in held:
        if left > 0:
            yield batch.slice(0, min(left, batch.num_rows))
        left -= batch.num_rows
