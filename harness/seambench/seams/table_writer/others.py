"""The extra pass `readers`: each reader that is installed reads what each writer wrote.

An outcome is that of the pair `WRITER -> READER`. The rows are held against the script's own model,
so that nobody is the judge of a reader or a writer but the script.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seambench.conformance.judge import as_mismatch, missing_capability
from seambench.contracts import registry
from seambench.contracts.common import Kind
from seambench.contracts.outcomes import NotOffered, Outcome
from seambench.contracts.registry import PAIR
from seambench.contracts.scan import Scanner
from seambench.contracts.seam import PassRun
from seambench.contracts.table_writer import TableWriter, WriterStep
from seambench.seams.table_writer.cases import WriterCase
from seambench.seams.table_writer.check import REFUSED, carried_out, read_by, reads_all
from seambench.seams.table_writer.model import steps_of


def ask_readers(run: PassRun) -> Iterator[Outcome]:
    """Have every writer carry out every script, and every reader read what came of it."""
    names = registry.names("scan", without=("variant", "reference", None))
    known = {name: registry.resolve("scan", name) for name in names}
    readers = [name for name, one in known.items() if one.kind == "peer" or reads_all(one)]
    for name in run.implementations:
        for case in run.cases:
            with tempfile.TemporaryDirectory(
                prefix="seambench-written-", ignore_cleanup_errors=True
            ) as folder:
                table = str(Path(folder) / "table")
                written = run.ask(name, "write", case, {"table": table})
                if written["outcome"] != "pass":
                    yield run.outcome(name, case, written)
                    continue
                for reader in readers:
                    answer = run.ask(name, "read", case, {"table": table, "reader": reader})
                    if answer["outcome"] != "not-offered" or answer["reason"].startswith(REFUSED):
                        yield run.outcome(f"{name}{PAIR}{reader}", case, answer)


def write_request(
    case: WriterCase, writer: TableWriter, request: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Carry out a script in the folder that a request names; what is not finished goes."""
    if missing := missing_capability(case, writer.capabilities):
        raise NotOffered(f"no {missing}")
    if case.apart:
        raise NotOffered("its state is one of several, which a reader of the last one cannot know")
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
    step, model = list(steps_of(case, Path(request["table"])))[-1]
    read_by(registry.resolve("scan", name), step, model, f"read by {name}")
    return {}


class WrittenAndRead:
    """A writer and a reader: after each step the one writes, the other reads."""

    kind: Kind = "peer"

    def __init__(self, writer: TableWriter, reader: Scanner) -> None:
        self.writer, self.reader = writer, reader
        self.name = f"{writer.name}{PAIR}{reader.name}"
        self.version = f"{writer.version}{PAIR}{reader.version}"
        self.capabilities = writer.capabilities

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        self.writer.step(step)

    def finish(self) -> None:
        """There are no more steps."""
        if finish := getattr(self.writer, "finish", None):
            finish()
