"""A scanner over one file slice of a Hudi table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Self, cast

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seamkit.connector.planned import PlannedScanner
from seamkit.connector.slice_rows import PlannedSlice
from seamkit.connector.unit_rows import plan_rows
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.types import ColumnType, Kind, from_arrow
from seamkit.offheap.connector.parameters import (
    Common,
    Parameters,
    needed,
    number,
    split_columns,
    split_names,
)
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import ReadPlan
from seamkit.tables.hudi.table import HudiTable

#: What BE states besides; neither says anything that the table does not.
_IGNORED = ("serde", "input_format", "fs_options_props")
_OWN = (
    "base_path",
    "hive_column_names",
    "hive_column_types",
    "instant_time",
    "delta_file_paths",
    "data_file_path",
    "data_file_length",
    *_IGNORED,
)


class HudiSliceScanner(PlannedScanner):
    """The merged rows of a slice (Java: `HudiSliceScanner` of StarRocks' hudi-reader).

    Partition columns come from the path where a scan takes them from there. Warnings are of damage
    that was skipped as Hudi's own reader skips it.
    """

    @classmethod
    def from_parameters(
        cls, fetch_size: int, parameters: Parameters, allocator: TrackedAllocator | None = None
    ) -> Self:
        """From what BE states for a slice.

        `base_path`, `hive_column_names` and `hive_column_types` (the table's columns),
        `data_file_path` and `data_file_length` (-1: there is no base file), `delta_file_paths`,
        `instant_time` (up to which commits count; empty: all, where Java then loses incremental log
        data), `required_fields`, `nested_fields`, `time_zone`; `serde`, `input_format` and
        `fs_options_props` are taken and not needed.
        """
        common = Common.read(parameters, _OWN)
        table = HudiTable(needed(parameters, "base_path"))
        columns = split_columns(
            needed(parameters, "hive_column_names"),
            needed(parameters, "hive_column_types"),
            "hive_column_names and hive_column_types",
        )
        as_of = parameters.get("instant_time") or None
        required = list(columns) if common.required is None else common.required
        names = list(dict.fromkeys(name for name in required if name in columns))
        scan = table.scan(names, as_of=as_of, path="merge")
        _check_types(scan.schema, columns, table)
        plan = _slice(scan, table, parameters, as_of)
        types = {name: columns[name] for name in names}
        rows = partial(plan_rows, plan, names)
        return cls.over(types, rows, fetch_size, replace(common, required=required), allocator)


def _slice(scan: Scan, table: HudiTable, parameters: Parameters, as_of: str | None) -> ReadPlan:
    """The plan of a scan with the one slice that is meant."""
    logs = split_names(parameters.get("delta_file_paths", ""), "delta_file_paths")
    base = parameters.get("data_file_path", "")
    if number(parameters, "data_file_length", 0) == -1:
        base = ""
    if not base and not logs:
        raise UsageError("a slice has a data_file_path or delta_file_paths")
    assert isinstance(scan, UnitScan)  # a snapshot query
    for unit in scan.plan.units:
        slice_ = cast("PlannedSlice", unit.changes).slice_
        own_base = table.full(slice_.base.path) if slice_.base else ""
        if own_base == base and sorted(table.full(log.path) for log in slice_.logs) == sorted(logs):
            return replace(scan.plan, units=[unit])
    raise UsageError(
        f"{parameters['base_path']}: the file {base or logs[0]} and {len(logs)} logs are no slice "
        f"of the table{' as of ' + as_of if as_of else ''}; plan the scan again"
    )


def _check_types(schema: pa.Schema, columns: Mapping[str, ColumnType], table: HudiTable) -> None:
    """The words of the parameters must mean what the table has: a table's text may differ."""
    for field in schema:
        own, stated = from_arrow(field.type), columns[field.name]
        if _plain(own) != _plain(stated):
            raise RefusedError(
                f"{table.full('')}: column '{field.name}' is {own} in the table, not {stated}"
            )


def _plain(column: ColumnType) -> ColumnType:
    """The type with one spelling of the three for timestamps, whose words are laid out alike."""
    kind = Kind.DATETIME if column.kind.is_datetime else column.kind
    children = tuple(map(_plain, column.children))
    return ColumnType(kind, column.precision, column.scale, "", children, column.names)
