"""The seam of writers: somebody writes a table that others must read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from seambench.contracts.explanation import Explanation
from seambench.contracts.seam import Case, Pass, Request, Seam
from seambench.contracts.table_writer import Do

if TYPE_CHECKING:
    from seambench.contracts.scan import Scanner
    from seambench.contracts.table_writer import TableWriter
    from seambench.seams.table_writer.cases import WriterCase

__all__ = ["SEAM"]

_WORDS = {
    "formats.*": "writes tables of this format",
    **{f"steps.{do}": f"does the step {do}" for do in get_args(Do)},
    "keys": "tables whose rows are told apart by keys",
    "partitions": "tables partitioned by columns",
}


class _WriterSeam(Seam):
    name = "table-writer"
    title = "somebody writes a table that others must read"
    method = "step"
    reader = "scan"
    words = _WORDS

    def cases(self, root: Path, golden: Path | None, begins: Sequence[str]) -> Sequence[Case]:
        from seambench.seams.table_writer.cases import writer_cases

        del golden  # it has none
        return writer_cases(root, begins)

    def check(self, case: WriterCase, implementation: TableWriter) -> None:
        from seambench.seams.table_writer.check import check_writer

        check_writer(case, implementation)

    def explain(self, case: WriterCase) -> Explanation:
        from seambench.conformance.definitions import explain_file

        return explain_file(case, case.file, {"format": case.format})

    def asked(self, case: WriterCase) -> str:
        from seambench.seams.table_writer.doors import asked_lines

        return asked_lines(case)

    @property
    def doors(self) -> Mapping[str, Callable[[str], Any]]:
        from seambench.seams.table_writer.doors import CommandWriter

        return {"cmd": CommandWriter}

    def pair(self, first: TableWriter, second: Scanner) -> TableWriter:
        from seambench.seams.table_writer.others import WrittenAndRead

        return WrittenAndRead(first, second)

    @property
    def requests(self) -> Mapping[str, Request]:
        from seambench.seams.table_writer.others import read_request, write_request

        return {"write": write_request, "read": read_request}

    @property
    def passes(self) -> Mapping[str, Pass]:
        from seambench.seams.table_writer.others import ask_readers

        return {"readers": ask_readers}


SEAM = _WriterSeam()
