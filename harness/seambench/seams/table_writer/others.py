"""The extra pass `readers`: each reader that is installed reads what each writer wrote.

A cell of the matrix is an outcome of the writer whose case ends in `@READER`. The rows are held
against the script's own model, so that nobody is the judge of a reader or a writer but the script.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from seambase.errors import SeambenchError
from seambench.conformance.judge import NO_REFUSAL, as_mismatch, missing_capability
from seambench.contracts import registry
from seambench.contracts.outcomes import NotOffered, Outcome
from seambench.contracts.seam import PassRun
from seambench.contracts.table_writer import TableWriter
from seambench.seams.table_writer.cases import WriterCase
from seambench.seams.table_writer.check import carried_out, check_rows, reads_all
from seambench.seams.table_writer.model import Model, steps_of

#: Between a case and the reader that reads its table.
READ_BY = "@"
_REFUSED = "refused: "


def ask_readers(run: PassRun) -> Iterator[Outcome]:
    """Have every writer carry out every script, and every reader read what came of it."""
    names = registry.names("scan", without=("variant", "reference", None))
    known = {name: registry.resolve("scan", name) for name in names}
    readers = [name for name, one in known.items() if one.kind == "peer" or reads_all(one)]
    for name in run.implementations:
        for case in run.cases:
            with tempfile.TemporaryDirectory(prefix="seambench-written-") as folder:
                table = str(Path(folder) / "table")
                written = run.ask(name, "write", case, {"table": table})
                if written["outcome"] != "pass":
                    yield run.outcome(name, case, written)
                    continue
                for reader in readers:
                    answer = run.ask(name, "read", case, {"table": table, "reader": reader})
                    if answer["outcome"] != "not-offered" or answer["reason"].startswith(_REFUSED):
                        cell = replace(case, id=f"{case.id}{READ_BY}{reader}")
                        yield run.outcome(name, cell, answer)


def write_request(
    case: WriterCase, writer: TableWriter, request: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Carry out a script in the folder that a request names; what is not finished goes."""
    if missing := missing_capability(case, writer.capabilities):
        raise NotOffered(f"no {missing}")
    table = Path(request["table"])
    try:
        with as_mismatch():
            for _ in carried_out(case, writer, table):
                pass
    except BaseException:
        shutil.rmtree(table, ignore_errors=True)
        raise
    return {}


def read_request(case: WriterCase, _: TableWriter, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Have a reader read the table that was written."""
    name = request["reader"]
    reader = registry.resolve("scan", name)
    if not reader.capabilities.get(f"formats.{case.format}"):
        raise NotOffered(f"no formats.{case.format}")
    try:
        check_rows(reader, Path(request["table"]), _last(case), f"read by {name}")
    except NO_REFUSAL:
        raise
    except SeambenchError as error:
        # It may not know what the table has: it says so, and nobody gets wrong rows.
        raise NotOffered(f"{_REFUSED}{error}") from error
    return {}


def _last(case: WriterCase) -> Model:
    """The state after the last step."""
    *_, (_, model) = steps_of(case, Path("table"))
    return model
