"""Delete blocks of Hudi logs: record keys, and what orders the deletes.

Content: int32 version, int32 length, and, in version 3, one Avro datum: a list of records of record
key, partition path and ordering value. The ordering value is a union, whose branches number the
types; its type need not be the ordering column's. Versions 1 and 2 are Java objects (`kryo.py`).
"""

from __future__ import annotations

import functools
import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.values import EXACT, decimal_of
from seambase.wording import counted
from seamkit.avro.decoder import finish_native_decoder, new_native_decoder
from seamkit.avro.plan import Column, Plan
from seamkit.avro.schema import parse_schema
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call, numpy_of
from seamkit.core.memory import TrackedAllocator
from seamkit.tables.hudi.log.kryo import JavaDelete, read_java_deletes

# Branches of the ordering value's union, by number, and the Avro type each one wraps.
_BRANCHES = (
    ("null", "null"),
    ("boolean", "boolean"),
    ("int", "int"),
    ("long", "long"),
    ("float", "float"),
    ("double", "double"),
    ("bytes", "bytes"),
    ("string", "string"),
    ("date", "int"),
    ("decimal", "bytes"),
    ("time-micros", "long"),
    ("timestamp-micros", "long"),
    ("array", ""),
)
ORDERING_WORDS = tuple(word for word, _ in _BRANCHES)
# Items of an array are the same scalars, and one more: a date without a zone.
_ITEM_WORDS = (*ORDERING_WORDS[:-1], "date")
_DECIMAL_SCALE = 15
_JAVA_VERSIONS, _VERSION = (1, 2), 3


def _wrapper(name: str, wrapped: Any) -> dict[str, Any]:
    """A record of one field, which is written like the field alone."""
    return {"type": "record", "name": name, "fields": [{"name": "value", "type": wrapped}]}


_WRAPPERS = [_wrapper(f"W{i}", base) for i, (_, base) in enumerate(_BRANCHES[1:-1], 1)]
_NAMES = [wrapper["name"] for wrapper in _WRAPPERS]
_ITEMS = ["null", *_WRAPPERS, _wrapper("W12", "int")]
_SEVERAL = fastavro.parse_schema(["null", {"type": "array", "items": _ITEMS}])
_DELETE = parse_schema(
    {
        "type": "record",
        "name": "Delete",
        "fields": [
            {"name": "recordKey", "type": ["null", "string"]},
            {"name": "partitionPath", "type": ["null", "string"]},
            {
                "name": "orderingVal",
                "type": [
                    "null",
                    *_WRAPPERS,
                    _wrapper(
                        "W",
                        [
                            "null",
                            {"type": "array", "items": ["null", *_NAMES, _wrapper("W12", "int")]},
                        ],
                    ),
                ],
            },
        ],
    }
)
_COLUMNS = pa.schema(
    [
        pa.field("record_key", pa.string()),
        pa.field("partition_path", pa.string()),
        pa.field("branch", pa.int32(), nullable=False),
        pa.field("word", pa.int64(), nullable=False),
        pa.field("raw", pa.binary(), nullable=False),
    ]
)


@dataclass(frozen=True)
class DeleteKeys:
    """The records of one delete block, in file order."""

    # columns `record_key` and `partition_path` (strings, null where the block has none), `branch`
    # (int32, index into `ORDERING_WORDS`), `word` (int64: the value of a boolean, int, long, date,
    # time or timestamp, the bits of a double for float and double) and `raw` (binary: the Avro
    # datum of any other value)
    batch: pa.RecordBatch
    source: str  # what messages call the block

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @property
    def record_key_array(self) -> pa.StringArray:
        """Record keys as an Arrow array."""
        return self.batch.column("record_key")

    @cached_property
    def record_keys(self) -> list[str | None]:
        """Record keys as plain texts."""
        return list(self.record_key_array.to_pylist())

    @property
    def branches(self) -> npt.NDArray[np.int32]:
        """Number of each ordering value's type in `ORDERING_WORDS`; 0 = it has none."""
        return numpy_of(self.batch.column("branch"))

    @property
    def words(self) -> npt.NDArray[np.int64]:
        """Values of the integer-like types (boolean, int, long, date, times); else undefined."""
        return numpy_of(self.batch.column("word"))

    @cached_property
    def ordering_types(self) -> list[str]:
        """The type word of each ordering value; "null" = it has none."""
        return [ORDERING_WORDS[branch] for branch in self.branches.tolist()]

    @cached_property
    def ordering_values(self) -> list[Any]:
        """Ordering values as plain values.

        None, bool, int (also for dates: days, and times: microseconds), float, bytes, str, Decimal;
        several ordering fields give a tuple of (type word, value).
        """
        values: list[Any] = self.words.tolist()
        branches = self.branches
        for branch in np.unique(branches).tolist():
            word = ORDERING_WORDS[branch]
            if word in ("int", "long", "date", "time-micros", "timestamp-micros"):
                continue
            for row in np.flatnonzero(branches == branch).tolist():
                values[row] = self._value(word, row)
        return values

    def _value(self, word: str, row: int) -> Any:
        if word == "null":
            return None
        if word == "boolean":
            return bool(self.words[row])
        if word in ("float", "double"):
            return float(self.words[row : row + 1].view(np.float64)[0])
        try:
            return _raw_value(word, self.batch.column("raw")[row].as_py())
        except UnicodeDecodeError as error:
            raise InputError(f"{self.source}: an ordering value is not UTF-8 ({error})") from error


