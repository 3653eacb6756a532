"""`open_table`: tables by what lies in a folder, and one sentence for what is none."""

import doctest
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seamkit_tests.samples.golden_tables import unpack, unpack_table
from seamkit_tests.samples.iceberg_tables import unpack_iceberg


@pytest.fixture
def hudi(tmp_path: Path) -> Path:
    """A Hudi table with logs, which Spark wrote."""
    return unpack_table("mor-v9-event", tmp_path)


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """A Delta table with deletion vectors, which Spark wrote."""
    return unpack("delta/vectors-several", tmp_path)


def folder(base: Path, *names: str) -> Path:
    """A folder with empty files, and folders where a name ends with a slash."""
    for name in names:
        path = base / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.touch()
    return base / "t"


def test_a_tilde_is_the_users_home(delta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every way: `open_table`, a format's class, a scan at once; paths of any kind."""
    monkeypatch.setenv("HOME", str(delta.parent))
    address = f"~/{delta.name}"
    tables = (seamkit.open_table(address), seamkit.DeltaTable(Path(address)))
    assert [table.count_rows() for table in tables] == [4, 4]
    assert seamkit.scan_table(address, ["k"]).count_rows() == 4
    with pytest.raises(seamkit.InputError, match="~nobody-of-that-name/t: there is no such folder"):
        seamkit.open_table("~nobody-of-that-name/t")


@pytest.mark.parametrize(
    ("names", "error", "says"),
    [
        (["metadata/v1.metadata.json"], "InputError", "v1.metadata.json: no JSON"),
        (["metadata/notes.json"], "InputError", "looks like no table: it holds metadata"),
        (["snapshot/LATEST", "schema/schema-0"], "InputError", "schema/schema-0: no JSON"),
        (["snapshot/LATEST", "schema/"], "InputError", "looks like no table"),
        (["a.parquet", "b.orc"], "InputError", "a folder of ORC and Parquet files, no table"),
        (["day=1/a.parquet"], "InputError", "looks like a folder of partitions, as Hive"),
        ([".hoodie/", "_delta_log/"], "UsageError", "seamkit.HudiTable or seamkit.DeltaTable"),
        ([".hoodie"], "InputError", "looks like no table: it holds .hoodie"),
        (list("abcdefg"), "InputError", "it holds a, b, c, d, e, ..., and no folder"),
        ([".hoodie/hoodie.properties"], "InputError", "hoodie.properties"),
    ],
)
def test_what_is_no_table_is_told_in_a_sentence(
    tmp_path: Path, names: list[str], error: str, says: str
) -> None:
    """A folder is refused with what it looks like, and with what can be read."""
    path = folder(tmp_path, *names)
    with pytest.raises(seamkit.SeambenchError) as raised:
        seamkit.open_table(path)
    assert type(raised.value).__name__ == error
    assert says in str(raised.value)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("address", ["file://{}", "FILE://{}", "File:{}"])
def test_letters_of_a_scheme_may_be_large(address: str, delta: Path) -> None:
    """As of addresses everywhere; a folder's own letters stay."""
    assert seamkit.open_table(address.format(delta)).describe().table == str(delta)


def test_of_several_formats_one_is_named(delta: Path) -> None:
    """A folder with the metadata of two formats is opened as the one that is said to be meant."""
    (delta / "metadata").mkdir()
    (delta / "metadata" / "v1.metadata.json").touch()
    with pytest.raises(seamkit.UsageError, match="a table of several formats"):
        seamkit.open_table(delta)
    assert isinstance(seamkit.open_table(delta, format="delta"), seamkit.DeltaTable)
    with pytest.raises(seamkit.UsageError, match="did you mean 'delta'"):
        seamkit.open_table(delta, format="dleta")  # type: ignore[arg-type]
    with pytest.raises(seamkit.UsageError, match="Delta tables have no option listing"):
        seamkit.open_table(delta, format="delta", listing="files")


@pytest.mark.parametrize(
    ("kind", "title", "mark"), [("hudi", "Hudi", ".hoodie"), ("delta", "Delta", "_delta_log")]
)
def test_a_format_that_the_folder_is_not_is_told(
    request: pytest.FixtureRequest, kind: Any, title: str, mark: str
) -> None:
    """What it is instead, by which of its folders; of the one that it is what is wrong with it."""
    folder = request.getfixturevalue(kind)
    others: set[Any] = {"hudi", "delta", "iceberg", "paimon", "hive"} - {kind}
    for asked in others:
        says = f"but one of {title}, as {mark} in it shows: leave format='{asked}' out"
        with pytest.raises(seamkit.InputError, match=says):
            seamkit.open_table(folder, format=asked)
    for file in [*(folder / mark).glob("*.json"), *(folder / mark).glob("*.p*")]:
        file.unlink()
    with pytest.raises(seamkit.InputError, match=mark) as raised:
        seamkit.open_table(folder, format=kind).head()
    assert "leave format" not in str(raised.value)


def test_an_iceberg_table_is_found(tmp_path: Path) -> None:
    """By its metadata: its folder, and a metadata file in it."""
    table = unpack_iceberg("positions", tmp_path)
    newest = seamkit.open_table(table)
    older = seamkit.open_table(table / "metadata" / "v2.metadata.json")
    assert isinstance(newest, seamkit.IcebergTable)
    assert isinstance(older, seamkit.IcebergTable)
    assert (newest.scan().count_rows(), older.scan().count_rows()) == (5, 6)


def test_what_is_no_folder_is_told_in_a_sentence(tmp_path: Path, hudi: Path) -> None:
    """A missing path, an empty folder, a file, and a table's own folder of metadata."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "rows.parquet")
    (tmp_path / "empty").mkdir()
    for path, says in (
        (tmp_path / "absent", "there is no such folder"),
        (tmp_path / "empty", "is empty, or is not there"),
        (tmp_path / "rows.parquet", "is a Parquet file: a table is a folder"),
        (hudi / ".hoodie", "name the folder above it"),
    ):
        with pytest.raises(seamkit.InputError, match=says):
            seamkit.open_table(path)


@pytest.mark.parametrize("path", ["", 3, None, b"x"])
def test_a_path_of_another_kind_is_refused(path: Any) -> None:
    """Texts and paths are taken, nothing else."""
    with pytest.raises(seamkit.UsageError, match="a folder or an address is meant"):
        seamkit.open_table(path)


@pytest.mark.parametrize("options", ["x", 1, [("key", "x")], {1: "x"}])
def test_options_of_another_kind_are_refused(hudi: Path, options: Any) -> None:
    """Names and values are taken, nothing else."""
    with pytest.raises(seamkit.UsageError, match="names and values are meant"):
        seamkit.open_table(hudi, options)


def test_the_page_of_help_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples that `help(seamkit)` shows run, and print what they show."""
    unpack_table("mor-v9-event", tmp_path / "trips")
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(seamkit)
    assert found.attempted >= 7
    assert found.failed == 0


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        ("delta", {"query": "incremental2"}, "query is 'incremental2': one of"),
        ("delta", {"strict": 1}, "strict is 1: True or False"),
        ("delta", {"threads": 0}, "threads is 0: a whole number"),
        ("delta", {"columns": "k"}, "columns is 'k': a list of names is meant"),
        ("delta", {"columns": ["K"]}, "there is no column 'K'"),
        ("delta", {"as_of": True}, "as_of is True: a version (7) or a time"),
        ("delta", {"as_of": "soon"}, "as_of is 'soon': a version"),
        ("delta", {"filter": "k >"}, "filter 'k >'"),
        ("hudi", {"query": "x"}, "query is 'x': one of 'snapshot'"),
        ("hudi", {"query": "read_optimized"}, "did you mean 'read-optimized'?"),
        ("hudi", {"path": "foo"}, "path is 'foo': one of"),
        ("hudi", {"threads": 0}, "threads is 0: a whole number"),
        ("hudi", {"threads": 1.5}, "threads is 1.5"),
        ("hudi", {"batch_rows": -1}, "batch_rows is -1"),
        ("hudi", {"memory_limit_bytes": -1}, "memory_limit_bytes is -1"),
        ("hudi", {"memory_limit_bytes": True}, "memory_limit_bytes is True"),
        ("hudi", {"strict": "no"}, "strict is 'no': True or False is meant"),
        ("hudi", {"positions": 1}, "positions is 1: True or False is meant"),
        ("hudi", {"columns": "k"}, "columns is 'k': a list of names is meant"),
        ("hudi", {"columns": ["kk"]}, "there is no column 'kk'; did you mean 'k'"),
        ("hudi", {"columns": ["k", "k"]}, "asked for twice"),
        ("hudi", {"filter": 3}, "filter is a int"),
        ("hudi", {"filter": "nothing > 1"}, "filter 'nothing > 1': there is no column 'nothing'"),
        ("hudi", {"filter": "ts + 1"}, "is no condition"),
        ("hudi", {"as_of": 3.5}, "as_of is 3.5"),
        ("hudi", {"as_of": "yesterday"}, "yesterday"),
        (
            "hudi",
            {"begin": "20200101000000"},
            "a query snapshot has no begin: it goes with incremental",
        ),
    ],
)
def test_every_argument_of_a_scan_is_checked(
    request: pytest.FixtureRequest, kind: str, arguments: dict[str, Any], says: str
) -> None:
    """What cannot be meant is refused when a scan is planned, never taken for something else."""
    with pytest.raises(seamkit.UsageError) as raised:
        seamkit.open_table(request.getfixturevalue(kind)).scan(**arguments)
    assert says in str(raised.value)


def test_a_listing_that_does_not_exist_is_refused(hudi: Path) -> None:
    """Options of a format's own class are checked as well."""
    with pytest.raises(seamkit.UsageError, match="listing is 'foo': one of"):
        seamkit.HudiTable(str(hudi), listing="foo")  # type: ignore[arg-type]


def test_tables_and_scans_say_what_they_are(hudi: Path) -> None:
    """A `repr` names the table; a scan's its parts; both the columns."""
    table = seamkit.open_table(hudi)
    scan = table.scan(columns=["k", "v"])
    assert str(hudi) in repr(table)
    assert repr(table).startswith("<HudiTable ")
    assert repr(scan) == "<Scan of 2 columns; 1 part>\n  k: string\n  v: string"
    assert pickle.loads(pickle.dumps(scan)).to_table().num_rows == scan.count_rows()  # noqa: S301
