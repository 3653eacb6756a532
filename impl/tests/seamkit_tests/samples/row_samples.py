"""Golden rows and random batches for the tests of both row formats."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa

from seambase.serde import SerdeField
from seambase.types import SerdeType, arrow_type, parse_spark
from seambench.seams.serde.handed_batches import batches_of
from seambench.seams.serde.vectors import load_golden as load_vector
from seamkit_tests import SUITES_GOLDEN

# Data only: nothing of the suites is imported.
GOLDEN = SUITES_GOLDEN / "unsaferow"


@dataclass(frozen=True)
class GoldenRows:
    """One golden file: its bytes, what they mean, and which of them are left to chance."""

    data: bytes
    framing: Any
    fields: list[SerdeField]
    batch: pa.RecordBatch
    offsets: list[int]
    lengths: list[int]
    dont_care: list[tuple[int, int]]

    @property
    def frames(self) -> dict[str, Any]:
        """What `deserialize` has to be told beside the bytes."""
        if self.framing == "be32":
            return {}
        return {"lengths": self.lengths, "offsets": self.offsets}

    def masked(self, data: bytes | memoryview) -> bytes:
        """The bytes without those that are left to chance."""
        masked = bytearray(data)
        for offset, length in self.dont_care:
            masked[offset : offset + length] = bytes(length)
        return bytes(masked)


def golden_names() -> list[str]:
    """Names of all golden files."""
    return sorted(file.stem for file in GOLDEN.glob("*.json"))


def fields_of(**types: str) -> list[SerdeField]:
    """Nullable columns by name."""
    return [SerdeField(name, type_) for name, type_ in types.items()]


def load_golden(name: str) -> GoldenRows:
    """A golden file, its stated values as a batch."""
    vector = load_vector(GOLDEN / f"{name}.json")
    rows = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    assert vector.data is not None
    return GoldenRows(
        vector.data,
        vector.request.options["framing"],
        list(vector.request.fields),
        batches_of(vector)[0],
        [row["offset"] for row in rows],
        [row["length"] for row in rows],
        list(vector.dont_care),
    )


def _storage(type_: pa.DataType) -> pa.DataType:
    """A type with the storage of extension types in their place."""
    if isinstance(type_, pa.ExtensionType):
        return type_.storage_type
    if pa.types.is_list(type_):
        return pa.list_(_storage(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(_storage(type_.key_type), _storage(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, _storage(field.type)) for field in type_])
    return type_


def _array(values: list[Any], type_: SerdeType) -> pa.Array:
    """An array of a type from storage values."""
    wanted = arrow_type(type_)
    return _as(pa.array(values, _storage(wanted)), wanted)


def _as(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The same buffers under a type whose extension types are back in place."""
    if array.type == type_:
        return array
    if isinstance(type_, pa.ExtensionType):
        return pa.ExtensionArray.from_storage(type_, array)
    if pa.types.is_struct(type_):
        children = [_as(array.field(i), field.type) for i, field in enumerate(type_)]
    elif pa.types.is_map(type_):
        fields = [type_.key_field, type_.item_field]
        parts = [_as(array.keys, type_.key_type), _as(array.items, type_.item_type)]
        children = [pa.StructArray.from_arrays(parts, fields=fields)]
    else:
        children = [_as(array.values, type_.value_type)]
    buffers = array.buffers()[: array.type.num_buffers]
    return pa.Array.from_buffers(type_, len(array), buffers, children=children)


def columns(batch: pa.RecordBatch) -> list[list[Any]]:
    """Columns of plain values; floats as their bits: NaN equals itself, -0.0 is not 0.0."""
    return [[_plain(value.as_py()) for value in column] for column in batch.columns]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return struct.pack("d", value)
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


# ---- random batches ----

_FLAT = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"),
    *("date", "timestamp", "timestamp_ntz", "decimal(7,2)", "decimal(18,0)", "decimal(19,4)"),
    *("decimal(38,10)", "interval year to month", "interval day to second", "void"),
)


