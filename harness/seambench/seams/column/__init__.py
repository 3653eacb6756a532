"""The column seam: rows cross a language border in off-heap columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seambench.contracts.common import TimedFamily
from seambench.contracts.seam import Explanation, Seam, late

if TYPE_CHECKING:
    from seambench.contracts.column import ColumnTable
    from seambench.seams.column.cases import ColumnCase

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

_DOORS = {
    "cmd": late("seambench.seams.column.doors:CommandColumns"),
    "lib": late("seambench.seams.column.doors:LibraryColumns"),
}

_NOTE = "One thread. The copy moves as many bytes between two warm blocks."
_TIMED = (
    TimedFamily(
        "column",
        "batches of lineitem across a language border",
        ("step", "rows"),
        note=_NOTE,
    ),
    TimedFamily("java", "columns filled by scanners in Java", ("what", "of", "form"), ("form",)),
)


class _ColumnSeam(Seam):
    name = "column"
    title = "rows cross a language border in off-heap columns"
    method = "chunks"
    timed = _TIMED
    words = _WORDS
    doors = _DOORS
    cases = late("seambench.seams.column.cases:column_cases")
    check = late("seambench.seams.column.check:check_column")
    asked = late("seambench.seams.column.doors:line_of_case")
    keep = late("seambench.seams.column.doors:keep_column")

    def explain(self, case: ColumnCase) -> Explanation:
        from seambench.conformance.definitions import explain_file

        request = {"fetch size": case.fetch_size or "", "nulls": case.nulls}
        return explain_file(case, case.file, request)

    def attempt(self, case: ColumnCase, implementation: ColumnTable) -> None:
        from seambench.seams.column.check import request_of

        implementation.chunks(request_of(case.content()))


SEAM = _ColumnSeam()
