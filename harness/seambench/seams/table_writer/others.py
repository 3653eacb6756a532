"""The extra pass `readers`: each reader that is installed reads what each writer wrote.

An outcome is that of the pair `WRITER -> READER`; a check of such a pair is the same for it alone,
and a failure there is none that is known. The rows are held against the script's own model,
so that nobody is the judge of a reader or a writer but the script.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from seambench.conformance.judge import as_mismatch, missing_capability
from seambench.conformance.xfails import load_xfails
from seambench.contracts import registry
from seambench.contracts.outcomes import REFUSAL, NotOffered, Outcome
from seambench.contracts.peers.catalogue import AT, catalogue, numbers
from seambench.contracts.registry import PAIR
from seambench.contracts.scan import Scanner
from seambench.contracts.seam import PassRun
from seambench.contracts.table_writer import TableWriter
from seambench.seams.table_writer.cases import WriterCase
from seambench.seams.table_writer.check import carried_out, read_by, reads_all
from seambench.seams.table_writer.model import steps_of


def ask_readers(run: PassRun) -> Iterator[Outcome]:
    """Have every writer carry out every script, and every reader read what came of it.

    A reader has a process of its own, in its own environment if it needs one.
    """
    for name in run.implementations:
        by, _, alone = name.partition(PAIR)
        writer = registry.resolve("table-writer", by)
        readers = {alone: registry.resolve("scan", alone)} if alone else _readers()
        for case in run.cases:
            with tempfile.TemporaryDirectory(
                prefix="seambench-written-", ignore_cleanup_errors=True
            ) as folder:
                table = str(Path(folder) / "table")
                written = run.ask(by, "write", case, {"table": table})
                if written["outcome"] != "pass":
                    outcome = run.outcome(name, case, written)
                    yield outcome if alone else _judged(outcome, writer)
                    continue
                ours, misread = "", False
                for reader, one in readers.items():
                    if alone or _reads(one, case.format):
                        answer = run.ask(reader, "read", case, {"table": table}, "scan")
                        outcome = run.outcome(f"{by}{PAIR}{reader}", case, answer)
                        misread = misread or outcome.digest not in ("", REFUSAL)
                        ours = ours or (outcome.digest if one.kind != "peer" else "")
                        yield outcome if alone else _known(outcome, writer, one, ours)
                if misread and run.keep is not None:
                    run.keep(by, case.id, Path(table))


def _readers() -> dict[str, Scanner]:
    """All but variants, by name.

    A peer that cannot be made here, or is older here than in the catalogue, is its newest version
    there, whose environment is made when it first reads.
    """
    here = registry.names("scan", without=("variant", None))
    known = {name: registry.resolve("scan", name) for name in here}
    for (seam, name), peer in catalogue().items():
        newest = peer.versions[-1]
        if seam == "scan" and not (
            name in known and numbers(known[name].version) >= numbers(newest)
        ):
            known.pop(name, None)
            known[f"{name}{AT}{newest}"] = registry.resolve(seam, f"{name}{AT}{newest}")
    whole = {name: one for name, one in known.items() if one.kind != "native" or reads_all(one)}
    return dict(sorted(whole.items(), key=lambda item: (item[1].kind == "peer", item[0])))


def _known(outcome: Outcome, writer: TableWriter, reader: Scanner, ours: str) -> Outcome:
    """A pair's outcome, in the light of what one of its sides is known to do in the case.

    Where the readers of this house are given the same wrong rows, `ours`, it is the writer.
    """
    if outcome.outcome == "pass":  # an entry of a reader is for tables of whoever errs
        return outcome
    if not ours or outcome.digest != ours:
        return replace(_judged(outcome, reader), implementation=outcome.implementation)
    file: Path | None = getattr(writer, "xfails", None)
    # Its digest is that of the first step that shows it, not of the last.
    entry = load_xfails(file).entry_of(_by(outcome, writer)) if file else None
    return replace(outcome, outcome="xfail", known=entry.reason, came="fail") if entry else outcome


def _judged(outcome: Outcome, side: TableWriter | Scanner) -> Outcome:
    """An outcome in the light of what one side is known to do."""
    file: Path | None = getattr(side, "xfails", None)
    return load_xfails(file).judge(_by(outcome, side)) if file else outcome


def _by(outcome: Outcome, side: TableWriter | Scanner) -> Outcome:
    return replace(outcome, implementation=side.name, version=side.version)


def _reads(reader: Scanner, format_: str) -> bool:
    return all(reader.capabilities.get(word) for word in (f"formats.{format_}", "query.snapshot"))


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


def read_request(
    case: WriterCase, reader: Scanner, request: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Have a reader read the table that was written."""
    step, model = list(steps_of(case, Path(request["table"])))[-1]
    read_by(reader, step, model, f"read by {reader.name}")
    return {}
