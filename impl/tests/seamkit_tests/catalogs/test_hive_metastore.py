"""Tables by their names in a Hive metastore, against the real one inside Spark's jars."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import InputError, RefusedError, UnavailableError, UsageError
from seambase.java import find_java
from seambase.scan import TableWarning
from seambase.statistics import Figure
from seambench.cli import main
from seambench.formats.golden import placed
from seambench_impl.jni.jars import fetch_jars
from seamkit.catalogs.metastore import (
    Metastore,
    MetastorePartition,
    MetastoreTable,
    TableName,
)
from seamkit.command import main as seamkit_main
from seamkit.jvm.machine import spark_jars
from seamkit.tables.catalog_table import format_of, local_path
from seamkit.tables.hive.listing import differences, unescaped
from seamkit_tests.samples.avro_schemas import container, optional, record
from seamkit_tests.samples.delta_tables import unpack_delta
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hive_tables import unpack_hive
from seamkit_tests.samples.iceberg_tables import unpack_iceberg
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.paimon_tables import unpack_paimon
from seamkit_tests.samples.pyiceberg_catalogs import configure

_LOGGING = Path(seamkit.__file__).parent / "jvm" / "log4j2.properties"
_PROVIDED = {"spark.sql.sources.provider": "delta"}
_NAME = TableName("localhost", 9083, "db", "t")
_KEEPER = "spark.sql.partitionProvider"
_AVRO = "org.apache.hadoop.hive"
_TEXT = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


def _entry(**how: Any) -> MetastoreTable:
    empty: Mapping[str, str] = {}
    return replace(
        MetastoreTable(_NAME, "EXTERNAL_TABLE", "/t", "", _TEXT, {}, {}, empty, empty), **how
    )


@pytest.mark.parametrize(
    ("entry", "format_name"),
    [
        (_entry(parameters={"table_type": "ICEBERG"}), "iceberg"),
        (_entry(input_format="org.apache.hudi.hadoop.HoodieParquetInputFormat"), "hudi"),
        (_entry(parameters={"spark.sql.sources.provider": "hudi"}), "hudi"),
        (_entry(parameters={"spark.sql.sources.provider": "DELTA"}), "delta"),
        (_entry(parameters={**_PROVIDED, "table_type": "ICEBERG"}), "delta"),
        (_entry(parameters={"storage_handler": "org.apache.paimon.hive.PaimonHandler"}), "paimon"),
        (_entry(), "hive"),
    ],
)
def test_formats_are_known_by_what_the_metastore_says(
    entry: MetastoreTable, format_name: str
) -> None:
    """Hudi by input formats, lakes by properties, the rest is Hive's own."""
    assert format_of(entry) == format_name


def test_views_are_refused() -> None:
    """A view has no files."""
    with pytest.raises(RefusedError, match="a view"):
        format_of(_entry(kind="VIRTUAL_VIEW"))


@pytest.mark.parametrize("serde", [_TEXT, "org.apache.hadoop.hive.ql.io.parquet.serde.X"])
def test_files_that_name_other_files_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, serde: str
) -> None:
    """Their lines would be taken for rows, or for broken files; a class says what is read."""
    stated = "org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat"
    entry = _entry(location=str(tmp_path), columns={"a": "string"}, serde=serde)
    told = replace(entry, input_format=stated)
    monkeypatch.setattr("seamkit.tables.catalog_table._METASTORE.table", lambda *_: told)
    with pytest.raises(RefusedError, match=r"read through .*SymlinkTextInputFormat, which is not"):
        seamkit.open_table("hive://localhost:9083/db.t")


@pytest.mark.parametrize("serde", ["serde2.lazybinary.LazyBinarySerDe", "serde2.OpenCSVSerde"])
def test_rows_of_sequence_files_by_other_serdes_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, serde: str
) -> None:
    """A class says what their bytes mean, too: they would be cut as delimited text."""
    entry = _entry(location=str(tmp_path), columns={"a": "string"})
    stated = "org.apache.hadoop.mapred.SequenceFileInputFormat"
    told = replace(entry, input_format=stated, serde=f"org.apache.hadoop.hive.{serde}")
    monkeypatch.setattr("seamkit.tables.catalog_table._METASTORE.table", lambda *_: told)
    with pytest.raises(RefusedError, match=f"sequence files whose rows .*{serde} reads"):
        seamkit.open_table("hive://localhost:9083/db.t")
    for own in ("", _TEXT):
        told = replace(entry, input_format=stated, serde=own)
        table: Any = seamkit.open_table("hive://localhost:9083/db.t")
        assert table.own.file_format == "sequence"