def _raw_value(word: str, datum: bytes) -> Any:
    """The value of a datum that the core left undecoded (it has checked its lengths)."""
    stream = io.BytesIO(datum)
    if word != "array":
        base = "string" if word == "string" else "bytes"
        return _plain(word, fastavro.schemaless_reader(stream, base))
    items = fastavro.schemaless_reader(stream, _SEVERAL, return_record_name=True)
    if items is None:
        return None
    values = []
    for item in items:
        if item is None:
            values.append(("null", None))
        else:
            name, record = item
            kind = _ITEM_WORDS[int(name[1:])]
            values.append((kind, _plain(kind, record["value"])))
    return tuple(values)


def _plain(word: str, value: Any) -> Any:
    if word == "decimal":
        return decimal_of(int.from_bytes(value, "big", signed=True), _DECIMAL_SCALE)
    return value


def read_delete_keys(
    content: memoryview, *, source: str, allocator: TrackedAllocator | None = None
) -> DeleteKeys:
    """Decode the content of a delete block."""
    if len(content) < 8:
        raise InputError(
            f"{source}: {counted(len(content), 'byte', 'are')} too few for a delete block."
        )
    version, length = struct.unpack_from(">ii", content)
    if version not in (*_JAVA_VERSIONS, _VERSION):
        raise RefusedError(f"{source}: delete records of unknown version {version}.")
    if length != len(content) - 8:
        raise InputError(
            f"{source}: the delete records claim "
            f"{counted(length, 'byte')}, the block has {len(content) - 8}."
        )
    if version in _JAVA_VERSIONS:
        deletes = read_java_deletes(content[8:], version, source)
        return DeleteKeys(_batch_of(deletes, source), source)
    decoder = new_native_decoder(_plan(), allocator or TrackedAllocator(), source)
    view = ffi.from_buffer("uint8_t[]", content)
    call(lib.seam_avro_decode_array, decoder, view, len(view), 8, source=source)
    return DeleteKeys(finish_native_decoder(decoder, _COLUMNS, source), source)


@functools.cache
def _plan() -> Plan:
    text = Column(lib.SEAM_AVRO_TO_BYTES, utf8=True)
    tagged = Column(lib.SEAM_AVRO_TO_TAGGED, nullable=False)
    return Plan(_DELETE, {0: text, 1: text, 2: tagged})


def _batch_of(deletes: Sequence[JavaDelete], source: str) -> pa.RecordBatch:
    """Deletes in the form of version 3."""
    keys, partitions, words, values = zip(*deletes, strict=True) if deletes else ((),) * 4
    branches = list(map(ORDERING_WORDS.index, words))
    numbered = list(map(_word_of, words, values))
    raw = [_datum_of(word, value, source) for word, value in zip(words, values, strict=True)]
    columns = (list(keys), list(partitions), branches, numbered, raw)
    arrays = [pa.array(own, one.type) for own, one in zip(columns, _COLUMNS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_COLUMNS)


def _word_of(word: str, value: Any) -> int:
    if word in ("float", "double"):
        return int(np.float64(value).view(np.int64))
    return int(value) if word in ("boolean", "int", "long") else 0


def _datum_of(word: str, value: Any, source: str) -> bytes:
    if word not in ("string", "decimal"):
        return b""
    if word == "decimal":
        digits = EXACT.scaleb(value, _DECIMAL_SCALE)
        whole = int(digits)
        if whole != digits:
            raise RefusedError(
                f"{source}: a delete has the ordering value {value}, and more than "
                f"{_DECIMAL_SCALE} digits behind the point are not supported"
            )
        value = whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "string" if word == "string" else "bytes", value)
    return out.getvalue()
