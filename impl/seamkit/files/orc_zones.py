"""The zones in which an ORC file's timestamps were written; pyarrow does not tell them.

ORC specification v1: the file ends with its footer, a postscript and the postscript's length in one
byte; the footer lists stripes, and each stripe ends with a footer of its own. Footers are protobuf
messages, in compressed chunks behind three bytes of length and a flag.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyarrow import orc

from seambase.errors import InputError, RefusedError
from seamkit.core.unpack import unpack
from seamkit.files.protobuf import fields
from seamkit.files.storage import read_part

__all__ = ["stripe_zones"]

_STRIPES = 3  # of the footer
_OFFSET, _INDEX, _DATA, _FOOTER = 1, 2, 3, 4  # of a stripe
_ZONE = 3  # of a stripe's footer
_CODECS = {"ZLIB": "deflate", "SNAPPY": "snappy", "LZ4": "lz4", "ZSTD": "zstd"}


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
    footer = _message(content, end - opened.file_footer_length, end, opened, name)
    zones: list[str] = []
    for number, stripe in fields(footer, f"{name}, footer"):
        if number == _STRIPES and isinstance(stripe, memoryview):
            where = f"{name}, stripe {len(zones)}"
            parts = {k: v for k, v in fields(stripe, where) if isinstance(v, int)}
            zones.append(_zone_of(content, parts, opened, where))
    return zones


def _zone_of(
    content: pa.NativeFile, stripe: Mapping[int, int], opened: orc.ORCFile, where: str
) -> str:
    begin = sum(stripe.get(part, 0) for part in (_OFFSET, _INDEX, _DATA))
    message = _message(content, begin, begin + stripe.get(_FOOTER, 0), opened, where)
    for number, value in fields(message, where):
        if number == _ZONE and isinstance(value, memoryview):
            return bytes(value).decode("utf-8", "replace")
    return ""


def _message(
    content: pa.NativeFile, begin: int, end: int, opened: orc.ORCFile, where: str
) -> memoryview:
    if not 0 <= begin <= end <= content.size():
        raise InputError(f"{where}: its footer would lie at bytes {begin} to {end}")
    data = memoryview(read_part(content, begin, end - begin))
    if opened.compression == "UNCOMPRESSED":
        return data
    codec = _CODECS.get(opened.compression)
    if codec is None:
        raise RefusedError(
            f"{where}: the zone of its timestamps stands in a footer compressed with "
            f"{opened.compression}; {', '.join(_CODECS)} and none are read"
        )
    parts, most = [], opened.compression_size
    while data:
        word = int.from_bytes(data[:3], "little")
        chunk, data = data[3 : 3 + (word >> 1)], data[3 + (word >> 1) :]
        try:
            parts.append(bytes(chunk) if word & 1 else unpack(codec, chunk, most))
        except (ValueError, OverflowError) as error:
            raise InputError(f"{where}: its footer is broken ({error})") from error
    return memoryview(b"".join(parts))
