"""The column seam: rows cross a language border in off-heap columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seambench.contracts.common import TimedFamily
from seambench.contracts.explanation import Explanation
from seambench.contracts.seam import Case, Seam

if TYPE_CHECKING:
    from seambench.contracts.column import ColumnTable
    from seambench.seams.column.cases import ColumnCase

__all__ = ["SEAM"]

_KINDS = (
    *("array", "bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "map"),
    *("short", "string", "struct", "time", "timestamp", "tinyint", "variant"),
)
_WORDS = {
    **{f"kinds.{kind}": f"columns of kind {kind}" for kind in _KINDS},
    "batches": "batches of the kinds native, arrow and arrow-c, each made of any other",
    "text-form": "dates, timestamps and decimals as formatted texts",
    "pruning": "parts of nested columns alone",
    "missing-columns": "columns that the source does not have are NULL",
    "type-strings": "parses type strings (`parse_type`)",
    "type-strings.lenient": "does with every type string what StarRocks does",
}


class _ColumnSeam(Seam):
    name = "column"
    title = "rows cross a language border in off-heap columns"
    method = "chunks"
    words = _WORDS

    @property
    def timed(self) -> Sequence[TimedFamily]:
        note = "One thread. The copy moves as many bytes between two warm blocks."
        return (
            TimedFamily(
                "column",
                "batches of lineitem across a language border",
                ("step", "rows"),
                note=note,
            ),
            TimedFamily(
                "java", "columns filled by scanners in Java", ("what", "of", "form"), ("form",)
            ),
        )

    def cases(self, root: Path, golden: Path | None, begins: Sequence[str]) -> Sequence[Case]:
        from seambench.seams.column.cases import column_cases

        return column_cases(root, golden, begins)

    def explain(self, case: ColumnCase) -> Explanation:
        from seambench.conformance.definitions import explain_file

        request = {"fetch size": case.fetch_size or "", "nulls": case.nulls}
        return explain_file(case, case.file, request)

    def check(self, case: ColumnCase, implementation: ColumnTable) -> None:
        from seambench.seams.column.check import check_column

        check_column(case, implementation)

    def attempt(self, case: ColumnCase, implementation: ColumnTable) -> None:
        from seambench.seams.column.check import request_of

        implementation.chunks(request_of(case.content()))

    def asked(self, case: ColumnCase) -> str:
        from seambench.seams.column.keep import asked_column

        return asked_column(case)

    def keep(self, case: ColumnCase, folder: Path) -> Sequence[str]:
        from seambench.seams.column.keep import keep_column

        return keep_column(case, folder)

    @property
    def doors(self) -> Mapping[str, Callable[[str], Any]]:
        from seambench.seams.column.doors import CommandColumns, LibraryColumns

        return {"cmd": CommandColumns, "lib": LibraryColumns}


SEAM = _ColumnSeam()
