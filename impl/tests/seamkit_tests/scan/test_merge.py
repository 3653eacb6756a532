"""Merging batches: the core against a fold over plain dictionaries, written here from the rules."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError
from seamkit.core.border import ExportedBatch
from seamkit.core.memory import TrackedAllocator
from seamkit.scan.core_merges import LogIndex, assemble

KEYS = st.integers(0, 12)
ORDERS = st.integers(0, 4)


@dataclass(frozen=True)
class Event:
    """A log record: `value` None is a delete, `order` None a delete without an ordering value.

    `listed` is a delete of a delete block.
    """

    key: int
    order: int | None
    value: str | None
    listed: bool = False


EVENTS = st.lists(
    st.one_of(
        st.builds(Event, KEYS, ORDERS, st.text(max_size=12)),
        st.builds(Event, KEYS, st.one_of(st.none(), ORDERS), st.none(), st.booleans()),
    ),
    max_size=40,
)
BASE = st.lists(st.builds(Event, KEYS, ORDERS, st.text(max_size=12)), max_size=30)


def _newer_wins(older: Event, newer: Event) -> bool:
    """docs/merge.md, the table under event-time ordering."""
    if older.order is None:
        return not newer.listed
    return newer.order is None or newer.order >= older.order


def _expected(base: list[Event], events: list[Event], *, event_time: bool) -> list[tuple[int, str]]:
    newest: dict[int, Event] = {}
    for event in events:
        older = newest.get(event.key)
        if older is None or not event_time or _newer_wins(older, event):
            newest[event.key] = event
    rows = []
    for row in base:
        winner = row
        if row.key in newest:
            event = newest.pop(row.key)
            if not event_time or _newer_wins(row, event):
                winner = event
        if winner.value is not None:
            rows.append((winner.key, winner.value))
    rows += [(e.key, e.value) for e in newest.values() if e.value is not None]
    return rows


def _batch(rows: list[Event]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([r.key for r in rows], pa.int64()),
            pa.array([r.value for r in rows], pa.string()),
        ],
        names=["key", "value"],
    )


def _flags(events: list[Event]) -> np.ndarray:
    """The bits of `enum seam_event_flag`: 1 a default delete, 2 one of a delete block."""
    return np.array([(e.order is None) + 2 * e.listed for e in events], np.uint8)


def _orders(rows: list[Event]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([r.order or 0 for r in rows], pa.int64())], names=["order"]
    )


@settings(max_examples=150, deadline=None)
@given(base=BASE, events=EVENTS, event_time=st.booleans(), batch_rows=st.integers(1, 31))
def test_merging_equals_a_fold_over_dictionaries(
    base: list[Event], events: list[Event], event_time: bool, batch_rows: int
) -> None:
    """Whatever the events, the merged rows are those of the plain rules, at any batch size."""
    with TrackedAllocator() as allocator:
        assert _merged(base, events, event_time, batch_rows, allocator) == _expected(
            base, events, event_time=event_time
        )


_ORDERS = ("same", "backwards", "shuffled", "gaps", "doubles")


@pytest.mark.parametrize("event_time", [True, False], ids=["event-time", "commit-time"])
@pytest.mark.parametrize("order", _ORDERS)
def test_the_order_of_a_log_changes_no_row(order: str, event_time: bool) -> None:
    """Records may come in the order of the file, with gaps and others between them, or in none.

    Of rows with one key the first alone is changed.
    """
    keys = list(range(3000))
    held = list(keys)
    logged = [*keys, *range(4000, 4100)]
    if order == "gaps":
        logged = [
            k for key in keys if key % 10 != 3 for k in (key, *([5000 + key] * (key % 9 == 0)))
        ]
    elif order == "doubles":
        held = [key for key in keys for _ in range(1 + (key % 7 == 0))] + keys[:700]
    elif order == "backwards":
        logged.reverse()
    elif order == "shuffled":
        np.random.default_rng(7).shuffle(logged)
    base = [Event(key, 1, f"held {i}") for i, key in enumerate(held)]
    events = [
        Event(key, 2 * (key % 11 > 0), f"new {key}" * (key % 13 > 0) or None) for key in logged
    ]
    with TrackedAllocator() as allocator:
        merged = _merged(base, events, event_time, 700, allocator)

    assert merged == _expected(base, events, event_time=event_time)


def _merged(
    base: list[Event],
    events: list[Event],
    event_time: bool,
    batch_rows: int,
    allocator: TrackedAllocator,
) -> list[tuple[int, str]]:
    data = [e for e in events if e.value is not None]
    numbers = iter(range(len(data)))
    rows = np.array([next(numbers) if e.value is not None else -1 for e in events], np.int32)
    log = _batch(data)
    index = LogIndex(
        _batch(events).select(["key"]),
        rows,
        _orders(events) if event_time else None,
        _flags(events) if event_time else None,
        allocator,
    )
    merged: list[tuple[int, str]] = []
    for begin in range(0, len(base), batch_rows):
        piece = base[begin : begin + batch_rows]
        batch = _batch(piece)
        sources = index.probe(batch.select(["key"]), _orders(piece) if event_time else None)
        result = assemble(batch, log, ExportedBatch(log), sources, allocator)
        result.validate(full=True)
        merged += [(r["key"], r["value"]) for r in result.to_pylist()]
    rest = log.take(pa.array(index.rest()))
    return merged + [(r["key"], r["value"]) for r in rest.to_pylist()]


TYPES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False]),
    (pa.int8(), [1, -2]),
    (pa.int16(), [1, -2]),
    (pa.int32(), [1, -2]),
    (pa.int64(), [1, -2]),
    (pa.float32(), [1.5, -2.0]),
    (pa.float64(), [1.5, -2.0]),
    (pa.decimal128(38, 2), [10, -20]),
    (pa.date32(), [1, 20000]),
    (pa.timestamp("us", "UTC"), [1, -20000]),
    (pa.string(), ["", "größer als acht Bytes, kleiner als vierundsechzig"]),
    (pa.string(), ["x" * 100, "y"]),
    (pa.large_string(), ["a", "bcd"]),
    (pa.binary(), [b"\x00", b"ab"]),
    (pa.binary(3), [b"abc", b"def"]),
    (pa.list_(pa.int32()), [[1], [2, 3]]),
    (pa.struct([("a", pa.string())]), [{"a": "x"}, {"a": None}]),
    (pa.dictionary(pa.int32(), pa.string()), ["a", "b"]),
]


@pytest.mark.parametrize("nulls", ["none", "base", "log", "both"])
@pytest.mark.parametrize("kind", [kind for kind, _ in TYPES], ids=str)
def test_every_type_is_assembled(kind: pa.DataType, nulls: str) -> None:
    """Kept, replaced and removed rows come out right for every type, with and without nulls."""
    values = next(values for known, values in TYPES if known is kind)
    base_values = [values[i % 2] for i in range(11)]
    log_values = [values[(i + 1) % 2] for i in range(3)]
    if nulls in ("base", "both"):
        base_values[::3] = [None] * len(base_values[::3])
    if nulls in ("log", "both"):
        log_values[1] = None
    sources = [-1, 2, -2, -1, -1, 0, 1, -1, -2, -1, 1]
    base = pa.array([None, *base_values, None], kind).slice(1, 11)  # an offset, too
    plain = base.to_pylist()
    log = pa.RecordBatch.from_arrays([pa.array(log_values, kind)], names=["c"])
    expected = [
        plain[i] if source == -1 else log.column(0).to_pylist()[source]
        for i, source in enumerate(sources)
        if source != -2
    ]
    with TrackedAllocator() as allocator:
        batch = pa.RecordBatch.from_arrays([base], names=["c"])
        words = np.array(sources, np.int32)
        result = assemble(batch, log, ExportedBatch(log), words, allocator)
        result.validate(full=True)

        assert expected == result.column(0).to_pylist()
        del batch, base, result


def test_a_count_needs_no_columns() -> None:
    """Without columns the number of rows still comes out right."""
    empty = pa.RecordBatch.from_struct_array(pa.array([{}] * 4, pa.struct([])))
    with TrackedAllocator() as allocator:
        words = np.array([-1, 0, -2, -1], np.int32)

        assert assemble(empty, empty, ExportedBatch(empty), words, allocator).num_rows == 3


@settings(max_examples=100, deadline=None)
@given(
    base=st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=30),
    log=st.lists(st.one_of(st.none(), st.text(max_size=40)), min_size=1, max_size=10),
    data=st.data(),
)
def test_encoded_texts_merge_as_plain_ones(
    base: list[str | None], log: list[str | None], data: st.DataObject
) -> None:
    """A base column may come dictionary-encoded; the merged column is plain, with the same rows."""
    words = st.integers(-2, len(log) - 1)
    drawn = data.draw(st.lists(words, min_size=len(base), max_size=len(base)))
    sources = np.array(drawn, np.int32)
    around = pa.array([None, *base, "x"], pa.string()).dictionary_encode()
    batch = pa.RecordBatch.from_arrays([around.slice(1, len(base))], names=["c"])
    rows = pa.RecordBatch.from_arrays([pa.array([*log, "y"]).slice(0, len(log))], names=["c"])
    with TrackedAllocator() as allocator:
        merged = assemble(batch, rows, ExportedBatch(rows), sources, allocator)
        merged.validate(full=True)
        kept = [(base[i] if s < 0 else log[s]) for i, s in enumerate(drawn) if s != -2]
        assert merged.column(0).type == pa.string()
        assert merged.column(0).to_pylist() == kept
        del merged


def test_a_number_that_the_dictionary_lacks_is_named() -> None:
    """An encoded text whose number points past the dictionary breaks the input."""
    numbers = pa.array([0, 2], pa.int32())
    encoded = pa.DictionaryArray.from_arrays(numbers, pa.array(["a", "b"]), safe=False)
    batch = pa.RecordBatch.from_arrays([encoded], names=["c"])
    rows = pa.RecordBatch.from_arrays([pa.array(["x"])], names=["c"])
    sources = np.array([-1, -1], np.int32)
    with TrackedAllocator() as allocator, pytest.raises(InputError, match="column 'c'"):
        assemble(batch, rows, ExportedBatch(rows), sources, allocator)
