"""Where in a Parquet file a byte lies: in a page, in a page's header, in the footer, or between.

Headers and footers are structs of Thrift's compact protocol; a byte in one is named by the numbers
of fields that lead to it, as parquet.thrift has them, with `*` for an item of a list.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq

from seambench.formats.forms.footer import Reader, struct_to_end

_TAIL_BYTES = 8
_COMPRESSED_SIZE = 3


def parquet_place(content: bytes, at: int) -> str:
    """Words for a byte of an intact file: `page`, `header FIELDS`, `footer FIELDS`, `tail`, `rest`.

    Between pages and footer, the `rest`, lie page indexes and Bloom filters.
    """
    if at >= len(content) - _TAIL_BYTES:
        return "tail"
    footer = len(content) - _TAIL_BYTES - int.from_bytes(content[-8:-4], "little")
    if at >= footer:
        return f"footer {_path(content, footer, at)}"
    for begin, pages, end in _pages(content):
        if begin <= at < end:
            return "page" if at >= pages else f"header {_path(content, begin, at)}"
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
                header, begin = struct_to_end(content, at)
                end = begin + header.whole(_COMPRESSED_SIZE)
                yield at, begin, end
                at = end


def _path(content: bytes, begin: int, at: int) -> str:
    """Numbers of the fields down to a byte of a struct, the innermost that holds it last."""
    places = _Places(content, begin)
    places.struct()
    within = [(end - begin, path) for begin, end, path in places.spans if begin <= at < end]
    return min(within, default=(0, "end"))[1]


class _Places(Reader):
    """Notes where each field of a struct lies, and each item of a list."""

    def __init__(self, content: bytes, at: int) -> None:
        super().__init__(content, at)
        self.spans: list[tuple[int, int, str]] = []
        self._path: tuple[str, ...] = ()

    def member(self, begin: int, name: str, kind: int, *, listed: bool) -> Any:
        above, self._path = self._path, (*self._path, name)
        value = super().member(begin, name, kind, listed=listed)
        self.spans.append((begin, self.at, ".".join(self._path)))
        self._path = above
        return value
