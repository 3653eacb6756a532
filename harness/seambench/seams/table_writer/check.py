"""Judging a writer: after each step the state by its model, the metadata by the specification.

The state is read by the readers of this house that are no variants of each other (`auto` by
columns, `connector` a row at a time), strictly. A verdict says which judge it is from: `state` or
`metadata`.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from seambase.errors import RefusedError, SeambenchError, UnavailableError
from seambench.conformance.judge import NO_REFUSAL
from seambench.conformance.plain import difference, differing_rows, rows_of
from seambench.contracts import registry
from seambench.contracts.formats import Fault, resolve_format
from seambench.contracts.outcomes import Difference, Mismatch, NotOffered, short_digest
from seambench.contracts.scan import ScanRequest
from seambench.contracts.table_writer import TableWriter, WriterStep
from seambench.seams.table_writer.cases import StepFile, WriterCase
from seambench.seams.table_writer.model import (
    Model,
    declared_steps,
    made_step,
    new_model,
    states_after,
)
from seambench.seams.table_writer.several import Several

_MOST_FAULTS = 5


def check_writer(case: WriterCase, writer: TableWriter) -> None:
    """Carry out a script; state and metadata must be right after each of its steps."""
    with tempfile.TemporaryDirectory(
        prefix="seambench-writer-", ignore_cleanup_errors=True
    ) as folder:
        for after, step, states in carried_out(case, writer, Path(folder) / "table"):
            _check_state(step, states, after)
            _check_metadata(step, after)


class States:
    """What a table may hold: one state, or after steps that nobody orders one of several."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = list(models)

    def look(self, check: Callable[[Model], None]) -> None:
        """Keep the first state that a look at the table bears out; of none, what the last lacks."""
        for number, model in enumerate(self.models, 1):
            try:
                check(model)
            except Mismatch as problem:
                if number < len(self.models):
                    continue
                if number == 1:
                    raise
                said = f"{problem}; nor is it another of {number} states that may be"
                raise Mismatch(said, problem.difference, refusal=problem.refusal) from problem
            self.models = [model]
            return


def carried_out(
    case: WriterCase, writer: TableWriter, table: Path
) -> Iterator[tuple[str, WriterStep, States]]:
    """Do the steps of a script; each comes out once it is done, with words on what came before.

    Where the state may be one of several, a look at it must tell which before the next step.

    Raises:
        NotOffered: the writer refuses a step.
    """
    several = Several(writer, case) if case.apart else None
    finish = getattr(several or writer, "finish", None)
    states = States([new_model(case)])
    try:
        for number, declared in enumerate(declared_steps(case), 1):
            model = states.models[0]
            steps = [(one, made_step(one, model, case, table)) for one in declared.all]
            step = steps[0][1]
            words = " beside ".join(one.do for one in declared.all)
            try:
                if several is None:
                    writer.step(step)
                    done: list[bool | None] = [True]
                else:
                    done = several.do(declared, [one for _, one in steps])
            except RefusedError as refusal:
                # What it refuses by name is no mistake, as long as the table is as it was.
                if number > 1:
                    _check_state(step, states, f"after step {number} ({words}) was refused")
                raise NotOffered(f"step {number} ({words}): {refusal}") from refusal
            states.models = states_after(model, steps, done)
            yield f"after step {number} ({words}{_known_of(declared, done)})", step, states
    finally:
        if finish is not None:
            finish()


def _known_of(declared: StepFile, done: Sequence[bool | None]) -> str:
    """What is known of steps that were not simply done."""
    known = {True: "done", False: "refused", None: "killed"}
    if not declared.killed and not declared.beside:
        return ""
    return ": " + ", ".join(known[one] for one in done)


def reads_all(reader: Any) -> bool:
    """Whether a reader of this house takes for each part of a table the way that it needs."""
    return bool(reader.capabilities.get("path-per-slice"))


@cache
def state_readers(format_: str) -> list[Any]:
    """Readers of this house that read whatever a table has, by whose rows its state is judged."""
    readers = [
        registry.resolve("scan", name)
        for name in registry.names("scan", without=("peer", "variant", None))
    ]
    whole = [one for one in readers if one.kind == "reference" or reads_all(one)]
    offered = [one for one in whole if one.capabilities.get(f"formats.{format_}")]
    if not offered:
        raise UnavailableError(f"nothing here reads {format_} tables strictly")
    return offered


def _check_state(step: WriterStep, states: States, after: str) -> None:
    for reader in state_readers(step.format):
        what = f"state {after}, read by {reader.name}"
        try:
            states.look(partial(check_rows, reader, step.table, what=what))
        except NO_REFUSAL:
            raise
        except SeambenchError as error:
            said = f"state {after}: {reader.name} refuses the table: {error}"
            raise Mismatch(said, refusal=True) from error


def check_rows(reader: Any, table: Path, model: Model, what: str, as_of: str | None = None) -> None:
    """What a reader reads of a table, and of its tags and branches, must be what the model says."""
    # Most peers know states by numbers alone, and refuse names.
    refusing: AbstractContextManager[Any, Any] = (
        suppress(RefusedError) if reader.kind == "peer" else nullcontext()
    )
    for name, named in model.named.items() if reader.capabilities.get("as-of") else ():
        with refusing:
            check_rows(reader, table, named, f"{what}, as of {name}", name)
    names, strict = list(model.columns), bool(reader.capabilities.get("strict"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scan = reader.open(ScanRequest(str(table), as_of=as_of, strict=strict, threads=2))
        own = list(scan.schema.names)
        if own != names:
            raise Mismatch(f"{what}: columns {names} expected, {own} came")
        with scan.to_reader() as batches:
            rows = rows_of(batches, names)
    wanted = model.expected()
    if problem := difference(wanted, rows, names):
        raise Mismatch(f"{what}: {problem}", differing_rows(wanted, rows, names))


def read_by(reader: Any, step: WriterStep, model: Model, what: str) -> None:
    """Anybody's reader must read what the model says, or refuse the table.

    Raises:
        NotOffered: it does not read the format, or refuses: nobody gets wrong rows.
    """
    if not reader.capabilities.get(f"formats.{step.format}"):
        raise NotOffered(f"no formats.{step.format}")
    try:
        check_rows(reader, step.table, model, what)
    except NO_REFUSAL:
        raise
    except SeambenchError as error:
        raise NotOffered(f"refused: {error}") from error


def _check_metadata(step: WriterStep, after: str) -> None:
    format_ = resolve_format(step.format)
    if not format_.lint:
        return
    faults = [fault for fault in format_.faults(step.table) if fault.level == "must"]
    if faults:
        first, rest = faults[0], len(faults) - 1
        more = f" (and {rest} more)" if rest else ""
        said = f"{first.rule}, {first.place}: {first.says}{more}; {first.source}"
        raise Mismatch(f"metadata {after}: {said}", _listed(faults))


def _listed(faults: Sequence[Fault]) -> Difference:
    """Faults as rows that should not be; which rules are broken tells them from others."""
    rows = [[fault.rule, fault.place, fault.says] for fault in faults]
    digest = short_digest(" ".join(sorted({fault.rule for fault in faults})))
    return Difference(("rule", "place", "says"), (), rows[:_MOST_FAULTS], 0, len(rows), digest)