def _types(depth: int, flat: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Type texts nested at most `depth` levels deep."""
    leaf = st.sampled_from(flat)
    if depth <= 1:
        return leaf
    inner = _types(depth - 1, flat)
    keys = st.sampled_from([text for text in flat if text not in ("void", "interval")])
    fields = st.lists(inner, min_size=0, max_size=3)
    return st.one_of(
        leaf,
        inner.map(lambda text: f"array<{text}>"),
        st.tuples(keys, inner).map(lambda pair: f"map<{pair[0]},{pair[1]}>"),
        fields.map(
            lambda texts: f"struct<{','.join(f'f{i}:{text}' for i, text in enumerate(texts))}>"
        ),
    )


def _whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


_INTERVALS = st.fixed_dictionaries({"months": _whole(32), "days": _whole(32), "micros": _whole(64)})
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": _whole(8),
    "smallint": _whole(16),
    "int": _whole(32),
    "bigint": _whole(64),
    "float": st.floats(width=32),
    "double": st.floats(),
    "string": st.text(max_size=40),
    "binary": st.binary(max_size=40),
    # What Python's own dates can show; the ends of the range are cases of their own.
    "date": st.integers(-719_000, 2_932_000),
    "timestamp": st.integers(-(10**16), 10**17),
    "timestamp_ntz": st.integers(-(10**16), 10**17),
    "interval year to month": _whole(32),
    "interval day to second": st.integers(-(10**18), 10**18),
    "interval": _INTERVALS,
    "void": st.none(),
}


def _decimals(type_: SerdeType) -> st.SearchStrategy[Decimal]:
    limit = 10**type_.precision - 1
    near = st.sampled_from([0, -1, limit, -limit, 2**63, -(2**63), 2**64, -(2**64), 127, 128])
    wide = st.one_of(st.integers(-limit, limit), near.filter(lambda n: abs(n) <= limit))
    return wide.map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -type_.scale)))


def _values(type_: SerdeType) -> st.SearchStrategy[Any]:
    """Values of a type, nulls among them, as `pa.array` wants its storage."""
    some: st.SearchStrategy[Any]
    if type_.kind == "decimal":
        some = _decimals(type_)
    elif type_.kind == "array":
        some = st.lists(_values(type_.children[0]), max_size=5)
    elif type_.kind == "map":
        keys = _values(type_.children[0]).filter(lambda key: key is not None)
        some = st.lists(st.tuples(keys, _values(type_.children[1])), max_size=4)
    elif type_.kind == "struct":
        pairs = zip(type_.names, type_.children, strict=True)
        some = st.fixed_dictionaries({name: _values(child) for name, child in pairs})
    else:
        some = _VALUES[type_.kind]
    return st.one_of(some, some, some, st.none())


@dataclass(frozen=True)
class Sample:
    """A random batch, encodings and all, its columns of plain values, and a choice of rows."""

    fields: list[SerdeField]
    batch: pa.RecordBatch
    columns: list[list[Any]]
    choice: list[int]

    @property
    def chosen(self) -> list[list[Any]]:
        """The values of the rows chosen."""
        return [[column[row] for row in self.choice] for column in self.columns]


@st.composite
def row_batches(draw: st.DrawFn, *, intervals: bool = True) -> Sample:
    """Batches of columns of up to four levels, with nulls, encoded at random.

    Args:
        draw: hypothesis' own.
        intervals: whether calendar intervals may occur.
    """
    flat = (*_FLAT, "interval") if intervals else _FLAT
    texts = draw(st.lists(_types(4, flat), min_size=1, max_size=5))
    rows = draw(st.integers(0, 12))
    arrays, expected = [], []
    for text in texts:
        type_ = parse_spark(text)
        values = draw(st.lists(_values(type_), min_size=rows, max_size=rows))
        flat_array = _array(values, type_)
        (plain,) = columns(pa.RecordBatch.from_arrays([flat_array], names=["flat"]))
        array, picked = _encoded(draw, flat_array)
        arrays.append(array)
        expected.append([None if i is None else plain[i] for i in picked])
    fields = [SerdeField(f"c{i}", text) for i, text in enumerate(texts)]
    batch = pa.RecordBatch.from_arrays(arrays, names=[field.name for field in fields])
    choice = draw(st.lists(st.integers(0, rows - 1), max_size=20)) if rows else []
    return Sample(fields, batch, expected, choice)


def _encoded(draw: st.DrawFn, array: pa.Array) -> tuple[pa.Array, list[int | None]]:
    """The array flat, cut from a longer one, as a dictionary or as runs; and which rows it has."""
    rows = len(array)
    how = draw(st.sampled_from(["flat", "slice", "dictionary", "runs"])) if rows else "flat"
    if how == "slice":
        before = draw(st.integers(1, 9))
        longer = pa.concat_arrays([*[array.slice(0, 1)] * before, array])
        return longer.slice(before), list(range(rows))
    if how == "dictionary":
        index = st.integers(0, rows - 1) | st.none()
        picked = draw(st.lists(index, min_size=rows, max_size=rows))
        return pa.DictionaryArray.from_arrays(pa.array(picked, pa.int32()), array), picked
    if how == "runs":
        ends = pa.array(range(2, 2 * rows + 2, 2), pa.int32())
        runs = pa.RunEndEncodedArray.from_arrays(ends, array).slice(1, rows)
        return runs, [(row + 1) // 2 for row in range(rows)]
    return array, list(range(rows))
