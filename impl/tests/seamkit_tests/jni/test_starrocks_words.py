"""A scanner in the words of StarRocks' package is one of ours but for the name of the package."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, RefusedError
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.jni.scanner import JniLoader, JniScanner, connector_classes
from seamkit_tests.samples.lacking import OrSkipped

pytestmark = pytest.mark.jvm

_SOURCES = Path(__file__).with_name("starrocks")
_PACKAGES = ("com.starrocks.jni.connector", "com.starrocks.utils.loader")
_TRIPS = "com.starrocks.trips"
_AT = dt.datetime(1969, 12, 31, 23, 59, 59, 999000)
#: What `Trips.java` spells in Java's objects.
_ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "rider": "Zoë",
        "paid": Decimal("-12.30"),
        "tip": 0.5,
        "day": dt.date(2000, 2, 29),
        "begin": dt.datetime(2000, 2, 29, 12, 34, 56, 789000),
        "stars": 5,
        "raw": b"\x00\xff",
        "stops": [dt.date(1969, 12, 31), None],
        "seats": [("front", 1), ("back", None)],
        "from": {"city": "Köln", "at": _AT},
    },
    dict.fromkeys(
        ("id", "rider", "paid", "tip", "day", "begin", "stars", "raw", "stops", "seats", "from")
    ),
    {
        "id": 3,
        "rider": "",
        "paid": Decimal("0.00"),
        "tip": -0.0,
        "day": dt.date(1970, 1, 1),
        "begin": dt.datetime(1970, 1, 1),
        "stars": -1,
        "raw": b"",
        "stops": [],
        "seats": [],
        "from": {"city": None, "at": None},
    },
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scanner's sources with our package's name in place of theirs."""
    folder = tmp_path_factory.mktemp("trips")
    for source in _SOURCES.glob("*.java"):
        text = source.read_text()
        for package in _PACKAGES:
            text = text.replace(package, "seamkit.offheap")
        (folder / source.name).write_text(text)
    return folder


@pytest.fixture
def trips(sources: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, on the class path."""
    with OrSkipped():
        connector_classes()
    monkeypatch.setenv("CLASSPATH", str(sources))
    return sources


@pytest.mark.parametrize(
    ("name", "batch_rows"),
    [("TripScanner", 1), ("TripScannerFactory", 2), ("TripScanner", 4096)],
)
def test_its_rows_arrive(trips: Path, name: str, batch_rows: int) -> None:
    """By the class or by its factory, whatever a chunk holds: every kind, NULLs, nested ones."""
    reader = registry.resolve("scan", f"java:{_TRIPS}.{name}")
    found = reader.open(ScanRequest(str(trips), batch_rows=batch_rows)).to_reader().read_all()
    assert found.to_pylist() == _ROWS


def test_columns_that_are_asked_for_arrive(trips: Path) -> None:
    """A projection reaches it in StarRocks' parameter."""
    reader = registry.resolve("scan", f"java:{_TRIPS}.TripScanner")
    found = reader.open(ScanRequest(str(trips), columns=["from", "id"])).to_reader().read_all()
    assert found.to_pylist() == [{"from": row["from"], "id": row["id"]} for row in _ROWS]
    with pytest.raises(Exception, match="no trip has a field wheels"):
        reader.open(ScanRequest(str(trips), columns=["wheels"]))


@pytest.mark.parametrize("form", [None, "binary", "text"])
def test_either_form_brings_the_same_rows(trips: Path, form: str | None) -> None:
    """Its dates, moments and numbers, at every depth, as numbers and as the texts that it gives."""
    java = compiled_package("trips", trips, connector_classes())
    parameters = {} if form is None else {"value_form": form}
    allocator = TrackedAllocator()
    with JniScanner(JniLoader(java), f"{_TRIPS}.TripScanner", 2, parameters, allocator) as scanner:
        scanner.open()
        found = [row for batch in scanner.batches(scanner.schema()) for row in batch.to_pylist()]
    assert found == _ROWS
    assert allocator.counters().live_blocks == 0


def test_a_form_that_is_none_is_refused(trips: Path) -> None:
    """By the parameter's name, before a row is read."""
    java = JniLoader(compiled_package("trips", trips, connector_classes()))
    with pytest.raises(RefusedError, match="parameter 'value_form' is binary or text, not 'Text'"):
        JniScanner(java, f"{_TRIPS}.TripScanner", 2, {"value_form": "Text"}, TrackedAllocator())


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('getDate().toString()', None),
        ('"" + getDate().toEpochDay()', "column 'day' of the .* row 0 is no date .*'11016'"),
        ('getDate() + "T00:00"', "row 0 is no date .*'2000-02-29T00:00'"),
    ],
)  # fmt: skip
def test_a_text_that_is_none_is_refused(
    trips: Path, tmp_path: Path, said: str, reason: str | None
) -> None:
    """A scanner that spells dates in another way: an error of column and row, and no row."""
    for source in trips.glob("*.java"):
        text = source.read_text().replace("return getDate().toString();", f"return {said};")
        (tmp_path / source.name).write_text(text)
    java = JniLoader(compiled_package("bad-trips", tmp_path, connector_classes()))
    parameters = {"value_form": "text", "required_fields": "id,day"}
    allocator = TrackedAllocator()
    with JniScanner(java, f"{_TRIPS}.TripScanner", 9, parameters, allocator) as scanner:
        scanner.open()
        batches = scanner.batches(scanner.schema())
        if reason is None:
            assert next(batches).num_rows == 3
        else:
            with pytest.raises(InputError, match=reason):
                next(batches)
    del batches
    assert allocator.counters().live_blocks == 0


