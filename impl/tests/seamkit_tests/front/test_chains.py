"""A chain of `filter`, `select` and `limit` gives the rows that the arguments of `scan` give."""

import datetime as dt
import itertools
import operator
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seamkit_tests.samples.golden_tables import unpack
from seamkit_tests.samples.outlets import bag

#: Merged rows, masks, NaN and nulls: what each format has of them.
_TABLES = (
    "delta/vectors-several",
    "delta/types",
    "hudi/mor-v9-event",
    "hudi/mor-v9-types",
    "iceberg/equality-floats",
    "iceberg/equality-null",
    "paimon/pk-null-values",
    "paimon/append-types-parquet",
    "hive/text-reals",
    "hive/orc-evolved",
)


def opened(name: str, folder: Path) -> seamkit.Table:
    """A golden table, by its format and name."""
    return seamkit.open_table(unpack(name, folder))


@dataclass(frozen=True)
class Condition:
    """A condition in one kind of words, and the rows of a table that another reader finds by it."""

    given: Any
    rows: Callable[[pa.Table], pa.Table]


def _by_pyarrow(rows: pa.Table, filters: Any) -> pa.Table:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, write_statistics=False)  # pyarrow would rule NaN out by them
    read = pq.read_table(pa.BufferReader(sink.getvalue()), filters=filters)
    return read.cast(rows.schema)


def _by_duckdb(rows: pa.Table, sql: str) -> pa.Table:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    numbered = rows.append_column("row number", pa.array(range(len(rows))))
    connection.register("numbered", numbered)
    query = f'SELECT "row number" FROM numbered WHERE {sql}'  # noqa: S608 - of this test
    kept = connection.sql(query).to_arrow_table().column(0).to_pylist()
    return rows.take(pa.array(sorted(kept), pa.int64()))


def _by_polars(rows: pa.Table, test: pl.Expr) -> pa.Table:
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    kept = frame.with_row_index("row number").filter(test)["row number"].to_list()
    return rows.take(pa.array(kept, pa.int64()))


def conditions(name: str, sign: str, value: Any) -> Mapping[str, Condition]:
    """One comparison in all kinds of words."""
    compared = getattr(operator, {">=": "ge", "!=": "ne", "<": "lt"}[sign])
    arrow, polars = compared(pc.field(name), value), compared(pl.col(name), value)
    text = f"'{value}'" if isinstance(value, str) else repr(value)
    sql, tuples = f'"{name}" {sign} {text}', [(name, sign, value)]
    return {
        "arrow": Condition(arrow, lambda rows: rows.filter(arrow)),
        "tuples": Condition(tuples, lambda rows: _by_pyarrow(rows, tuples)),
        "sql": Condition(sql, lambda rows: _by_duckdb(rows, sql)),
        "polars": Condition(polars, lambda rows: _by_polars(rows, polars)),
    }


def _is_plain(kind: pa.DataType) -> bool:
    tests = pa.types.is_integer, pa.types.is_string, pa.types.is_float64, pa.types.is_float32
    return any(test(kind) for test in tests)


def _values(rows: pa.Table, name: str, place: float = 0.5) -> Iterator[Any]:
    """A value from some place of a column in order, but no null, NaN or infinity."""
    values = rows.column(name).to_pylist()
    found = sorted(v for v in values if v is not None and str(v) not in ("nan", "inf", "-inf"))
    yield from found[int(len(found) * place) :][:1]


def _outlets(scan: seamkit.Scan) -> Iterator[pa.Table]:
    yield scan.to_table()
    yield scan.dataset().to_table()
    connection = duckdb.connect()
    seamkit.register(connection, "rows", scan)
    yield connection.sql("FROM rows").to_arrow_table().cast(scan.schema)
    yield pa.Table.from_batches(list(scan), scan.schema)
    yield pickle.loads(pickle.dumps(scan)).to_table()  # noqa: S301


