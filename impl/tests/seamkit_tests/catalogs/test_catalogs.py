"""Tables by the names that a folder or Iceberg's catalog gives them; metastores are met beside."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import seamkit
from seambase.dataset import original_errors
from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import TableWarning
from seambench.engines.spark import SparkOptions, spark_session
from seambench.formats.golden import placed
from seamkit.command import main
from seamkit_tests.samples.golden_tables import unpack
from seamkit_tests.samples.pyiceberg_catalogs import sql_catalog
from seamkit_tests.samples.pyspark_marks import QUIET

pytestmark = QUIET

#: By the name in the catalog: its folder, and the golden table.
_TABLES = {
    "default.journeys": ("journeys", "hudi/mor-v9-partitioned"),
    "default.kept": ("default.db/kept", "delta/vectors-several"),
    "lake.keyed": ("lake.db/keyed", "paimon/pk-levels"),
    "lake.parted": ("lake.db/parted", "delta/partitions-whole"),
    "plain.hive": ("plain/hive", "hive/text-partitions"),
    "plain.snapshots": ("plain/snapshots", "iceberg/equality-and-positions"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with tables of five formats, and what is none beside them."""
    root = tmp_path_factory.mktemp("warehouse")
    for place, golden in _TABLES.values():
        unpack(golden, root / place)
    for name in ("lake.db/no table", "empty.db", "files", "_temporary/t", ".hidden", "day=1/t"):
        (root / name).mkdir(parents=True)
    for name in ("files/part-0.parquet", "lake.db/file", "lake.db/no table/data.csv"):
        (root / name).write_bytes(b"")
    shutil.copytree(root / "lake.db/parted", root / "day=1" / "u")
    return root


def _rows(table: Any) -> list[str]:
    """Rows as texts that do not rest on their order, of Arrow's values."""
    return sorted(map(repr, table.to_pylist()))


def test_a_folder_tells_its_databases_and_tables(folder: Path) -> None:
    """Folders in which a format is known are tables; hidden ones and partitions are passed over."""
    catalog = seamkit.open_catalog(folder)
    assert catalog.databases() == ["default", "empty", "lake", "plain"]
    assert catalog.tables() == sorted(_TABLES)
    assert catalog.tables("lake") == ["lake.keyed", "lake.parted"]
    assert catalog.tables("empty") == []
    assert repr(catalog) == f"<Catalog {folder}>"


@pytest.mark.parametrize("name", _TABLES)
def test_a_table_is_opened_by_its_name(folder: Path, name: str) -> None:
    """As by its folder, with its format's own class."""
    found = seamkit.open_catalog(str(folder)).open(name)
    own = seamkit.open_table(folder / _TABLES[name][0])
    assert type(found) is type(own)
    assert _rows(found.to_arrow()) == _rows(own.to_arrow()) != []


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda c: c.open("keyed"), UsageError, "DATABASE.TABLE is meant, and tables"),
        (lambda c: c.open(".keyed"), UsageError, "DATABASE.TABLE is meant"),
        (lambda c: c.open("lake.keyd"), InputError,
         "no table of this folder; did you mean 'keyed'"),
        (lambda c: c.open("lake.../plain/hive"), InputError, "no table of this folder"),
        (lambda c: c.open("lake.no table"), InputError, "looks like a folder of CSV"),
        (lambda c: c.open("plain.hive", version=1), UsageError, "have no option version"),
        (lambda c: c.tables("lak"), InputError, "no database 'lak'; did you mean 'lake'"),
        (lambda c: c.tables(7), UsageError, "a name is meant"),
        (lambda c: c.register("x"), UsageError, "neither a connection of DuckDB nor a session"),
        (lambda c: c.register(duckdb.connect(), tables=["lake.keyd"]), UsageError,
         "no table there; did you mean 'lake.keyed'"),
        (lambda c: c.load_table, AttributeError, r"call open\('DATABASE.TABLE'\)"),
        (lambda c: c["lake.keyed"], TypeError, r"call open\('DATABASE.TABLE'\)"),
    ],
)  # fmt: skip
def test_misuse_names_the_right_call(
    folder: Path, call: Callable[[Any], Any], error: type[Exception], says: str
) -> None:
    """One sentence, and what is like the name."""
    with pytest.raises(error, match=says):
        call(seamkit.open_catalog(folder))


def test_a_table_is_no_catalog_and_the_other_way_round(folder: Path) -> None:
    """Each says which call opens it."""
    with pytest.raises(UsageError, match="call open_table"):
        seamkit.open_catalog(folder / "journeys")
    with pytest.raises(InputError, match="call open_catalog"):
        seamkit.open_table(folder)
    with pytest.raises(InputError, match="no such folder"):
        seamkit.open_catalog(folder / "none")
    with pytest.raises(InputError, match=r"of a catalog .* iceberg://local"):
        seamkit.open_catalog("local")
    for address in (
        "hive://host",
        "hive://host:1/db.t",
        "hive://host:99999",
        "iceberg://",
        "iceberg://a/b.c",
        "thrift://host:9083",
    ):
        with pytest.raises(UsageError, match="is meant"):
            seamkit.open_catalog(address)
    for address in ("hive://host:9083", "iceberg://here"):
        with pytest.raises(UsageError, match="open_catalog opens a whole"):
            seamkit.open_table(address)


