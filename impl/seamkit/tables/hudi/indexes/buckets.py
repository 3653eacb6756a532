"""Simple bucket indexes: a filter that names record keys leaves the file groups of their buckets.

A table does not write down how many buckets it has, so whoever reads it says so
(`hoodie.bucket.index.num.buckets`). That is not believed as it stands: nothing is left out unless
the names of all file groups tell a bucket of so many, and the first keys of every base file that is
left fall into the bucket that its name tells (Hudi 1.2.0, BucketIdentifier). If the
number is wrong, each key lies in another bucket than it should with a chance of one half at least,
so that twenty keys miss it once in a million.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, UsageError
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.scan.units import Buckets
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.indexes.key_filters import key_text, named_keys
from seamkit.tables.hudi.listing.files import FileSlice

__all__ = ["bucket_number", "bucket_units", "stated_buckets"]


_FILE_ID = re.compile(r"(\d{8})-.+")
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


def stated_buckets(config: TableConfig, buckets: int | None) -> int | None:
    """How many buckets a table's simple index has, as its reader or its properties say.

    Raises:
        UsageError: no number from 1 on.
    """
    if buckets is not None:
        if isinstance(buckets, bool) or not isinstance(buckets, int) or buckets < 1:
            raise UsageError(f"buckets is {buckets!r}: a number from 1 on is meant")
        return buckets
    raw = config.raw
    text = raw.get("hoodie.bucket.index.num.buckets", "")
    hashed = raw.get("hoodie.bucket.index.hash.field", ",".join(config.record_keys))
    is_simple = (
        raw.get("hoodie.index.type", "").upper() == "BUCKET"
        and raw.get("hoodie.index.bucket.engine", "SIMPLE").upper() == "SIMPLE"
        and tuple(name.strip() for name in hashed.split(",")) == config.record_keys
    )
    return int(text) if is_simple and re.fullmatch("[1-9][0-9]{0,7}", text) else None


def bucket_units(
    storage: Storage,
    config: TableConfig,
    schema: pa.Schema,
    slices: Sequence[FileSlice],
    count: int,
) -> Sequence[tuple[Buckets, int] | None]:
    """The bucket of each slice, for `ReadUnit.bucket`; None for all where one has none.

    Args:
        storage: the table's folder.
        config: its properties.
        schema: its columns.
        slices: of the read.
        count: how many buckets there are said to be.
    """
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
        found = None if named is None else {bucket_number(key, self.count) for key in named}
        return found if found is not None and all(map(self._is_true, found)) else None

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
