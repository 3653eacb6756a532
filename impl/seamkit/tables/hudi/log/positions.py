"""Record positions in the headers of log blocks: which rows of the base file a block's records are.

The header `RECORD_POSITIONS` is base64 of a 64-bit roaring bitmap in its portable form; the n-th
set bit belongs to the n-th record. It counts for the base file whose instant the header
`BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS` names, and for no other (Hudi 1.2.0,
PositionBasedFileGroupRecordBuffer).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from seambase.errors import InputError
from seamkit.files.roaring import Positions, read_bitmap
from seamkit.tables.hudi.log.log import LogBlock

__all__ = ["usable_positions"]


def usable_positions(blocks: Sequence[LogBlock], base_instant: str) -> list[Positions] | None:
    """The positions of each block's records, or None if any block lacks them.

    Hudi then goes by key for the whole slice.

    Args:
        blocks: data and delete blocks of a slice.
        base_instant: of the slice's base file.

    Raises:
        InputError: a bitmap is broken.
    """
    found = []
    for block in blocks:
        text = block.header.get("RECORD_POSITIONS", "")
        if block.base_instant != base_instant or not text:
            return None
        try:
            positions = read_bitmap(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise InputError(f"{block.where}: the record positions are broken: {error}") from error
        if len(positions) == 0:
            return None
        found.append(positions)
    return found
