"""Arrays whose indexes, run ends or offsets lead out of them are refused wherever C reads them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import InputError
from seambase.type_fields import fields_of
from seambase.values import SortKey
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.partition import Function, Partitioner, PartitionRule, hash_rows
from seamkit.exchange.sorted_senders import SortedMerge
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import from_arrow
from seamkit.serde.presto import write
from seamkit.serde.rows import serde as rows

_FAR = 500_000_000
_INT = pa.int32()


def _words(*indexes: int, kind: pa.DataType = _INT) -> pa.Array:
    values = pa.array(["one", "two"])
    return pa.DictionaryArray.from_arrays(pa.array(indexes, kind), values, safe=False)


def _runs(*ends: int) -> pa.Array:
    kind = pa.run_end_encoded(pa.int32(), pa.string())
    values = pa.array([str(end) for end in ends])
    children = [pa.array(ends, pa.int32()), values]
    return pa.Array.from_buffers(kind, ends[-1], [None], children=children)


def _texts(*offsets: int) -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"abc")]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _lists(*offsets: int, child: pa.Array) -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32))]
    return pa.Array.from_buffers(pa.list_(child.type), len(offsets) - 1, buffers, children=[child])


_UNSOUND: dict[str, tuple[pa.Array, str]] = {
    "an index just beyond": (_words(0, 1, 2), "points at row 2 of 2"),
    "an index far beyond": (_words(0, 1, _FAR), f"points at row {_FAR} of 2"),
    "a negative index": (_words(0, 1, -7), "points at row -7 of 2"),
    "an index of 8 bits": (_words(0, 1, 127, kind=pa.int8()), "points at row 127 of 2"),
    "an unsigned index": (_words(0, 1, 60_000, kind=pa.uint16()), "points at row 60000 of 2"),
    "an index of 64 bits": (_words(0, 1, 2**63, kind=pa.uint64()), "points at row"),
    "run ends that fall": (_runs(2, 1, 3), "run ends that do not rise at run 1 of 3"),
    "run ends that stay": (_runs(1, 1, 3), "run ends that do not rise at run 1 of 3"),
    "a run end of 0": (_runs(0, 1, 3), "run ends that do not rise at run 0 of 3"),
    "offsets of texts that fall": (_texts(0, _FAR, 2, 3), "offsets that fall"),
    "offsets of lists that fall": (
        _lists(0, _FAR, 2, 3, child=pa.array([1, 2, 3])),
        "offsets that fall",
    ),
    "indexes within lists": (_lists(0, 1, 2, 3, child=_words(0, 1, 9)), "points at row 9 of 2"),
    "indexes within structs": (
        pa.StructArray.from_arrays([_words(0, 1, 9)], ["word"]),
        "points at row 9 of 2",
    ),
}


def _hash(function: Function) -> Callable[[pa.RecordBatch], Any]:
    return lambda batch: hash_rows(batch, PartitionRule(["k"], 4, function=function))


def _deal(batch: pa.RecordBatch) -> Any:
    counted = pa.record_batch([pa.array(range(len(batch))), batch["k"]], ["n", "k"])
    return list(Partitioner(counted.schema, PartitionRule(["n"], 4)).append(counted))


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain(kind.value_type)
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([part.with_type(_plain(part.type)) for part in kind])
    return kind


def _off_heap(batch: pa.RecordBatch) -> Any:
    columns = [from_arrow(_plain(kind)) for kind in batch.schema.types]
    with OffHeapTable(columns, len(batch), TrackedAllocator()) as table:
        table.append_batch(batch)


_READERS: dict[str, Callable[[pa.RecordBatch], Any]] = {
    "hash fnv": _hash("fnv"),
    "hash crc32": _hash("crc32"),
    "hash spark": _hash("spark"),
    "hash presto": _hash("presto"),
    "hash velox": _hash("velox"),
    "deal": _deal,
    "merge": lambda batch: SortedMerge(batch.schema, [SortKey("k")], 1).add(0, batch),
    "presto": lambda batch: write.serialize(batch, fields_of(batch.schema, "presto"), {}),
    "unsaferow": lambda batch: rows.serialize(
        "unsaferow", [batch], fields_of(batch.schema, "spark"), {}
    ),
    "compactrow": lambda batch: rows.serialize(
        "compactrow", [batch], fields_of(batch.schema, "spark"), {}
    ),
    "off-heap": _off_heap,
}


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize("unsound", _UNSOUND)
def test_what_leads_out_of_an_array_is_refused(unsound: str, reader: str) -> None:
    """Every way into C names the column and what is wrong; nothing is read beyond a buffer."""
    array, says = _UNSOUND[unsound]
    with pytest.raises(InputError, match=says):
        _READERS[reader](pa.record_batch([array], ["k"]))


@pytest.mark.parametrize("reader", _READERS)
def test_indexes_under_nulls_are_of_no_use(reader: str) -> None:
    """Arrow says nothing of the index of a null, so nobody reads it."""
    valid = pa.py_buffer(bytes([0b011]))
    indexes = pa.Array.from_buffers(
        pa.int32(), 3, [valid, pa.py_buffer(np.array([0, 1, _FAR], np.int32))]
    )
    words = pa.DictionaryArray.from_arrays(indexes, pa.array(["one", "two"]), safe=False)
    _READERS[reader](pa.record_batch([words], ["k"]))


@pytest.mark.parametrize("reader", _READERS)
def test_a_slice_answers_for_its_own_rows(reader: str) -> None:
    """What is wrong outside of a slice is not looked at, and does not disturb it."""
    array, _ = _UNSOUND["an index far beyond"]
    _READERS[reader](pa.record_batch([array.slice(0, 2)], ["k"]))
