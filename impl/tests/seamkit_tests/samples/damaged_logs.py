"""Real logs with random damage, and what must hold whatever the damage is."""

from random import Random

from seambase.errors import SeambenchError
from seambase.scan import ScanWarning
from seamkit.avro.decoder import AvroDecoder
from seamkit.avro.schema import arrow_schema
from seamkit.core.memory import TrackedAllocator
from seamkit.tables.hudi.log.log import LogBlock, order_blocks, read_blocks

_MAGIC = b"#HUDI#"
_SHORTEST = 14 + 8  # a block's magic, size and total


def damage(logs: list[bytes], random: Random) -> bytes:
    """A log, or several one behind the other, with up to four pieces of damage."""
    data = bytearray(b"".join(random.choices(logs, k=random.randint(1, 3))))
    for _ in range(random.randint(0, 4)):
        at = random.randrange(len(data) + 1)
        length = random.choice((1, 1, 2, 4, 8, 100))
        match random.randrange(6):
            case 0:
                data[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = random.randbytes(length)
            case 3:
                data[at:at] = _MAGIC
            case 4:
                del data[at:]
            case 5:
                data[at : at + length] = bytes(length)
    return bytes(data)


def check_scan(data: bytes) -> int:
    """Read a log to its last value; returns how many blocks were good.

    Only errors with a name may come of it. Every byte belongs to a good block, or a warning says
    that it was passed over: nothing is missed in silence. No memory stays behind.
    """
    warnings: list[ScanWarning] = []
    try:
        blocks = [*read_blocks(data, file="a.log", warnings=warnings)]
    except SeambenchError:
        return 0
    _check_coverage(data, blocks, warnings)
    try:
        ordered = order_blocks(blocks, lambda _: True)
    except SeambenchError:
        ordered = blocks
    with TrackedAllocator() as allocator:
        for block in ordered:
            try:
                _read(block, allocator)
            except SeambenchError:
                continue
    return len(blocks)


def _check_coverage(data: bytes, blocks: list[LogBlock], warnings: list[ScanWarning]) -> None:
    ends = {block.offset: _end(data, block) for block in blocks}
    ends |= {
        w.offset: w.offset + int(w.reason.rsplit("; ", 1)[1].split()[0].replace(",", ""))
        for w in warnings
    }
    at = 0
    while at < len(data):
        assert ends.get(at, 0) > at, f"bytes from {at} on are neither read nor reported"
        at = ends[at]


def _end(data: bytes, block: LogBlock) -> int:
    end = block.offset + 14 + int.from_bytes(data[block.offset + 6 : block.offset + 14], "big")
    assert block.offset + _SHORTEST <= end <= len(data)
    return end


def _read(block: LogBlock, allocator: TrackedAllocator) -> None:
    if block.kind == "delete":
        keys = block.delete_keys(allocator)
        assert len(keys.record_keys) == len(keys.ordering_values) == len(keys)
    elif block.kind == "avro":
        assert block.schema is not None
        decoder = AvroDecoder(block.schema, arrow_schema(block.schema), allocator, source="a.log")
        decoder.decode(block.content, source=block.where)
        batch = decoder.finish()
        batch.validate(full=True)
        assert batch.num_rows == int.from_bytes(block.content[4:8], "big")
