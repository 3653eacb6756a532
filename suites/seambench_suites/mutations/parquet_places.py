"""Where in a Parquet file a byte lies: in a page, in a page's header, in the footer, or between.

Headers and footers are structs of Thrift's compact protocol; a byte in one is named by the numbers
of fields that lead to it, as parquet.thrift has them, with `*` for an item of a list.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow.parquet as pq

from seambench_suites.mutations.avro_places import varint

_TAIL_BYTES = 8
_COMPRESSED_SIZE = "3"
#: Kinds of values in the compact protocol.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_WHOLE = (4, 5, 6)


def parquet_place(content: bytes, at: int) -> str:
    """Words for a byte of an intact file: `page`, `header FIELDS`, `footer FIELDS`, `tail`, `rest`.

    Between pages and footer, the `rest`, lie page indexes and Bloom filters.
    """
    if at >= len(content) - _TAIL_BYTES:
        return "tail"
    footer = len(content) - _TAIL_BYTES - int.from_bytes(content[-8:-4], "little")
    if at >= footer:
        return f"footer {_Struct(content, footer).path_of(at)}"
    for begin, pages, end in _pages(content):
        if begin <= at < end:
            return "page" if at >= pages else f"header {_Struct(content, begin).path_of(at)}"
    return "rest"


def _pages(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Of every page where its header begins, its bytes begin, and it ends."""
    metadata = pq.read_metadata(io.BytesIO(content))
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            at = chunk.dictionary_page_offset or chunk.data_page_offset
            last = at + chunk.total_compressed_size
            while at < last:
                header = _Struct(content, at)
                end = header.end + header.numbers[_COMPRESSED_SIZE]
                yield at, header.end, end
                at = end


class _Struct:
    """A struct of the compact protocol from `at` to `end`, with all that lies in it."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content = content
        self._spans: list[tuple[int, int, str]] = []
        self.numbers: dict[str, int] = {}
        self.end = self._fields(at, "")

    def path_of(self, at: int) -> str:
        """Numbers of the fields down to a byte, the innermost that holds it last."""
        within = [(end - begin, path) for begin, end, path in self._spans if begin <= at < end]
        return min(within, default=(0, "end"))[1]

    def _fields(self, at: int, above: str) -> int:
        number = 0
        while head := self._content[at]:
            begin, at = at, at + 1
            if head >> 4:
                number += head >> 4
            else:
                number, at = varint(self._content, at)
                number = (number >> 1) ^ -(number & 1)
            path = f"{above}.{number}" if above else str(number)
            at = at if head & 15 in (_TRUE, _FALSE) else self._value(at, head & 15, path)
            self._spans.append((begin, at, path))
        return at + 1

    def _value(self, at: int, kind: int, path: str) -> int:
        if kind in _WHOLE:
            number, at = varint(self._content, at)
            self.numbers[path] = (number >> 1) ^ -(number & 1)
            return at
        if kind == _BINARY:
            length, at = varint(self._content, at)
            return at + length
        if kind in (_LIST, _SET):
            return self._items(at, f"{path}.*")
        if kind == _STRUCT:
            return self._fields(at, path)
        return at + {_DOUBLE: 8}.get(kind, 1)

    def _items(self, at: int, path: str) -> int:
        head, at = self._content[at], at + 1
        count = head >> 4
        if count == 15:
            count, at = varint(self._content, at)
        for _ in range(count):
            begin, at = at, self._value(at, head & 15, path)
            self._spans.append((begin, at, path))
        return at
