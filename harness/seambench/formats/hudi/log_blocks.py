"""Blocks of Hudi's logs, taken apart and written again, and the Avro records in them."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import fastavro

from seambench.formats.hudi.damage import MAGIC, block_positions

#: Kinds of blocks.
DELETES, AVRO, HFILE, PARQUET = 1, 3, 4, 5
#: Entries of a block's header.
INSTANT, SCHEMA = 0, 2


@dataclass(frozen=True)
class Block:
    """A block of a log: version of the log format, kind, header in order, content."""

    version: int
    kind: int
    header: tuple[tuple[int, bytes], ...]
    content: bytes

    def text(self, key: int) -> str:
        """An entry of the header."""
        return dict(self.header)[key].decode()

    def records(self) -> list[bytes]:
        """The records of a block of Avro, each as it is written."""
        _, count = struct.unpack_from(">ii", self.content)
        at, found = 8, []
        for _ in range(count):
            size = struct.unpack_from(">i", self.content, at)[0]
            found.append(self.content[at + 4 : at + 4 + size])
            at += 4 + size
        return found

    def with_records(self, records: Sequence[bytes]) -> Block:
        """A block of Avro with other records."""
        parts = b"".join(struct.pack(">i", len(one)) + one for one in records)
        begin = struct.pack(">ii", struct.unpack_from(">i", self.content)[0], len(records))
        return replace(self, content=begin + parts)

    def rows(self) -> list[dict[str, Any]]:
        """What the records of a block of Avro say."""
        schema = fastavro.parse_schema(json.loads(self.text(SCHEMA)))
        read = [fastavro.schemaless_reader(io.BytesIO(one), schema) for one in self.records()]
        return cast("list[dict[str, Any]]", read)

    def with_rows(self, rows: Iterable[Mapping[str, Any]]) -> Block:
        """A block of Avro that says something else."""
        schema = fastavro.parse_schema(json.loads(self.text(SCHEMA)))
        records = []
        for row in rows:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, schema, row)
            records.append(out.getvalue())
        return self.with_records(records)

    def written(self) -> bytes:
        """The block's bytes."""
        header = b"".join(struct.pack(">ii", key, len(text)) + text for key, text in self.header)
        inner = struct.pack(">iii", self.version, self.kind, len(self.header)) + header
        inner += struct.pack(">q", len(self.content)) + self.content + struct.pack(">i", 0)
        return (
            MAGIC + struct.pack(">q", len(inner) + 8) + inner + struct.pack(">q", len(inner) + 14)
        )


def entries_of(log: bytes, at: int) -> list[tuple[int, bytes]]:
    """The entries of the header that begins somewhere in a log, in order."""
    (count,) = struct.unpack_from(">i", log, at)
    at, found = at + 4, []
    for _ in range(count):
        key, size = struct.unpack_from(">ii", log, at)
        found.append((key, log[at + 8 : at + 8 + size]))
        at += 8 + size
    return found


def blocks_of(log: bytes) -> Iterator[Block]:
    """The blocks of an intact log, in order."""
    for places in block_positions(log):
        version, kind = struct.unpack_from(">ii", log, places["version"])
        size = struct.unpack_from(">q", log, places["length"])[0]
        content = log[places["content"] : places["content"] + size]
        yield Block(version, kind, tuple(entries_of(log, places["header"])), content)
