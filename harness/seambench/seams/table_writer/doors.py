"""The door for writers that are programs: a step is a line of JSON, and so is its answer.

    {"version": 1, "do": "append", "table": "/.../table", "format": "its-format",
     "rows": "/.../rows.arrow", "keys": [], "partitions": ["p"], "properties": {}, "where": [],
     "assign": {}, "column": "", "type": "", "to": "", "name": ""}

`rows` is an Arrow IPC file, whose schema is that of the table before the step; of steps without
rows it is empty. `where` are tests as `["id", "=", 1]`; what JSON cannot tell is text: a date by
ISO 8601, a decimal by its digits, bytes in hex. `type` is Arrow's word. The answer is
`{"done": true}` once the step is committed, or `{"refused": "a sentence"}` with the table as it
was. The program runs from the first step of a table to its last; then its input ends. One that
does `open`, which takes up a table that is there, is also run twice at once, and killed.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
import tempfile
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.conformance.doors.command import Command, Running
from seambench.conformance.doors.facts import REQUEST_VERSION
from seambench.contracts.outcomes import ProtocolError
from seambench.contracts.table_writer import TableWriter, WriterStep
from seambench.seams.table_writer.cases import WriterCase
from seambench.seams.table_writer.model import steps_of

_PROGRAM = "seambench.seams.table_writer.program"


class CommandWriter(Command):
    """A writer that is a program."""

    def __init__(self, command: str, timeout: float = 600.0) -> None:
        super().__init__(command, timeout)
        self._running: Running | None = None

    def step(self, step: WriterStep) -> None:
        """Have it do a step; see `seambench.contracts.table_writer.TableWriter`."""
        self._running = running = self._running or Running(self)
        with tempfile.NamedTemporaryFile(suffix=".arrow") as rows:
            with pa.ipc.new_file(rows.name, step.rows.schema) as writer:
                writer.write_table(step.rows)
            running.send(_line(step, rows.name).encode() + b"\n")
            said = running.output.readline()
        if not said:
            running.end()
            raise ProtocolError(f"{self.name}: it ended without an answer to {step.do}")
        self._understand(said, step.do)

    def _understand(self, said: bytes, do: str) -> None:
        try:
            answer = json.loads(said)
        except ValueError:
            answer = None
        if answer == {"done": True}:
            return
        if (
            isinstance(answer, dict)
            and isinstance(answer.get("refused"), str)
            and answer["refused"]
        ):
            raise RefusedError(f"{self.name}: {answer['refused']}")
        text = said[:100].decode("utf-8", "replace").strip()
        raise ProtocolError(f"{self.name}: no answer to {do}: {text}")

    def kill(self) -> None:
        """Kill the program and what it started, in the middle of whatever it does."""
        if self._running is not None:
            self._running.kill()

    def finish(self) -> None:
        """There are no more steps: end the program."""
        running, self._running = self._running, None
        if running is not None:
            running.close()


class Apart(CommandWriter):
    """A writer's class, as a program."""

    def __init__(self, writer: TableWriter) -> None:
        made = type(writer)
        self.name, self.version, self.capabilities = (
            writer.name,
            writer.version,
            writer.capabilities,
        )
        name = f"{made.__module__}:{made.__qualname__}"
        self.arguments = [sys.executable, "-m", _PROGRAM, name]
        self.timeout, self._running = 600.0, None


def in_a_process(writer: TableWriter) -> CommandWriter:
    """The same writer once more, in a process of its own."""
    if not isinstance(writer, CommandWriter):
        return Apart(writer)
    again = copy(writer)
    again.finish()
    return again


def lines_of_case(case: WriterCase) -> str:
    """What a program is asked in a case, a line a step."""
    return "\n".join(_line(step, "rows.arrow") for step, _ in steps_of(case, Path("table")))


def _line(step: WriterStep, rows: str) -> str:
    members: Mapping[str, Any] = {
        "version": REQUEST_VERSION,
        "do": step.do,
        "table": str(step.table),
        "format": step.format,
        "rows": rows,
        "keys": list(step.keys),
        "partitions": list(step.partitions),
        "properties": dict(step.properties),
        "where": [list(test) for test in step.where],
        "assign": dict(step.assign),
        "column": step.column,
        "type": "" if step.type is None else str(step.type),
        "to": step.to,
        "name": step.name,
    }
    return json.dumps(members, default=_as_text)


def _as_text(value: Any) -> Any:
    """A value that JSON does not have."""
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)
