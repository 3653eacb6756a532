"""Constant, biased and lazy columns: written as their plain values, loaded only where needed."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import UsageError
from seambase.serde import SerdeField
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.presto.read import deserialize
from seamkit.serde.presto.write import PageWriter
from seamkit.serde.stream.registry import serde_named
from seamkit.serde.stream.result import StreamArena
from seamkit.serde.vectors import BiasVector, LazyVector, constant

FIELDS = [
    SerdeField("plain", "bigint"),
    SerdeField("constant", "varchar"),
    SerdeField("biased", "bigint"),
    SerdeField("lazy", "integer"),
    SerdeField("coded", "varchar"),
]
ROWS = 100


def _columns(loaded: list[list[int]]) -> list[Any]:
    numbers = np.arange(ROWS, dtype=np.int64)

    def load(rows: Any) -> pa.Array:
        loaded.append(rows.tolist())
        known = np.isin(numbers, rows)
        return pa.array((numbers * 3).astype(np.int32), mask=~known)

    deltas = pa.array([None if i % 7 == 0 else i - 50 for i in range(ROWS)], pa.int8())
    codes = pa.array([i % 3 for i in range(ROWS)], pa.int32())
    return [
        pa.array(numbers),
        constant("same", pa.string(), ROWS),
        BiasVector(1 << 40, deltas, pa.int64()),
        LazyVector(ROWS, load),
        pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", None])),
    ]


def _row(i: int) -> tuple[Any, ...]:
    biased = None if i % 7 == 0 else (1 << 40) + i - 50
    return (i, "same", biased, i * 3, ["a", "b", None][i % 3])


def _rows(pages: Any) -> list[tuple[Any, ...]]:
    [batch] = deserialize(pages, FIELDS, {"encodings": "flatten"})
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


@pytest.mark.parametrize("rows", [None, range(5, 20), [70, 3, 3, 99], []])
def test_both_serializers_take_any_dress(rows: Any) -> None:
    """Iterative and batch serializer write the values; a lazy column loads the rows it needs."""
    picked = list(range(ROWS)) if rows is None else list(rows)
    loaded: list[list[int]] = []
    serde, arena = serde_named("Presto"), StreamArena(TrackedAllocator())
    for make in ("iterative", "batch"):
        out = io.BytesIO()
        if make == "iterative":
            serializer = serde.iterative(FIELDS, {}, arena)
            serializer.append(_columns(loaded), rows)
            serializer.flush(out)
            serializer.clear()
        else:
            serde.batch(FIELDS, {}).serialize(_columns(loaded), out, rows)
        assert _rows(out.getvalue()) == [_row(i) for i in picked]
    assert loaded == [sorted(set(picked))] * 2


def test_the_batch_serializer_keeps_constants_and_dictionaries() -> None:
    """A constant leaves as a run, a dictionary as a dictionary, whatever stands beside them."""
    [batch] = deserialize(PageWriter(FIELDS).write(_columns([])), FIELDS)
    kinds = [str(field.type).split("<")[0].split("[")[0] for field in batch.schema]
    assert kinds[1] == "run_end_encoded"
    assert kinds[4] == "dictionary"


def test_a_lazy_column_is_asked_once_for_what_it_has() -> None:
    """Rows that are loaded are not loaded again; others are, with those before."""
    loaded: list[list[int]] = []
    lazy = _columns(loaded)[3]
    writer = PageWriter(FIELDS[3:4])
    for rows in ([3, 5], [5], [4, 3], range(3, 6)):
        [batch] = deserialize(writer.write([lazy], rows), FIELDS[3:4])
        assert batch.column(0).to_pylist() == [i * 3 for i in rows]
    assert loaded == [[3, 5], [3, 4, 5]]


def test_a_constant_of_no_rows_and_of_null() -> None:
    """Both are legal."""
    assert constant(1, pa.int64(), 0).to_pylist() == []
    assert constant(None, pa.int64(), 3).to_pylist() == [None] * 3


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (lambda: [BiasVector(1, pa.array([1], pa.int64()), pa.int64())], "not narrower than int64"),
        (lambda: [BiasVector(1, pa.array([1], pa.uint8()), pa.int64())], "not narrower than int64"),
        (lambda: [BiasVector(1, pa.array([1], pa.int8()), pa.float64())], "not of double"),
        (lambda: [BiasVector(2**63 - 1, pa.array([1], pa.int8()), pa.int64())], "goes beyond"),
        (lambda: [BiasVector(2**64, pa.array([1], pa.int8()), pa.int64())], "goes beyond"),
        (lambda: [LazyVector(2, lambda _: pa.array([1]))], "of 2 rows was loaded with 1"),
        (lambda: [LazyVector(2, lambda _: pa.array(["a", "b"]))], "not from string"),
        (lambda: [pa.array([1]), pa.array([1])], "2 columns for a schema of 1"),
        (list, "0 columns for a schema of 1"),
    ],
)
def test_wrong_columns_are_refused(columns: Any, message: str) -> None:
    """A column that cannot be what it says is refused before anything is written."""
    with pytest.raises(UsageError, match=message):
        PageWriter(FIELDS[:1]).write(columns())


def test_an_extension_in_another_storage_is_told_by_it() -> None:
    """Both types have one name; what differs is what lies beneath."""
    of_large = pa.ExtensionArray.from_storage(
        pa.json_(pa.large_string()), pa.array(["1"], pa.large_string())
    )
    message = "from Arrow's .* over string, not from .* over large_string: cast it"
    with pytest.raises(UsageError, match=message):
        PageWriter([SerdeField("j", "json")]).write([of_large])


def test_rows_that_a_lazy_column_does_not_have_are_refused() -> None:
    """It is not asked for them."""
    lazy = LazyVector(3, lambda _: pytest.fail("asked"))
    with pytest.raises(UsageError, match="rows 1 to 3 are not all in a batch of 3 rows"):
        PageWriter(FIELDS[:1]).write([lazy], [1, 3])
