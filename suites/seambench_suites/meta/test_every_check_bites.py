"""Wherever the judge finds an answer wrong, somebody who is wrong on purpose gets there."""

import ast
import fnmatch
import math
import struct
import sys
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seambench
from seambase.dataset import ScanDataset
from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import ScanWarning, TableWarning
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.contracts.column import ColumnChunk, ColumnRequest, ColumnSlot
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.registry import resolve
from seambench.contracts.seam import Case
from seambench.contracts.serde import Operated, StreamStep
from seambench.seams.exchange import check as exchange_check
from seambench.seams.exchange.cases import ROW
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.ways import drawn
from seambench.seams.serde.handed import at_leaves
from seambench_suites.meta.bent import (
    Bend,
    Bent,
    chunks,
    each,
    exchanges,
    members,
    read_batches,
    scans,
    written,
)

_HARNESS = Path(seambench.__file__).parent


@dataclass(frozen=True)
class Wrong:
    """A wrong implementation, and a case that tells.

    Attributes:
        case: pattern of ids; the first that matches is put to it.
        bend: what is wrong.
        says: part of the reason.
        right: the implementation that is bent.
    """

    case: str
    bend: Bend
    says: str
    right: str = ""


def _raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


# ---------------------------------------------------------------------------------------- scans

_ROWS = "scan/hudi/event-v9/all-rows"
_KINDS = "scan/paimon/changes/kinds/two-commits"
_PLAIN_WINDOW = "scan/paimon/changes/kinds/without-them"
_WARNED = "scan/hudi/damage/garbage-after-block-warning"


def _less(table: pa.Table) -> pa.Table:
    return table.slice(1)


def _where_asked(asks: Callable[[Any], bool], bend: Bend) -> Bend:
    """A reader that is wrong where something is asked of it, and right elsewhere."""
    return lambda reader: Bent(
        reader, open=lambda request: (bend(reader) if asks(request) else reader).open(request)
    )


def _opened(**others: Callable[[Any], Any]) -> Bend:
    """A reader whose scans have other members, each made of the right scan."""
    return lambda reader: Bent(
        reader, open=lambda request: _scan_with(reader.open(request), others)
    )


def _scan_with(scan: Any, others: Mapping[str, Callable[[Any], Any]]) -> Any:
    return Bent(scan, **{name: make(scan) for name, make in others.items()})


def _fewer(scan: Any) -> Callable[[], pa.RecordBatchReader]:
    """A stream that lacks a row of each batch, of batches without columns, too."""
    return lambda: pa.RecordBatchReader.from_batches(
        scan.schema, [batch.slice(1) for batch in scan.to_reader()]
    )


def _doubting(scan: Any) -> Callable[[], pa.RecordBatchReader]:
    """A stream that doubts a sound table."""

    def to_reader() -> pa.RecordBatchReader:
        warnings.warn("a file may be damaged", TableWarning, stacklevel=1)
        return scan.to_reader()

    return to_reader


def _one_fewer(scan: Any) -> Callable[[int], pa.Table]:
    return lambda most: scan.head(most).slice(1)


def _the_very_first(scan: Any) -> Callable[[int], pa.Table]:
    return lambda most: pa.concat_tables([scan.head(1)] * most)


def _deaf_dataset(scan: Any) -> Callable[[], Any]:
    """A dataset that hands out all rows, whatever is asked for."""
    return lambda: ScanDataset(
        scan.schema, lambda names, _: scan.to_reader().read_all().select(names).to_reader()
    )


