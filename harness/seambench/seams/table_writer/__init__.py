"""The seam of writers: somebody writes a table that others must read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from seambench.contracts.seam import Case, Explanation, Seam, late
from seambench.contracts.table_writer import Do

if TYPE_CHECKING:
    from seambench.seams.table_writer.cases import WriterCase

_WORDS = {
    "formats.*": "writes tables of this format",
    **{f"steps.{do}": f"does the step {do}" for do in get_args(Do)},
    "keys": "tables whose rows are told apart by keys",
    "partitions": "tables partitioned by columns",
}

_DOORS = {"cmd": late("seambench.seams.table_writer.doors:CommandWriter")}
_REQUESTS = {
    "write": late("seambench.seams.table_writer.others:write_request"),
    "read": late("seambench.seams.table_writer.others:read_request"),
}
_PASSES = {"readers": late("seambench.seams.table_writer.others:ask_readers")}


class _WriterSeam(Seam):
    name = "table-writer"
    title = "somebody writes a table that others must read"
    method = "step"
    reader = "scan"
    words = _WORDS
    doors = _DOORS
    requests = _REQUESTS
    passes = _PASSES
    check = late("seambench.seams.table_writer.check:check_writer")
    asked = late("seambench.seams.table_writer.doors:lines_of_case")
    pairs_by = "readers"
    beside = late("seambench.seams.table_writer.several:Beside")

    def cases(self, root: Path, golden: Path | None, begins: Sequence[str]) -> Sequence[Case]:
        from seambench.seams.table_writer.cases import writer_cases

        del golden  # it has none
        return writer_cases(root, begins)

    def explain(self, case: WriterCase) -> Explanation:
        from seambench.conformance.definitions import explain_file

        return explain_file(case, case.file, {"format": case.format})


SEAM = _WriterSeam()
