"""Log files of Hudi tables, read into blocks, and the order in which these apply.

A log file is a run of blocks, all integers big-endian: the magic `#HUDI#`, int64 size (of what
follows it), int32 log format version, int32 block type, the header (int32 count, then for each
entry an int32 key, an int32 length and UTF-8 text), int64 content length, the content, a footer in
the header's form, and int64 total (the block without these last eight bytes).

Damage is judged as Hudi 1.2.0 judges it: a block is good if its total fits its size and the magic
or the end of the file follows. Of a bad block only the magic is passed over; the search for the
next magic starts right behind it. So garbage behind a good block takes that block with it, and a
magic written twice costs nothing. Everything passed over is reported.

Records of Avro blocks can be read one at a time, as plain Python values, for what is looked at
once: archived instants, explained logs, the connector path. Content: int32 version, int32 count,
then for each record int32 length and one Avro datum, big-endian.

Which blocks of a slice count, and in which order, follows Hudi 1.2.0. Blocks are gathered by
instant, instants in the order in which they first appear. A rollback forgets what its target
instant has written so far; the same instant may write again later, and those blocks count.

A log compaction writes a block that stands for the blocks of the instants that it lists, its
originals. It takes the place of the latest of them: with instants 1, 2, 3 and a compaction C of 1
and 2, the order is `C, 3`. C itself lies behind 3 in the log. Three things may be otherwise:

- None of the originals is in the log any more: C stays where it is, `3, C`.
- A later compaction D lists C, too: D stands for all that C stood for, in that place, and C is left
  out.
- The query does not count every original. Where one that counts is in the log, C takes its place
  all the same; where those in the log do not count, C is left out, since it holds their rows: the
  order is `3`. Where none is in the log, C stays if any of its originals counts.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seambase.wording import counted
from seamkit.avro.data_file import record_reader
from seamkit.core.memory import TrackedAllocator
from seamkit.tables.hudi.log.deletes import DeleteKeys, read_delete_keys

_MAGIC = b"#HUDI#"
_KINDS = ("command", "delete", "corrupt", "avro", "hfile", "parquet", "cdc")
_HEADERS = (
    "INSTANT_TIME",
    "TARGET_INSTANT_TIME",
    "SCHEMA",
    "COMMAND_BLOCK_TYPE",
    "COMPACTED_BLOCK_TIMES",
    "RECORD_POSITIONS",
    "BLOCK_IDENTIFIER",
    "IS_PARTIAL",
    "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS",
)
_FORMAT_VERSION = 1
_INSTANT = re.compile(r"[0-9]{1,20}")  # a metadata table's own have 3 digits more than a table's
_WINDOW_BYTES = 1 << 20


@dataclass(frozen=True)
class LogBlock:
    """One good block of a log file."""

    kind: str  # command, delete, avro, hfile, parquet or cdc
    instant: str  # requested instant of the writer
    # the header's entries by Hudi's names (`INSTANT_TIME`, `SCHEMA`, ...)
    header: Mapping[str, str] = field(repr=False)
    content: memoryview = field(repr=False)  # the block's content, borrowed from the file's bytes
    offset: int  # of the block's magic in the file, in bytes
    file: str  # what messages call the file
    format_version: int = _FORMAT_VERSION
    content_offset: int = 0  # of the content in the file, in bytes

    @property
    def where(self) -> str:
        """File and offset, for messages."""
        return f"{self.file}, {self.kind} block at byte {self.offset}"

    @property
    def schema(self) -> str | None:
        """The writer's Avro schema, JSON text."""
        return self.header.get("SCHEMA")

    @property
    def base_instant(self) -> str | None:
        """The instant of the base file that positions of the block's records count in."""
        return self.header.get("BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS")

    def has_positions_in(self, base_instant: str) -> bool:
        """Whether it tells which rows of the base file of an instant its records are."""
        return self.base_instant == base_instant and bool(self.header.get("RECORD_POSITIONS"))

    @property
    def is_partial(self) -> bool:
        """Whether rows have some columns only, and leave the others as they are."""
        return self.header.get("IS_PARTIAL", "").lower() == "true"

    @cached_property
    def compacted_instants(self) -> tuple[str, ...]:
        """Instants whose blocks this block replaces."""
        listed = self.header.get("COMPACTED_BLOCK_TIMES", "")
        return tuple(instant.strip() for instant in listed.split(",") if instant.strip())

    @cached_property
    def rollback_target(self) -> str:
        """The instant that a command block undoes."""
        command = self.header.get("COMMAND_BLOCK_TYPE")
        if self.kind != "command" or command != "0":
            raise RefusedError(f"{self.where}: unknown command {command!r}; only rollback (0) is.")
        target = self.header.get("TARGET_INSTANT_TIME")
        if target is None:
            raise InputError(f"{self.where}: a rollback without a target instant.")
        return target

    def delete_keys(self, allocator: TrackedAllocator | None = None) -> DeleteKeys:
        """The keys of a delete block."""
        return read_delete_keys(self.content, source=self.where, allocator=allocator)