def _made(trips: Path, fields: str) -> Any:
    """A scanner as its author makes one, of two rows a chunk."""
    java = compiled_package("trips", trips, connector_classes())
    parameters = java.jpype.JClass("java.util.HashMap")()
    parameters.put("required_fields", fields)
    return java.java_class(f"{_TRIPS}.TripScanner")(2, parameters)


def test_its_author_looks_at_texts(trips: Path) -> None:
    """In the text form a date is what a string is; a number of bytes that it has not is refused."""
    scanner = _made(trips, "day,begin,paid,stops")
    scanner.useTextForm()
    scanner.open()
    scanner.getNextOffHeapChunk()
    table = scanner.getOffHeapTable()
    assert str(table.show(1)).splitlines()[1] == (
        "2000-02-29\t2000-02-29 12:34:56.789\t-12.30\t[1969-12-31, NULL]"
    )
    assert str(table.column(0).getUTF8String(0)) == "2000-02-29"
    with pytest.raises(connector_classes().jpype.JException, match="has values of 0 bytes, not 4"):
        table.column(0).getInt(0)
    table.close()
    scanner.close()


def test_a_getter_that_is_not_written_is_refused_by_name(trips: Path, tmp_path: Path) -> None:
    """The class and the kind, at the top and inside of a list: no row of nothing."""
    for lost, kind in (("getLong()", "bigint"), ("getDate()", "date")):
        folder = tmp_path / kind
        folder.mkdir()
        for source in trips.glob("*.java"):
            text = source.read_text()
            if source.stem == "TripValue":
                text = text.replace(f"    @Override\n    public long {lost}", f"    long a{lost}")
                text = text.replace(
                    f"    @Override\n    public LocalDate {lost}", f"    Object a{lost}"
                )
            (folder / source.name).write_text(
                text.replace("millis = getLong", "millis = (Long) item; //")
            )
        monkey = pytest.MonkeyPatch()
        monkey.setenv("CLASSPATH", str(folder))
        try:
            reader = registry.resolve("scan", f"java:{_TRIPS}.TripScanner")
            columns = ["id"] if kind == "bigint" else ["stops"]
            scan = reader.open(ScanRequest(str(folder), columns=columns))
            with pytest.raises(
                RefusedError, match=rf"com\.starrocks\.trips\.TripValue gives no {kind}"
            ):
                scan.to_reader().read_all()
        finally:
            monkey.undo()
