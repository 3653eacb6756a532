"""The zones in which an ORC file's timestamps were written; pyarrow does not tell them.

ORC specification v1: the file ends with its footer, a postscript and the postscript's length in one
byte; the footer lists stripes, and each stripe ends with a footer of its own. Footers are protobuf
messages, in compressed chunks behind three bytes of length and a flag.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import cramjam
import pyarrow as pa
from pyarrow import orc

from seambase.errors import InputError, RefusedError
from seamkit.files.protobuf import fields

__all__ = ["stripe_zones"]

_STRIPES = 3  # of the footer
_OFFSET, _INDEX, _DATA, _FOOTER = 1, 2, 3, 4  # of a stripe
_ZONE = 3  # of a stripe's footer


def stripe_zones(opened: orc.ORCFile, content: pa.NativeFile, name: str) -> list[str]:
    """The writer's zone of each stripe; "" where none is named, which means UTC.

    Args:
        opened: the file, as pyarrow sees it.
        content: its bytes.
        name: what messages call it.

    Raises:
        InputError: a footer is broken.
        RefusedError: footers are compressed in a way that is not known here.
    """
    size = content.size()
    end = size - 1 - opened.file_postscript_length
    footer = _message(content, end - opened.file_footer_length, end, opened.compression, name)
    zones: list[str] = []
    for number, stripe in fields(footer, f"{name}, footer"):
        if number == _STRIPES and isinstance(stripe, memoryview):
            where = f"{name}, stripe {len(zones)}"
            parts = {k: v for k, v in fields(stripe, where) if isinstance(v, int)}
            zones.append(_zone_of(content, parts, opened.compression, where))
    return zones


def _zone_of(content: pa.NativeFile, stripe: Mapping[int, int], codec: str, where: str) -> str:
    begin = sum(stripe.get(part, 0) for part in (_OFFSET, _INDEX, _DATA))
    message = _message(content, begin, begin + stripe.get(_FOOTER, 0), codec, where)
    for number, value in fields(message, where):
        if number == _ZONE and isinstance(value, memoryview):
            return bytes(value).decode("utf-8", "replace")
    return ""


def _message(content: pa.NativeFile, begin: int, end: int, codec: str, where: str) -> memoryview:
    if not 0 <= begin <= end <= content.size():
        raise InputError(f"{where}: its footer would lie at bytes {begin} to {end}")
    content.seek(begin)
    data = memoryview(content.read(end - begin))
    if codec == "UNCOMPRESSED":
        return data
    parts = []
    while data:
        word = int.from_bytes(data[:3], "little")
        chunk, data = data[3 : 3 + (word >> 1)], data[3 + (word >> 1) :]
        parts.append(bytes(chunk) if word & 1 else _decompress(chunk, codec, where))
    return memoryview(b"".join(parts))


def _decompress(chunk: memoryview, codec: str, where: str) -> bytes:
    try:
        if codec == "ZLIB":
            return zlib.decompress(chunk, wbits=-15)
        if codec == "SNAPPY":
            return bytes(cramjam.snappy.decompress_raw(bytes(chunk)))
        if codec == "ZSTD":
            return bytes(cramjam.zstd.decompress(bytes(chunk)))
    except (zlib.error, cramjam.DecompressionError) as error:
        raise InputError(f"{where}: its footer is broken ({error})") from error
    raise RefusedError(
        f"{where}: the zone of its timestamps stands in a footer compressed with {codec}; ZLIB, "
        "SNAPPY, ZSTD and none are read"
    )