def read_blocks(
    content: Any,
    *,
    file: str,
    warnings: list[ScanWarning] | None = None,
    strict: bool = False,
    writer_instant: bool = True,
) -> Iterator[LogBlock]:
    """The good blocks of one log file, in file order; they borrow from its bytes.

    `warnings` receives one entry for each span of damaged bytes that was passed over; `strict`
    refuses them instead. `writer_instant` refuses blocks that do not name their writer's instant,
    as those of an archived timeline do not.
    """
    scan = _Scan(memoryview(content).cast("B"), file, warnings, strict, writer_instant)
    at = 0
    while len(scan.data) - at >= len(_MAGIC):
        if not scan.magic_at(at):  # behind a good block comes a magic, so this is the beginning
            raise InputError(f"{file}: byte {at} should begin a log block, but has no magic.")
        reason = scan.damage(at)
        if reason is None:
            block, at = scan.block(at)
            yield block
        else:
            end = scan.next_magic(at + len(_MAGIC))
            scan.skip(at, end, reason)
            at = end
    if at < len(scan.data):
        scan.skip(at, len(scan.data), "stray bytes at the end of the file")


@dataclass
class _Scan:
    """The bytes of one file, and what to do about damage."""

    data: memoryview
    file: str
    warnings: list[ScanWarning] | None
    strict: bool
    writer_instant: bool

    def magic_at(self, at: int) -> bool:
        return self.data[at : at + len(_MAGIC)] == _MAGIC

    def skip(self, begin: int, end: int, reason: str) -> None:
        if self.strict:
            raise InputError(f"{self.file}: damaged at byte {begin}: {reason}.")
        if self.warnings is not None:
            sentence = f"{reason}; {counted(end - begin, 'byte')} passed over"
            self.warnings.append(ScanWarning(self.file, begin, sentence))

    def damage(self, at: int) -> str | None:
        """Why the block at `at` counts as corrupt, or None if it is good."""
        if len(self.data) - at < 14:
            return "the file ends within a block's size"
        (size,) = struct.unpack_from(">q", self.data, at + 6)
        end = at + 14 + size
        if size < 8:
            return f"a block claims {counted(size, 'byte')}"
        if end > len(self.data):
            return (
                f"a block claims {counted(size, 'byte')} where the "
                f"file has {len(self.data) - at - 14}"
            )
        (total,) = struct.unpack_from(">q", self.data, end - 8)
        if total != size + 6:
            return f"a block's total {total} does not fit its size {size}"
        if len(self.data) - end >= len(_MAGIC) and not self.magic_at(end):
            return "a block is not followed by another, nor by the end of the file"
        return None

    def next_magic(self, at: int) -> int:
        """Offset of the first magic from `at` on, or the end of the file."""
        while at < len(self.data):
            window = bytes(self.data[at : at + _WINDOW_BYTES])
            found = window.find(_MAGIC)
            if found >= 0:
                return at + found
            if at + len(window) == len(self.data):
                break
            at += len(window) - len(_MAGIC) + 1
        return len(self.data)

    def block(self, at: int) -> tuple[LogBlock, int]:
        """Read the good block at `at`; also returns where it ends."""
        (size,) = struct.unpack_from(">q", self.data, at + 6)
        reader = _Reader(
            self.data[: at + 14 + size - 8], at + 14, f"{self.file}, block at byte {at}"
        )
        version = reader.int32("the log format version")
        if version != _FORMAT_VERSION:
            raise RefusedError(f"{reader.where}: log format version {version} is not supported.")
        kind = reader.int32("the block type")
        if not 0 <= kind < len(_KINDS) or _KINDS[kind] == "corrupt":
            raise RefusedError(f"{reader.where}: block type {kind} is not known.")
        header = reader.header()
        length = reader.int64("the content length")
        content_offset = reader.at
        content = reader.take(length, "the content")
        if reader.header():
            raise RefusedError(f"{reader.where}: a block with a footer is not supported.")
        if reader.at != len(reader.data):
            raise InputError(
                f"{reader.where}: "
                f"{counted(len(reader.data) - reader.at, 'byte', 'are')} left behind the footer."
            )
        block = LogBlock(
            _KINDS[kind],
            header.get("INSTANT_TIME", ""),
            header,
            content,
            at,
            self.file,
            version,
            content_offset,
        )
        _check_header(block, self.writer_instant)
        return block, at + 14 + size


