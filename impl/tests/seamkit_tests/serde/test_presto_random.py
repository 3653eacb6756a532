"""Random columns as Presto pages: what one side writes, the other and a witness read."""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.pages.reader import PageOptions, read_pages
from seambase.serde import SerdeField
from seambase.types import arrow_type, parse_presto
from seambench.conformance.plain import canonical
from seambench.seams.serde.blocks import block_values
from seambench.seams.serde.values import arrow_array, plain_values
from seamkit.serde.presto.read import deserialize
from seamkit.serde.presto.write import serialize_many

_FLAT: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False),
    "varchar": st.text(max_size=40),
    "varbinary": st.binary(max_size=70),
    "decimal(10,2)": st.decimals(
        min_value="-99999999.99", max_value="99999999.99", places=2, allow_nan=False
    ),
    "decimal(38,0)": st.integers(-(10**38) + 1, 10**38 - 1).map(decimal.Decimal),
}


@st.composite
def _types(draw: st.DrawFn, depth: int = 4) -> str:
    """A type of up to `depth` levels."""
    kind = draw(st.sampled_from(["flat"] * 3 + ["array", "map", "row"] * (depth > 1)))
    if kind == "flat":
        return draw(st.sampled_from(sorted(_FLAT)))
    if kind == "array":
        return f"array({draw(_types(depth - 1))})"
    if kind == "map":
        key = draw(st.sampled_from(["bigint", "varchar", "integer"]))
        return f"map({key},{draw(_types(depth - 1))})"
    fields = draw(st.lists(_types(depth - 1), min_size=1, max_size=3))
    return f"row({','.join(f'f{i} {text}' for i, text in enumerate(fields))})"


def _value(type_: Any, *, null: bool = True) -> st.SearchStrategy[Any]:
    """Plain values of a type, nulls among them: maps are lists of pairs, rows tuples."""
    if type_.kind == "array":
        some: st.SearchStrategy[Any] = st.lists(_value(type_.children[0]), max_size=4)
    elif type_.kind == "map":
        pair = st.tuples(_value(type_.children[0], null=False), _value(type_.children[1]))
        some = st.lists(pair, max_size=4, unique_by=lambda entry: entry[0])
    elif type_.kind == "row":
        some = st.tuples(*(_value(child) for child in type_.children))
    else:
        some = _FLAT[type_.text]
    return st.none() | some if null else some


def _encoded(draw: st.DrawFn, flat: pa.Array) -> pa.Array:
    """The same kind of column as it is, through a dictionary, or as a run of its first row."""
    how = draw(st.sampled_from(["flat", "flat", "dictionary", "run"]))
    rows = len(flat)
    if how == "dictionary" and rows:
        ids = draw(st.lists(st.none() | st.integers(0, rows - 1), min_size=rows, max_size=rows))
        return pa.DictionaryArray.from_arrays(pa.array(ids, pa.int32()), flat)
    if how == "run" and rows:
        return pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), flat.slice(0, 1))
    return flat


@st.composite
def _batches(draw: st.DrawFn) -> tuple[pa.RecordBatch, list[SerdeField]]:
    texts = draw(st.lists(_types(), min_size=1, max_size=3))
    rows = draw(st.sampled_from([0, 1, 7, 9, 70]))
    arrays = []
    for text in texts:
        type_ = parse_presto(text)
        few = draw(st.lists(_value(type_), min_size=1, max_size=9))
        flat = arrow_array([few[i % len(few)] for i in range(rows)], arrow_type(type_))
        arrays.append(_encoded(draw, flat))
    fields = [SerdeField(f"c{i}", text) for i, text in enumerate(texts)]
    return pa.RecordBatch.from_arrays(arrays, [field.name for field in fields]), fields


def _plain(batch: pa.RecordBatch) -> list[list[Any]]:
    return [[canonical(value) for value in plain_values(column)] for column in batch.columns]


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), dialect=st.sampled_from(["presto", "velox"]))
def test_random_selections_are_read_back(data: st.DataObject, dialect: str) -> None:
    """Any rows of any batch come back with their values, here and in an independent reader."""
    batch, fields = data.draw(_batches())
    total = batch.num_rows
    selections: list[Any] = [None]
    if total:
        numbers = st.lists(st.integers(0, total - 1), max_size=12)
        begin = data.draw(st.integers(0, total))
        selections += [range(begin, data.draw(st.integers(begin, total))), data.draw(numbers)]
    options: dict[str, Any] = {"dialect": dialect}
    options["encodings"] = data.draw(st.sampled_from(["preserve", "flatten"]))
    if dialect == "velox":
        options["nulls_first"] = data.draw(st.booleans())
    whole = _plain(batch)
    types = [parse_presto(field.type) for field in fields]
    witness = PageOptions(nulls_first=options.get("nulls_first", False))
    for rows, page in zip(
        selections, serialize_many(batch, fields, selections, options), strict=True
    ):
        picked = list(range(total)) if rows is None else list(rows)
        wanted = [[column[row] for row in picked] for column in whole]
        for encodings in ("preserve", "flatten"):
            (found,) = deserialize(page, fields, {**options, "encodings": encodings})
            found.validate(full=True)
            assert _plain(found) == wanted
        (seen,) = read_pages(bytes(page), witness, types)
        columns = zip(seen.columns, types, strict=True)
        assert [
            [canonical(value) for value in block_values(block, type_)] for block, type_ in columns
        ] == wanted
