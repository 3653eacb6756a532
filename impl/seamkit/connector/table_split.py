"""Scanners over planned units of Paimon, Iceberg and Delta tables."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

from seambase.errors import RefusedError, UsageError
from seamkit.connector.change_rows import scan_rows
from seamkit.connector.planned import PlannedScanner, is_fine
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.types import from_arrow
from seamkit.offheap.connector.parameters import Common, Parameters, needed
from seamkit.ranges.plan_file import scan_from_json
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.opening import recognised_format


class _SplitScanner(PlannedScanner):
    """The rows of a split, merged and without those that deletes take out.

    A split is a plan of one unit or more, as `seamkit plan TABLE` and `seamkit.scan_to_json` write
    it, where a connector in Java is handed an object of its format's library in base64.

    Attributes:
        format: whose tables are read.
    """

    format: ClassVar[str]

    @classmethod
    def from_parameters(
        cls, fetch_size: int, parameters: Parameters, allocator: TrackedAllocator | None = None
    ) -> Self:
        """From texts.

        `split_info` (the plan), `native_table` (the table's folder as seen from here; by default
        where the plan says), `required_fields`, `nested_fields`, `time_zone`.
        """
        common = Common.read(parameters, ("split_info", "native_table"))
        where = parameters.get("native_table") or None
        scan = scan_from_json(needed(parameters, "split_info"), table=where, where="split_info")
        if not isinstance(scan, UnitScan) or scan.condition is not None:
            raise RefusedError("split_info: a plan with a filter; the engine tests rows itself")
        format_ = recognised_format(scan.plan.table).name
        if format_ != cls.format:
            raise UsageError(f"split_info: a plan of a table of {format_}, not of {cls.format}")
        for field in scan.schema:
            if is_fine(field.type):
                raise RefusedError(
                    f"{scan.plan.table}: column '{field.name}' is {field.type}, which an off-heap "
                    "column holds to the microsecond alone"
                )
        names = scan.schema.names
        required = names if common.required is None else common.required
        read = [name for name in names if name in required]
        types = {name: from_arrow(scan.schema.field(name).type) for name in read}
        rows = partial(scan_rows, scan, read)
        return cls.over(types, rows, fetch_size, replace(common, required=required), allocator)


class PaimonSplitScanner(_SplitScanner):
    """Rows of a Paimon table (Java: `PaimonSplitScanner` of StarRocks' paimon-reader)."""

    format = "paimon"


class IcebergSplitScanner(_SplitScanner):
    """Rows of an Iceberg table."""

    format = "iceberg"


class DeltaSplitScanner(_SplitScanner):
    """Rows of a Delta table."""

    format = "delta"
