"""A slice that several threads merge gives the rows that one thread gives, in the same order."""

import contextlib
import gc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError
from seamkit.tables.hudi.log.log import read_blocks
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_scans import scan_on

# Files that are written anew have not the length that their commit says.
pytestmark = pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")


@pytest.fixture(autouse=True)
def _cut_small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads share the decoding of logs that would not be worth it."""
    monkeypatch.setattr("seamkit.tables.hudi.merge.records._LEAST_SHARE_BYTES", 1)
    monkeypatch.setattr("seamkit.tables.hudi.merge.fold._MOST_TIMES_BASE", 0)


def _rewrite_base(table: Path, times: int) -> None:
    """Give the base file row groups of two rows, and all its rows several times."""
    slices = HudiTable(str(table)).slices()
    for slice_ in slices:
        if slice_.base is not None:
            path = table / slice_.base.path
            rows = pq.read_table(path)
            pq.write_table(pa.concat_tables([rows] * times), path, row_group_size=2)


@pytest.mark.parametrize(
    ("threads", "batch_size", "times"), [(1, 5, 3), (2, 1, 1), (7, 2, 3), (2, 5, 3)]
)
@pytest.mark.parametrize("name", ["mor-v9-event", "mor-v9-commit", "mor-v9-types"])
def test_threads_change_no_row(
    tmp_path: Path, name: str, threads: int, batch_size: int, times: int
) -> None:
    """Also where the base holds keys more than once: the first of the rows uses the event up."""
    table = unpack_table(name, tmp_path)
    _rewrite_base(table, times)
    scanned = HudiTable(str(table))
    merged = scanned.scan(path="merge", threads=threads, batch_rows=batch_size).to_table()
    expected = scan_on(scanned, "connector", threads=1).to_table()
    assert list(map(repr, merged.to_pylist())) == list(map(repr, expected.to_pylist()))


@pytest.mark.parametrize(
    ("columns", "threads"), [(["s"], 3), (["id"], 1), (["s", "id", "ts"], 3), ([], 3)]
)
def test_columns_come_in_the_order_asked_for(
    tmp_path: Path, columns: list[str], threads: int
) -> None:
    """Whether they are read with the keys or after them, or not at all."""
    table = unpack_table("mor-v9-types", tmp_path)
    _rewrite_base(table, 1)
    whole = scan_on(HudiTable(str(table)), "connector").to_table()
    merged = HudiTable(str(table)).scan(columns, threads=threads, batch_rows=2).to_table()
    assert merged.num_rows == whole.num_rows
    assert merged.schema.names == columns
    assert merged.equals(whole.select(columns))


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_one_broken_log_ends_all_threads(tmp_path: Path, threads: int) -> None:
    """Its error comes out, and nobody waits for a turn that never comes."""
    table = unpack_table("mor-v9-event", tmp_path)
    _rewrite_base(table, 1)
    scan = HudiTable(str(table)).scan(threads=threads, batch_rows=2)
    log = next(log for slice_ in HudiTable(str(table)).slices() for log in slice_.logs)
    (table / log.path).write_bytes(b"no log at all")
    with pytest.raises(InputError, match=r"\.log\.1"):
        scan.to_table()


def _break_last_records(table: Path) -> None:
    """The last record of each Avro block says that it is longer than what is left."""
    for slice_ in HudiTable(str(table)).slices():
        for log in slice_.logs:
            path = table / log.path
            damaged = bytearray(path.read_bytes())
            for block in read_blocks(bytes(damaged), file=log.path):
                at, end = block.content_offset + 8, block.content_offset + len(block.content)
                while block.kind == "avro":
                    behind = at + 4 + int.from_bytes(damaged[at : at + 4], "big")
                    if behind >= end:
                        damaged[at : at + 4] = (1 << 20).to_bytes(4, "big")
                        break
                    at = behind
            path.write_bytes(damaged)


def test_a_broken_record_is_named_alike_by_any_number_of_threads(tmp_path: Path) -> None:
    """Its number and offset count from the beginning of its block, wherever the block was cut."""
    table = unpack_table("mor-v9-event", tmp_path)
    _rewrite_base(table, 1)
    _break_last_records(table)
    messages = set()
    for threads in (1, 2, 7):
        scan = HudiTable(str(table)).scan(threads=threads, batch_rows=2)
        with pytest.raises(InputError, match=r"record \d+ claims 1048576 bytes") as raised:
            scan.to_table()
        messages.add(str(raised.value))
    assert len(messages) == 1


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_an_error_takes_with_it_what_it_refers_to(tmp_path: Path, threads: int) -> None:
    """Mapped logs are not left to the garbage collector: CPython 3.11.7 crashes on memory views."""
    table = unpack_table("mor-v9-event", tmp_path)
    _rewrite_base(table, 1)
    _break_last_records(table)
    scan = HudiTable(str(table)).scan(threads=threads, batch_rows=2)
    gc.collect()
    with contextlib.suppress(InputError):
        scan.to_table()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        left = [found for found in gc.garbage if isinstance(found, memoryview)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not left
