"""Scanners that users bring as Java classes: found, judged and refused by name."""

from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambench.contracts import registry
from seambench.contracts.column import ColumnRequest
from seambench.contracts.scan import ScanRequest
from seambench_impl.column import OffHeapColumns
from seambench_impl.column_java import case_classes
from seamkit_tests.samples.lacking import OrSkipped

pytestmark = pytest.mark.jvm

SOURCES = Path(__file__).with_name("users")


@pytest.fixture(autouse=True)
def _class_path(monkeypatch: pytest.MonkeyPatch) -> None:
    with OrSkipped():
        case_classes()
    monkeypatch.setenv("CLASSPATH", str(SOURCES))


def test_tables_are_read_by_a_users_scanner(tmp_path: Path) -> None:
    """All columns, those asked for, none, and a filter: as from any reader."""
    reader = registry.resolve("scan", "java:com.example.Tables")
    scan = reader.open(ScanRequest(str(tmp_path)))
    rows: list[dict[str, object]] = [{"n": 0, "t": "0"}, {"n": None, "t": None}, {"n": 2, "t": "2"}]
    assert scan.to_reader().read_all().to_pylist() == rows
    assert scan.dataset().count_rows() == 3
    some = reader.open(ScanRequest(str(tmp_path), columns=["t"])).to_reader().read_all()
    assert some.to_pylist() == [{"t": row["t"]} for row in rows]


def test_columns_are_those_of_our_own_classes() -> None:
    """Rows of a case, appended by a user's class, lie as the C table lays them."""
    request = ColumnRequest(["n"], ["bigint"], [[1], [None], [-3]], ["n"], None, 2, [2, 1])
    java = registry.resolve("column", "java:com.example.Columns")
    found, expected = java.chunks(request), OffHeapColumns().chunks(request)
    assert [chunk.num_rows for chunk in found] == [2, 1]
    assert [[s.kind for s in c.slots] for c in found] == [
        [s.kind for s in c.slots] for c in expected
    ]
    assert [chunk.slots[0].content for chunk in found] == [b"\0\1", b"\0"]
    assert found[1].slots[1].content == expected[1].slots[1].content
    assert java.live_blocks() == 0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("com.example.Nobody", "no such class is on the class path"),
        ("com.example.Texts", "does not extend seamkit.offheap.ConnectorScanner"),
        ("no class", "no such class is on the class path"),
    ],
)
def test_what_is_no_scanner_is_refused_by_name(name: str, says: str) -> None:
    """A class that is missing, or is none, is told before anything is read."""
    for seam in ("scan", "column"):
        with pytest.raises(UsageError, match=says):
            registry.resolve(seam, f"java:{name}")


@pytest.mark.parametrize(
    ("name", "table", "says", "error"),
    [
        ("Narrow", "t", "Narrow has no public constructor", RefusedError),
        ("Bad", "throws", "Bad: java.lang.IllegalStateException: out of order", InputError),
        ("Bad", "t", "a table has no -7 rows", InputError),
    ],
)
def test_bad_scanners_fail_by_name(
    name: str, table: str, says: str, error: type[SeambenchError]
) -> None:
    """A scanner that cannot be made, throws at once, or miscounts is an error, never a crash."""
    reader = registry.resolve("scan", f"java:com.example.{name}")
    with pytest.raises(error, match=says):
        list(reader.open(ScanRequest(table)).to_reader())


@pytest.mark.parametrize("text", ["class Broken {", "class Other {}"])
def test_sources_that_do_not_help_are_told(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources that do not compile, or hold another class, are the user's to mend."""
    (tmp_path / "Broken.java").write_text(text)
    monkeypatch.setenv("CLASSPATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"does not compile|no such class"):
        registry.resolve("scan", "java:Broken")


@pytest.mark.parametrize("path", ["", "nowhere.jar"])
def test_a_class_path_must_be_there(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a class path, or with one that leads nowhere, the message says so."""
    monkeypatch.setenv("CLASSPATH", path)
    with pytest.raises(UsageError, match="class path"):
        registry.resolve("scan", "java:com.example.Tables")