def _check_header(block: LogBlock, writer_instant: bool) -> None:
    if writer_instant and not block.instant:
        raise InputError(f"{block.where}: the header has no instant.")
    if block.instant and not _INSTANT.fullmatch(block.instant):
        raise InputError(f"{block.where}: {block.instant!r:.80} is no instant.")
    if block.kind in ("avro", "parquet", "hfile", "cdc") and block.schema is None:
        raise InputError(f"{block.where}: the header has no schema.")
    for name, text in block.header.items():
        # The one entry whose loss would go unnoticed: rows would say null of what they leave alone.
        if (text.lower() in ("true", "false")) != (name == "IS_PARTIAL"):
            raise InputError(f"{block.where}: {name} of its header is {text!r:.80}.")


@dataclass
class _Reader:
    """Reads the fields of one block, never past its end."""

    data: memoryview
    at: int
    where: str

    def take(self, size: int, what: str) -> memoryview:
        if size < 0 or size > len(self.data) - self.at:
            raise InputError(
                f"{self.where}: {what} at byte {self.at} has {counted(size, 'byte')} where the "
                f"block has {len(self.data) - self.at} left."
            )
        self.at += size
        return self.data[self.at - size : self.at]

    def int32(self, what: str) -> int:
        return int(struct.unpack(">i", self.take(4, what))[0])

    def int64(self, what: str) -> int:
        return int(struct.unpack(">q", self.take(8, what))[0])

    def header(self) -> dict[str, str]:
        """Entries by name; also the footer's form."""
        entries: dict[str, str] = {}
        count = self.int32("the number of header entries")
        if count < 0:
            raise InputError(f"{self.where}: the header claims {counted(count, 'entry')}.")
        for _ in range(count):
            key = self.int32("a header key")
            if not 0 <= key < len(_HEADERS):
                raise RefusedError(f"{self.where}: header key {key} is not known.")
            if _HEADERS[key] in entries:
                raise InputError(f"{self.where}: {_HEADERS[key]} is there twice.")
            size = self.int32(f"the length of {_HEADERS[key]}")
            value = bytes(self.take(size, _HEADERS[key]))
            try:
                entries[_HEADERS[key]] = value.decode()
            except UnicodeDecodeError as error:
                raise InputError(f"{self.where}: {_HEADERS[key]} is not UTF-8.") from error
        return entries


@dataclass(frozen=True)
class AvroRecord:
    """One record of a block."""

    offset: int  # of its length in the block's content, in bytes
    size_bytes: int  # of the datum, without the length
    row: dict[str, Any]  # its fields


