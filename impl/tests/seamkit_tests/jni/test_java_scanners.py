"""Scanners written in Java hand their rows over, and leave nothing behind whatever happens."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.jni.scanner import JniLoader, JniScanner, connector_classes, scanner_classes
from seamkit_tests.samples.lacking import OrSkipped

pytestmark = pytest.mark.jvm

FAULTY = "tests.FaultyScanner"


@pytest.fixture(scope="module")
def loader() -> JniLoader:
    """The tests' own scanners, compiled."""
    with OrSkipped():
        parent = connector_classes()
    return JniLoader(compiled_package("tests", Path(__file__).with_name("java"), parent))


def expected(rows: int, text: str) -> pa.Table:
    """What FaultyScanner says it makes."""
    return pa.table(
        {
            "n": pa.array(range(rows), pa.int64()),
            "t": pa.array([None if n % 3 == 0 else f"{text}{n}" for n in range(rows)], pa.string()),
            "l": pa.array(
                [None if n % 5 == 0 else [n, None][: n % 3] for n in range(rows)],
                pa.list_(pa.int32()),
            ),
        }
    )


def read(loader: JniLoader, allocator: TrackedAllocator, **parameters: str) -> pa.Table:
    """All rows of one scan, in chunks of 100."""
    with JniScanner(loader, FAULTY, 100, {"text": "", **parameters}, allocator) as scanner:
        scanner.open()
        schema = scanner.schema()
        return pa.Table.from_batches(scanner.batches(schema), schema=schema.schema)


@pytest.mark.parametrize("rows", [0, 1, 99, 100, 101, 1050])
def test_rows_cross(loader: JniLoader, rows: int) -> None:
    """All rows come, in order, and every block goes back."""
    allocator = TrackedAllocator()
    assert read(loader, allocator, rows=str(rows), text="x").equals(expected(rows, "x"))
    assert allocator.counters().live_blocks == 0


@pytest.mark.parametrize("text", ["grün", "\N{GRINNING FACE}", "a\0b", "\u0001=\u0002"])
def test_parameters_are_any_text(loader: JniLoader, text: str) -> None:
    """A parameter comes to Java as it is, and texts come back as they are."""
    found = read(loader, TrackedAllocator(), rows="4", text=text)
    assert found["t"].to_pylist() == [None, f"{text}1", f"{text}2", None]


@pytest.mark.parametrize("step", ["constructor", "open", "next", "close"])
@pytest.mark.parametrize(
    ("thrown", "error", "message"),
    [
        ("io", InputError, "java.io.IOException: the disk is gone; .*unplugged"),
        ("refused", RefusedError, "no such rows here"),
        ("error", InputError, "java.lang.StackOverflowError"),
        ("argument", InputError, "a bad "),
    ],
)
def test_what_java_throws_is_told(
    loader: JniLoader, step: str, thrown: str, error: type[Exception], message: str
) -> None:
    """An exception at any step becomes an error that names the scanner, and no block stays."""
    allocator = TrackedAllocator()
    with pytest.raises(error, match=f"{FAULTY}: .*{message}"):
        read(loader, allocator, rows="1000", step=step, throws=thrown)
    assert allocator.counters().live_blocks == 0


def test_a_limit_holds_for_java(loader: JniLoader) -> None:
    """Java's blocks count against the allocator's limit; at it, the scan fails and leaves none."""
    for limit in range(64, 20_000, 977):
        allocator = TrackedAllocator(limit)
        with contextlib.suppress(NativeMemoryError):
            read(loader, allocator, rows="1000")
        assert allocator.counters().live_blocks == 0
        assert allocator.counters().peak_bytes <= limit
    with pytest.raises(NativeMemoryError, match=r"limit|left"):
        read(loader, TrackedAllocator(1000), rows="1000")


def test_every_missing_block_is_survived(loader: JniLoader) -> None:
    """Whichever block of a scan is not to be had, the scan fails with a named error and no leak."""
    whole = TrackedAllocator()
    read(loader, whole, rows="250")
    for number in range(1, whole.counters().total_blocks + 1):
        allocator = TrackedAllocator()
        allocator.fail_after(number)
        with pytest.raises(NativeMemoryError):
            read(loader, allocator, rows="250")
        assert allocator.counters().live_blocks == 0