@pytest.mark.parametrize("name", _TABLES)
def test_a_chain_reads_what_the_arguments_do(tmp_path: Path, name: str) -> None:
    """Conditions of any two kinds, joined by AND, before and after a choice of columns."""
    table, batch_rows = opened(name, tmp_path), 2
    scan = table.scan(batch_rows=batch_rows)
    whole = scan.to_table()
    names = [field.name for field in whole.schema if _is_plain(field.type)][-2:]
    plain = whole.select(names)
    signs = ((">=", 0.3), ("!=", 0.9))
    tested = [(n, sign, v) for n in names for sign, at in signs for v in _values(plain, n, at)]
    pairs = list(itertools.pairwise(tested)) or [(tested[0], tested[0])]
    seen = 0
    for number, (one, other) in enumerate(pairs, _TABLES.index(name)):
        kinds = list(conditions(*one).items())
        kind, first = kinds[number % len(kinds)]
        # Each kind meets each other in turn.
        _, second = list(conditions(*other).items())[(number // len(kinds) + number + 1) % 4]
        expected = second.rows(first.rows(plain))
        chains = (
            table.scan(names, filter=first.given, batch_rows=batch_rows).filter(second.given),
            scan.filter(first.given).filter(second.given).select(names),
            scan.select(names[:1]).filter(second.given).select(*names).filter(first.given),
        )
        chain = chains[number % len(chains)]
        assert chain.schema.names == names
        assert chain.count_rows() == len(expected)
        for rows in _outlets(chain):
            assert bag(rows) == bag(expected), (kind, one, other)
        seen += len(first.rows(plain))
    assert seen


@pytest.mark.parametrize(
    ("name", "kind"), [*zip(_TABLES, itertools.cycle(["arrow", "tuples", "sql", "polars"]))]
)
def test_a_limit_holds_where_it_stands(tmp_path: Path, name: str, kind: str) -> None:
    """Behind a limit its rows are tested; behind a filter the limit counts what it leaves.

    Each kind of condition meets tables of several formats, each format several kinds.
    """
    scan = opened(name, tmp_path).scan(threads=1, batch_rows=2)
    names = [field.name for field in scan.schema if _is_plain(field.type)][-2:]
    rows = scan.select(names).to_table()
    [value] = _values(rows, names[0])
    condition = conditions(names[0], ">=", value)[kind]
    few = scan.limit(3)
    expected = condition.rows(few.to_table().select(names))
    matching = condition.rows(rows)
    for found in _outlets(few.filter(condition.given).select(names)):
        assert bag(found) == bag(expected)
    for found in _outlets(scan.filter(condition.given).select(names).limit(2)):
        assert len(found) == min(2, len(matching))
        assert bag(found) <= bag(matching)
    assert few.filter(condition.given).limit(1).count_rows() == min(1, len(expected))


@pytest.mark.parametrize(
    ("chain", "says"),
    [
        (lambda scan: scan.select("price"), "there is no column 'price'"),
        (lambda scan: scan.select("k", "k"), "a column is asked for twice"),
        (lambda scan: scan.filter("pric > 1"), "there is no column 'pric'; the columns are k, v"),
        (lambda scan: scan.filter([("k", "~", 1)]), r"tuples such as \[\('a', '>', 1\)"),
        (lambda scan: scan.filter([]), "tuples such as"),
        (lambda scan: scan.filter(("k", ">", 1)), r"a list of such is meant, \[\('k', '>', 1\)\]"),
        (lambda scan: scan.filter([("pric", ">", 1)]), "there is no column 'pric'; the columns"),
        (lambda scan: scan.filter(pc.field("V") == "a"), "no column 'V'; did you mean 'v'"),
        (lambda scan: scan.filter([("v", "in", "abc")]), "a list is meant, such as"),
        (lambda scan: scan.filter([[("k", ">", 1), ("v", "not in", "abc")]]), "a list is meant"),
        (lambda scan: scan.filter([("k", ">", "1")]), "types int32, string do not compare"),
        (lambda scan: scan.filter(pc.field("k").isin(["1"])), "int32 do not compare: give one of"),
        (lambda scan: scan.filter(pc.field("v").isin([1])), "int64 do not compare: give one of"),
        *(
            (lambda scan, null=null: scan.filter(pc.field("v") == null), f"no null of the type {n}")
            for n in ("large_string", "large_binary")
            for null in [pa.scalar(None, pa.type_for_alias(n))]
        ),
        (lambda scan: scan.filter(3), "filter is a int: an expression"),
        (lambda scan: scan.filter(pl.col("pric") > 1), "no column 'pric'; the columns are k"),
        (lambda scan: scan.filter(pl.col("k") == pl.col("k").max()), "of one row at a time"),
        (lambda scan: scan.filter(pl.lit(value=False)), "of one row at a time"),
        (lambda scan: scan.select("v").limit(3).filter(pc.field("k") > 1), "k"),
        (lambda scan: scan.select("v").limit(3).select("k"), "there is no column 'k'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, chain: Callable[[Any], Any], says: str
) -> None:
    """A condition or a column that is not there, or left behind by a limit, in one sentence."""
    scan = opened("delta/vectors-several", tmp_path).scan()
    with pytest.raises(seamkit.UsageError, match=says):
        chain(scan).to_table()


@pytest.mark.parametrize(
    "name", ["delta/deltalake-merged", "iceberg/types-avro", "hudi/mor-v9-types", "paimon/pk-orc"]
)
def test_a_time_without_a_zone_is_held_against_none_that_has_one(name: str, tmp_path: Path) -> None:
    """The filter is refused before a file is read; with a zone it finds what SQL finds."""
    table = opened(name, tmp_path)
    kinds = {field.name: field.type for field in table.schema}
    zoned = next(n for n, kind in kinds.items() if pa.types.is_timestamp(kind) and kind.tz)
    moment = dt.datetime(2024, 1, 1)
    for given in ([(zoned, ">=", moment)], pc.field(zoned) >= moment):
        with pytest.raises(
            seamkit.UsageError, match="does not fit the columns: a time with a zone"
        ):
            table.scan(filter=given)
    found = table.scan(filter=[(zoned, ">=", moment.replace(tzinfo=dt.UTC))]).count_rows()
    assert found == table.scan(filter=f"\"{zoned}\" >= '2024-01-01 00:00:00+00'").count_rows()


def test_texts_that_spell_a_null_are_texts(tmp_path: Path) -> None:
    """What Arrow would die of is looked for outside of quotes, and where the types differ."""
    scan = opened("delta/vectors-several", tmp_path).scan()
    for text in ("null[large_string]", '"null[large_string]'):
        asked = pc.field("v").isin(["null[large_string]", "a"]) | (pc.field("v") == text)
        assert scan.filter(asked).count_rows() == scan.filter("v = 'a'").count_rows()
    null = pc.field("v") == pa.scalar(None, pa.string())
    assert scan.filter(null).count_rows() == 0


@pytest.mark.parametrize("values", [["1"], [b"1"]], ids=str)
def test_a_list_of_another_type_is_refused_within_structs(values: Any, tmp_path: Path) -> None:
    """The files have bounds of a struct's fields, with which Arrow compares no such values."""
    table = opened("hudi/nested/v9", tmp_path)
    inner = pc.field("s", "t", "f")
    with pytest.raises(seamkit.UsageError, match=r"double do not compare|, double\)"):
        table.scan(filter=inner.isin(values))
    assert table.scan(filter=inner.isin([1.5])).count_rows() <= table.count_rows()


@pytest.mark.parametrize("given", [pc.field("k"), pc.field("k") + 1], ids=str)
def test_a_filter_that_is_no_condition_is_refused(given: pc.Expression, tmp_path: Path) -> None:
    """A number says of no row whether it is wanted."""
    table = opened("delta/change-feed", tmp_path)
    for asked in (table.count_rows, table.scan):
        with pytest.raises(seamkit.UsageError, match=r"does not fit the columns: .* bool"):
            asked(filter=given)


@pytest.mark.parametrize(
    "name",
    [
        "delta/types",
        "delta/deltalake-types",
        "iceberg/types-avro",
        "iceberg/types-orc",
        "paimon/append-types-parquet",
        "hive/duckdb-types",
        "hudi/mor-v9-types",
    ],
)
def test_a_value_that_the_type_of_a_filter_does_not_hold_is_told(name: str, tmp_path: Path) -> None:
    """Arrow compares no integer with a fraction where that would round it; SQL does.

    It is the filter that does not fit, where the rows are tested as where bounds are; no file is
    broken.
    """
    table = opened(name, tmp_path)
    above = pc.field("l") >= (pa.scalar(1.5, pa.float32()) if "types-" in name else 1.5)
    scan, few = table.scan(["l"], filter=above), table.scan(["l"]).limit(999).filter(above)
    for read in (scan.to_table, scan.count_rows, scan.dataset().to_table, few.to_table):
        with pytest.raises(
            seamkit.UsageError, match=r"filter \(l >= 1.5\) does not fit the values"
        ):
            read()
    found = [value for value in table.to_arrow(["l"])["l"].to_pylist() if value and value >= 2]
    assert found
    assert sorted(table.to_arrow(["l"], filter="l >= 1.5")["l"].to_pylist()) == sorted(found)


def test_names_of_columns_may_come_from_an_iterator(tmp_path: Path) -> None:
    """What can be gone through once is a list of names, too; what is none is refused."""
    table: Any = opened("delta/vectors-several", tmp_path)
    names = table.columns[::-1]
    assert table.to_arrow(iter(names)).column_names == names
    assert table.head(1, (name for name in names)).column_names == names
    assert table.scan().select(iter(names)).to_table().column_names == names
    for columns in (5, [None], {5}):
        with pytest.raises(seamkit.UsageError, match="a list of names is meant"):
            table.scan(columns)
        with pytest.raises(seamkit.UsageError, match="a list of names is meant"):
            table.scan().select(columns)
    with pytest.raises(seamkit.UsageError, match="a list of names is meant"):
        table.scan().select(None)


def test_a_limit_may_be_any_whole_number(tmp_path: Path) -> None:
    """One beyond Arrow's own numbers leaves all rows."""
    scan = opened("delta/vectors-several", tmp_path).scan()
    assert scan.head(1 << 70).num_rows == scan.count_rows()


def test_a_condition_of_polars_may_hold_any_word(tmp_path: Path) -> None:
    """Polars tests rows itself where its plan begins with FILTER; a text may be called so, too."""
    deltalake.write_deltalake(tmp_path, pa.table({"FILTER": ["FILTER", "x\nFILTER", "x"]}))
    table, column = seamkit.open_table(tmp_path), pl.col("FILTER")
    assert table.count_rows(filter=column == "FILTER") == 1
    assert table.count_rows(filter=column.str.ends_with("FILTER")) == 2
    with pytest.raises(seamkit.UsageError, match="one row at a time is meant"):
        table.scan(filter=(column != "x") & column.is_first_distinct())


#: A process of its own: DuckDB asks the machine for its zone once.
_COUNTS = """
import sys
import seamkit

table = seamkit.open_table(sys.argv[1])
for one in sys.argv[2:]:
    chained = table.scan(["k"]).filter(one)
    plan = seamkit.scan_from_json(seamkit.scan_to_json(chained))
    print(table.count_rows(filter=one), chained.dataset().count_rows(), plan.count_rows())
"""


def test_a_time_without_a_zone_in_sql_is_one_of_utc(tmp_path: Path) -> None:
    """Wherever the machine is, and whoever tests the condition: the scan, DuckDB, or both."""
    first = dt.datetime(2023, 12, 31, 12, tzinfo=dt.UTC)
    hours = [first + dt.timedelta(hours=number) for number in range(24)]
    t = pa.array(hours, pa.timestamp("us", "UTC"))
    deltalake.write_deltalake(tmp_path, pa.table({"t": t, "k": [str(one) for one in hours]}))
    found = {
        "t >= '2024-01-01'": 12,
        "t = '2024-01-01 00:00:00'": 1,
        "t < DATE '2024-01-01'": 12,
        "t >= '2024-01-01' AND length(k) > 0": 12,
        "t < TIMESTAMP '2024-01-01 02:00:00' AND year(t) = 2024": 2,
        "CAST(t AS DATE) = '2024-01-01'": 12,
        "t >= '2024-01-01 00:00:00+00'": 12,
    }
    told = subprocess.check_output(
        [sys.executable, "-c", _COUNTS, str(tmp_path), *found],
        env=os.environ | {"TZ": "Asia/Kathmandu"},
        text=True,
    )
    assert told.splitlines() == [f"{rows} {rows} {rows}" for rows in found.values()]


_TIMES = ["delta/deltalake-types", "iceberg/types-avro", "hudi/mor-v9-types", "paimon/pk-orc"]


@pytest.mark.parametrize(
    "name", [*_TIMES, "delta/partitions-times", "hive/orc-written", "hive/text-partition-types"]
)
def test_a_text_means_its_day_or_time_in_tuples(name: str, tmp_path: Path) -> None:
    """What Arrow finds for the value finds its text, as Python and as Arrow write it."""
    table = opened(name, tmp_path)
    rows = table.to_arrow()
    tried = 0
    for field in rows.schema:
        if not (pa.types.is_date(field.type) or pa.types.is_timestamp(field.type)):
            continue
        column = pc.drop_null(rows[field.name])
        for value in [column[0], pc.max(column)] if len(column) else []:
            given = pc.field(field.name)
            texts = {str(value.cast(pa.string()))}
            if field.type not in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
                texts.add(value.as_py().isoformat())
            for text in texts:
                tests: list[tuple[Any, pc.Expression]] = [
                    ([(field.name, "<=", text)], given <= value),
                    ([[(field.name, "=", text)]], given == value),
                    ([(field.name, "in", [text, None])], (given == value) | given.is_null()),
                    ([(field.name, "not in", {text})], (given != value) | given.is_null()),
                ]
                for tuples, condition in tests:
                    assert bag(table.scan(filter=tuples).to_table()) == bag(rows.filter(condition))
                    tried += 1
    assert tried


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        *((False, text) for text in ("nope", "2024-02-30", "2024-01-01T00:00:00Z", "20240101")),
        *((True, text) for text in ("nope", "2024-01-01", "2024-01-01 00:00:00")),
        *((None, text) for text in ("nope", "2024-01-01 00:00:00", "2024-1-1", " 2024-01-01")),
        *((zone, "2024-01-01T00:00:00.123456789" + "Z" * zone) for zone in (False, True)),
    ],
)
def test_a_text_that_is_no_such_day_or_time_is_refused(
    zone: bool | None, text: str, tmp_path: Path
) -> None:
    """With what to give: a day, a time, or one with its zone; no digit is cut off."""
    table = opened("delta/deltalake-types", tmp_path)
    kinds = {field.name: field.type for field in table.schema}
    day = next(name for name, kind in kinds.items() if pa.types.is_date(kind))
    times = {bool(kind.tz): n for n, kind in kinds.items() if pa.types.is_timestamp(kind)}
    name = day if zone is None else times[zone]
    meant = {None: "a day such as", False: "a day or a time without", True: "a time with its zone"}
    for given in ([(name, ">=", text)], [[(name, "not in", [text])]]):
        with pytest.raises(seamkit.UsageError, match=f"{name}.*: {meant[zone]}"):
            table.scan(filter=given)
