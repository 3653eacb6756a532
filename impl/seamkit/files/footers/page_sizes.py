"""What the pages of a Parquet file claim to become, where a limit of memory was stated.

pyarrow makes room for a page as its header says, whatever the footer says of the chunk: thirty
kilobytes may take a gigabyte. So the headers of chunks that could hold such pages are looked at
before it reads them; they take a small read a page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pyarrow.parquet as pq

from seambase.errors import InputError
from seamkit.core._seam import ffi, lib
from seamkit.core.errors import check, new_error
from seamkit.core.unpack import Bound, most_bytes

_OF_DATA = (0, 3)  # of the enum PageType
#: Of a page header: bounds of a page, which may be long texts, lie in it.
_HEADER_BYTES = (1 << 9, 1 << 16, 1 << 24)
#: Of pyarrow's names the codecs whose growth is known, `""` for no compression.
_CODECS = {"SNAPPY": "snappy", "GZIP": "gzip", "ZSTD": "zstd", "LZ4": "lz4", "UNCOMPRESSED": ""}


def check_page_sizes(
    footer: pq.FileMetaData,
    names: Collection[str] | None,
    row_groups: Sequence[int],
    read: Callable[[int, int], bytes],
    bound: Bound,
    where: str,
) -> None:
    """Make sure that no page of some columns becomes too large.

    Args:
        footer: of the file.
        names: the columns; None for all.
        row_groups: those that will be read.
        read: gives bytes from an offset on, fewer where the file ends.
        bound: what a page may become.
        where: the file, for messages.

    Raises:
        RefusedError: one does.
        InputError: a page header is broken.
    """
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    for number, path in enumerate(paths):
        if names is None or path in names or path.partition(".")[0] in names:
            for group in row_groups:
                chunk = footer.row_group(group).column(number)
                if _may_be_large(chunk, bound):
                    _check_chunk(chunk, read, bound, f"{where}, column {path!r}, row group {group}")


def _may_be_large(chunk: pq.ColumnChunkMetaData, bound: Bound) -> bool:
    codec = _CODECS.get(chunk.compression)
    if codec is None:
        return True
    packed = chunk.total_compressed_size
    return bool((most_bytes(codec, packed) if codec else packed) > bound.most)


def _check_chunk(
    chunk: pq.ColumnChunkMetaData, read: Callable[[int, int], bytes], bound: Bound, where: str
) -> None:
    at = chunk.data_page_offset
    if chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    end = at + chunk.total_compressed_size
    values = 0
    while at < end and values < chunk.num_values:
        page = f"{where}, page at byte {at}"
        header = _header(read, at, page)
        if header.compressed_bytes < 0:
            raise InputError(f"{page}: its header tells no size")
        bound.check(int(header.uncompressed_bytes), int(header.compressed_bytes), page)
        values += max(0, header.n_values) if header.type in _OF_DATA else 0
        at += header.header_bytes + header.compressed_bytes


def _header(read: Callable[[int, int], bytes], at: int, where: str) -> Any:
    header = ffi.new("struct seam_parquet_page_header *")
    for most in _HEADER_BYTES:
        data, error = read(at, most), new_error()
        code = lib.seam_parquet_page_begin(
            ffi.from_buffer("uint8_t[]", data), len(data), header, error
        )
        if code == lib.SEAM_OK or len(data) < most:
            break
    check(code, error, source=where)
    return header
