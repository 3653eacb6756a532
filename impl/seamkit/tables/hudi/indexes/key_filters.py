"""Record keys that a filter names, and Bloom filters that say whether a file may have them.

Under the key `org.apache.hudi.bloomfilter` of a base file's footer lies one, of the kind under
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
import itertools
import math
import re
import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.equalities import named_values

__all__ = [
    "MOST_KEYS",
    "KeyFilter",
    "key_text",
    "named_keys",
    "named_record_keys",
    "read_key_filter",
]


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


_RECORD_KEY = "_hoodie_record_key"
#: What takes a key apart, or stands in one for no text.
_NOT_PLAIN = re.compile(r"[:,]|__null__|__empty__")


def key_text(value: Any) -> str | None:
    """A value's text in a record key; None where it has none that is sure."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value)
    return None if not text or _NOT_PLAIN.search(text) else text


def named_keys(
    condition: pc.Expression, fields: Sequence[str], most: int
) -> list[tuple[str, ...]] | None:
    """The keys that a condition names, each as the texts of its fields.

    Args:
        condition: a filter.
        fields: names of the key fields, which are whole numbers or texts.
        most: so many are worth looking at.

    Returns:
        None where the condition does not name all that may meet it, or names too many.
    """
    values = [named_values(condition, field) for field in fields]
    named = [column for column in values if column is not None]
    if not named or len(named) < len(values) or math.prod(map(len, named)) > most:
        return None
    keys = []
    for key in itertools.product(*named):
        texts = tuple(text for text in map(key_text, key) if text is not None)
        if len(texts) < len(key):
            return None
        keys.append(texts)
    return keys


def named_record_keys(
    condition: pc.Expression,
    fields: Sequence[str],
    schema: pa.Schema,
    counted: Collection[str] | None,
    most: int,
) -> list[tuple[str, ...]] | None:
    """The record keys that a condition names, each in the forms that writers give to it.

    Args:
        condition: a filter.
        fields: names of the key fields.
        schema: the columns that it tests, in the table's types.
        counted: those of them whose values may be looked at; None for all.
        most: so many are worth looking at.

    Returns:
        For each key its possible texts; None where the condition does not name all keys that may
        meet it. A single field stands with its name before it, or without.
    """
    usable = {field.name for field in schema if counted is None or field.name in counted}
    if _RECORD_KEY in usable:
        texts = named_values(condition, _RECORD_KEY)
        if texts is not None and len(texts) <= most and all(type(text) is str for text in texts):
            return [(text,) for text in texts]
    if not fields or not usable.issuperset(fields):
        return None
    kinds = [schema.field(name).type for name in fields]
    if not all(pa.types.is_integer(kind) or pa.types.is_string(kind) for kind in kinds):
        return None
    keys = named_keys(condition, fields, most)
    if keys is None:
        return None
    whole = [",".join(map(":".join, zip(fields, key, strict=True))) for key in keys]
    if len(fields) == 1:
        return [(key[0], named) for key, named in zip(keys, whole, strict=True)]
    return [(named,) for named in whole]
