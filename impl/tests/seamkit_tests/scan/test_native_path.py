"""The native path: what statistics rule out, what a filter leaves, and files cut at row groups."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.scan.native_path import native_rows
from seamkit.scan.units import Wanted
from seamkit_tests.samples.calls import calls_of

_ROWS = 1000
_TABLE = pa.table(
    {
        "id": pa.array(range(_ROWS), pa.int32()),
        "odd": pa.array([i % 2 == 1 if i % 7 else None for i in range(_ROWS)]),
        "word": pa.array([f"w{i % 5}" if i % 11 else None for i in range(_ROWS)]),
        "text": pa.array([f"text {i}" for i in range(_ROWS)]),
        "list": pa.array([[i, None] for i in range(_ROWS)], pa.list_(pa.int64())),
    }
)
_GROUP_ROWS = 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of ten row groups."""
    folder = tmp_path_factory.mktemp("native")
    pq.write_table(_TABLE, folder / "f.parquet", row_group_size=_GROUP_ROWS, version="1.0")
    return folder


def _wanted(
    columns: Sequence[str],
    condition: pc.Expression | None,
    tested: Sequence[str],
    *,
    schema: pa.Schema = _TABLE.schema,
    known: dict[str, pa.Scalar] | None = None,
    batch_rows: int = 64,
) -> Wanted:
    fields = [schema.field(name) for name in dict.fromkeys([*columns, *tested])]
    return Wanted(pa.schema(fields), columns, condition, tested, known or {}, batch_rows)


def _read(folder: Path, wanted: Wanted, groups: Sequence[int] = range(10)) -> pa.Table:
    reader = ParquetReader(Storage(str(folder)), "f.parquet")
    batches = list(native_rows(reader, wanted, groups, use_threads=False))
    assert all(0 < batch.num_rows <= wanted.batch_rows for batch in batches)
    schema = pa.schema([wanted.schema.field(name) for name in wanted.columns])
    return pa.Table.from_batches(batches, schema)


@settings(deadline=None, max_examples=50)
@given(
    columns=st.lists(st.sampled_from(_TABLE.column_names), unique=True, min_size=1),
    condition=st.sampled_from(
        [
            (pc.field("id") < 5, ["id"]),
            (pc.field("id") >= 150, ["id"]),
            (pc.field("odd"), ["odd"]),
            (pc.field("odd").is_null(), ["odd"]),
            (pc.field("word") == "w3", ["word"]),
            ((pc.field("word") == "w3") & (pc.field("id") == 333), ["id", "word"]),
            (pc.field("id") < 0, ["id"]),
            (pc.scalar(True), []),
        ]
    ),
    batch_rows=st.sampled_from([1, 7, 64, 5000]),
)  # fmt: skip
def test_a_filter_leaves_the_rows_that_arrow_leaves(
    folder: Path, columns: list[str], condition: tuple[pc.Expression, list[str]], batch_rows: int
) -> None:
    """Rows, order and columns are those of the whole table filtered in memory."""
    expression, tested = condition
    found = _read(folder, _wanted(columns, expression, tested, batch_rows=batch_rows))
    assert found.equals(_TABLE.filter(expression).select(columns))


def test_row_groups_are_ruled_out_by_their_statistics(folder: Path) -> None:
    """A group whose smallest and largest value cannot match is not read."""
    reader = ParquetReader(Storage(str(folder)), "f.parquet")
    id_alone = pa.schema([_TABLE.schema.field("id")])
    assert reader.row_groups_that_may_match(pc.field("id") == 333, id_alone) == [3]
    assert reader.row_groups_that_may_match(pc.field("id") < 0, id_alone) == []
    wider = pa.schema([pa.field("id", pa.int64())])
    assert len(reader.row_groups_that_may_match(pc.field("id") < 0, wider)) == 10