def _dataset_without_nan(scan: Any) -> Callable[[], Any]:
    """A dataset for which NaN meets no condition, as every comparison with it is false."""

    def opened(names: list[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        table = scan.to_reader().read_all()
        if condition is not None:
            table = table.filter(condition)
            for name in table.schema.names:
                if f"({name} " in str(condition) and pa.types.is_floating(table[name].type):
                    table = table.filter(pc.invert(pc.is_nan(table[name])))
        return table.select(names).to_reader()

    return lambda: ScanDataset(scan.schema, opened)


def _short_relation(scan: Any) -> Callable[[Any], Any]:
    return lambda engine: scan.relation(engine).limit(1)


def _short_frame(scan: Any) -> Callable[[], Any]:
    return lambda: scan.lazy().head(1)


def _states_less(reader: Any) -> Any:
    """It does not say that it knows deletion vectors, and leaves them out."""
    stated = {word: has for word, has in reader.capabilities.items() if word != "delta.vectors"}
    return Bent(scans(table=lambda t: pa.concat_tables([t, t]))(reader), capabilities=stated)


def _reads_on(reader: Any) -> Any:
    """It does not say that it knows deletion vectors, and gives rows where one is broken."""
    return Bent(_states_less(reader), open=_empty_scan)


def _without_retracts(table: pa.Table) -> pa.Table:
    return table.filter(pc.is_in(table["rowkind"], pa.array(["+I", "+U"])))


def _all_inserted(table: pa.Table) -> pa.Table:
    """Kinds as a reader tells them that hands out every row as new."""
    at = table.schema.get_field_index("rowkind")
    return table.set_column(at, "rowkind", pa.array(["+I"] * table.num_rows))


def _with_retracts(reader: Any) -> Any:
    """It hands out rows that take others back without being asked for kinds."""
    return scans(request=lambda r: replace(r, row_kinds=True))(reader)


def _empty_scan(_: Any) -> Any:
    none = pa.table({"a": pa.array([], pa.int32())})
    return Bent(None, schema=none.schema, to_reader=none.to_reader, report=None)


_SCANS = [
    Wrong(_ROWS, scans(table=_less), "rows expected"),
    Wrong(_ROWS, _opened(to_reader=_doubting), "no warning expected"),
    Wrong("to_table", _opened(to_table=lambda scan: lambda: _less(scan.to_table())), "to_table"),
    Wrong("count_rows", _opened(count_rows=lambda scan: lambda: scan.count_rows() + 1), "counted"),
    Wrong("head", _opened(head=_one_fewer), "of "),
    Wrong("head", _opened(head=_the_very_first), "not as often"),
    Wrong("limit", _opened(limit=lambda scan: lambda _: scan.limit(0)), "limit"),
    Wrong("lazy", _opened(lazy=_short_frame), "Polars has"),
    Wrong(_ROWS, scans(schema=lambda s: s.set(0, s.field(0).with_name("x"))), "the schema says"),
    Wrong(
        "scan/iceberg/types/ntz",
        scans(schema=lambda s: pa.schema([f.with_type(pa.string()) for f in s])),
        "must be timestamp[us]",
    ),
    Wrong(_ROWS, scans(report=lambda r: replace(r, rows=r.rows + 1)), "the report says"),
    Wrong(_WARNED, scans(report=lambda r: replace(r, warnings=[])), " expected, these came"),
    Wrong(_WARNED, scans(report=lambda r: replace(r, warnings=[ScanWarning("", -1, "lost")])),
          "names no file"),
    Wrong("scan/hudi/slices/mixed-paths", scans(report=lambda r: replace(r, paths={"x": 1})),
          "paths"),
    Wrong(_ROWS, _where_asked(lambda r: r.columns == [], _opened(to_reader=_fewer)),
          "without columns"),
    Wrong(_ROWS, _where_asked(lambda r: r.batch_rows == 1, scans(table=_less)), "one row at a"),
    Wrong(_ROWS, _where_asked(lambda r: bool(r.columns), scans(table=_less)), "alone differs"),
    Wrong("to_reader", scans(dataset=_less), "the dataset differs"),
    Wrong(_ROWS, _opened(dataset=_deaf_dataset), "differs from the full read"),
    *(Wrong(case, _opened(dataset=_dataset_without_nan), "not at most infinity")
      for case in ("scan/delta/schema/types", "scan/hive/orc/written", "scan/hudi/types/v9-*",
                   "scan/iceberg/equality/floats/newest",
                   "scan/paimon/aggregation/least-greatest/newest")),
    Wrong(_ROWS, _opened(relation=_short_relation), "the relation differs", "engine"),
    Wrong("numbered", _opened(lazy=_short_frame), "1 row numbered"),
    Wrong(_KINDS, scans(table=_without_retracts), "rows expected"),
    Wrong(_KINDS, scans(table=_all_inserted), "expected"),
    Wrong(_KINDS, scans(request=lambda r: replace(r, row_kinds=False)), "the schema says"),
    Wrong(_PLAIN_WINDOW, _with_retracts, "rows expected"),
    Wrong("scan/delta/vectors/*", _states_less, "is not offered, yet it answers wrongly"),
    Wrong("scan/delta/damage/vector-magic", _reads_on, "what must be refused was answered"),
    Wrong(_ROWS, members(open=_raising(RefusedError("no"))), "refused what it offers"),
    Wrong("scan/delta/damage/protocol-feature", members(open=_raising(RefusedError("no"))),
          "does not name"),
    Wrong("scan/delta/damage/protocol-feature", members(open=_raising(UsageError("no"))),
          "instead of"),
    Wrong("scan/delta/damage/protocol-feature", members(open=_empty_scan), "nothing was refused"),
]  # fmt: skip


# -------------------------------------------------------------------------------------- columns


def _rows(change: Callable[[ColumnRequest], Sequence[Sequence[Any]]]) -> Bend:
    """A table that holds other rows than it is given."""

    def bend(table: Any) -> Any:
        return Bent(table, chunks=lambda asked: table.chunks(replace(asked, rows=change(asked))))

    return bend


def _rows_end(count: int) -> Bend:
    """All rows behind so many are NULL."""
    return _rows(
        lambda asked: [
            row if at < count else [None] * len(row) for at, row in enumerate(asked.rows)
        ]
    )


def _items_end(asked: ColumnRequest) -> list[list[Any]]:
    """Lists are empty once 65,536 items are there."""
    totals = accumulate(len(row[0] or ()) for row in asked.rows)
    pairs = zip(asked.rows, totals, strict=True)
    return [[row[0] and row[0][: max(0, 65536 - total)]] for row, total in pairs]


def _cut(most: int, *, binary: bool) -> Bend:
    """Texts, or binaries, at any depth end after so many bytes."""

    def ends(value: Any) -> Any:
        if isinstance(value, list):
            return [ends(part) for part in value]
        if not isinstance(value, str) or binary != (value == _hex_only(value)):
            return value
        return value[: 2 * most] if binary else value.encode()[:most].decode(errors="ignore")

    return _rows(lambda asked: [[ends(value) for value in row] for row in asked.rows])


def _hex_only(text: str) -> str:
    return "".join(sign for sign in text if sign in "0123456789abcdef")


def _parts(change: Callable[[Sequence[str]], Sequence[str]]) -> Bend:
    """A table of other parts than it is asked for."""

    def heard(asked: ColumnRequest) -> ColumnRequest:
        return replace(asked, nested_fields=change(asked.nested_fields or ()))

    return lambda table: Bent(table, chunks=lambda asked: table.chunks(heard(asked)))


def _last_chunk(change: Callable[[ColumnChunk], ColumnChunk]) -> Bend:
    return chunks(lambda found: [*found[:-1], change(found[-1])])


def _first_slot(change: Callable[[ColumnSlot], ColumnSlot]) -> Bend:
    """The first buffer of the last chunk is another."""
    return _last_chunk(
        lambda chunk: replace(chunk, slots=[change(chunk.slots[0]), *chunk.slots[1:]])
    )


def _flipped(slot: ColumnSlot) -> ColumnSlot:
    content = slot.content or b""
    return replace(slot, content=bytes([content[0] ^ 1, *content[1:]]))


_GOLDEN = "column/offheap/worked_example"
_COLUMNS = [
    Wrong("column/growth/long-texts/*", _cut(65535, binary=False), "offsets of s"),
    Wrong("column/growth/long-texts/*", _cut(65535, binary=True), "offsets of b"),
    Wrong("column/growth/long-texts-at-borders/*", _cut(65536, binary=False), "chunk 3"),
    Wrong("column/growth/long-texts-within/*", _cut(65535, binary=False), "offsets of l"),
    Wrong("column/growth/texts-past-a-mebibyte", _cut(1 << 20, binary=True), "offsets of b"),
    Wrong("column/batches/long-texts", _cut(65535, binary=False), "offsets of s"),
    Wrong(
        "column/growth/long-lists/*",
        _rows(lambda asked: [[v and v[:65535] for v in row] for row in asked.rows]),
        "offsets of l",
    ),
    Wrong("column/growth/past-16-bits/*", _rows_end(65536), "nulls of v"),
    Wrong("column/growth/items-past-16-bits", _rows(_items_end), "offsets of l"),
    Wrong(
        "column/growth/many-chunks/*",
        _rows(
            lambda asked: [
                row if at < sum(asked.chunk_rows[:4]) else [None] * len(row)
                for at, row in enumerate(asked.rows)
            ]
        ),
        "chunk 5",
    ),
    Wrong(
        "column/growth/one-long-list/*",
        _rows(lambda asked: [[row[0] and row[0][:255]] for row in asked.rows]),
        "offsets of l",
    ),
    Wrong(
        "column/rows/three-hundred-columns",
        _rows(lambda asked: [[*row[:255], *[None] * 45] for row in asked.rows]),
        "nulls of c25",
    ),
    Wrong(
        "column/pruning/own-name-and-part/*",
        _parts(lambda names: [name for name in names if name.split(".")[0] not in names]),
        "the chain must be",
    ),
    Wrong(
        "column/pruning/missing-below-entries/*",
        _parts(lambda names: [name for name in names if name[-1] in "ax"]),
        "the chain must be",
    ),
    Wrong("column/offheap/array*", chunks(lambda found: found[:-1]), "chunk expected"),
    Wrong(_GOLDEN, _first_slot(_flipped), "byte 0 must be"),
    Wrong(_GOLDEN, _first_slot(lambda slot: replace(slot, content=None)), "one side only"),
    Wrong(_GOLDEN, _first_slot(lambda slot: replace(slot, column="x")), "the chain must be"),
    Wrong(_GOLDEN, _last_chunk(lambda c: replace(c, slots=c.slots[1:])), "the chain must be"),
    Wrong("column/offheap/array*", members(live_blocks=lambda: 1), "after the last chunk"),
    Wrong("column/batches/*", members(batch_steps=None), "no batch_steps"),
    Wrong("column/batches/*", members(batch_steps=dict), "changes of kind"),
    Wrong("column/batches/*", members(live_handles=lambda: 1), "not released"),
    Wrong(
        "column/fixed/int/some/*",
        chunks(lambda found: [replace(c, num_rows=c.num_rows + 1) for c in found]),
        "row expected",
    ),
    Wrong(
        "column/fixed/int/some/*",
        chunks(lambda found: [replace(c, slots=c.slots[::-1]) for c in found]),
        "the chain must be",
    ),
    Wrong(
        "column/fixed/int/some/*",
        chunks(
            lambda found: [
                replace(c, slots=[replace(s, content=b"") if s.content else s for s in c.slots])
                for c in found
            ]
        ),
        "1 byte expected",
    ),
    Wrong("column/offheap/type*", members(parse_type=None), "no parse_type"),
    Wrong("column/offheap/type*", members(parse_type=lambda _: {}), "parsed was {}"),
]


# --------------------------------------------------------------------------------------- serdes


def _asked(options: Callable[[Mapping[str, Any]], Mapping[str, Any]], call: str) -> Bend:
    """A serde that hears other options."""

    def bend(serde: Any) -> Any:
        def heard(request: Any, *more: Any) -> Any:
            return getattr(serde, call)(replace(request, options=options(request.options)), *more)

        return Bent(serde, **{call: heard})

    return bend


def _given(change: Callable[[pa.RecordBatch], pa.RecordBatch], call: str = "serialize") -> Bend:
    """A serde that is given other batches."""

    def bend(serde: Any) -> Any:
        def heard(request: Any, batches: Sequence[pa.RecordBatch], *more: Any) -> Any:
            return getattr(serde, call)(request, [change(batch) for batch in batches], *more)

        return Bent(serde, **{call: heard})

    return bend


def _keeps(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**options, "encodings": "preserve"}


def _flattens(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**options, "encodings": "flatten"}


def _unchecked(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**options, "checksum": not options.get("checksum")}


def _odd(batches: list[pa.RecordBatch], _: Any, data: Any) -> list[pa.RecordBatch]:
    return batches[:-1] if isinstance(data, memoryview) else batches


def _shorter(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(0, max(0, batch.num_rows - 1))


def _of_64_kib(column: pa.Array) -> pa.Array:
    """Texts and binaries end where 16 bits can no longer tell how long they are."""
    if not pa.types.is_string(column.type) and not pa.types.is_binary(column.type):
        return column
    return pa.array([value and value[:65535] for value in column.to_pylist()], column.type)


def _rows_of_16_bits(batch: pa.RecordBatch) -> pa.RecordBatch:
    """So many rows as 16 bits count of them."""
    return batch.slice(0, batch.num_rows % 65536)


def _begin_lost(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The buffers as they lie, whatever row a slice begins with."""
    return _shorter(batch) if any(column.offset for column in batch.columns) else batch


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _overwrites(serde: Any) -> Any:
    """It reads every time into the same memory, as a result that is used again would be."""
    memory: list[bytearray] = []

    def deserialize(request: Any, data: Any) -> Any:
        for block in memory:
            block[:] = bytes(len(block))
        memory.clear()
        return [_moved(batch, memory) for batch in serde.deserialize(request, data)]

    return Bent(serde, deserialize=deserialize)


def _moved(batch: pa.RecordBatch, memory: list[bytearray]) -> pa.RecordBatch:
    """A batch of fixed-width columns whose values lie in memory that can be written over."""
    arrays = []
    for column in batch.columns:
        nulls, values = column.buffers()
        memory.append(bytearray(values))
        buffers = [nulls, pa.py_buffer(memory[-1])]
        arrays.append(pa.Array.from_buffers(column.type, len(column), buffers))
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _laid_bare(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Whatever stands beneath a null, as if it were there."""
    return pa.RecordBatch.from_arrays(list(map(_bare, batch.columns)), schema=batch.schema)


def _bare(column: pa.Array) -> pa.Array:
    if pa.types.is_struct(column.type):
        children = [column.field(at) for at in range(column.type.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(column.type))
    below = [column.values] if pa.types.is_list(column.type) else None
    buffers = column.buffers()[: 2 if below else None]
    beneath = [None, *buffers[1:]]
    found = pa.Array.from_buffers(
        column.type, len(column), beneath, offset=column.offset, children=below
    )
    return column if _like_nothing(found, column) else found


def _like_nothing(found: pa.Array, column: pa.Array) -> bool:
    """Whether zeros and empty texts and lists are all that stands beneath the nulls."""
    hidden = [v for v, there in zip(found, column.is_valid().to_pylist(), strict=True) if not there]
    return not any(value.as_py() for value in hidden)


def _last_entry(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A row of a dictionary that has no entry has the last."""
    columns = [
        pa.DictionaryArray.from_arrays(c.indices.fill_null(len(c.dictionary) - 1), c.dictionary)
        if pa.types.is_dictionary(c.type)
        else c
        for c in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _runs_from_the_first(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Runs from their first row on, whatever row a slice begins with."""
    return _columnwise(batch, _runs_as_they_lie)


def _runs_as_they_lie(column: pa.Array) -> pa.Array:
    if not pa.types.is_run_end_encoded(column.type):
        return column
    return pa.RunEndEncodedArray.from_arrays(column.run_ends, column.values)[: len(column)]


def _entries_from_the_first(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Entries of a dictionary as they lie in memory, whatever part of it they are."""
    return _columnwise(
        batch,
        lambda column: (
            pa.DictionaryArray.from_arrays(column.indices, _as_it_lies(column.dictionary))
            if pa.types.is_dictionary(column.type)
            else column
        ),
    )


def _items_from_the_first(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Items of lists as they lie in memory, whatever part of it they are."""

    def bend(column: pa.Array) -> pa.Array:
        if not pa.types.is_list(column.type) or not column.values.offset:
            return column
        buffers, at = column.buffers()[:2], column.offset
        items = [_as_it_lies(column.values)]
        return pa.Array.from_buffers(column.type, len(column), buffers, offset=at, children=items)

    return _columnwise(batch, bend)


def _as_it_lies(array: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(array.type, len(array), array.buffers())


def _wants_entries(batch: pa.RecordBatch) -> pa.RecordBatch:
    """No dictionary without entries, at any depth."""

    def look(array: pa.Array) -> None:
        if pa.types.is_dictionary(array.type) and not len(array.dictionary):
            raise RefusedError("a dictionary without entries")
        if pa.types.is_struct(array.type):
            for at in range(array.type.num_fields):
                look(array.field(at))
        if pa.types.is_list(array.type):
            look(array.values)

    for column in batch.columns:
        look(column)
    return batch


def _within(change: Callable[[pa.Array], pa.Array]) -> Bend:
    """A serde that takes dictionaries within nested columns for others."""

    def bend(column: pa.Array) -> pa.Array:
        return change(column) if pa.types.is_dictionary(column.type) else column

    def heard(batch: pa.RecordBatch) -> pa.RecordBatch:
        nested = at_leaves(bend)
        return _columnwise(batch, lambda c: nested(c) if pa.types.is_nested(c.type) else c)

    return _given(heard)


def _zeros(column: pa.Array) -> pa.Array:
    """Noughts where a dictionary of whole numbers has no entries."""
    if len(column.dictionary) or column.type.value_type != pa.int64():
        return column
    return pa.array([0] * len(column), pa.int64())


def _of_a_byte(column: pa.Array) -> pa.Array:
    ids = [None if at is None else at % 256 for at in column.indices.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(ids, column.type.index_type), column.dictionary)


def _columnwise(batch: pa.RecordBatch, change: Callable[[pa.Array], pa.Array]) -> pa.RecordBatch:
    columns = list(map(change, batch.columns))
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _on_damage(answer: Callable[..., Any]) -> Bend:
    """A serde that does something else where the right one refuses."""

    def bend(serde: Any) -> Any:
        def deserialize(request: Any, data: Any) -> Any:
            try:
                return serde.deserialize(request, data)
            except (InputError, RefusedError):
                return answer()

        return Bent(serde, deserialize=deserialize)

    return bend


def _careless(serde: Any) -> Any:
    """It passes over the half of a page's checksum that is always zero, and then reads less."""

    def deserialize(request: Any, data: Any) -> Any:
        mended = bytearray(data)
        mended[17:21] = bytes(4)
        batches = serde.deserialize(request, mended)
        return batches if mended == data else [_shorter(batch) for batch in batches]

    return Bent(serde, deserialize=deserialize)


def _always(answer: Callable[..., Any]) -> Bend:
    return members(deserialize=lambda *_: answer())


def _unsound() -> list[pa.RecordBatch]:
    far = pa.py_buffer(struct.pack("<3i", 0, 1 << 30, 1))
    text = pa.Array.from_buffers(pa.string(), 2, [None, far, pa.py_buffer(b"x")])
    return [pa.record_batch([text], ["a"])]


def _vast() -> list[pa.RecordBatch]:
    return [
        pa.record_batch(
            [
                pa.FixedSizeBinaryArray.from_buffers(
                    pa.binary(1 << 20), 70, [None, pa.py_buffer(bytes(70 << 20))]
                )
            ],
            ["a"],
        )
    ]


def _hoards(batches: Any, *_: Any) -> Any:
    return batches if len(b"\1" * (300 << 20)) else None


def _doubled(content: bytes) -> bytes:
    return content * 2


def _rereads(blocks: Sequence[int], *, keep: bool = True) -> Bend:
    def bend(serde: Any) -> Any:
        def reread(request: Any, data: Any, times: int) -> Any:
            batches, _ = serde.reread(request, data, times)
            return (batches if keep else [_shorter(b) for b in batches]), blocks

        return Bent(serde, reread=reread)

    return bend


def _operates(**change: Callable[[Operated], Any]) -> Bend:
    """A serde whose operators made something else."""

    def bend(serde: Any) -> Any:
        def operate(request: Any, batches: Any) -> Operated:
            made: Operated = serde.operate(request, batches)
            return replace(made, **{name: other(made) for name, other in change.items()})

        return Bent(serde, operate=operate)

    return bend


def _hears(**options: Any) -> Bend:
    """A serde whose operators go by other bounds."""
    return _asked(lambda given: {**given, **options}, "operate")


def _joined(made: Operated) -> list[list[bytes]]:
    """The rows of all calls as if they were of one."""
    return [[row for call in made.calls for row in call]]


def _swapped(made: Operated) -> list[pa.RecordBatch]:
    """The last row of the last batch in place of its first."""
    last = made.batches[-1]
    return [*made.batches[:-1], last.take(pa.array([last.num_rows - 1] * last.num_rows))]


def _each_column(change: Callable[[pa.Array], pa.Array]) -> Callable[..., pa.RecordBatch]:
    return lambda batch: _columnwise(batch, change)


def _starts_for_ends(content: bytes) -> bytes:
    """Where texts start, as the published description once said."""
    at = content.index(b"VARIABLE_WIDTH") + 14
    [rows] = struct.unpack_from("<i", content, at)
    first, last = at + 4, at + 4 + 4 * rows
    return content[:first] + bytes(4) + content[first : last - 4] + content[last:]


def _steps(change: Callable[[StreamStep, pa.RecordBatch], Sequence[StreamStep]]) -> Bend:
    """A stream that does something else at each step."""

    def bend(serde: Any) -> Any:
        def stream(request: Any, batches: Any, steps: Sequence[StreamStep]) -> Any:
            done = [one for step in steps for one in change(step, batches[step.batch])]
            return serde.stream(request, batches, done)

        return Bent(serde, stream=stream)

    return bend


def _never_cleared(step: StreamStep, _: pa.RecordBatch) -> Sequence[StreamStep]:
    return [] if step.do == "clear" else [step]


def _flushed_away(step: StreamStep, _: pa.RecordBatch) -> Sequence[StreamStep]:
    return [step, replace(step, do="clear")] if step.do == "flush" else [step]


def _sorted(step: StreamStep, _: pa.RecordBatch) -> Sequence[StreamStep]:
    return [replace(step, rows=None if step.rows is None else sorted(step.rows))]


def _any_row(step: StreamStep, batch: pa.RecordBatch) -> Sequence[StreamStep]:
    """Rows below 0 count from the end, and those beyond it are left out."""
    rows = range(*step.range) if step.range else step.rows or range(batch.num_rows)
    there = [row % batch.num_rows for row in rows if row < batch.num_rows]
    return [replace(step, rows=there, range=None)]


_CALLS, _ANY = "serde/operators/several-batches/operate", "serde/operators/values/columns_1/operate"
_PAGE = "serde/presto/bigint_1_rows/"
_SERDES = [
    Wrong("serde/presto/*dictionary*/decode", _asked(_keeps, "deserialize"), "is still encoded"),
    Wrong("serde/presto/*dictionary*/decode", _asked(_flattens, "deserialize"), "as a dictionary"),
    Wrong("serde/presto/rle_*/decode", _asked(_flattens, "deserialize"), "came as a run"),
    Wrong(f"{_PAGE}decode", read_batches(each(_shorter)), "row"),
    Wrong(f"{_PAGE}decode", read_batches(_odd), "from an odd address"),
    *(Wrong(f"serde/{name}/decode", read_batches(each(_each_column(_of_64_kib))), "row")
      for name in ("presto/values/long-texts", "unsaferow/long-values", "compactrow/long-values")),
    *(Wrong(f"serde/{name}/rows-past-16-bits/{operation}", bend, word)
      for name in ("presto/values", "unsaferow", "compactrow")
      for operation, bend, word in (
          ("decode", read_batches(each(_rows_of_16_bits)), "65,538 rows expected"),
          ("encode", _given(_rows_of_16_bits), "written"),
      )),
    Wrong("serde/presto/stream_two_pages_checksum/decode",
          read_batches(lambda batches, *_: batches[:1]), "2 batches expected, 1 came"),
    Wrong(f"{_PAGE}decode", members(live_blocks=count().__next__), "still held"),
    Wrong(f"{_PAGE}encode", members(serialize=_raising(UsageError("no"))), "refused what it"),
    Wrong("serde/presto/decimal_38_38/encode", _given(_each_column(pc.abs)), "was written"),
    Wrong("serde/presto/double_some_nulls/encode", _given(_each_column(lambda c: pc.add(c, 0.0))),
          "-0.0 was given"),
    Wrong("serde/presto/varchar_lengths/encode", written(_starts_for_ends), "no valid pages"),
    Wrong(f"{_PAGE}decode", _overwrites, "looked at after others were read"),
    Wrong("serde/presto/bigint_some_nulls/encode", _given(_laid_bare), "beneath nulls"),
    Wrong("serde/presto/varchar_some_nulls/encode", _given(_laid_bare), "beneath nulls"),
    Wrong("serde/presto/array_varchar_null_arrays/encode", _given(_laid_bare), "beneath nulls"),
    Wrong("serde/unsaferow/null-long-decimal*/encode", _given(_laid_bare), "beneath nulls"),
    Wrong("serde/presto/bigint_some_nulls/encode", _given(_last_entry), "dictionaries, flattened"),
    Wrong("serde/presto/bigint_some_nulls/encode", _given(_runs_from_the_first), "slice of runs"),
    Wrong("serde/unsaferow/array_bigint/encode", _given(_runs_from_the_first), "slice of runs"),
    Wrong(
        "serde/presto/bigint_some_nulls/encode",
        _given(_entries_from_the_first),
        "a slice of dictionaries",
    ),
    Wrong("serde/unsaferow/array_bigint/encode", _given(_items_from_the_first), "a longer batch"),
    Wrong("serde/presto/bigint_all_nulls/encode", _given(_wants_entries), "without entries"),
    Wrong("serde/presto/bigint_zero_rows/encode", _given(_wants_entries), "without entries"),
    Wrong("serde/presto/array_date_all_null_elements/encode", _given(_wants_entries),
          "without entries"),
    Wrong("serde/presto/array_double_all_empty/encode", _given(_wants_entries), "without entries"),
    *(Wrong(f"serde/{folder}items-all-null/encode", _within(_zeros), "at every depth")
      for folder in ("presto/values/", "velox/", "unsaferow/", "compactrow/")),
    *(Wrong(f"serde/{folder}/items-past-8-bits/encode", _within(_of_a_byte), "at every depth")
      for folder in ("presto/values", "velox")),
    Wrong("serde/stream/dictionary-without-entries/*", _given(_wants_entries, "stream"),
          "without entries"),
    Wrong(f"{_PAGE}encode", written(lambda content: content[:-1]), "no valid pages"),
    Wrong("serde/presto/bigint_some_nulls/encode", _given(_begin_lost), "a slice of a longer"),
    Wrong("serde/presto/*dictionary*/encode", _given(_begin_lost), "a slice of a longer"),
    Wrong("serde/unsaferow/*/re-encode", written(lambda content: content[:-1]), ""),
    Wrong(f"{_PAGE}re-encode", written(lambda _: b"\1"), "no valid pages"),
    Wrong(f"{_PAGE}re-encode", written(_doubled), "page expected"),
    Wrong(f"{_PAGE}re-encode", _given(_shorter), "is written differently"),
    Wrong(f"{_PAGE}re-encode", _asked(_unchecked, "serialize"), "marker"),
    Wrong("serde/stream/velox-presto-1/stream", written(lambda content: content[:-1], "stream"),
          ""),
    Wrong("serde/stream/unsaferow/atomic_int/stream",
          written(lambda content: content[:-1], "stream"), "other bytes were written"),
    Wrong("serde/stream/ranges/stream", written(lambda content: content[:-1], "stream"), ""),
    Wrong("serde/stream/cleared/stream", _steps(_never_cleared), "0 rows expected, 3 were written"),
    Wrong("serde/stream/presto/bigint_some_nulls/stream", _steps(_never_cleared), "were written"),
    Wrong("serde/stream/velox-presto-1/stream", _steps(_never_cleared),
          "page 1 is written differently"),
    Wrong("serde/stream/ranges/stream", _steps(_flushed_away), "4 rows expected, 1 were written"),
    Wrong("serde/stream/velox-presto-2/stream", _steps(_sorted), "is written differently"),
    Wrong("serde/stream/presto/bigint_some_nulls/stream", _steps(_sorted), "was written"),
    Wrong("serde/stream/rows-beyond/stream", _steps(_any_row), "refus"),
    Wrong("serde/stream/row-number-negative/stream", _steps(_any_row), "refus"),
    Wrong("serde/stream/encodings-kept/stream", _given(_plain, "stream"), "has columns"),
    Wrong(_ANY, _operates(calls=lambda made: made.calls[:-1]), "expected, "),
    Wrong(
        _ANY,
        _operates(calls=lambda made: [[bytes(len(row)) for row in call] for call in made.calls]),
        "has other bytes",
    ),
    Wrong(_CALLS, _operates(calls=_joined), "calls of"),
    Wrong(_CALLS, _hears(threshold_bytes=79), "calls of"),
    Wrong("serde/operators/batch-rows/*", _hears(batch_rows=3), "batches of"),
    Wrong(_ANY, _operates(batches=lambda m: [*m.batches, m.batches[0].slice(0, 0)]),
          "without rows"),
    Wrong(_ANY, _operates(batches=lambda made: made.batches[:-1]), "are missing"),
    Wrong(_ANY, _operates(batches=_swapped), "batch 0"),
    Wrong(_ANY, _operates(held=lambda _: 1), "not given back"),
    Wrong("serde/stream/*/reread", _rereads([2, 2, 2], keep=False), "read 3 times"),
    Wrong("serde/stream/*/reread", _rereads([1, 2, 3]), "blocks allocated until"),
    Wrong("serde/stream/*/reread", _rereads([0, 0, 0]), "no block of memory"),
    Wrong(f"{_PAGE}truncate", read_batches(_hoards), "memory grew"),
    Wrong(f"{_PAGE}truncate", _always(_raising(InputError("byte 0"))), "leaves a whole stream"),
    Wrong(f"{_PAGE}truncate", _on_damage(_raising(InputError("no"))), "names no offset"),
    Wrong(f"{_PAGE}truncate", _on_damage(_raising(UsageError("no 1"))), "UsageError"),
    Wrong(f"{_PAGE}truncate", _on_damage(_raising(IndexError("no"))), "no refusal but IndexError"),
    Wrong(f"{_PAGE}truncate", _on_damage(list), "was not noticed"),
    Wrong(f"{_PAGE}flip", _always(_unsound), "gives an invalid batch"),
    Wrong(f"{_PAGE}garble", _always(_unsound), "of the payload gives an invalid batch"),
    Wrong(f"{_PAGE}flip", _always(_vast), "bytes"),
    Wrong(f"{_PAGE}flip", _careless, "under a checksum"),
    Wrong("serde/unsaferow/*/truncate", read_batches(each(_shorter)), "cut to"),
]  # fmt: skip


# ------------------------------------------------------------------------------------ exchanges

_SENT = "exchange/order/sender/*"


def _changed(change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Bend:
    """An exchange of which every batch comes out changed."""

    def read(right: Any, *asked: Any) -> Any:
        batch = right(*asked)
        return change(batch) if batch is not None and batch.num_rows else batch

    return exchanges(receiver={"read": read})


def _with_column(at: int, change: Callable[[pa.Array], pa.Array]) -> Bend:
    def changed(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = list(batch.columns)
        columns[at] = change(columns[at])
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    return _changed(changed)


def _first_again(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.concat_batches([batch, batch.slice(0, 1)])


def _all_but_the_last_if_full(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(0, batch.num_rows - 1) if batch.num_rows == 4096 else batch


def _by_sender(right: Any, *asked: Any) -> Any:
    """All rows of one sender after all of another, each in its order."""
    key = (id(right.__self__), asked[0])
    if key not in _HELD:
        found = list(iter(lambda: right(*asked), None))
        if not found:
            return None
        whole = pa.Table.from_batches(found)
        numbers = whole.columns[-1].to_pylist()
        order = sorted(range(len(numbers)), key=lambda at: numbers[at] % 4)
        _HELD[key] = iter(whole.take(order).combine_chunks().to_batches())
    return next(_HELD[key], None)


_HELD: dict[tuple[int, Any], Iterator[Any]] = {}


def _once_more(right: Any, *asked: Any) -> Any:
    """Rows after the end."""
    batch = right(*asked)
    if batch is None:
        key = (id(right.__self__), asked[0])
        _ENDED[key] += 1
        return pa.record_batch({"k": [1]}) if _ENDED[key] > 1 else None
    return batch


_ENDED: dict[tuple[int, Any], int] = defaultdict(int)


def _swallowing(right: Any, *asked: Any) -> Any:
    try:
        return right(*asked)
    except Exception:
        return None


def _makes_up(right: Any, *asked: Any) -> Any:
    """A row that nobody sent in place of the error; then the error."""
    try:
        return right(*asked)
    except Exception:
        if id(right.__self__) in _MADE_UP:
            raise
        _MADE_UP[id(right.__self__)] = right.__self__
        row = [pa.array([1], pa.int32()), pa.array(["x"]), pa.array([10**6], pa.int64())]
        return pa.record_batch(row, ["k", "s", ROW])


_MADE_UP: dict[int, Any] = {}


def _wants_rows(right: Any, batch: pa.RecordBatch, *asked: Any) -> Any:
    if not batch.num_rows:
        raise InputError("a batch without rows")
    return right(batch, *asked)


def _waits(right: Any, *asked: Any) -> Any:  # noqa: ARG001 - it never asks
    time.sleep(0.5)
    raise InputError("nothing came")


def _takes(change: Callable[[pa.Array], pa.Array]) -> Bend:
    """An exchange that takes columns for others than they are."""
    return exchanges(
        sender={"write": lambda right, batch, *asked: right(_columnwise(batch, change), *asked)}
    )


def _rows_from_the_first(column: pa.Array) -> pa.Array:
    """Rows of a dictionary from its first, whatever row a slice begins with."""
    if not pa.types.is_dictionary(column.type):
        return column
    indices = _as_it_lies(column.indices)[: len(column)]
    return pa.DictionaryArray.from_arrays(indices, column.dictionary)


def _told_apart(column: pa.Array) -> pa.Array:
    """-0.0 as another number, which it is to whoever hashes bits."""
    if not pa.types.is_floating(column.type):
        return column
    one = pa.scalar(1.0, column.type)
    is_negative = pc.equal(pc.divide(one, column), pa.scalar(-math.inf, column.type))
    return pc.if_else(is_negative, pa.scalar(_FOR_ZERO, column.type), column)


def _zero_again(column: pa.Array) -> pa.Array:
    """The column that `_told_apart` was given."""
    if not pa.types.is_floating(column.type):
        return column
    stands_for_it = pc.equal(column, pa.scalar(_FOR_ZERO, column.type))
    return pc.if_else(stands_for_it, pa.scalar(-0.0, column.type), column)


_FOR_ZERO = 7.25


def _deals_by_bits(whole: Any) -> Any:
    """An exchange that deals -0.0 as another number than 0.0; rows come as they were."""
    back = at_leaves(_zero_again)
    return _changed(lambda batch: _columnwise(batch, back))(_takes(at_leaves(_told_apart))(whole))


def _first_driver_alone(whole: Any) -> Any:
    """All rows of a receiver at its first driver."""

    def opened(request: Any) -> Any:
        one = whole.open(replace(request, drivers=1))
        return Bent(one, receivers=[Bent(each, read=read_by(each)) for each in one.receivers])

    def read_by(receiver: Any) -> Callable[..., Any]:
        return lambda driver=0, *asked: None if driver else receiver.read(0, *asked)

    return Bent(whole, open=opened)


def _count(**counts: int) -> Bend:
    return exchanges(sender={"counters": lambda right: {**right(), **counts}})


def _open_as(**other: Any) -> Bend:
    """An exchange that does something else than it is asked for."""
    return lambda whole: Bent(whole, open=lambda request: whole.open(replace(request, **other)))


def _to_the_first(whole: Any) -> Any:
    """All rows at the first receiver."""

    def opened(request: Any) -> Any:
        one = whole.open(replace(request, partition="single", keys=(), receivers=1, function=None))
        ended = Bent(None, read=lambda *_: None, cancel=lambda *_: None)
        others = [ended] * (request.receivers - 1)
        return Bent(one, receivers=[*one.receivers, *others])

    return Bent(whole, open=opened)


_EXCHANGES = [
    Wrong("exchange/rows/flat*", exchanges(opened=lambda o: Bent(o, receivers=o.receivers[:-1])),
          "receivers were asked for"),
    Wrong("exchange/rows/single*", exchanges(receiver={"read": _waits}), "nothing came in"),
    Wrong("exchange/rows/single*", exchanges(receiver={"read": _once_more}), "after the end"),
    Wrong("exchange/rows/single*", exchanges(sender={"write": _raising(InputError("no"))}),
          "sender 0 failed"),
    Wrong("exchange/rows/single*", exchanges(receiver={"read": _raising(InputError("no"))}),
          "reading part 0 failed"),
    Wrong("exchange/faults/sender-cancels*",
          exchanges(receiver={"read": _raising(ValueError("no"))}), "no error of the seam"),
    Wrong("exchange/faults/sender-cancels*", exchanges(receiver={"read": _swallowing}),
          "ended as if all had come"),
    Wrong(
        "exchange/faults/receiver-cancels*",
        exchanges(sender={"write": _swallowing, "finish": _swallowing}),
        "was told that all arrived",
    ),
    Wrong("exchange/faults/receiver-cancels-broadcast/1-*/pass-through",
          exchanges(receiver={"read": _swallowing}), "rows of 5000"),
    Wrong("exchange/faults/sender-cancels*", exchanges(receiver={"read": _makes_up}),
          "nobody sent"),
    Wrong("exchange/bucket/instances/run/*", _with_column(0, lambda c: c.cast(pa.int64())),
          "must be int32"),
    Wrong(_SENT, _changed(lambda b: b.rename_columns([*b.schema.names[:-1], "x"])), "columns"),
    Wrong(_SENT, _with_column(0, lambda c: c.cast(pa.int64())), "must be int32"),
    Wrong(_SENT, _with_column(-1, lambda c: pa.array([10**6] * len(c), c.type)), "nobody sent"),
    Wrong(_SENT, _with_column(1, lambda c: pa.array(["x"] * len(c))), "came"),
    Wrong(_SENT, _changed(lambda b: b.slice(1)), "is lost"),
    Wrong(_SENT, _changed(_first_again), "came 2 times"),
    *(Wrong(f"exchange/rows/{name}/*", _changed(_all_but_the_last_if_full), "is lost")
      for name in ("boundary", "boundary-formats")),
    Wrong("exchange/bucket/dropped*", _count(rows_of_unused_buckets=0), "were counted"),
    Wrong("exchange/mixed/hash*", _count(bytes_pass_through=0), "bytes_pass_through is 0"),
    Wrong("exchange/partition/fnv/*",
          exchanges(opened=lambda o: Bent(o, receivers=o.receivers[::-1])), "belongs to part"),
    Wrong(_SENT, _open_as(keys=("s",)), "came to parts"),
    Wrong(_SENT, _changed(lambda b: b.take(list(range(b.num_rows))[::-1])), "changed their order"),
    Wrong("exchange/order/merge/4-*", exchanges(receiver={"read": _by_sender}), "is out of order"),
    *(Wrong("exchange/rows/edges/*", _with_column(at, change), "came") for at, change in (
        (1, lambda c: pc.add(c, pa.scalar(0.0, pa.float32()))),
        (2, lambda c: pc.if_else(pc.is_nan(c), None, c)),
        (3, pc.abs),
        (8, lambda c: pc.utf8_slice_codeunits(c, 0, 255)),
        (9, lambda c: pa.array([v and v.split(b"\0")[0] for v in c.to_pylist()], c.type)),
    )),
    Wrong("exchange/rows/edges/*", exchanges(sender={"write": _wants_rows}), "sender 0 failed"),
    Wrong("exchange/rows/random-spread*", _to_the_first, "no row came to"),
    Wrong("exchange/rows/flat*", _to_the_first, "no row came to"),
    Wrong("exchange/flow/no-room/*", _open_as(buffer_bytes=None), "before any read"),
    Wrong("exchange/flow/two-parts/2-drivers/*", _first_driver_alone,
          "no row came to driver 1 of 4"),
    *(Wrong(f"exchange/drivers/every-format/*/{name}", _first_driver_alone, "belongs to part")
      for name in ("arrow", "arrow-batch", "presto", "starrocks", "unsaferow")),
    Wrong("exchange/rows/sliced-encodings/sliced-dictionary/*", _takes(_rows_from_the_first),
          "came"),
    Wrong("exchange/rows/sliced-encodings/sliced-run/*", _takes(_runs_as_they_lie), "came"),
    *(Wrong("exchange/rows/texts-past-16-bits/*", _with_column(at, at_leaves(_of_64_kib)), "came")
      for at in (1, 2, 3, 4)),
    *(Wrong(f"exchange/{name}/*", _deals_by_bits, "belongs to part")
      for name in ("partition/zeros-spark", "partition/zeros-presto", "partition/zeros-velox",
                   "keys/computed-zeros")),
    *(Wrong("exchange/partition/zeros-spark/*", _with_column(at, at_leaves(change)), "came")
      for at, change in ((2, lambda c: pc.add(c, 0.0)),
                         (3, lambda c: pc.add(c, pa.scalar(0.0, pa.float32()))))),
    Wrong("exchange/partition/zeros-fnv/*",
          _open_as(keys=("d", "f_"), computed={"f_": ["abs", "f"]}), "belongs to part"),
    Wrong("exchange/partition/zeros-fnv/*",
          _open_as(keys=("d_", "f"), computed={"d_": ["abs", "d"]}), "belongs to part"),
    Wrong("exchange/rows/instants/*", _with_column(1, lambda c: c.cast(pa.timestamp("us"))),
          "must be timestamp[us, tz=UTC]"),
]  # fmt: skip

_ALL = {
    "scan": ("auto", _SCANS),
    "column": ("offheap", _COLUMNS),
    "serde": ("seambench", _SERDES),
    "exchange": ("seambench", _EXCHANGES),
}

#: Places of the part that all seams share, and who reaches them.
_ELSEWHERE = {
    " of memory still held afterwards": "_SERDES, live_blocks",
    "of the table as it stands": "tables.wrong_forms.BelievesArrowsSchema",
}


@cache
def _cases(seam: str) -> Sequence[Case]:
    return load_cases(seam)


def _is_asked_by(case: Case, outlet: str) -> bool:
    """Whether a scan case draws an outlet, and has rows enough that some can be lost."""
    if not isinstance(case, ScanCase) or case.rows_only or case.refused or case.request.where:
        return False
    drawn_outlet = drawn(zlib.crc32(case.id.encode())).outlet
    return drawn_outlet == outlet and len(case.expected_answers()[0]) > 2


@cache
def _case(seam: str, pattern: str, right: str) -> Case:
    """The first case that a pattern means and that the right implementation passes."""
    implementation = resolve(seam, right)
    for case in _cases(seam):
        meant = fnmatch.fnmatchcase(case.id, pattern) or _is_asked_by(case, pattern)
        if meant and verdict(case, implementation).word == "pass":
            return case
    raise AssertionError(f"no case {pattern} passes")


def _places(folder: Path) -> set[tuple[str, int, int, str]]:
    """Every `raise Mismatch(...)` below a folder: file, first and last line, text."""
    found = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            if ast.unparse(node.exc.func) == "Mismatch":
                last = node.end_lineno or node.lineno
                found.add((str(file), node.lineno, last, ast.unparse(node.exc)))
    return found


@pytest.fixture
def met(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, int]]:
    """File and line of every mismatch that is raised from now on."""
    found: set[tuple[str, int]] = set()
    before = Mismatch.__init__

    def noted(self: Mismatch, *given: Any, **named: Any) -> None:
        frame = sys._getframe(1)
        found.add((frame.f_code.co_filename, frame.f_lineno))
        before(self, *given, **named)

    monkeypatch.setattr(Mismatch, "__init__", noted)
    monkeypatch.setattr(exchange_check, "_PATIENCE", 0.3)
    return found


def _missed(places: set[tuple[str, int, int, str]], met: set[tuple[str, int]]) -> list[str]:
    return sorted(
        text
        for file, first, last, text in places
        if not any((file, line) in met for line in range(first, last + 1))
        and not any(known in text for known in _ELSEWHERE)
    )


@pytest.mark.parametrize("seam", _ALL)
def test_every_check_of_a_seam_has_somebody_to_find(seam: str, met: set[tuple[str, int]]) -> None:
    """Each wrong one fails for its reason, and together they reach each place that says wrong."""
    right, wrong = _ALL[seam]
    for one in wrong:
        name = one.right or right
        case = _case(seam, one.case, name)
        word, reason = verdict(case, one.bend(resolve(seam, name)))[:2]
        assert (word, one.says in reason) == ("fail", True), (
            f"{case.id}, {one.says!r}: {word}: {reason}"
        )
    assert _missed(_places(_HARNESS / "seams" / seam), met) == []
    if seam == "scan":
        assert _missed(_places(_HARNESS / "conformance"), met) == []