@pytest.mark.parametrize(
    ("serde", "own", "of_partition", "rows"),
    [
        ({"field.delim": ","}, {"field.delim": "|"}, {"field.delim": ","}, ["a", "a|b"]),
        ({"field.delim": ","}, {"field.delim": "|"}, {}, ["a", "a"]),
        ({"field.delim": ","}, {}, {"field.delim": ","}, ["a|b", "a|b"]),
        ({"field.delim": ","}, {}, {"field.delim": "|"}, ["a|b", "a"]),
        ({}, {"field.delim": "|"}, {"escape.delim": "!"}, ["a", "a"]),
    ],
)
def test_properties_lie_over_those_of_the_serde_and_below_a_partitions(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    serde: dict[str, str],
    own: dict[str, str],
    of_partition: dict[str, str],
    rows: list[str],
) -> None:
    """Hive's `MetaStoreUtils`: `getSchema` of a table, `getPartSchemaFromTableSchema` below it."""
    (tmp_path / "f").write_text("a|b,c\n")
    stated, columns = "org.apache.hadoop.mapred.TextInputFormat", {"v": "string"}
    told = _entry(
        location=str(tmp_path),
        input_format=stated,
        columns=columns,
        serde_parameters=serde,
        parameters=own,
    )
    known = MetastorePartition(["1"], str(tmp_path), columns, stated, _TEXT, of_partition)
    catalog = "seamkit.tables.catalog_table._METASTORE"
    found: list[str] = []
    monkeypatch.setattr(f"{catalog}.partitions", lambda *_: [known])
    for partitions in ({}, {"day": "int"}):
        entry = replace(told, partitions=partitions)
        monkeypatch.setattr(f"{catalog}.table", lambda *_, e=entry: e)
        found += _named("hive://localhost:9083/db.t").scan(["v"]).to_table()["v"].to_pylist()
    assert found == rows


@pytest.mark.parametrize("package", ["parquet.hive", "org.apache.hadoop.hive.ql.io.parquet"])
def test_parquet_was_read_by_classes_of_its_own_before_hives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str
) -> None:
    """Tables that Hive 0.12 and Impala made name them."""
    pq.write_table(pa.table({"K": pa.array([1], pa.int32())}), tmp_path / "f")
    name = "DeprecatedParquetInputFormat" if package[0] == "p" else "MapredParquetInputFormat"
    serde, stated = f"{package}.serde.ParquetHiveSerDe", f"{package}.{name}"
    place, columns = str(tmp_path), {"k": "int"}
    told = _entry(location=place, columns=columns, serde=serde, input_format=stated)
    monkeypatch.setattr("seamkit.tables.catalog_table._METASTORE.table", lambda *_: told)
    assert _named("hive://localhost:9083/db.t").scan().to_table().to_pylist() == [{"k": 1}]


@pytest.mark.parametrize("spelled", ["{}", "file:{}", "file://{}"])
def test_tables_of_spark_lie_where_their_path_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spelled: str
) -> None:
    """HiveExternalCatalog: of `CREATE TABLE ... USING delta LOCATION ...` the place is none.

    That of a table within the warehouse is its own.
    """
    table = unpack_delta("change-feed", tmp_path)
    path = {"serialization.format": "1", "path": spelled.format(table)}
    nowhere = f"file:{tmp_path}/warehouse/t-__PLACEHOLDER__"
    stated = "org.apache.hadoop.mapred.SequenceFileInputFormat"
    entry = _entry(parameters=_PROVIDED, input_format=stated, columns={"col": "array<string>"})
    for location, own in ((nowhere, path), (f"file:{table}", {"path": "/not/there"})):
        told = replace(entry, location=location, serde_parameters=own)
        monkeypatch.setattr("seamkit.tables.catalog_table._METASTORE.table", lambda *_, t=told: t)
        found: Any = _named("hive://localhost:9083/db.t")
        assert found.location == str(table)
        assert _rows(found) == _rows(seamkit.open_table(table))
    told = replace(entry, location=nowhere)
    monkeypatch.setattr("seamkit.tables.catalog_table._METASTORE.table", lambda *_: told)
    with pytest.raises(InputError, match="tells no folder"):
        _named("hive://localhost:9083/db.t")


