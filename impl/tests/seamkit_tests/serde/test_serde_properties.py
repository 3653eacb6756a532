"""Random schemas, nulls, encodings and selections against witnesses that share no code with us."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.pages.reader import page_options, read_pages
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import Language, SerdeType, arrow_type, parse_type
from seambench.conformance.plain import canonical
from seambench.seams.serde.blocks import block_values
from seambench.seams.serde.plain_rows import compact_row, framed, unsafe_row
from seambench.seams.serde.values import arrow_array, plain_values
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.presto.read import deserialize
from seamkit.serde.presto.write import serialize_many
from seamkit.serde.rows.codec import UnsafeRows
from seamkit.serde.rows.serde import CompactRows
from seamkit_tests.samples.row_samples import fields_of

_TRIES = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
_FLAT: dict[Language, tuple[str, ...]] = {
    "presto": (
        *("boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "varchar"),
        *("varbinary", "date", "timestamp", "decimal(7,2)", "decimal(30,5)", "uuid", "unknown"),
        *("timestamp with time zone", "interval year to month", "interval day to second"),
    ),
    "spark": (
        *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string"),
        *("binary", "date", "timestamp", "decimal(7,2)", "decimal(30,5)", "void"),
        *("interval year to month", "interval day to second", "interval"),
    ),
}
_BITS = {
    **dict.fromkeys(("tinyint",), 8),
    "smallint": 16,
    **dict.fromkeys(("integer", "int", "date", "interval year to month"), 32),
    **dict.fromkeys(("bigint", "timestamp", "timestamp with time zone"), 64),
    "interval day to second": 64,
}


def _types(language: Language, without: str) -> st.SearchStrategy[str]:
    """Type texts up to four levels deep."""
    flat = st.sampled_from([text for text in _FLAT[language] if text != without])
    opening, closing = "()" if language == "presto" else "<>"
    joint = " " if language == "presto" else ":"
    record = "row" if language == "presto" else "struct"
    keys = st.sampled_from(["bigint", "varchar" if language == "presto" else "string"])

    def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        fields = st.lists(inner, min_size=1, max_size=3)
        return st.one_of(
            inner.map(lambda t: f"array{opening}{t}{closing}"),
            st.tuples(keys, inner).map(lambda p: f"map{opening}{p[0]},{p[1]}{closing}"),
            fields.map(
                lambda parts: (
                    f"{record}{opening}"
                    + ",".join(f"f{at}{joint}{text}" for at, text in enumerate(parts))
                    + closing
                )
            ),
        )

    return st.recursive(flat, nested, max_leaves=4).filter(
        lambda text: parse_type(text, language).depth <= 4
    )


def _values(type_: SerdeType) -> st.SearchStrategy[Any]:
    """Plain values of a type, without null at the top."""
    kind, children = type_.kind, type_.children
    if kind == "array":
        return st.lists(_nullable(children[0]), max_size=3)
    if kind == "map":
        pairs = st.tuples(_values(children[0]), _nullable(children[1]))
        return st.lists(pairs, max_size=3, unique_by=lambda pair: pair[0])
    if kind in ("row", "struct"):
        return st.tuples(*(_nullable(child) for child in children))
    if kind == "decimal":
        most = 10**type_.precision - 1
        whole = st.integers(-most, most)
        return whole.map(lambda n: _scaled(n, type_.scale))
    if kind in _BITS:
        return _whole(_BITS[kind])
    simple: dict[str, st.SearchStrategy[Any]] = {
        "interval": st.tuples(_whole(32), _whole(32), _whole(64)),
        "boolean": st.booleans(),
        "real": st.floats(width=32),
        "float": st.floats(width=32),
        "double": st.floats(),
        "uuid": st.binary(min_size=16, max_size=16),
        "unknown": st.none(),
        "void": st.none(),
    }
    text = kind in ("varchar", "string")
    other: st.SearchStrategy[Any] = st.text(max_size=20) if text else st.binary(max_size=20)
    return simple.get(kind, other)


def _whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _scaled(unscaled: int, scale: int) -> Decimal:
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((unscaled < 0, digits, -scale))


def _nullable(type_: SerdeType) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), _values(type_), _values(type_))


@st.composite
def _tables(
    draw: st.DrawFn, language: Language, without: str
) -> tuple[list[SerdeType], list[list[Any]]]:
    """Types of some columns, and their values."""
    texts = draw(st.lists(_types(language, without), min_size=1, max_size=3))
    types = [parse_type(text, language) for text in texts]
    rows = draw(st.integers(0, 12))
    columns = [draw(st.lists(_nullable(type_), min_size=rows, max_size=rows)) for type_ in types]
    return types, columns


def _encoded(draw: st.DrawFn, array: pa.Array) -> pa.Array:
    """As many rows in some encoding; which values they then have is for `plain_values` to say."""
    choice = draw(st.sampled_from(["flat", "slice", "dictionary", "run", "runs"]))
    rows = len(array)
    if choice == "flat" or not rows:
        return array
    if choice == "slice":
        return pa.concat_arrays([array.slice(rows - 1), array]).slice(1)
    if choice == "run":
        return pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), array.slice(0, 1))
    if choice == "runs":
        ends = pa.array(range(2, 2 * rows + 2, 2), pa.int32())
        return pa.RunEndEncodedArray.from_arrays(ends, array).slice(1, rows)
    index = st.none() | st.integers(0, rows - 1)
    ids = draw(st.lists(index, min_size=rows, max_size=rows))
    return pa.DictionaryArray.from_arrays(pa.array(ids, pa.int32()), array)


@dataclass(frozen=True)
class _Drawn:
    """A batch in random encodings, the values that it holds, and some of its rows."""

    types: list[SerdeType]
    batch: pa.RecordBatch
    columns: list[list[Any]]
    chosen: range | list[int]

    @property
    def fields(self) -> list[SerdeField]:
        return [SerdeField(f"c{at}", type_.text) for at, type_ in enumerate(self.types)]


@st.composite
def _batches(draw: st.DrawFn, language: Language, without: str = "") -> _Drawn:
    types, columns = draw(_tables(language, without))
    arrays = [
        _encoded(draw, arrow_array(column, arrow_type(type_)))
        for column, type_ in zip(columns, types, strict=True)
    ]
    rows = len(arrays[0])
    whole = pa.RecordBatch.from_arrays(arrays, [f"c{at}" for at in range(len(arrays))])
    begin = draw(st.integers(0, rows))
    batch = whole.slice(begin, draw(st.integers(0, rows - begin)))
    rows = batch.num_rows
    some: st.SearchStrategy[Any] = st.integers(0, rows).map(lambda at: range(at, rows))
    if rows:
        some |= st.lists(st.integers(0, rows - 1), max_size=20)
    return _Drawn(types, batch, [plain_values(column) for column in batch.columns], draw(some))


def _told(columns: list[list[Any]]) -> list[list[str]]:
    return [[canonical(value) for value in column] for column in columns]


@_TRIES
@given(
    drawn=_batches("presto"),
    options=st.fixed_dictionaries(
        {
            "codec": st.sampled_from(["none", "lz4", "zstd"]),
            "checksum": st.booleans(),
            "encodings": st.sampled_from(["preserve", "flatten"]),
            "dialect": st.sampled_from(["presto", "velox"]),
        }
    ),
    nulls_first=st.booleans(),
)
def test_pages_hold_what_was_given(
    drawn: _Drawn, options: dict[str, Any], nulls_first: bool
) -> None:
    """The witness finds in a page the values of all rows and of some, and so do we, in any form."""
    if options["dialect"] == "velox":
        options["nulls_first"] = nulls_first
    fields, witness = drawn.fields, page_options(SerdeRequest("presto", drawn.fields, options))
    with TrackedAllocator() as allocator:
        pages = serialize_many(
            drawn.batch, fields, [None, drawn.chosen], options, allocator=allocator
        )
        for rows, page in zip((range(drawn.batch.num_rows), drawn.chosen), pages, strict=True):
            wanted = _told([[column[row] for row in rows] for column in drawn.columns])
            (seen,) = read_pages(bytes(page), witness, drawn.types)
            pairs = zip(seen.columns, drawn.types, strict=True)
            assert _told([block_values(block, type_) for block, type_ in pairs]) == wanted
            for encodings in ("preserve", "flatten"):
                how = {**options, "encodings": encodings}
                (read,) = deserialize(page, fields, how, allocator=allocator)
                read.validate(full=True)
                assert _told([plain_values(column) for column in read.columns]) == wanted
                del read
        del page, pages


_KINDS: dict[str, Callable[..., UnsafeRows | CompactRows]] = {
    "spark": UnsafeRows,
    "velox": partial(UnsafeRows, writer="velox"),
    "compact": CompactRows,
}


@pytest.mark.parametrize("kind", _KINDS)
@_TRIES
@given(data=st.data())
def test_rows_are_those_of_the_witness(kind: str, data: st.DataObject) -> None:
    """Rows are byte for byte those of a writer that knows only the format, and read back."""
    drawn = data.draw(_batches("spark", without="" if kind == "spark" else "interval"))
    rows = list(zip(*drawn.columns, strict=True))
    write = compact_row if kind == "compact" else partial(unsafe_row, writer=kind)
    known = [write(row, drawn.types) for row in rows]
    codec = _KINDS[kind](drawn.fields)
    assert codec.sizes(drawn.batch).tolist() == [len(row) for row in known]
    written = codec.serialize(drawn.batch)
    assert bytes(written.data) == framed(known, "be32")
    _check_read(codec.deserialize(written.data), drawn.columns)
    chosen = codec.serialize(drawn.batch, drawn.chosen, framing="packed")
    assert bytes(chosen.data) == b"".join(known[row] for row in drawn.chosen)
    picked = [[column[row] for row in drawn.chosen] for column in drawn.columns]
    _check_read(codec.deserialize(chosen.data, lengths=chosen.lengths), picked)


def _check_read(batch: pa.RecordBatch, columns: list[list[Any]]) -> None:
    batch.validate(full=True)
    assert _told([plain_values(column) for column in batch.columns]) == _told(columns)


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 127, 128, 129, 1000])
@pytest.mark.parametrize("every", [1, 3, 10_000])
def test_blocks_of_rows_join(kind: str, rows: int, every: int) -> None:
    """Rows are turned in blocks; values, nulls and text are whole where two blocks meet."""
    numbers = [None if i % every == every - 1 else i for i in range(rows)]
    lists = [None if n is None else [n, None] if n % 2 else [n] for n in numbers]
    batch = pa.RecordBatch.from_pydict(
        {
            "a": pa.array([None if n is None else "ä" * (n % 40) for n in numbers], pa.string()),
            "b": pa.array(numbers, pa.int64()),
            "c": pa.array([None if n is None else n % 2 == 0 for n in numbers], pa.bool_()),
            "d": pa.array(lists, pa.list_(pa.int16())),
            "e": pa.array(numbers, pa.int32()),
        }
    )
    types = {"a": "string", "b": "bigint", "c": "boolean", "d": "array<smallint>", "e": "int"}
    codec = _KINDS[kind](fields_of(**types))
    assert codec.deserialize(codec.serialize(batch).data).equals(batch)
