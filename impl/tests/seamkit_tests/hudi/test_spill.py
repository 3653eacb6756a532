"""Logs that are larger than the memory of a read: the same rows, through the local disk."""

import struct
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from seamkit.core.memory import TrackedAllocator
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import ReadContext
from seamkit.tables.hudi.listing.log_blocks import read_ordered_blocks
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_log_bytes import INSTANT, SCHEMA, block
from seamkit_tests.samples.hudi_scans import changes_of, scan_on, slice_rows
from seamkit_tests.samples.outlets import bag

MIB = 1 << 20


@pytest.mark.parametrize(
    "name",
    ["mor-v9-types", "mor-v9-event", "mor-v9-commit", "mor-v9-parquet-blocks", "mor-v9-log-only"],
)
@pytest.mark.parametrize("batch_rows", [2, 1000])
def test_rows_that_wait_on_disk_are_the_same(tmp_path: Path, name: str, batch_rows: int) -> None:
    """With no memory for a log's rows the merge path gives those of the connector path."""
    table = HudiTable(str(unpack_table(name, tmp_path)))
    scan = table.scan(path="merge")
    assert isinstance(scan, UnitScan)
    names = scan.schema.names
    for unit in scan.plan.units:
        assert isinstance(unit.changes, SliceChanges)
        if unit.changes.slice_.logs:
            context = ReadContext(TrackedAllocator(), [])
            bounded = replace(context, held_bytes=0)
            source = unit.changes.source
            merged = slice_rows(unit, "merge", source, names, batch_rows, bounded)
            expected = slice_rows(unit, "connector", source, names, batch_rows, context)
            assert bag(pa.Table.from_batches(merged, scan.schema)) == bag(
                pa.Table.from_batches(expected, scan.schema)
            )


def _grow(table: Path, to_bytes: int) -> None:
    """Let the table's log say the same again and again, in blocks of 64 MiB."""
    (changes,) = (c for c in changes_of(HudiTable(str(table))) if c.slice_.logs)
    slice_ = changes.slice_
    source = changes.source.reading(["id"])
    (one,) = read_ordered_blocks(slice_, source, [])
    records = bytes(one.content[8:])
    version, count = struct.unpack(">ii", one.content[:8])
    times = 64 * MIB // len(records)
    content = struct.pack(">ii", version, count * times) + records * times
    header = {INSTANT: one.instant, SCHEMA: one.schema or ""}
    with (table / slice_.logs[-1].path).open("ab") as file:
        for _ in range(to_bytes // len(content) + 1):
            file.write(block("avro", header, content))


@pytest.mark.parametrize(
    "limit_mib", [48, pytest.param(512, marks=pytest.mark.slow, id="a-gibibyte")]
)
def test_logs_need_half_of_what_they_take(tmp_path: Path, limit_mib: int) -> None:
    """Logs are read under a limit of half their bytes; to say a thing twice changes no row."""
    table = unpack_table("mor-v9-types", tmp_path)
    expected = bag(scan_on(HudiTable(str(table)), "connector").to_table())
    _grow(table, 2 * limit_mib * MIB)
    scan = HudiTable(str(table)).scan(path="merge", memory_limit_bytes=limit_mib * MIB)
    assert bag(scan.to_table()) == expected
    peak = scan.report().peak_bytes
    assert peak is not None
    assert peak <= limit_mib * MIB