@pytest.mark.parametrize("provider", ["json", "CSV", "text", "parquet"])
@pytest.mark.parametrize("partitions", [{}, {"day": "int"}])
def test_tables_that_spark_keeps_in_its_own_words_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, provider: str, partitions: dict[str, str]
) -> None:
    """HiveExternalCatalog: they look like sequence files with one column, `col`.

    Of Parquet those are such whose columns Hive has no types for. A table that Hive made of
    sequence files has no provider.
    """
    stated = "org.apache.hadoop.mapred.SequenceFileInputFormat"
    columns = {"col": "array<string>"}
    entry = _entry(
        location=str(tmp_path), columns=columns, input_format=stated, partitions=partitions
    )
    told = replace(entry, parameters={"spark.sql.sources.provider": provider})
    monkeypatch.setattr("seamkit.tables.catalog_table._METASTORE.table", lambda *_: told)
    with pytest.raises(RefusedError, match=f"a table of Spark's in '{provider.lower()}'"):
        seamkit.open_table("hive://localhost:9083/db.t")


@pytest.mark.parametrize("partitions", [{}, {"day": "int"}])
@pytest.mark.parametrize("value", ["true", "TRUE", "false"])
def test_partitions_that_are_computed_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, partitions: dict[str, str]
) -> None:
    """Athena's partition projection, and Trino's: the metastore has none, and so would the scan."""
    projected = {"projection.enabled": value, "projection.day.type": "integer"}
    columns, place = {"k": "int"}, str(tmp_path)
    told = _entry(location=place, columns=columns, partitions=partitions, parameters=projected)
    catalog = "seamkit.tables.catalog_table._METASTORE"
    monkeypatch.setattr(f"{catalog}.table", lambda *_: told)
    monkeypatch.setattr(f"{catalog}.partitions", lambda *_: [])
    if partitions and value != "false":
        with pytest.raises(RefusedError, match=r"are computed \(projection\.enabled\)"):
            _named("hive://localhost:9083/db.t")
    else:
        assert _rows(_named("hive://localhost:9083/db.t")) == []


@pytest.mark.parametrize(
    ("parameters", "days"),
    [
        ({"spark.sql.sources.provider": "parquet"}, [1, 2]),
        ({"spark.sql.sources.provider": "parquet", _KEEPER: "filesystem"}, [1, 2]),
        ({"spark.sql.sources.provider": "parquet", _KEEPER: "catalog"}, [2]),
        ({}, [2]),
    ],
)
def test_partitions_of_sparks_tables_lie_in_folders_unless_the_metastore_keeps_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, parameters: dict[str, str], days: list[int]
) -> None:
    """HiveExternalCatalog, `tracksPartitionsInCatalog`: otherwise none of them may be there."""
    for day in (1, 2):
        folder = tmp_path / f"Day={day}"
        folder.mkdir()
        pq.write_table(pa.table({"k": pa.array([day * 10], pa.int32())}), folder / "part-0.parquet")
    serde = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
    stated = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
    entry = _entry(
        location=str(tmp_path),
        columns={"k": "int"},
        partitions={"day": "int"},
        parameters=parameters,
        serde=serde,
        input_format=stated,
    )
    known = MetastorePartition(["2"], str(tmp_path / "Day=2"), {"k": "int"}, stated, serde, {})
    catalog = "seamkit.tables.catalog_table._METASTORE"
    monkeypatch.setattr(f"{catalog}.table", lambda *_: entry)
    monkeypatch.setattr(f"{catalog}.partitions", lambda *_: [known])
    table = seamkit.open_table("hive://localhost:9083/db.t")
    rows = table.scan().to_table().sort_by("k").to_pylist()
    assert rows == [{"k": day * 10, "day": day} for day in days]
    assert table.scan(filter="day = 1").to_table().num_rows == (1 in days)
    assert table.scan(["day"], filter="k = 20").to_table().to_pylist() == [{"day": 2}]


