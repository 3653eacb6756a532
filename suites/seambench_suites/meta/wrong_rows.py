"""A reader of all formats that breaks one rule of rows, by its name in the environment."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seambench.contracts.registry import resolve
from seambench_suites.meta.bent import Bend, Bent, members, scans

VARIABLE = "SEAMBENCH_WRONG_RULE"
FORGED = "a verdict is forged"

_EMPTY: Mapping[str, Any] = {"int32": 0, "int64": 0, "string": "", "double": 0.0, "bool": False}


def _columns(table: pa.Table, change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> pa.Table:
    return pa.table([change(column) for column in table.columns], table.schema.names)


def _a_deleted_row(table: pa.Table) -> pa.Table:
    """A row more than there is, whose values others have."""
    first, last = table.slice(0, 1), table.slice(table.num_rows - 1)
    mixed = [first.column(0), *last.columns[1:]]
    return pa.concat_tables([table, pa.table(mixed, schema=table.schema)])


def _older_wins(table: pa.Table) -> pa.Table:
    """Keys with the values of others, as if changes were applied in another order."""
    order = [*range(1, table.num_rows), 0]
    return table.set_column(0, table.schema.names[0], table.column(0).take(order))


def _numbers_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_integer(column.type) else column


def _nulls_as_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    empty = _EMPTY.get(str(column.type))
    return column if empty is None else pc.fill_null(column, empty)


def _items_joined(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of a list as one that looks like several; of other lists the first item."""
    if not pa.types.is_list(column.type):
        return column
    is_text = pa.types.is_string(column.type.value_type)
    rows = [
        row and ([",str:".join(map(str, row))] if is_text else row[:1])
        for row in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(rows, column.type)])


def _refuses(*_: Any) -> Any:
    raise RefusedError("no table is read")


#: What comes of a pipe to the judge that a program of the reader's finds below /proc.
_FORGER = """
import contextlib, json, os
folder = f"/proc/{os.getppid()}/fd"
for name in os.listdir(folder):
    with contextlib.suppress(OSError):
        if os.readlink(f"{folder}/{name}").startswith(("pipe:", "socket:")):
            with open(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_NONBLOCK), "w") as answers:
                for number in range(10):
                    said = {"outcome": "pass", "reason": "", "number": number, "seconds": 0.1}
                    answers.write(json.dumps({**said, "refusal": False, "answer": None}) + "\\n")
"""


def _forged(table: pa.Table) -> pa.Table:
    """No rows, and a verdict of its own where the answers to the judge can be written."""
    subprocess.run([sys.executable, "-ISc", _FORGER], check=False, stderr=subprocess.DEVNULL)
    return table.slice(0, 0)


RULES: Mapping[str, Bend] = {
    "deletes are ignored": scans(table=_a_deleted_row),
    "a row is lost": scans(table=lambda table: table.slice(1)),
    "changes are applied in another order": scans(table=_older_wins),
    "numbers are text": scans(table=lambda table: _columns(table, _numbers_as_text)),
    "nulls are empty": scans(table=lambda table: _columns(table, _nulls_as_empty)),
    "a page comes twice": scans(table=lambda table: pa.concat_tables([table, table])),
    "all is refused": members(open=_refuses),
    "nothing is there": scans(table=lambda table: table.slice(0, 0)),
    FORGED: scans(table=_forged),
    "items of lists are joined": scans(table=lambda table: _columns(table, _items_joined)),
}


class BreaksARule(Bent):
    """Right but for the rule that the environment names."""

    def __init__(self) -> None:
        super().__init__(RULES[os.environ[VARIABLE]](resolve("scan", "auto")))