def test_keys_alone_rule_row_groups_out_below_a_merge(folder: Path) -> None:
    """Statistics of columns that logs may change leave every group; those of keys do not."""
    reader = ParquetReader(Storage(str(folder)), "f.parquet")
    schema = pa.schema([_TABLE.schema.field(name) for name in ("id", "word")])
    condition = (pc.field("id") == 333) & (pc.field("word") == "no such word")
    assert reader.row_groups_that_may_match(condition, schema, {"id"}) == [3]
    assert reader.row_groups_that_may_match(condition, schema, {"text"}) == list(range(10))
    either = (pc.field("id") == 333) | (pc.field("word") == "no such word")
    assert reader.row_groups_that_may_match(either, schema, {"id"}) == list(range(10))
    wider = pa.schema([pa.field("id", pa.int64()), schema.field("word")])
    assert reader.row_groups_that_may_match(condition, wider, {"id"}) == list(range(10))


def test_other_columns_are_read_only_where_rows_are_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a group that statistics leave and the filter empties, the filter's columns are enough."""
    watched = calls_of(monkeypatch, ParquetReader, "batches")
    begins = pc.match_substring(pc.field("text"), "text 9")
    condition = (pc.field("id") < 150) & (pc.field("word") == "w3") & begins

    found = _read(folder, _wanted(["text", "list"], condition, ["id", "word", "text"]))

    assert found.num_rows == _TABLE.filter(condition).num_rows > 0
    read = [(call.args[1].names, list(call.named["row_groups"])) for call in watched]
    groups = {group for names, groups in read if "id" in names for group in groups}
    assert groups == {0, 1}
    assert [groups for names, groups in read if names == ["list"]] == [[0]]


@pytest.mark.parametrize("parts", [[range(3), range(3, 10)], [[9], [0]], [[]]])
def test_row_groups_divide_a_file(folder: Path, parts: Sequence[Sequence[int]]) -> None:
    """Parts of the row groups hand out their own rows and no others."""
    for part in parts:
        expected = pa.concat_tables(
            [_TABLE.slice(g * _GROUP_ROWS, _GROUP_ROWS) for g in part] or [_TABLE.slice(0, 0)]
        )
        assert _read(folder, _wanted(["id", "list"], None, []), part).equals(
            expected.select(["id", "list"])
        )
        count = ParquetReader(Storage(str(folder)), "f.parquet").batches(
            pa.schema([]), 1000, use_threads=False, row_groups=part
        )
        assert sum(batch.num_rows for batch in count) == expected.num_rows


@pytest.mark.parametrize("condition", [None, pc.field("part") == "x", pc.field("id") < 7])
def test_known_columns_are_not_read(folder: Path, condition: pc.Expression | None) -> None:
    """A partition's value takes the place of whatever the file holds, in filters as well."""
    schema = _TABLE.schema.append(pa.field("part", pa.string()))
    tested = [] if condition is None else ["id"] if "id" in str(condition) else ["part"]
    wanted = _wanted(
        ["part", "id", "word"],
        condition,
        tested,
        schema=schema,
        known={"part": pa.scalar("x"), "word": pa.scalar(None, pa.string())},
    )
    found = _read(folder, wanted)
    rows = 7 if tested == ["id"] else _ROWS
    assert found.column("id").to_pylist() == list(range(rows))
    assert set(found.column("part").to_pylist()) == {"x"}
    assert set(found.column("word").to_pylist()) == {None}


def test_columns_that_a_file_lacks_are_null(folder: Path) -> None:
    """They can be handed out and tested; types are the table's."""
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("new", pa.string())])
    condition = pc.field("new").is_null() & (pc.field("id") > 997)
    found = _read(folder, _wanted(["new", "id"], condition, ["id", "new"], schema=schema))
    assert found.to_pylist() == [{"new": None, "id": 998}, {"new": None, "id": 999}]
    assert found.schema.field("id").type == pa.int64()


def test_values_stand_beside_columns_that_were_read() -> None:
    """In the order of the schema, as many as there are rows, none included."""
    schema = pa.schema([pa.field("p", pa.string()), pa.field("id", pa.int32())])
    batch = pa.record_batch({"id": pa.array([1, 2], pa.int32())})
    wanted = _wanted(["p", "id"], None, [], schema=schema, known={"p": pa.scalar("x")})
    filled = wanted.whole(batch, schema)
    assert filled.to_pylist() == [{"p": "x", "id": 1}, {"p": "x", "id": 2}]
    assert wanted.whole(batch.slice(2), schema).num_rows == 0