@pytest.mark.parametrize(
    ("stated", "is_asked"),
    [
        ({"avro.schema.literal": "{}"}, True),
        ({"avro.schema.url": "hdfs://a/b"}, True),
        ({"avro.schema.literal": "none", "avro.schema.url": "hdfs://a/b"}, True),
        ({"avro.schema.literal": "none"}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("of", ["table", "serde"])
def test_who_reads_an_avro_schema_is_asked_for_its_columns(
    monkeypatch: pytest.MonkeyPatch, stated: dict[str, str], is_asked: bool, of: str
) -> None:
    """The metastore; one that reads no schemas has the columns of when the table was made alone."""
    types = pytest.importorskip("hive_metastore.ttypes")

    class Client:
        """Of one table."""

        def get_table_req(self, request: Any) -> Any:
            serde = types.SerDeInfo(
                serializationLib=f"{_AVRO}.serde2.avro.AvroSerDe",
                parameters=stated if of == "serde" else {},
            )
            columns = [types.FieldSchema(name="k", type="int")]
            sd = types.StorageDescriptor(cols=columns, serdeInfo=serde)
            own = stated if of == "table" else {}
            table = types.Table(tableName=request.tblName, sd=sd, parameters=own)
            return types.GetTableResult(table=table)

        def get_fields(self, database: str, name: str) -> Any:
            assert (database, name) == (_NAME.database, _NAME.table)
            if fails:
                raise types.MetaException("Storage schema reading not supported")
            return [types.FieldSchema(name=one, type="int") for one in "kv"]

    fails = False
    monkeypatch.setattr("seamkit.catalogs.metastore._client", lambda *_: nullcontext(Client()))
    assert [*Metastore().table(_NAME, 0).columns] == (["k", "v"] if is_asked else ["k"])
    fails = True
    with pytest.raises(RefusedError, match="schema reading") if is_asked else nullcontext():
        assert [*Metastore().table(_NAME, 0).columns] == ["k"]


@pytest.mark.parametrize("lacks", ["get_table", "get_table_req"])
def test_metastores_of_all_versions_are_asked(monkeypatch: pytest.MonkeyPatch, lacks: str) -> None:
    """Hive 4.0.1 has no `get_table` any more, and has `get_table_req` since 2.3.

    Another error than that is one; nobody asks again.
    """
    types = pytest.importorskip("hive_metastore.ttypes")
    from thrift.Thrift import TApplicationException

    class Client:
        """Of one table, which it calls by the method that was asked for."""

        def get_table(self, database: str, name: str) -> Any:
            self._check("get_table")
            return types.Table(dbName=database, tableName=name, tableType="get_table")

        def get_table_req(self, request: Any) -> Any:
            self._check("get_table_req")
            assert (request.dbName, request.tblName) == (_NAME.database, _NAME.table)
            return types.GetTableResult(table=types.Table(tableType="get_table_req"))

        def get_table_statistics_req(self, request: Any) -> Any:
            assert (request.dbName, request.colNames) == (_NAME.database, ["k"])
            return types.TableStatsResult(tableStats=[request.engine])

        def _check(self, method: str) -> None:
            if method == lacks:
                raise TApplicationException(kind, f"Invalid method name: '{method}'")

    kind = TApplicationException.UNKNOWN_METHOD
    monkeypatch.setattr("seamkit.catalogs.metastore._client", lambda *_: nullcontext(Client()))
    other = {"get_table": "get_table_req", "get_table_req": "get_table"}[lacks]
    assert Metastore().table(_NAME, 0).kind == other
    assert Metastore().statistics(_entry(columns={"k": "int"})) == ["hive"]
    kind = TApplicationException.INTERNAL_ERROR
    if lacks == "get_table_req":
        with pytest.raises(TApplicationException, match="get_table_req"):
            Metastore().table(_NAME, 0)


def test_differences_are_told() -> None:
    """Names meet in lower case; what a front end makes of a type is no difference."""
    own = pa.schema(
        {
            "ID": pa.int64(),
            "at": pa.timestamp("ns", "UTC"),
            "v": pa.decimal128(10, 2),
            "own": pa.int32(),
            "_hoodie_commit_time": pa.string(),
        }
    )
    stated = {"id": "bigint", "at": "timestamp", "v": "string", "gone": "int"}
    assert differences(stated, own) == [
        "column 'v': the metastore says string, the table decimal128(10, 2)",
        "column 'gone': the metastore has it, the table does not",
        "column 'own': the table has it, the metastore does not",
    ]


@pytest.mark.parametrize("spelled", ["file:/a%2F b/c", "file:///a%2F b/c", "/a%2F b/c"])
def test_locations_of_folders_here(spelled: str) -> None:
    """Hive spells them in several ways."""
    assert local_path(spelled) == "/a%2F b/c"


@pytest.mark.parametrize(
    "address", ["hive://", "hive://host/db.t", "hive://host:1/t", "hive://host:99999/db.t"]
)
def test_addresses_are_checked(address: str) -> None:
    """A host, a port, a database and a table are meant."""
    with pytest.raises(UsageError, match="HOST:PORT"):
        seamkit.open_table(address)


def test_a_metastore_that_is_not_there_is_unavailable() -> None:
    """Named with its address; no format is guessed."""
    pytest.importorskip("thrift")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(UnavailableError, match=f"{port}/db.t: the metastore does not answer"):
            seamkit.open_table(f"hive://127.0.0.1:{port}/db.t")


# ------------------------------------------------------------------------------ a real metastore


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A metastore with an embedded database, in a JVM of its own."""
    pytest.importorskip("thrift")
    folder = tmp_path_factory.mktemp("metastore")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        number: int = found.getsockname()[1]
    settings = {
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": str(folder / "warehouse"),
        "hive.metastore.uris": "",
        "hive.async.log.enabled": "false",
        "derby.stream.error.file": str(folder / "derby.log"),
        "log4j2.configurationFile": str(_LOGGING),
    }
    command = _java(settings, [], "org.apache.hadoop.hive.metastore.HiveMetaStore")
    log = folder / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen([*command, "-p", str(number)], cwd=folder, stdout=out, stderr=out) as own,
    ):
        try:
            _wait(number, own, log)
            yield number
        finally:
            own.kill()


def _java(settings: Mapping[str, str], jars: list[Path], program: str) -> list[str]:
    with OrSkipped():
        java, spark = find_java(), spark_jars()
    classes = ":".join(map(str, [*jars, spark[0].parent / "*"]))
    stated = [f"-D{name}={value}" for name, value in settings.items()]
    opened = "--add-opens=java.base/java.net=ALL-UNNAMED"  # for what Hive 2.3 does to addresses
    command = [str(java.home / "bin" / "java"), "-Xmx512m", opened]
    return [*command, *stated, "-cp", classes, program]


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(1200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text(errors="replace")
        time.sleep(0.1)
    raise AssertionError(f"no metastore came: {log.read_text(errors='replace')}")


def _named(address: str) -> Any:
    return seamkit.open_table(address)


def _rows(table: Any, **how: Any) -> list[str]:
    return sorted(map(repr, table.scan(**how).to_table().to_pylist()))


@pytest.mark.jvm
def test_tables_that_hudi_registers(port: int, tmp_path: Path) -> None:
    """What Hudi's own sync writes is opened: `_rt` merges logs, `_ro` does not."""
    with OrSkipped():
        bundle = fetch_jars(["org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"], "Hudi's sync")
    table = unpack_table("mor-v9-partitioned", tmp_path)
    sync = _java(
        {"log4j2.configurationFile": str(_LOGGING)}, bundle, "org.apache.hudi.hive.HiveSyncTool"
    )
    sync += ["--metastore-uris", f"thrift://127.0.0.1:{port}", "--sync-mode", "hms"]
    sync += ["--base-path", str(table), "--database", "default", "--table", "trips"]
    sync += ["--base-file-format", "PARQUET", "--partitioned-by", "region"]
    of_paths = "org.apache.hudi.hive.HiveStylePartitionValueExtractor"
    done = subprocess.run(
        [*sync, "--partition-value-extractor", of_paths], check=False, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    own = seamkit.HudiTable(str(table))
    address = f"hive://127.0.0.1:{port}/default.trips"
    for name, query in (("", "snapshot"), ("_rt", "snapshot"), ("_ro", "read-optimized")):
        found = _named(address + name)
        assert _rows(found) == _rows(own, query=query)
        assert found.differences == []
    assert _rows(own) != _rows(own, query="read-optimized")


def _connected(port: int) -> tuple[Any, Callable[[], None]]:
    """A client of the metastore, and what ends it."""
    from hive_metastore.ThriftHiveMetastore import Client
    from thrift.protocol import TBinaryProtocol
    from thrift.transport import TSocket, TTransport

    transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", port))
    transport.open()
    return Client(TBinaryProtocol.TBinaryProtocol(transport)), transport.close


def _register(
    port: int,
    name: str,
    folder: Path,
    columns: Mapping[str, str],
    partitions: Mapping[str, str],
    parameters: Mapping[str, str],
    serde: tuple[str, str] = (_TEXT, "org.apache.hadoop.mapred.TextInputFormat"),
    values: Mapping[str, tuple[str, ...]] | None = None,
    *,
    database: str = "default",
    kind: str = "EXTERNAL_TABLE",
) -> str:
    """Create a table by a Thrift call, as any client of the metastore would."""
    from hive_metastore.ttypes import FieldSchema, Partition, SerDeInfo, StorageDescriptor, Table

    def storage(location: Path) -> Any:
        return StorageDescriptor(
            cols=[FieldSchema(name=n, type=t) for n, t in columns.items()],
            location=f"file:{location}",
            inputFormat=serde[1],
            outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
            serdeInfo=SerDeInfo(serializationLib=serde[0], parameters={}),
            parameters={},
            bucketCols=[],
            sortCols=[],
        )

    client, close = _connected(port)
    client.create_table(
        Table(
            tableName=name,
            dbName=database,
            owner="nobody",
            sd=storage(folder),
            partitionKeys=[FieldSchema(name=n, type=t) for n, t in partitions.items()],
            parameters={"EXTERNAL": "TRUE", **parameters},
            tableType=kind,
        )
    )
    for path, own in (values or {}).items():
        client.add_partition(
            Partition(
                values=list(own),
                dbName=database,
                tableName=name,
                sd=storage(folder / path),
                parameters={},
            )
        )
    close()
    return f"hive://127.0.0.1:{port}/{database}.{name}"


@pytest.mark.jvm
def test_tables_of_other_formats(port: int, tmp_path: Path) -> None:
    """Each is opened by its own metadata, found by what the metastore says of it."""
    delta = unpack_delta("change-feed", tmp_path / "d")
    paimon = unpack_paimon("aggregate-bool", tmp_path / "p")
    iceberg = unpack_iceberg("appends", tmp_path / "i")
    newest = max((iceberg / "metadata").glob("*.metadata.json"), key=lambda file: file.name)
    registered = {
        delta: _PROVIDED,
        paimon: {"storage_handler": "org.apache.paimon.hive.PaimonStorageHandler"},
        iceberg: {"table_type": "ICEBERG", "metadata_location": str(newest)},
    }
    for folder, parameters in registered.items():
        address = _register(port, folder.parent.name, folder, {"k": "int"}, {}, parameters)
        found = _named(address)
        assert _rows(found) == _rows(seamkit.open_table(folder))
        assert found.differences
        _hold_commands(address, _rows(found), tmp_path)


def _hold_commands(address: str, rows: list[str], folder: Path) -> None:
    """A name stands on the command line wherever a table does."""
    target = folder / "rows.arrow"
    for arguments in (
        ["scan", address, "-o", str(target)],
        ["inspect", address],
        ["inspect", address, "--statistics"],
        ["audit", address, "--no-peers"],
    ):
        with pytest.raises(SystemExit) as ended:
            (main if arguments[0] == "audit" else seamkit_main)(arguments)
        assert not ended.value.code, arguments
    with pa.ipc.open_file(target) as reader:
        assert sorted(map(repr, reader.read_all().to_pylist())) == rows


@pytest.mark.jvm
def test_iceberg_tables_that_pyiceberg_registers(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the catalog that pyiceberg has configured, and by the metastore's own address."""
    from pyiceberg.catalog import load_catalog

    configure(monkeypatch, "store", {"TYPE": "hive", "URI": f"thrift://127.0.0.1:{port}"})
    for name in ("positions", "equality_and_vectors"):
        folder = unpack_iceberg(name.replace("_", "-"), tmp_path)
        newest = max((folder / "metadata").glob("*.metadata.json"), key=lambda file: file.name)
        # A metastore makes the folder that a table says it lies in, unless it is there.
        home = Path(json.loads(newest.read_text(encoding="utf-8"))["location"])
        with placed(folder, home):
            load_catalog("store").register_table(f"default.{name}", f"file://{newest}")
        assert not home.exists()
        for address in ("iceberg://store/default", f"hive://127.0.0.1:{port}/default"):
            assert _rows(_named(f"{address}.{name}")) == _rows(seamkit.open_table(folder))
    with pytest.raises(InputError, match="no such table"):
        _named("iceberg://store/default.none")


@pytest.mark.jvm
def test_partitions_of_a_hive_table(port: int, tmp_path: Path) -> None:
    """Partitions are those of the metastore, which need not be all that lie in the folder."""
    folder = unpack_hive("text-partitions", tmp_path)
    own = seamkit.open_table(folder)
    own_scan: Any = own.scan()
    stated = json.loads((folder / "_hive_table.json").read_text(encoding="utf-8"))
    columns = {one["name"]: one["type"] for one in stated["columns"]}
    partitions = {one["name"]: one["type"] for one in stated["partitions"]}
    paths = sorted({unit.group for unit in own_scan.plan.units})
    values = {
        path: tuple(unescaped(p.partition("=")[2]) for p in path.split("/")) for path in paths
    }
    first = dict(list(values.items())[:-1])
    properties = stated.get("properties", {})
    address = _register(
        port, "parts", folder, columns, partitions, {**properties, "numRows": "7"}, values=values
    )
    fewer = _register(port, "fewer", folder, columns, partitions, properties, values=first)
    last, own_values = list(values.items())[-1]
    beside = shutil.copytree(folder / last, tmp_path / "beside" / "p")
    moved = {**first, str(beside): own_values}
    spread = _register(port, "spread", folder, columns, partitions, properties, values=moved)

    found = _named(address)
    assert _rows(found) == _rows(own)
    assert found.statistics().rows == Figure(7, "estimate")
    connection, names = duckdb.connect(), ["default.fewer", "default.parts"]
    catalog = seamkit.open_catalog(f"hive://127.0.0.1:{port}")
    assert catalog.register(connection, "default", tables=names) == names
    for view, told in (("parts", 7), ("fewer", 1)):  # DuckDB's own word where nobody counted
        [(_, plan)] = connection.sql(f"EXPLAIN FROM {view}").fetchall()
        assert f"~{told} row" in plan
    assert set(found.statistics().columns) == set(own.schema.names)
    assert len(_rows(seamkit.open_table(fewer))) < len(_rows(own))
    assert _rows(seamkit.open_table(spread)) == _rows(own)


@pytest.mark.jvm
def test_properties_of_partitions_lie_over_those_of_their_table(port: int, tmp_path: Path) -> None:
    """What `ALTER TABLE` adds to the serde holds for partitions that do not say otherwise."""
    for day, row in (("d=1", "7|a!|b"), ("d=2", "7,a!,b")):
        (tmp_path / day).mkdir()
        (tmp_path / day / "f").write_text(f"{row}\n")
    columns, values = {"k": "int", "v": "string"}, {f"d={day}": (day,) for day in ("1", "2")}
    address = _register(port, "laid", tmp_path, columns, {"d": "int"}, {}, values=values)
    client, close = _connected(port)
    table = client.get_table("default", "laid")
    table.sd.serdeInfo.parameters = {"field.delim": "|", "escape.delim": "!"}
    client.alter_table("default", "laid", table)
    second = client.get_partition("default", "laid", ["2"])
    second.sd.serdeInfo.parameters = {"field.delim": ","}
    client.alter_partition("default", "laid", second)
    close()
    rows: Any = seamkit.open_table(address).scan().to_table().sort_by("d").to_pylist()
    assert rows == [{"k": 7, "v": "a|b", "d": 1}, {"k": 7, "v": "a,b", "d": 2}]


@pytest.mark.jvm
def test_columns_of_partitions_are_those_of_their_time(port: int, tmp_path: Path) -> None:
    """`ALTER TABLE` without a cascade leaves partitions the columns that they had."""
    for day in ("1", "2"):
        (tmp_path / f"d={day}").mkdir()
        (tmp_path / f"d={day}" / "f").write_text("300\x01a\x017\n")
    columns, values = {"k": "tinyint", "v": "string"}, {"d=1": ("1",)}
    address = _register(port, "grown", tmp_path, columns, {"d": "int"}, {}, values=values)
    client, close = _connected(port)
    from hive_metastore.ttypes import FieldSchema, Partition

    table = client.get_table("default", "grown")
    table.sd.cols[0].type = "int"
    table.sd.cols.append(FieldSchema(name="more", type="int"))
    client.alter_table("default", "grown", table)
    stored = client.get_table("default", "grown").sd
    stored.location = f"file:{tmp_path}/d=2"
    client.add_partition(
        Partition(values=["2"], dbName="default", tableName="grown", sd=stored, parameters={})
    )
    close()
    rows: Any = seamkit.open_table(address).scan().to_table().sort_by("d").to_pylist()
    assert rows == [
        {"k": None, "v": "a", "more": None, "d": 1},
        {"k": 300, "v": "a", "more": 7, "d": 2},
    ]


@pytest.mark.jvm
@pytest.mark.parametrize("stated", ["literal", "url"])
def test_columns_of_an_avro_schema_are_those_that_it_has_now(
    stated: str, port: int, tmp_path: Path
) -> None:
    """`ALTER TABLE ... SET TBLPROPERTIES` changes it, and not the columns that were noted down."""
    schema = record(k="int", s=record("s", x="long"), w=optional("string"))
    row = {"k": 1, "s": {"x": 7}, "w": "a"}
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "f").write_bytes(container(schema, [row, row | {"w": None}]))
    (tmp_path / "schema").write_text(json.dumps(schema))
    known = {"literal": json.dumps(schema), "url": f"file:{tmp_path}/schema"}
    serde = (f"{_AVRO}.serde2.avro.AvroSerDe", f"{_AVRO}.ql.io.avro.AvroContainerInputFormat")
    parameters = {f"avro.schema.{stated}": known[stated]}
    address = _register(port, f"of_{stated}", folder, {"k": "int"}, {}, parameters, serde)
    assert _named(address).scan().to_table().to_pylist() == [row, row | {"w": None}]
    assert _named(address).scan(["s"], filter="w = 'a'").to_table().to_pylist() == [{"s": {"x": 7}}]


@pytest.mark.jvm
def test_answers_are_kept_for_a_while(port: int, tmp_path: Path) -> None:
    """No older answer is used than whoever asks allows."""
    folder = unpack_hive("text-rows", tmp_path)
    address = _register(port, "aging", folder, {"k": "int"}, {}, {})
    store, name = Metastore(), TableName.parse(address)
    first = store.table(name, 60)
    assert store.table(name, 60) is first
    assert store.table(name, 0) is not first


@pytest.mark.jvm
def test_a_metastore_is_a_catalog(port: int, tmp_path: Path) -> None:
    """Names, rows and views; partitions that a query leaves out are not looked at."""
    client, close = _connected(port)
    from hive_metastore.ttypes import Database

    client.create_database(Database(name="whole", locationUri=f"file:{tmp_path}/whole"))
    close()
    delta = unpack_delta("types", tmp_path)
    folder = unpack_hive("text-partition-types", tmp_path)
    stated = json.loads((folder / "_hive_table.json").read_text(encoding="utf-8"))
    columns = {one["name"]: one["type"] for one in stated["columns"]}
    partitions = {one["name"]: one["type"] for one in stated["partitions"]}
    own: Any = seamkit.open_table(folder)
    paths = sorted({unit.group for unit in own.scan().plan.units})
    values = {
        path: tuple(unescaped(p.partition("=")[2]) for p in path.split("/")) for path in paths
    }
    _register(port, "d", delta, {"k": "int"}, {}, _PROVIDED, database="whole")
    beside = shutil.copytree(folder / paths[-1], tmp_path / "beside" / "p")
    values[str(beside)] = values.pop(paths[-1])
    _register(port, "parts", folder, columns, partitions, {}, values=values, database="whole")
    _register(port, "seen", folder, columns, {}, {}, kind="VIRTUAL_VIEW", database="whole")

    address = f"hive://127.0.0.1:{port}"
    catalog = seamkit.open_catalog(address)
    assert "whole" in catalog.databases()
    assert catalog.tables("whole") == ["whole.d", "whole.parts", "whole.seen"]
    assert set(catalog.tables("whole")) < set(catalog.tables())
    assert _rows(catalog.open("whole.parts")) == _rows(own)
    with pytest.raises(InputError, match="no database 'whol'; did you mean 'whole'"):
        catalog.tables("whol")
    with pytest.raises(InputError, match="no such table"):
        catalog.open("whole.none")
    with pytest.raises(RefusedError, match="a view"):
        catalog.open("whole.seen")

    connection = duckdb.connect()
    with pytest.warns(TableWarning, match="whole.seen is left out: .* a view"):
        assert catalog.register(connection, "whole") == ["whole.d", "whole.parts"]
    shown = connection.sql("FROM parts").to_arrow_table()
    assert shown.num_rows == own.count_rows()
    name, text = paths[0].split("/")[0].split("=")
    parts = connection.table("parts")
    kept = parts.filter(f"{name} = '{text}'").count("*")
    [(count,)] = kept.fetchall()
    assert 0 < count < own.count_rows()
    # A folder that is gone is missed by who asks for its partition alone.
    shutil.rmtree(beside)
    assert kept.fetchall() == [(count,)]
    with pytest.raises(duckdb.Error, match="no such folder"):
        connection.sql("FROM parts").fetchall()
    with pytest.raises(SystemExit) as ended:
        seamkit_main(["tables", address, "--database", "whole", "--columns"])
    assert not ended.value.code