def test_a_scan_may_be_left(loader: JniLoader) -> None:
    """A scanner that is closed in mid stream gives its chunk back; after that it says so."""
    allocator = TrackedAllocator()
    scanner = JniScanner(loader, FAULTY, 10, {"rows": "100", "text": ""}, allocator)
    scanner.open()
    first = next(scanner.batches(scanner.schema()))
    assert first.num_rows == 10
    scanner.close()
    scanner.close()
    del first
    assert allocator.counters().live_blocks == 0
    with pytest.raises(UsageError, match="closed"):
        scanner.next_chain()
    assert scanner.counters().rows == 10


def test_threads_scan_side_by_side(loader: JniLoader) -> None:
    """Threads that Java has never seen run a scanner each; all rows are right, and none is left."""
    allocator = TrackedAllocator()
    with ThreadPoolExecutor(4) as pool:
        tables = list(
            pool.map(lambda n: read(loader, allocator, rows=str(n), text="y"), range(900, 916))
        )
    assert all(table.equals(expected(900 + i, "y")) for i, table in enumerate(tables))
    del tables
    assert allocator.counters().live_blocks == 0


def test_counters(loader: JniLoader) -> None:
    """Rows, chunks and bytes are those of the rows; each step took time."""
    allocator = TrackedAllocator()
    with JniScanner(loader, FAULTY, 100, {"rows": "250", "text": ""}, allocator) as scanner:
        scanner.open()
        batches = list(scanner.batches(scanner.schema()))
    found = scanner.counters()
    assert (found.rows, found.chunks) == (250, 3)
    texts = sum(len(value) for value in expected(250, "")["t"].to_pylist() if value)
    entries = sum(len(value) for value in expected(250, "")["l"].to_pylist() if value)
    offsets = 2 * 4 * (250 + 3)
    assert found.bytes == 250 * (8 + 3) + texts + entries * 5 + offsets
    assert min(found.open_s, found.read_s, found.fill_s) > 0
    assert found.convert_s == 0
    assert [what for what, _ in found.spent] == ["open", "read", "fill"]
    assert sum(batch.num_rows for batch in batches) == 250


@pytest.mark.parametrize(("told", "expected_s"), [(1, 4e-9), (-5, 0.0), (2**62, None)])
def test_conversion_is_what_the_scanner_tells(
    loader: JniLoader, told: int, expected_s: float | None
) -> None:
    """It is told with each chunk, and taken out of the time in Java, never more than there is."""
    parameters = {"rows": "250", "text": "", "converted": str(told)}
    with JniScanner(loader, FAULTY, 100, parameters, TrackedAllocator()) as scanner:
        scanner.open()
        list(scanner.batches(scanner.schema()))
    found = scanner.counters()
    if expected_s is None:  # sums of such numbers wrap, too
        assert min(found.convert_s, found.read_s) >= 0
        assert found.convert_s + found.read_s > 0
    else:
        assert found.convert_s == pytest.approx(expected_s)
        assert found.read_s > 0


def test_conversion_of_rows_is_told_by_a_few_of_them(loader: JniLoader) -> None:
    """Where each row is marked, conversion is a part of the time in Java; marks may be missing."""
    parameters = {"rows": "20000", "text": "", "clocked": ""}
    with JniScanner(loader, FAULTY, 4096, parameters, TrackedAllocator()) as scanner:
        scanner.open()
        list(scanner.batches(scanner.schema()))
    assert scanner.counters().convert_s > 0
    assert scanner.counters().read_s >= 0


def test_texts_of_any_length(loader: JniLoader) -> None:
    """Texts are copied whole, whichever way their length has them copied."""
    for length in (*range(18), *range(39, 50), 1000):
        text = ("abcdefghi" * 112)[:length]
        assert read(loader, TrackedAllocator(), rows="12", text=text).equals(expected(12, text))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tests.Absent", "no class tests.Absent"),
        ("tests.NoScanner", "tests.NoScanner has no public constructor"),
        ("java.lang.String", "java.lang.String has no public constructor"),
    ],
)
def test_what_is_no_scanner_is_refused(loader: JniLoader, name: str, message: str) -> None:
    """A name that is no class, or no scanner, is refused by name."""
    with pytest.raises(RefusedError, match=message):
        JniScanner(loader, name, 1, {}, TrackedAllocator())


def test_a_class_path_exists(tmp_path: Path) -> None:
    """A part of a class path that is not there is named."""
    with pytest.raises(UsageError, match=r"absent\.jar does not exist"):
        scanner_classes("own", [tmp_path / "absent.jar"])
