"""Peers: chosen files, refusals by name, and nothing foreign imported before it is needed."""

import json
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from seambase.errors import InputError, RefusedError, UnavailableError, UsageError
from seambench.cli.app import app
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.hudi_rs import HudiRsReader
from seambench_impl.peers.peer_scan import import_peer
from seambench_impl.peers.pyarrow import ArrowFolders, PyarrowReader, newest_base_files
from seambench_impl.peers.spark.hudi import SparkHudiReader, hudi_options
from seamkit_tests import SUITES_GOLDEN

OLD, NEW = "20240101000000000", "20240102000000000"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Folders with names as Hudi gives them: two file ids, one rewritten, and files to ignore."""
    rows = pa.table({"_hoodie_record_key": ["1"], "id": [1], "note": ["old"]})
    for name, note in (
        (f"aaaa-0_0-1-2_{OLD}.parquet", "old"),
        (f"aaaa-0_1-2-3_{NEW}.parquet", "new"),
        (f"part=x/bbbb-0_0-1-2_{OLD}.parquet", "only"),
        (f".hoodie/metadata/files/cccc-0_0-1-2_{OLD}.parquet", "metadata"),
        ("foreign.parquet", "foreign"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.set_column(2, "note", pa.array([note])), path)
    return tmp_path


def test_the_newest_file_of_each_id_is_read(table: Path) -> None:
    """Older versions, metadata and foreign files are left out."""
    assert [path.name for path in newest_base_files(table)] == [
        f"aaaa-0_1-2-3_{NEW}.parquet",
        f"bbbb-0_0-1-2_{OLD}.parquet",
    ]
    scan = PyarrowReader().open(ScanRequest(table=str(table), query="read-optimized"))
    assert scan.schema.names == ["id", "note"]
    assert sorted(scan.to_reader().read_all()["note"].to_pylist()) == ["new", "only"]
    assert scan.report().paths == {"native": 2}
    assert scan.report().rows == 2


def test_columns_may_be_named_or_none(table: Path) -> None:
    """Meta columns come when named; without columns the rows are still counted."""
    request = ScanRequest(
        table=str(table), query="read-optimized", columns=["note", "_hoodie_record_key"]
    )
    assert PyarrowReader().open(request).to_reader().read_all().column_names == [
        "note",
        "_hoodie_record_key",
    ]
    nothing = ScanRequest(table=str(table), query="read-optimized", columns=[])
    assert sum(b.num_rows for b in PyarrowReader().open(nothing).to_reader()) == 2
    wrong = ScanRequest(table=str(table), query="read-optimized", columns=["absent"])
    with pytest.raises(UsageError, match="'absent'"):
        PyarrowReader().open(wrong)


@pytest.mark.parametrize("reader", [PyarrowReader, HudiRsReader, SparkHudiReader])
def test_what_a_peer_does_not_offer_is_refused(reader: type[PyarrowReader], table: Path) -> None:
    """Queries for kinds of changes, filters as text and strictness are refused by name."""
    query = "read-optimized"
    for request in (
        ScanRequest(table=str(table), query="cdc"),
        ScanRequest(table=str(table), query=query, where="id > 0"),  # type: ignore[arg-type]
        ScanRequest(table=str(table), query=query, strict=True),  # type: ignore[arg-type]
    ):
        with pytest.raises(RefusedError, match=reader.name):
            reader().open(request)


def test_a_folder_of_other_files_is_refused_and_not_broken(tmp_path: Path) -> None:
    """It is the adapter that knows no way, and not the library that fails."""
    with zipfile.ZipFile(SUITES_GOLDEN / "hive" / "json-rows" / "table.zip") as archive:
        archive.extractall(tmp_path)
    with pytest.raises(RefusedError, match=r"^it reads folders of parquet and orc, not json$"):
        ArrowFolders().open(ScanRequest(table=str(tmp_path)))


@pytest.mark.parametrize("reader", [PyarrowReader, HudiRsReader, SparkHudiReader])
def test_a_folder_that_is_no_table_is_bad_input(
    reader: type[PyarrowReader], tmp_path: Path
) -> None:
    """Without .hoodie there is nothing to read, and nothing is started to find that out."""
    with pytest.raises(InputError, match="no Hudi table"):
        reader().open(ScanRequest(table=str(tmp_path), query="read-optimized"))


@pytest.mark.parametrize("reader", [HudiRsReader, SparkHudiReader])
def test_a_missing_package_is_unavailable(reader: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is absent, the reader says which extra brings it."""

    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(UnavailableError, match=r"pip install 'seambench\["):
        reader()


