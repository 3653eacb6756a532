"""The seam of writers: somebody writes a table, step by step, that others must read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import pyarrow as pa

from seambench.contracts.common import Kind

Do = Literal[
    "create",
    "open",
    "append",
    "overwrite",
    "delete",
    "update",
    "upsert",
    "add-column",
    "drop-column",
    "rename-column",
    "widen-column",
    "compact",
    "expire",
    "tag",
    "branch",
    "add-partition-field",
    "drop-partition-field",
]
Test = tuple[str, str, Any]
"""A column, one of `= <> < <= > >= in null`, and a Python value; of `in` a list, of `null` None.

As in SQL, a null meets none but `null`.
"""


@dataclass(frozen=True)
class WriterStep:
    """One step of a script, in words that no format has for its own.

    Attributes:
        do: what is to be done. `open` takes up a table that is there, in a process that may be new
            or hold an older state of it: the next step is by the state that there is now.
        table: folder of the table; `create` finds none there.
        format: name of the table format.
        rows: of `create`, `append`, `overwrite` (all rows that there were go) and `upsert` (rows
            of equal keys are replaced); of other steps an empty table with the columns before it.
        keys: columns that tell rows apart; none for tables without keys.
        partitions: columns by whose values the table is partitioned.
        properties: of the table, as its format names them.
        where: of `delete` and `update` what a row must meet; all of the tests.
        assign: of `update` the new values, by column.
        column: of a change of columns, or of what partitions the table, the one that changes.
        type: its Arrow type; of `rename-column` and `drop-column` None.
        to: of `rename-column` its new name.
        name: of `tag` and `branch` its name; of `append` the branch that the rows are for, none
            for the table's main one.
    """

    do: Do
    table: Path
    format: str
    rows: pa.Table
    keys: Sequence[str] = ()
    partitions: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    where: Sequence[Test] = ()
    assign: Mapping[str, Any] = field(default_factory=dict)
    column: str = ""
    type: pa.DataType | None = None
    to: str = ""
    name: str = ""


@runtime_checkable
class TableWriter(Protocol):
    """A writer. It states `formats.FORMAT` and `steps.STEP` for what it does."""

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def step(self, step: WriterStep) -> None:
        """Do one step and return when it is committed.

        Raises:
            seambase.errors.RefusedError: it does not do this, and has left the table as it was.
        """
