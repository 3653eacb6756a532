"""Random schemas, nulls, encodings and selections against witnesses that share no code with us."""

from __future__ import annotations

from decimal import Decimal
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
from seambench_impl.serde import SeambenchSerde

_TRIES = settings(
    max_examples=40,
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
        *("interval year to month", "interval day to second"),
    ),
}
_BITS = {
    **dict.fromkeys(("tinyint",), 8),
    "smallint": 16,
    **dict.fromkeys(("integer", "int", "date", "interval year to month"), 32),
    **dict.fromkeys(("bigint", "timestamp", "timestamp with time zone"), 64),
    "interval day to second": 64,
}


def _types(language: Language) -> st.SearchStrategy[str]:
    """Type texts up to four levels deep."""
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

    return st.recursive(st.sampled_from(_FLAT[language]), nested, max_leaves=4).filter(
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
        return st.integers(-(1 << (_BITS[kind] - 1)), (1 << (_BITS[kind] - 1)) - 1)
    simple: dict[str, st.SearchStrategy[Any]] = {
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


def _scaled(unscaled: int, scale: int) -> Decimal:
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((unscaled < 0, digits, -scale))


def _nullable(type_: SerdeType) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), _values(type_), _values(type_))


@st.composite
def _tables(draw: st.DrawFn, language: Language) -> tuple[list[SerdeType], list[list[Any]]]:
    """Types of some columns, and their values."""
    texts = draw(st.lists(_types(language), min_size=1, max_size=3))
    types = [parse_type(text, language) for text in texts]
    rows = draw(st.integers(0, 12))
    columns = [draw(st.lists(_nullable(type_), min_size=rows, max_size=rows)) for type_ in types]
    return types, columns


def _encoded(draw: st.DrawFn, array: pa.Array) -> pa.Array:
    """As many rows in some encoding; which values they then have is for `plain_values` to say."""
    choice = draw(st.sampled_from(["flat", "slice", "dictionary", "run"]))
    rows = len(array)
    if choice == "flat" or not rows:
        return array
    if choice == "slice":
        return pa.concat_arrays([array.slice(rows - 1), array]).slice(1)
    if choice == "run":
        return pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), array.slice(0, 1))
    ids = draw(st.lists(st.integers(0, rows - 1), min_size=rows, max_size=rows))
    return pa.DictionaryArray.from_arrays(pa.array(ids, pa.int32()), array)


@st.composite
def _batches(
    draw: st.DrawFn, language: Language
) -> tuple[list[SerdeType], pa.RecordBatch, list[list[Any]]]:
    """A batch in random encodings, a selection of its rows, and the values it holds."""
    types, columns = draw(_tables(language))
    arrays = [
        _encoded(draw, arrow_array(column, arrow_type(type_)))
        for column, type_ in zip(columns, types, strict=True)
    ]
    rows = len(arrays[0])
    whole = pa.RecordBatch.from_arrays(arrays, [f"c{at}" for at in range(len(arrays))])
    begin = draw(st.integers(0, rows))
    batch = whole.slice(begin, draw(st.integers(0, rows - begin)))
    return types, batch, [plain_values(column) for column in batch.columns]


def _told(columns: list[list[Any]]) -> list[list[str]]:
    return [[canonical(value) for value in column] for column in columns]


def _fields(types: list[SerdeType]) -> list[SerdeField]:
    return [SerdeField(f"c{at}", type_.text) for at, type_ in enumerate(types)]


@_TRIES
@given(
    drawn=_batches("presto"),
    options=st.fixed_dictionaries(
        {
            "codec": st.sampled_from(["none", "lz4", "zstd"]),
            "checksum": st.booleans(),
            "encodings": st.sampled_from(["preserve", "flatten"]),
        }
    ),
    nulls_first=st.booleans(),
)
def test_pages_hold_what_was_given(
    drawn: tuple[list[SerdeType], pa.RecordBatch, list[list[Any]]],
    options: dict[str, Any],
    nulls_first: bool,
) -> None:
    """The witness finds in a page the values given, and so do we, whatever the encodings."""
    types, batch, columns = drawn
    velox = {"dialect": "velox", "nulls_first": True} if nulls_first else {}
    request = SerdeRequest("presto", _fields(types), {**options, **velox})
    serde = SeambenchSerde()
    written = serde.serialize(request, [batch])
    (page,) = read_pages(written, page_options(request), types)
    (read,) = serde.deserialize(request, written)

    pairs = zip(page.columns, types, strict=True)
    assert _told([block_values(block, type_) for block, type_ in pairs]) == _told(columns)
    read.validate(full=True)
    assert _told([plain_values(column) for column in read.columns]) == _told(columns)
    del read
    assert serde.live_blocks() == 0


@pytest.mark.parametrize("format_", ["unsaferow", "compactrow"])
@_TRIES
@given(drawn=_batches("spark"), writer=st.sampled_from(["spark", "velox"]))
def test_rows_are_those_of_the_witness(
    format_: str, drawn: tuple[list[SerdeType], pa.RecordBatch, list[list[Any]]], writer: str
) -> None:
    """Rows are byte for byte those of a writer that knows only the format, and read back."""
    types, batch, columns = drawn
    options = {"framing": "be32"} | ({"writer": writer} if format_ == "unsaferow" else {})
    request = SerdeRequest(format_, _fields(types), options)
    serde = SeambenchSerde()
    written = serde.serialize(request, [batch])
    rows = list(zip(*columns, strict=True))
    if format_ == "unsaferow":
        known = [unsafe_row(row, types, writer) for row in rows]
    else:
        known = [compact_row(row, types) for row in rows]
    (read,) = serde.deserialize(request, written)

    assert written == framed(known, "be32")
    read.validate(full=True)
    assert _told([plain_values(column) for column in read.columns]) == _told(columns)
    del read
    assert serde.live_blocks() == 0
