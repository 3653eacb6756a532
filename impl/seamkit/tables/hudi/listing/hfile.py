"""HFiles, as Hudi's metadata table has them: every key with its value, in order.

Format 3 (HBase's book, appendix "HFile format"; Hudi 1.2.0, `HFileReaderImpl`). The last 4096 bytes
are the trailer: the magic `TRABLK"$`, a protobuf message behind its length, padding, and an int32
version. Blocks have a header of 33 bytes, all big-endian: magic of 8, int32 bytes on disk behind
the header (checksums included), int32 bytes when decompressed, int64 offset of the previous block
of its kind, int8 checksum type, int32 bytes per checksum, int32 bytes on disk with the header and
without checksums. A data block holds cells: int32 key length, int32 value length, the key (int16
length of the row, the row, one byte family length, family, qualifier, int64 timestamp, int8 type),
the value, and a version number of variable length.

All keys are wanted here, so blocks are walked from the first data block to the last, and the
indexes are left alone; the trailer's count of entries says whether all were read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import google_crc32c

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.unpack import Bound, unpack
from seamkit.core.varints import varint
from seamkit.files.footers.orc_footer import fields

_TRAILER_BYTES = 4096
_TRAILER_MAGIC = b'TRABLK"$'
_HEADER = struct.Struct(">8siiqBii")
_DATA = b"DATABLK*"
_INFO = b"FILEINF2"
_WALKED = (_DATA, b"IDXLEAF2", b"IDXINTE2", b"BLMFBLK2")
_CODEC_GZIP, _CODEC_NONE = 1, 2
_CHECKSUM_NONE = 0
_CHECKSUMS: Mapping[int, Callable[[bytes], int]] = {1: zlib.crc32, 2: google_crc32c.value}
_PUT = 4
# Fields of the trailer's message.
_FILE_INFO_OFFSET, _ENTRY_COUNT, _FIRST_DATA, _LAST_DATA, _CODEC = 1, 7, 9, 10, 12


@dataclass(frozen=True)
class HFile:
    """What an HFile holds."""

    entries: list[tuple[bytes, bytes]]  # row keys and values, in the file's order
    info: Mapping[bytes, bytes]  # the file's own entries (`schema`, `minRecordKey`, ...)


def read_hfile(content: memoryview | bytes, *, file: str, bound: Bound | None = None) -> HFile:
    """Read a whole HFile. `bound` is what a block may become."""
    reader = _Reader(memoryview(content).cast("B"), file, bound or Bound())
    trailer = reader.trailer()
    info = reader.info(trailer)
    entries: list[tuple[bytes, bytes]] = []
    if trailer.get(_ENTRY_COUNT, 0):
        for at, block in reader.data_blocks(trailer):
            entries += _cells(block, info, f"{file}, block at byte {at}")
    if len(entries) != trailer.get(_ENTRY_COUNT, 0):
        raise InputError(
            f"{file}: {counted(len(entries), 'entry')}, but its trailer says "
            f"{trailer.get(_ENTRY_COUNT, 0)}"
        )
    return HFile(entries, info)


@dataclass
class _Reader:
    """The blocks of one file, checked."""

    data: memoryview
    file: str
    bound: Bound
    codec: int = _CODEC_NONE

    def trailer(self) -> dict[int, int]:
        """The trailer's numbers by field."""
        begin = len(self.data) - _TRAILER_BYTES
        if begin < 0 or self.data[begin : begin + 8] != _TRAILER_MAGIC:
            raise InputError(f"{self.file}: no HFile (there is no trailer in its last 4096 bytes)")
        (version,) = struct.unpack(">I", self.data[-4:])
        if version & 0xFFFFFF != 3:
            raise RefusedError(f"{self.file}: HFile version {version & 0xFFFFFF}; only 3 is read")
        where = f"{self.file}, trailer"
        size, at = varint(self.data, begin + 8, where)
        if size > len(self.data) - 4 - at:
            raise InputError(f"{where}: its message claims {counted(size, 'byte')}")
        message = dict(fields(self.data[at : at + size], where))
        numbers = {key: value for key, value in message.items() if isinstance(value, int)}
        self.codec = numbers.get(_CODEC, _CODEC_NONE)
        if self.codec not in (_CODEC_GZIP, _CODEC_NONE):
            raise RefusedError(f"{where}: compression {self.codec}; only gzip and none are read")
        return numbers

    def info(self, trailer: Mapping[int, int]) -> dict[bytes, bytes]:
        """The file's own entries."""
        at = trailer.get(_FILE_INFO_OFFSET, 0)
        magic, block, _ = self._block(at)
        where = f"{self.file}, block at byte {at}"
        if magic != _INFO or block[:4] != b"PBUF":
            raise InputError(f"{where}: the file's entries should lie here")
        size, begin = varint(memoryview(block), 4, where)
        message = memoryview(block)[begin : begin + size]
        info = {}
        for _, pair in fields(message, where):
            if not isinstance(pair, memoryview):
                raise InputError(f"{where}: an entry that is no pair")
            parts = dict(fields(pair, where))
            key, value = (parts.get(n, memoryview(b"")) for n in (1, 2))
            if not isinstance(key, memoryview) or not isinstance(value, memoryview):
                raise InputError(f"{where}: an entry that is no pair of bytes")
            info[bytes(key)] = bytes(value)
        return info

    def data_blocks(self, trailer: Mapping[int, int]) -> Iterator[tuple[int, bytes]]:
        """Offset and content of each data block."""
        at, last = trailer.get(_FIRST_DATA, 0), trailer.get(_LAST_DATA, 0)
        while at <= last:
            magic, block, end = self._block(at)
            if magic not in _WALKED:
                raise InputError(f"{self.file}: no data block at byte {at}")
            if magic == _DATA:
                yield at, block
            at = end

    def _block(self, at: int) -> tuple[bytes, bytes, int]:
        """Magic and content of the block at `at`, and where the next one begins."""
        where = f"{self.file}, block at byte {at}"
        room = len(self.data) - _TRAILER_BYTES - at - _HEADER.size
        if room < 0:
            raise InputError(f"{where}: beyond the end of the file's blocks")
        magic, size, whole, _, checksum, chunk, end = _HEADER.unpack_from(self.data, at)
        data_bytes = end - _HEADER.size
        if not 0 <= size <= room or not 0 <= data_bytes <= size or whole < 0:
            raise InputError(
                f"{where}: it claims {counted(size, 'byte')}, {data_bytes} of them data and "
                f"{whole} when decompressed, where {room} are left"
            )
        sums = self.data[at + end : at + _HEADER.size + size]
        self._check_sums(self.data[at : at + end], sums, checksum, chunk, where)
        content = self.data[at + _HEADER.size : at + end]
        self.bound.check(whole, len(content), where)
        return magic, _decompress(content, whole, self.codec, where), at + _HEADER.size + size

    @staticmethod
    def _check_sums(block: memoryview, sums: memoryview, kind: int, chunk: int, where: str) -> None:
        """Compare the checksums, one for each `chunk` bytes of the block with its header."""
        if kind == _CHECKSUM_NONE:
            return
        checksum = _CHECKSUMS.get(kind)
        if checksum is None:
            raise RefusedError(f"{where}: checksums of type {kind} are not known")
        if chunk <= 0 or len(sums) != 4 * -(-len(block) // chunk):
            raise InputError(
                f"{where}: {counted(len(sums), 'byte')} of "
                f"checksums, one for {counted(chunk, 'byte')}"
            )
        for i in range(len(sums) // 4):
            part = bytes(block[i * chunk : (i + 1) * chunk])
            if checksum(part) != int.from_bytes(sums[4 * i : 4 * i + 4], "big"):
                raise InputError(f"{where}: the checksum of byte {i * chunk} on does not fit")


def _decompress(content: memoryview, whole: int, codec: int, where: str) -> bytes:
    try:
        data = bytes(content) if codec == _CODEC_NONE else unpack("gzip", content, whole)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where}: not readable as gzip ({error})") from error
    if len(data) != whole:
        raise InputError(f"{where}: not the {counted(whole, 'byte')} that its header says")
    return data


def _cells(block: bytes, info: Mapping[bytes, bytes], where: str) -> Iterator[tuple[bytes, bytes]]:
    versioned = info.get(b"KEY_VALUE_VERSION") == b"\x00\x00\x00\x01"
    tagged = b"hfile.MAX_TAGS_LEN" in info
    at = 0
    while at < len(block):
        try:
            key_bytes, value_bytes, row_bytes = struct.unpack_from(">iih", block, at)
            begin, value_at = at + 10, at + 8 + key_bytes
            end = value_at + value_bytes
            if row_bytes < 0 or key_bytes < 12 + row_bytes or value_bytes < 0 or end > len(block):
                raise InputError(
                    f"{where}: the cell at {at} claims a row of {row_bytes}, a key of {key_bytes} "
                    f"and a value of {counted(value_bytes, 'byte')}"
                )
            if block[value_at - 1] != _PUT:
                raise RefusedError(f"{where}: the cell at {at} is of kind {block[value_at - 1]}")
            yield block[begin : begin + row_bytes], block[value_at:end]
            if tagged:
                end += 2 + struct.unpack_from(">H", block, end)[0]
            at = _after_long(block, end) if versioned else end
        except (struct.error, IndexError) as error:
            raise InputError(f"{where}: the cell at {at} ends too early") from error
    if at != len(block):
        raise InputError(f"{where}: its last cell goes beyond it")


def _after_long(block: bytes, at: int) -> int:
    """Where Hadoop's variable-length number at `at` ends: one byte, or its length in the first."""
    first = block[at] - 256 if block[at] > 127 else block[at]
    if first >= -112:
        return at + 1
    return at + 1 + (-112 - first if first >= -120 else -120 - first)
