"""Scans of Hudi tables on any path, the connector path among them, and of single slices."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError
from seambase.scan import TableWarning
from seamkit.connector.change_rows import reader_of
from seamkit.connector.unit_rows import read_unit
from seamkit.scan.merge_path import UnitMerge
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import ReadContext, ReadUnit, Wanted
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.merge.keys import LogSource
from seamkit.tables.hudi.planning import Path as ReadPath
from seamkit.tables.hudi.table import HudiTable


def scan_on(table: HudiTable, path: str, *args: Any, **options: Any) -> UnitScan:
    """A scan on the paths of a table, or on `connector`; further arguments are of `scan`."""
    planned: ReadPath = "merge" if path == "connector" else path  # type: ignore[assignment]
    scan = table.scan(*args, path=planned, **options)
    assert isinstance(scan, UnitScan)
    return scan.read_by(path, reader_of(scan)) if path == "connector" else scan


def filtered(folder: Path, condition: pc.Expression, **further: Any) -> UnitScan:
    """What is planned under a condition, by the metadata table unless another listing is named."""
    listing = further.pop("listing", "metadata")
    scan = HudiTable(str(folder), listing=listing).scan(filter=condition, **further)
    assert isinstance(scan, UnitScan)
    return scan


@contextlib.contextmanager
def doubted_index(
    folder: Path,
    condition: pc.Expression,
    index: str | None,
    read: Callable[[UnitScan], Any] = UnitScan.to_table,
) -> Iterator[UnitScan]:
    """A scan that is warned of an index while it is used, and a strict one that is refused then.

    None is an index of which nothing is told.
    """
    scan, strict = (filtered(folder, condition, strict=one) for one in (False, True))
    if index is None:
        yield scan
        assert not scan.report().warnings
        return
    with pytest.warns(TableWarning, match=f"{index}: no file is left out by it"):
        yield scan
    files = [warning.file for warning in scan.report().warnings]
    assert files.count(str(folder / ".hoodie/metadata" / index)) == 1
    with pytest.raises(InputError, match="no file is left out by it"):  # that of another, maybe
        read(strict)


def read_parts(scan: UnitScan) -> str:
    """Letters of the partitions `p=LETTER` of the slices that are read."""
    lines = [line.split() for line in scan.explain().splitlines()[1:]]
    return "".join(line[1][2] for line in lines if line[0] not in ("pruned", "unread"))


def changes_of(table: HudiTable) -> list[SliceChanges]:
    """The changes of a table's slices, those without logs included."""
    scan = table.scan(path="merge")
    assert isinstance(scan, UnitScan)
    return [unit.changes for unit in scan.plan.units if isinstance(unit.changes, SliceChanges)]


def slice_rows(
    unit: ReadUnit,
    path: str,
    source: LogSource,
    names: Sequence[str],
    batch_rows: int,
    context: ReadContext,
) -> Iterator[pa.RecordBatch]:
    """The rows of one slice, by the merge path or by the connector's."""
    assert isinstance(unit.changes, SliceChanges)
    if path == "connector":
        schema = pa.schema([source.schema.field(name) for name in names])
        return read_unit(unit, schema, batch_rows, context)
    file = unit.files[0] if unit.files else None
    columns = pa.schema([source.schema.field(name) for name in names])
    wanted = Wanted(columns, names, None, (), {}, batch_rows)
    return UnitMerge(file, unit.changes, source.schema, wanted, context).all_rows()
