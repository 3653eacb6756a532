"""Bloom filters of record keys, as Hudi writes them into the footers of base files.

Under the key `org.apache.hudi.bloomfilter` lies one, of the kind under
`hoodie_bloom_filter_type_code` (`SIMPLE`, where none is named): base64 of, big-endian, int32
version -1, int32 how many hashes, int8 their type (1 is MurmurHash2), int32 bits, and for the kind
`DYNAMIC_V0` int32 keys a filter, int32 keys in the last one, int32 how many filters, and each
filter; for `SIMPLE` the bits follow at once. A filter within is version, hashes, type, bits, and
its bits, the least significant of a byte first. Each hash is the seed of the next, the first one's
is 0; its remainder by the number of bits, without the sign, is the bit (Hudi 1.2.0,
InternalBloomFilter). The least and the greatest key stand beside it.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.tables.hudi.listing.named_keys import named_record_keys
from seamkit.tables.hudi.types.promotion import HUDI_TYPES

__all__ = ["MOST_KEYS", "KeyFilter", "KeyedParquetReader", "read_key_filter"]

_FILTER = b"org.apache.hudi.bloomfilter"
_KIND = b"hoodie_bloom_filter_type_code"
_LEAST, _GREATEST = b"hoodie_min_record_key", b"hoodie_max_record_key"
_HEAD = struct.Struct(">iibi")
_COUNTS = struct.Struct(">iii")
_VERSION, _MURMUR = -1, 1
# A key takes a tenth of a millisecond.
MOST_KEYS = 100
"""So many keys are worth looking for."""
_MOST_HASHES = 1000


@dataclass(frozen=True)
class KeyFilter:
    """Says of a record key whether a file surely lacks it.

    Attributes:
        n_bits: of each row.
        n_hashes: bits that a key sets.
        rows: the bits of each filter; a key is in one of them.
    """

    n_bits: int
    n_hashes: int
    rows: Sequence[memoryview]

    def may_hold(self, key: str) -> bool:
        """False where no key of the file is this one."""
        data = key.encode("utf-8", "surrogatepass")
        places = list(self._places(data))
        return not data or any(
            all(row[place >> 3] >> (place & 7) & 1 for place in places) for row in self.rows
        )

    def _places(self, data: bytes) -> Iterator[int]:
        hashed = 0
        for _ in range(self.n_hashes):
            hashed = _murmur2(data, hashed)
            yield abs(hashed - (1 << 32) if hashed >> 31 else hashed) % self.n_bits


def read_key_filter(text: bytes, kind: bytes, where: str) -> KeyFilter | None:
    """Read the filter of a footer.

    Args:
        text: what the footer has.
        kind: the name of its kind.
        where: the file, for messages.

    Returns:
        None for a kind or a hash that is not known: it rules nothing out.

    Raises:
        InputError: it breaks its format.
    """
    if kind not in (b"SIMPLE", b"DYNAMIC_V0"):
        return None
    try:
        return _filter_of(memoryview(base64.b64decode(text, validate=True)), kind, where)
    except (binascii.Error, struct.error) as error:
        raise InputError(f"{where}: the filter of its record keys is broken ({error})") from error


def _filter_of(data: memoryview, kind: bytes, where: str) -> KeyFilter | None:
    head = _HEAD.unpack_from(data)
    version, n_hashes, hash_type, n_bits = head
    if version != _VERSION or hash_type != _MURMUR:
        return None
    at, count = 0, 1
    if kind == b"DYNAMIC_V0":
        at = _HEAD.size + _COUNTS.size
        count = _COUNTS.unpack_from(data, _HEAD.size)[2]
    size = (n_bits + 7) // 8
    step = _HEAD.size + size
    good = n_bits >= 1 and 1 <= n_hashes <= _MOST_HASHES and 1 <= count <= len(data)
    if not good or len(data) != at + count * step:
        raise InputError(
            f"{where}: the filter of its record keys has {len(data)} bytes, and says that it has "
            f"{count} times {n_bits} bits and {n_hashes} hashes"
        )
    begins = [at + i * step for i in range(count)]
    if any(_HEAD.unpack_from(data, begin) != head for begin in begins):
        raise InputError(f"{where}: the filters of its record keys differ in their kind")
    rows = [data[begin + _HEAD.size : begin + step] for begin in begins]
    return KeyFilter(n_bits, n_hashes, rows)


class KeyedParquetReader(ParquetReader):
    """A base file, of which no row group may match where its footer rules out all keys asked for.

    Args:
        storage: the table's folder.
        path: the file below it.
        keys: names of the key fields.

    Raises:
        InputError: as of `ParquetReader`.
    """

    def __init__(self, storage: Storage, path: str, keys: Sequence[str]) -> None:
        super().__init__(storage, path, HUDI_TYPES)
        self._keys = keys

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """See `FileReader.row_groups_that_may_match`; keys are asked for after statistics."""
        groups = super().row_groups_that_may_match(condition, schema, counted)
        told: Mapping[bytes, bytes] = self._file.metadata.metadata or {}
        if not groups or _FILTER not in told:
            return groups
        named = named_record_keys(condition, self._keys, schema, counted, MOST_KEYS)
        if named is None:
            return groups
        texts = [text for forms in named for text in forms if _is_between(text, told)]
        if not texts:
            return []
        found = read_key_filter(told[_FILTER], told.get(_KIND, b"SIMPLE"), self.name)
        return groups if found is None or any(map(found.may_hold, texts)) else []


def _is_between(text: str, told: Mapping[bytes, bytes]) -> bool:
    """Whether a key is within the range that a footer has; Java and UTF-8 order ASCII alike."""
    least, greatest = told.get(_LEAST), told.get(_GREATEST)
    if least is None or greatest is None:
        return True
    own = text.encode("utf-8", "surrogatepass")
    if not (own.isascii() and least.isascii() and greatest.isascii()):
        return True
    return least <= own <= greatest


def _murmur2(data: bytes, seed: int) -> int:
    """MurmurHash2 as Hadoop has it: the bytes of an incomplete last word have their signs."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    hashed = seed ^ len(data)
    whole = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        mixed = word * factor & mask
        mixed = (mixed ^ mixed >> 24) * factor & mask
        hashed = (hashed * factor & mask) ^ mixed
    tail = data[whole:]
    if tail:
        for shift, byte in zip((0, 8, 16), reversed(tail), strict=False):
            hashed ^= (byte - 256 if byte > 127 else byte) << shift & mask
        hashed = hashed * factor & mask
    hashed = (hashed ^ hashed >> 13) * factor & mask
    return hashed ^ hashed >> 15