@pytest.mark.parametrize(
    ("name", "other"), [("polars-delta", "deltalake"), ("polars-iceberg", "pyiceberg")]
)
def test_a_package_that_a_peer_reads_with_is_looked_for(
    name: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without what reads the metadata for it, a peer is unavailable, and the doctor says so."""
    there = metadata.version

    def without(package: str) -> str:
        if package == other:
            raise metadata.PackageNotFoundError(package)
        return there(package)

    assert registry.resolve("scan", name).name == name
    monkeypatch.setattr(metadata, "version", without)
    with pytest.raises(UnavailableError, match=rf"'{other}', .* pip install 'seambench\[peers\]'"):
        registry.resolve("scan", name)
    if other == "pyiceberg":
        return
    found = CliRunner().invoke(app, ["doctor", "--json"]).stdout
    [polars] = [one for one in json.loads(found)["findings"] if one["subject"] == "polars"]

    assert not polars["ok"]
    assert name not in polars["found"]
    assert "polars-ipc" in polars["found"]
    assert f"pip install '{other}" in polars["advice"]
    assert polars["needed_for"] == f"peers {name}"


def test_an_absent_module_is_unavailable() -> None:
    """The import of a peer fails with what to install."""
    with pytest.raises(UnavailableError, match=r"reader needs the package 'absent_module'"):
        import_peer("absent_module", "reader", "peers")


def test_nothing_foreign_is_imported_early() -> None:
    """Making the readers loads neither Spark nor hudi-rs."""
    program = (
        "import sys\n"
        "from seambench_impl.peers.hudi_rs import HudiRsReader\n"
        "from seambench_impl.peers.spark.hudi import SparkHudiReader\n"
        "HudiRsReader(), SparkHudiReader()\n"
        "sys.exit(str({'hudi', 'pyspark', 'py4j'} & set(sys.modules) or ''))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""


@pytest.mark.parametrize(
    ("version", "table_version", "begin", "sent"),
    [
        ("1.0.2", 8, "20241231235959999", "20250101000000000"),
        ("1.0.2", 8, None, "000"),
        ("1.0.2", 6, "20241231235959999", "20241231235959999"),
        ("1.1.1", 8, "20241231235959999", "20241231235959999"),
        ("0.15.0", 6, "20241231235959999", "20241231235959999"),
    ],
)
def test_hudi_1_0_is_asked_from_the_millisecond_after_the_bound(
    version: str, table_version: int, begin: str | None, sent: str, tmp_path: Path
) -> None:
    """Bounds are exclusive here; 1.0 also reads what completed at a bound."""
    properties = tmp_path / ".hoodie" / "hoodie.properties"
    properties.parent.mkdir()
    properties.write_text(
        f"hoodie.table.type=COPY_ON_WRITE\nhoodie.table.version={table_version}\n"
    )
    request = ScanRequest(table=str(tmp_path), query="incremental", begin=begin)
    options = hudi_options(request, version)
    assert options == {"hoodie.datasource.read.begin.instanttime": sent}


def test_a_history_of_schemas_is_read_as_hudi_documents_it(tmp_path: Path) -> None:
    """Schema on read is switched on for a table that has used it, and for no other."""
    request = ScanRequest(table=str(tmp_path))
    assert hudi_options(request, "1.2.0") == {}
    commit = tmp_path / ".hoodie" / ".schema" / "20240101000000000.schemacommit"
    commit.parent.mkdir(parents=True)
    commit.touch()
    assert hudi_options(request, "1.2.0") == {"hoodie.schema.on.read.enable": "true"}
