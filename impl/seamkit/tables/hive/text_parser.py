"""Text parsed into columns by the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seamkit.core._seam import ffi, lib
from seamkit.core.arrow_data import address, batch_of
from seamkit.core.errors import check, new_error
from seamkit.core.memory import TrackedAllocator
from seamkit.files.texts import check_texts
from seamkit.tables.hive.row_format import RowFormat
from seamkit.tables.hive.types import HiveType

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
    """Turns rows of text into batches. One thread at a time.

    Args:
        columns: position in the row, name and type of each column that is wanted.
        n_fields: that a row has.
        format_: how rows are written.
        source: the file, for messages.
    """

    def __init__(
        self,
        columns: Sequence[tuple[int, str, HiveType]],
        n_fields: int,
        format_: RowFormat,
        source: str,
    ) -> None:
        self.schema = pa.schema([(name, kind.arrow) for _, name, kind in columns])
        self._source = source
        # The core wants columns of one row in the order of its fields.
        self._order = sorted(range(len(columns)), key=lambda i: columns[i][0])
        specs: list[dict[str, int]] = []
        for i in self._order:
            position, _, kind = columns[i]
            _add(specs, position, kind)
        self._parser = self._made(specs, n_fields, format_)

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
        out, error = ffi.new("struct seam_text_parser **"), new_error()
        self._allocator = TrackedAllocator()
        code = lib.seam_text_new(self._allocator.pointer, native, columns, len(specs), out, error)
        check(code, error, source=self._source)
        return ffi.gc(out[0], lib.seam_text_free)

    @staticmethod
    def line_end(text: bytes, begin: int, *, last: bool) -> int:
        """Where the line that holds a place ends, and the next begins; -1 if its end is not there.

        Args:
            text: bytes.
            begin: a place in the line.
            last: whether the text's end is a line's end.
        """
        view = ffi.from_buffer("uint8_t[]", text)
        return int(lib.seam_text_line_end(view, len(view), begin, last))

    @property
    def rows(self) -> int:
        """Rows parsed since the last batch."""
        return int(lib.seam_text_rows(self._parser))

    def parse(self, text: Any, begin: int, *, last: bool, last_begin: int, most_rows: int) -> int:
        """Parse whole lines.

        Args:
            text: bytes.
            begin: where the first line begins.
            last: whether the text's end is a line's end.
            last_begin: lines that begin behind it are left.
            most_rows: how many lines at most.

        Returns:
            Where the next line begins.
        """
        view = ffi.from_buffer("uint8_t[]", text)
        at, error = ffi.new("int64_t *", begin), new_error()
        code = lib.seam_text_parse(
            self._parser, view, len(view), last, last_begin, most_rows, at, error
        )
        check(code, error, source=self._source)
        return int(at[0])

    def parse_rows(self, text: Any, offsets: npt.NDArray[np.int64]) -> None:
        """Parse rows that lie behind each other, `offsets[i]` to `offsets[i + 1]`."""
        view, error = ffi.from_buffer("uint8_t[]", text), new_error()
        places = ffi.from_buffer("int64_t[]", np.ascontiguousarray(offsets, dtype=np.int64))
        code = lib.seam_text_parse_rows(
            self._parser, view, len(view), places, len(offsets) - 1, error
        )
        check(code, error, source=self._source)

    def finish(self) -> pa.RecordBatch:
        """Hand over the rows parsed so far."""
        rows = self.rows
        array, error = ffi.new("struct ArrowArray *"), new_error()
        check(lib.seam_text_finish(self._parser, array, error), error, source=self._source)
        in_order = pa.schema([self.schema.field(i) for i in self._order])
        if not in_order.names:
            lib.seam_array_release(array)
            return batch_of([], in_order, rows)
        batch = pa.RecordBatch._import_from_c(address(array), in_order)
        check_texts(batch, self._source)
        return batch if in_order.equals(self.schema) else batch.select(self.schema.names)


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
