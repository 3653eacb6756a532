"""What Hive's own input formats and serdes are told of a file in a JVM, and what they refuse."""

from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError
from seambench_impl.jni.hive import hive_loader
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.jni.scanner import JniScanner
from seamkit_tests.samples.lacking import OrSkipped

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module", autouse=True)
def _hive() -> None:
    with OrSkipped():
        hive_loader()


def scanned(path: Path, **parameters: str) -> list[dict[str, object]]:
    """The rows of a file of text; no block is left behind."""
    allocator = TrackedAllocator()
    given = {
        "hive_column_names": "k,v",
        "hive_column_types": "int#string",
        "required_fields": "v,k",
        "data_file_path": str(path),
        "block_offset": "0",
        "block_length": str(path.stat().st_size),
        "input_format": "org.apache.hadoop.mapred.TextInputFormat",
        "serde": "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        "SerDe.field.delim": ",",
        **parameters,
    }
    try:
        name = "seambench.hive.HiveScanner"
        with JniScanner(hive_loader(), name, 2, given, allocator) as scanner:
            scanner.open()
            batches = scanner.batches(scanner.schema())
            return [row for batch in batches for row in batch.to_pylist()]
    finally:
        assert allocator.counters().live_blocks == 0


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Three lines, the first of which is a header."""
    path = tmp_path / "a.txt"
    path.write_text("k,v\n1,one\n2,two\n")
    return path


def test_parts_of_a_file_make_up_the_whole(text: Path) -> None:
    """`block_offset` and `block_length` cut text at its lines; a header is skipped once."""
    whole = scanned(text, **{"SerDe.skip.header.line.count": "1"})
    assert whole == [{"v": "one", "k": 1}, {"v": "two", "k": 2}]
    cut = [
        row
        for begin, length in (("0", "7"), ("7", "9"))
        for row in scanned(
            text, block_offset=begin, block_length=length, **{"SerDe.skip.header.line.count": "1"}
        )
    ]
    assert cut == whole


@pytest.mark.parametrize(("lines", "rows"), [("-1", 2), ("0", 2), ("1", 1), ("2", 0), ("9", 0)])
def test_lines_at_the_end_may_be_no_rows(text: Path, lines: str, rows: int) -> None:
    """`skip.footer.line.count` leaves so many out, those of a file with fewer among them."""
    counts = {"SerDe.skip.header.line.count": "1", "SerDe.skip.footer.line.count": lines}
    assert scanned(text, **counts) == [{"v": "one", "k": 1}, {"v": "two", "k": 2}][:rows]


@pytest.mark.parametrize(
    ("wrong", "says", "error"),
    [
        ({"serde": "no.such.Serde"}, "serde no.such.Serde is not among the jars", RefusedError),
        ({"serde": "java.lang.Object"}, "java.lang.Object is no serde", RefusedError),
        ({"input_format": "java.lang.Object"}, "is no input format", RefusedError),
        (
            {"SerDe.skip.footer.line.count": "1", "block_length": "8"},
            "only a part of the file is read",
            RefusedError,
        ),
        ({"SerDe.skip.footer.line.count": "many"}, "many", InputError),
        ({"data_file_path": "/nowhere/at/all"}, "/nowhere/at/all", InputError),
        ({"hive_column_types": "int"}, "2 columns have 1 types", InputError),
        ({"hive_column_types": "int#uniontype<int>"}, "uniontype", InputError),
        ({"block_length": "many"}, "many", InputError),
    ],
)
def test_bad_parameters_are_named(
    wrong: dict[str, str], says: str, error: type[Exception], text: Path
) -> None:
    """What is no serde, no input format, no file or no type fails by name."""
    with pytest.raises(error, match=says):
        scanned(text, **wrong)
