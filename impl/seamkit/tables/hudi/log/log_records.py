"""Records of Avro data blocks, one at a time, in plain Python values.

For what is read once and looked at: archived instants, explained logs, the connector path. Content:
int32 version, int32 count, then for each record int32 length and one Avro datum, big-endian.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seambase.errors import InputError
from seamkit.avro import record_reader
from seamkit.tables.hudi.log.log import LogBlock

__all__ = ["AvroRecord", "avro_records"]


@dataclass(frozen=True)
class AvroRecord:
    """One record of a block.

    Attributes:
        offset: of its length in the block's content, in bytes.
        size_bytes: of the datum, without the length.
        row: its fields.
    """

    offset: int
    size_bytes: int
    row: dict[str, Any]


def avro_records(block: LogBlock) -> Iterator[AvroRecord]:
    """The records of an Avro data block, in file order.

    Raises:
        InputError: the content breaks its format; records before the break have been handed out.
    """
    content = bytes(block.content)
    at = 8
    read = record_reader(block.schema or "null", block.where)
    try:
        (count,) = struct.unpack_from(">i", content, 4)
        for _ in range(count):
            (size,) = struct.unpack_from(">i", content, at)
            datum = io.BytesIO(content[at + 4 : at + 4 + max(size, 0)])
            row: Any = read(datum)
            _check_size(block, at, datum.tell(), size)
            yield AvroRecord(at, size, row)
            at += 4 + size
    except InputError:
        raise
    except Exception as error:  # fastavro raises whatever the bytes lead it to
        raise InputError(
            f"{block.where}: broken at byte {at} of the content ({error or 'it ends too early'})"
        ) from error
    if at != len(content):
        raise InputError(f"{block.where}: {len(content) - at} bytes follow the last record")


def _check_size(block: LogBlock, at: int, read: int, said: int) -> None:
    if read != said:
        raise InputError(
            f"{block.where}: the record at byte {at} of the content has {read} bytes, its length "
            f"says {said}"
        )
