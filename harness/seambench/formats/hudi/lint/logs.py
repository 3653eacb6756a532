"""What is wrong with the logs of a Hudi table: their blocks and the records in them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from seambench.formats.hudi.damage import MAGIC
from seambench.formats.hudi.lint.instants import Instants
from seambench.formats.hudi.log_blocks import AVRO, DELETES, INSTANT, PARQUET, SCHEMA, Block
from seambench.formats.lint import DAMAGE, Finding, Wrong, reason

_COMMAND, _CDC = 0, 6
_TARGET, _COMMANDED = 1, 3
_KINDS = range(_CDC + 1)


def log_findings(table: Path, file: Path, own: bool, instants: Instants) -> Iterator[Finding]:
    """What is wrong with a log.

    Args:
        table: the table's folder.
        file: the log.
        own: whether its name has the instant that wrote it, not that of a base file.
        instants: of the table.
    """
    place = file.relative_to(table).as_posix()
    data, at = file.read_bytes(), 0
    named = file.name.split("_")[1].split(".")[0]
    folder = file.parent.relative_to(table).as_posix()
    while at < len(data):
        where = f"{place} at {at}"
        block, end, wrong = _block(data, at)
        if block is not None:
            wrong += _block_faults(block, named if own else "", instants)
            wrong += _record_faults(block, "" if folder == "." else folder)
        for rule, says in wrong:
            yield f"log.{rule}", where, says
        if block is None:
            return
        at = end


def _block(data: bytes, at: int) -> tuple[Block | None, int, list[Wrong]]:
    """The block at a place, where it ends, and what is wrong with its frame."""
    if data[at : at + 6] != MAGIC:
        return None, 0, [("magic", f"a block begins with {data[at : at + 6]!r}, not {MAGIC!r}")]
    try:
        (size,) = struct.unpack_from(">q", data, at + 6)
        version, kind, count = struct.unpack_from(">iii", data, at + 14)
        if version != 1:
            return None, 0, [("version", f"the version of the block is {version}, and must be 1")]
        begin, header = at + 26, []
        for _ in range(count):
            key, length = struct.unpack_from(">ii", data, begin)
            header.append((key, data[begin + 8 : begin + 8 + length]))
            begin += 8 + length
        (length,) = struct.unpack_from(">q", data, begin)
        content = data[begin + 8 : begin + 8 + length]
        begin += 8 + length
        (footers,) = struct.unpack_from(">i", data, begin)
        begin += 4
        for _ in range(footers):
            begin += 8 + struct.unpack_from(">ii", data, begin)[1]
        (total,) = struct.unpack_from(">q", data, begin)
    except struct.error:
        return None, 0, [("length", "the block ends beyond the end of the file")]
    wrong = []
    end = begin + 8
    if size != end - at - 14:
        wrong.append(("length", f"the block's length is {size}, its parts have {end - at - 14}"))
    if total != size + 6:
        wrong.append(("total", f"the total length is {total}, and must be {size + 6}"))
    return Block(version, kind, tuple(header), content), end, wrong


def _block_faults(block: Block, named: str, instants: Instants) -> Iterator[Wrong]:
    """Kind and header of a block."""
    if block.kind not in _KINDS:
        yield "kind", f"{block.kind} is no kind of block"
    header = dict(block.header)
    if INSTANT not in header:
        yield "instant", "the header has no instant"
        return
    instant = block.text(INSTANT)
    if named and instant != named and not instants.may_name(named, instant):
        yield "instant", f"the block is of {instant}, the file's name says {named}"
    elif not instants.knows(instant) and block.kind != _COMMAND:
        yield "instant", f"the block is of {instant}, of which the timeline knows nothing"
    if block.kind in (AVRO, PARQUET) and SCHEMA not in header:
        yield "schema", "a block of data has no schema in its header"
    if block.kind == _COMMAND and (_TARGET not in header or header.get(_COMMANDED) != b"0"):
        yield "command", "a block of a command names no rollback, or not of what"


def _record_faults(block: Block, folder: str) -> Iterator[Wrong]:
    """Lengths of records, and their own fields."""
    ends = {block.content[:4], block.content[-4:]}
    if block.kind == PARQUET and block.content and ends != {b"PAR1"}:
        yield "content", "the content is no Parquet file"
    if block.kind == DELETES and len(block.content) != 8 + _length(block.content):
        yield "content", "the deletes have another length than is stated"
    if block.kind != AVRO or SCHEMA not in dict(block.header):
        return
    try:
        sizes = [len(record) + 4 for record in block.records()]
        if sum(sizes) + 8 != len(block.content):
            yield "content", f"the records have {sum(sizes) + 8} bytes, not {len(block.content)}"
            return
        rows = block.rows()
    except DAMAGE as why:
        yield "content", f"the records cannot be read: {reason(why)}"
        return
    for row in rows:
        said = row.get("_hoodie_partition_path")
        if said is not None and said != folder:
            yield "partition-path", f"a record is of the partition {said!r}"
            return


def _length(content: bytes) -> int:
    length: int = struct.unpack_from(">i", content, 4)[0] if len(content) >= 8 else -8
    return length