def avro_records(block: LogBlock) -> Iterator[AvroRecord]:
    """The records of an Avro data block, in file order."""
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
        raise InputError(
            f"{block.where}: {counted(len(content) - at, 'byte', 'follow')} the last record"
        )


def _check_size(block: LogBlock, at: int, read: int, said: int) -> None:
    if read != said:
        raise InputError(
            f"{block.where}: the record at byte {at} of the content has {counted(read, 'byte')}, "
            f"its length says {said}"
        )


def order_blocks(
    blocks: Iterable[LogBlock], is_valid_instant: Callable[[str], bool]
) -> list[LogBlock]:
    """The blocks that apply, oldest first; of all kinds but `command`.

    They come from all logs of one slice, in the order of the logs and of the blocks in each.
    `is_valid_instant` says whether data and delete blocks of a requested instant count (committed,
    not after the instant of an as-of query, within the range of an incremental one). Rollbacks are
    not asked: one that came after the as-of instant still undoes its target, which never was
    committed.
    """
    by_instant, left_out = _gather(blocks, is_valid_instant)
    replaced_by = _compactions(by_instant)
    ordered: list[list[LogBlock]] = []
    placed: set[str] = set()
    # Compactions with an original in the log, whose place they take.
    replacing = {
        replaced_by[instant]
        for instant, group in by_instant.items()
        if instant in replaced_by and not _is_compacted(group)
    }
    for instant in reversed(by_instant):
        final = replaced_by.get(instant, instant)
        if _is_compacted(by_instant[instant]):
            originals = by_instant[instant][0].compacted_instants
            if (
                instant in replaced_by
                or instant in replacing
                or instant not in replaced_by.values()
                or left_out.intersection(originals)
                or not _holds_valid(instant, by_instant, is_valid_instant)
            ):
                continue
        if final not in placed:
            placed.add(final)
            ordered.append(by_instant[final])
    return [block for group in reversed(ordered) for block in group]


def without_compactions(blocks: Sequence[LogBlock]) -> list[LogBlock]:
    """The blocks without those of log compactions whose originals are all there.

    Records that a log compaction wrote bear its instant; in the originals each has that of the
    write that changed it, by which an incremental query chooses.
    """
    present = {block.instant for block in blocks}
    return [
        block
        for block in blocks
        if not block.compacted_instants or not present.issuperset(block.compacted_instants)
    ]


def _gather(
    blocks: Iterable[LogBlock], is_valid_instant: Callable[[str], bool]
) -> tuple[dict[str, list[LogBlock]], set[str]]:
    """Valid blocks by instant, in first-seen order, rollbacks carried out; and other instants."""
    by_instant: dict[str, list[LogBlock]] = {}
    left_out: set[str] = set()
    for block in blocks:
        if block.kind == "command":
            by_instant.pop(block.rollback_target, None)
        elif is_valid_instant(block.instant):
            by_instant.setdefault(block.instant, []).append(block)
        else:
            left_out.add(block.instant)
    return by_instant, left_out


def _is_compacted(group: list[LogBlock]) -> bool:
    return bool(group[0].compacted_instants)


def _holds_valid(
    instant: str, by_instant: Mapping[str, list[LogBlock]], is_valid_instant: Callable[[str], bool]
) -> bool:
    """Whether a compaction holds an instant that counts, be it by way of other compactions."""
    # Logs of the others may not even have been opened.
    for original in by_instant[instant][0].compacted_instants:
        if original in by_instant and _is_compacted(by_instant[original]):
            if _holds_valid(original, by_instant, is_valid_instant):
                return True
        elif is_valid_instant(original):
            return True
    return False


def _compactions(by_instant: Mapping[str, list[LogBlock]]) -> dict[str, str]:
    """Each replaced instant, and the newest compaction that holds it."""
    # Compactions of compactions are followed to the end.
    replaced_by: dict[str, str] = {}
    for instant in reversed(list(by_instant)):
        final = replaced_by.get(instant, instant)
        for original in by_instant[instant][0].compacted_instants:
            replaced_by.setdefault(original, final)
    return replaced_by