def test_a_name_of_two_folders_is_refused(tmp_path: Path) -> None:
    """`a.db/t` and `a/t` are both `a.t`; a folder of that name that is no table does not count."""
    for place in ("a.db", "a"):
        unpack("delta/empty", tmp_path / "w" / place / "t")
    (tmp_path / "w" / "a" / "u").mkdir()
    shutil.copytree(tmp_path / "w/a.db/t", tmp_path / "w/a.db/u")
    catalog = seamkit.open_catalog(tmp_path / "w")
    assert catalog.tables() == ["a.t", "a.u"]
    with pytest.raises(UsageError, match=r"a\.db/t and a/t"):
        catalog.open("a.t")
    assert catalog.open("a.u").count_rows() == 0


def _shown(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """All rows of a view, as values of Arrow's."""
    quoted = ".".join(f'"{part}"' for part in name.split("."))
    return _rows(connection.sql(f"FROM {quoted}").to_arrow_table())


def _expected(connection: duckdb.DuckDBPyConnection, own: seamkit.Table) -> list[str]:
    """The rows of a table by the way that is there for single ones."""
    return _rows(own.scan().relation(connection).to_arrow_table())


def test_all_tables_have_names_in_duckdb(folder: Path) -> None:
    """In a schema for each database, whatever the current one is, which stays."""
    connection = duckdb.connect()
    connection.execute('CREATE SCHEMA "own one"; USE "own one"')
    assert seamkit.open_catalog(folder).register(connection) == sorted(_TABLES)
    assert connection.sql("SELECT current_schema()").fetchall() == [("own one",)]
    for name, (place, _) in _TABLES.items():
        own = seamkit.open_table(folder / place)
        assert _shown(connection, name) == _expected(connection, own)
    # A join of two databases; a column and a filter of one.
    connection.sql("SELECT count(*) FROM lake.keyed, plain.hive").fetchall()
    [(count,)] = connection.sql("SELECT count(*) FROM lake.keyed WHERE k > 20").fetchall()
    assert count == seamkit.open_table(folder / "lake.db/keyed").scan(filter="k > 20").count_rows()


def test_tables_of_one_database_go_by_their_own_names(folder: Path) -> None:
    """And of those named alone."""
    connection = duckdb.connect()
    catalog = seamkit.open_catalog(folder)
    assert catalog.register(connection, "lake") == ["lake.keyed", "lake.parted"]
    catalog.register(connection, "plain", tables=["plain.hive"])
    views = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1"
    assert connection.sql(views).fetchall() == [("hive",), ("keyed",), ("parted",)]


def test_a_query_plans_what_it_names_and_sees_it_as_it_then_is(tmp_path: Path) -> None:
    """Registering reads no file of data and lists none; a query lists what its filter leaves."""
    table = unpack("hive/text-partition-types", tmp_path / "w" / "db" / "t")
    own = seamkit.open_table(table)
    folders = sorted(one for one in table.iterdir() if one.is_dir())
    column, _, value = folders[0].name.partition("=")
    connection = duckdb.connect()
    seamkit.open_catalog(tmp_path / "w").register(connection, "db")
    kept = connection.table("t").filter(f"{column} = '{value}'").count("*")
    [(count,)] = kept.fetchall()
    assert 0 < count < own.count_rows()
    broken = folders[-1]
    while any(one.is_dir() for one in broken.iterdir()):
        broken = next(one for one in broken.iterdir() if one.is_dir())
    (broken / "no file").mkdir()
    assert kept.fetchall() == [(count,)]
    with pytest.raises(duckdb.Error, match="a folder where files are expected"):
        connection.sql("SELECT count(*) FROM t").fetchall()
    shutil.rmtree(folders[0])
    assert kept.fetchall() == [(0,)]


def test_what_cannot_be_opened_is_left_out_and_told(tmp_path: Path) -> None:
    """The others have views; a strict call ends with the error."""
    for name in ("broken", "right"):
        unpack("delta/types", tmp_path / "w" / "a.db" / name)
    for file in (tmp_path / "w/a.db/broken/_delta_log").glob("*.json"):
        file.write_text("{")
    connection, catalog = duckdb.connect(), seamkit.open_catalog(tmp_path / "w")
    with pytest.warns(TableWarning, match=r"a\.broken is left out: .*_delta_log"):
        assert catalog.register(connection) == ["a.right"]
    with pytest.raises(InputError, match="_delta_log"):
        catalog.register(connection, strict=True)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Spark with threads for tasks."""
    with spark_session(SparkOptions(master="local[2]", memory="1g")) as (session, _log):
        yield session


@pytest.mark.spark
def test_all_tables_have_names_in_spark(folder: Path, spark: Any) -> None:
    """Of a database by their own names, of all as one name in backticks."""
    catalog = seamkit.open_catalog(folder)
    assert catalog.register(spark) == sorted(_TABLES)
    catalog.register(spark, "lake")
    for view, place in (
        ("`lake.keyed`", "lake.db/keyed"),
        ("keyed", "lake.db/keyed"),
        ("`plain.snapshots`", "plain/snapshots"),
        ("`default.journeys`", "journeys"),
    ):
        own = seamkit.open_table(folder / place)
        assert spark.table(view).count() == own.count_rows() > 0


def _command(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["tables", *arguments])
    assert not ended.value.code
    return capsys.readouterr().out


def test_the_command_lists_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names a line each; formats and columns where they are asked for, or why there are none."""
    assert _command(capsys, str(folder)).split() == ["table", *sorted(_TABLES)]
    lines = _command(capsys, str(folder), "--database", "lake", "--json", "--columns").splitlines()
    told = [json.loads(line) for line in lines]
    assert [(one["table"], one["format"]) for one in told] == [
        ("lake.keyed", "paimon"),
        ("lake.parted", "delta"),
    ]
    assert told[0]["columns"] == {"k": "int32", "v": "string"}


def test_the_command_tells_why_a_table_is_not_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And goes on with the others."""
    unpack("delta/types", tmp_path / "w" / "a.db" / "x")
    shutil.copytree(tmp_path / "w/a.db/x", tmp_path / "w/a.db/y")
    for file in (tmp_path / "w/a.db/x/_delta_log").glob("*.json"):
        file.write_text("{")
    shown = _command(capsys, str(tmp_path / "w"), "--columns")
    _, first, second = shown.splitlines()
    assert first.startswith("a.x  ")
    assert "_delta_log" in first
    assert second.split()[:2] == ["a.y", "delta"]


# -------------------------------------------------------------------------- Iceberg's SQL catalog


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A catalog in SQLite: tables of Spark, and one of pyiceberg two namespaces down."""
    found = sql_catalog(monkeypatch, tmp_path)
    for namespace in ("golden", "made", "made.within"):
        found.create_namespace(namespace)
    rows = pa.table({"k": [1, 2, 3], "v": ["a", "b", None]})
    found.create_table("made.within.t", rows.schema).append(rows)
    with ExitStack() as stack:
        for name in ("positions", "equality-and-vectors"):
            table = unpack(f"iceberg/{name}", tmp_path / name)
            newest = max((table / "metadata").glob("*.metadata.json"), key=lambda file: file.name)
            home = Path(json.loads(newest.read_text(encoding="utf-8"))["location"])
            stack.enter_context(placed(table, home))
            found.register_table(f"golden.{name.replace('-', '_')}", f"file://{newest}")
        yield found


def test_a_catalog_of_iceberg_tells_its_tables(configured: Any, tmp_path: Path) -> None:
    """Namespaces within others have points; rows are those of pyiceberg, and of the folders."""
    catalog = seamkit.open_catalog("iceberg://here")
    assert catalog.databases() == ["golden", "made", "made.within"]
    assert catalog.tables() == ["golden.equality_and_vectors", "golden.positions", "made.within.t"]
    assert catalog.tables("made") == []
    with pytest.raises(InputError, match=r"no such namespace none|no database 'none'"):
        catalog.tables("none")
    with pytest.raises(InputError, match="no such table"):
        catalog.open("golden.none")
    connection = duckdb.connect()
    assert catalog.register(connection) == catalog.tables()
    own = configured.load_table("made.within.t").scan().to_arrow()
    assert _rows(connection.sql('FROM "made.within".t').to_arrow_table()) == _rows(own)
    for name in ("positions", "equality-and-vectors"):
        golden = seamkit.open_table(tmp_path / name)
        found = _shown(connection, f"golden.{name.replace('-', '_')}")
        assert found == _expected(connection, golden) != []


def test_an_error_of_a_query_is_ours(tmp_path: Path) -> None:
    """DuckDB tells the sentence; nothing is read in place of what is refused."""
    unpack("paimon/pk-levels", tmp_path / "w" / "a.db" / "t")
    connection = duckdb.connect()
    seamkit.open_catalog(tmp_path / "w").register(connection, "a")
    for file in (tmp_path / "w/a.db/t").rglob("data-*.*"):
        file.unlink()
    with original_errors(), pytest.raises((duckdb.Error, InputError, RefusedError), match="data-"):
        connection.sql("FROM t").fetchall()
