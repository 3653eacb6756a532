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

from seambase.errors import UnavailableError
from seambench.conformance.judge import as_mismatch, missing_capability
from seambench.contracts import registry
from seambench.contracts.outcomes import NotOffered, Outcome
from seambench.contracts.seam import PassRun
from seambench.contracts.table_writer import TableWriter
from seambench.seams.table_writer.cases import WriterCase
from seambench.seams.table_writer.check import carried_out, check_rows
from seambench.seams.table_writer.model import Model, steps_of

#: Between a case and the reader that reads its table.
READ_BY = "@"


def ask_readers(run: PassRun) -> Iterator[Outcome]:
    """Have every writer carry out every script, and every reader read what came of it."""
    readers = registry.names("scan", without=("variant", "reference", None))
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
                    if answer["outcome"] != "not-offered":
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
    try:
        reader = registry.resolve("scan", name)
    except UnavailableError as error:
        raise NotOffered(str(error)) from error
    if not reader.capabilities.get(f"formats.{case.format}"):
        raise NotOffered(f"no formats.{case.format}")
    with as_mismatch():
        check_rows(reader, Path(request["table"]), _last(case), f"read by {name}")
    return {}


def _last(case: WriterCase) -> Model:
    """The state after the last step."""
    *_, (_, model) = steps_of(case, Path("table"))
    return model
