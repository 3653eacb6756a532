"""Record keys that a filter names, and Bloom filters that say whether a file may have them.

Under the key `org.apache.hudi.bloomfilter` of a base file's footer lies one, of the kind under
`hoodie_bloom_filter_type_code` (`SIMPLE`, where none is named): base64 of, big-endian, int32
version -1, int32 how many hashes, int8 their type (1 is MurmurHash2), int32 bits, and for the kind
`DYNAMIC_V0` int32 keys a filter, int32 keys in the last one, int32 how many filters, and each
filter; for `SIMPLE` the bits follow at once. A filter within is version, hashes, type, bits, and
its bits, the least significant of a byte first. Each hash is the seed of the next, the first one's
is 0; its remainder by the number of bits, without the sign, is the bit (Hudi 1.2.0,
InternalBloomFilter). The least and the greatest key stand beside it.

A table with a simple bucket index does not write down how many buckets it has, so whoever reads it
says so (`hoodie.bucket.index.num.buckets`). That is not believed as it stands: nothing is left out
unless the names of all file groups tell a bucket of so many, and the first keys of every base file
that is left fall into the bucket that its name tells (Hudi 1.2.0, BucketIdentifier). If the number
is wrong, each key lies in another bucket than it should with a chance of one half at least, so that
twenty keys miss it once in a million. Where partitions have numbers of their own
(`hoodie.bucket.index.partition.expressions`, from Hudi 1.1 on), a key may lie in another bucket of
each, and nothing is left out.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import math
import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.files.expressions import named_values
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.scan.units import Buckets
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.listing.files import FileSlice

_HEAD = struct.Struct(">iibi")
_COUNTS = struct.Struct(">iii")
_VERSION, _MURMUR = -1, 1
# A key takes a tenth of a millisecond.
MOST_KEYS = 100
"""So many keys are worth looking for."""
_MOST_HASHES = 1000


@dataclass(frozen=True)
class KeyFilter:
    """Says of a record key whether a file surely lacks it."""

    n_bits: int  # of each row
    n_hashes: int  # bits that a key sets
    rows: Sequence[memoryview]  # the bits of each filter; a key is in one of them

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
    """The filter of a footer; None for a kind or a hash that is not known: it rules nothing out."""
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
            f"{where}: the filter of its record keys has {counted(len(data), 'byte')}, and says "
            f"that it has {count} times {n_bits} bits and {n_hashes} hashes"
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

    Fields are whole numbers or texts. None where the condition does not name all that may meet it,
    or names more than `most`.
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

    `schema` has the columns that it tests, in the table's types, and `counted` those whose values
    may be looked at (None for all). A single field stands with its name before it, or without. None
    where the condition does not name all keys that may meet it, or more than `most`.
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


_FILE_ID = re.compile(r"(\d{8})-.+")
#: Where a table keeps rules by which partitions have buckets (PartitionBucketIndexHashingConfig).
_RULES = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"
_MOST_KEYS = 1000
_RECORD_KEYS = pa.schema({"_hoodie_record_key": pa.string()})
_KEYS_SHOWN = 64
_KEYS_NEEDED = 20


def bucket_number(texts: Sequence[str], count: int) -> int:
    """The bucket of a key: the hash code of Java's list of its texts, by the number of buckets."""
    code = 1
    for text in texts:
        code = (31 * code + _hash_code(text)) & 0xFFFFFFFF
    return (code & 0x7FFFFFFF) % count


def _hash_code(text: str) -> int:
    """Java's `String.hashCode`, over units of UTF-16."""
    code, units = 0, text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def bucket_units(
    storage: Storage,
    config: TableConfig,
    schema: pa.Schema,
    slices: Sequence[FileSlice],
    count: int,
) -> Sequence[tuple[Buckets, int] | None]:
    """The bucket of each slice, for `ReadUnit.bucket`; None for all where one has none."""
    names = [_FILE_ID.fullmatch(slice_.file_id) for slice_ in slices]
    numbers = [int(name[1]) for name in names if name is not None]
    keys = [schema.field(name) for name in config.record_keys if name in schema.names]
    plain = all(pa.types.is_integer(key.type) or pa.types.is_string(key.type) for key in keys)
    if (
        len(numbers) < len(slices)
        or any(number >= count for number in numbers)
        or not keys
        or len(keys) < len(config.record_keys)
        or not plain
        or storage.list(_RULES)
    ):
        return [None] * len(slices)
    bases: dict[int, list[str]] = {}
    for number, slice_ in zip(numbers, slices, strict=True):
        if slice_.base is not None and slice_.base.path.endswith(".parquet"):
            bases.setdefault(number, []).append(slice_.base.path)
    rule = SimpleBuckets(storage, config.record_keys, count, bases)
    return [(rule, number) for number in numbers]


@dataclass(frozen=True)
class SimpleBuckets:
    """See `Buckets`."""

    storage: Storage
    keys: Sequence[str]
    count: int
    bases: Mapping[int, Sequence[str]]

    def numbers(self, condition: pc.Expression) -> Collection[int] | None:
        """Of the keys that a condition names; None for all where it names none, or is in doubt."""
        named = named_keys(condition, self.keys, _MOST_KEYS)
        buckets = None if named is None else {bucket_number(key, self.count) for key in named}
        return buckets if buckets is not None and all(map(self._is_true, buckets)) else None

    def _is_true(self, number: int) -> bool:
        """Whether a bucket has files, and their first and last keys fall into it."""
        paths = self.bases.get(number, ())
        return bool(paths) and all(map(partial(self._holds, number), paths))

    def _holds(self, number: int, path: str) -> bool:
        """Whether enough keys of a base file fall into a bucket, and none does not."""
        try:
            reader = ParquetReader(self.storage, path)
            batches = reader.batches(_RECORD_KEYS, _KEYS_SHOWN, use_threads=False)
            keys = next(batches).column(0).to_pylist()
        except (InputError, StopIteration):
            return False  # the read will say what is wrong with it
        texts = [None if key is None else self._texts(key) for key in keys]
        return len(keys) >= _KEYS_NEEDED and all(
            key is not None and bucket_number(key, self.count) == number for key in texts
        )

    def _texts(self, record_key: str) -> Sequence[str] | None:
        """The texts of a record key's fields; None where they cannot be told apart."""
        if len(self.keys) == 1:
            own = record_key.removeprefix(f"{self.keys[0]}:")
            return [own] if key_text(own) is not None else None
        parts = [part.partition(":") for part in record_key.split(",")]
        if [name for name, _, _ in parts] != list(self.keys):
            return None
        texts = [text for _, _, text in parts]
        return texts if all(key_text(text) is not None for text in texts) else None
