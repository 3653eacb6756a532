"""What a run had finished when it was interrupted: a journal beside the records.

The first line holds the plan, each further one a piece of work and what came of it. The file is
removed when the run is over, so that one that is there belongs to a run that was interrupted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.written import whole_file

_NAME = ".unfinished.jsonl"
_VERSION = 1


class Unfinished:
    """The finished pieces of work of a run.

    Attributes:
        file: the journal.
        resumed: how many pieces an interrupted run had finished.
    """

    def __init__(self, results: Path, plan: Mapping[str, Any], *, resume: bool) -> None:
        """Begin a journal in the folder of records, or go on with that of an interrupted run.

        The plan is all that decides what is run and what comes of it, as JSON has it. Unless we
        `resume`, the journal of an interrupted run is dropped.
        """
        self.file = results / _NAME
        self._done: dict[str, Any] = {}
        plan = json.loads(json.dumps(plan))
        if resume and self.file.exists():
            self._done = _read(self.file, plan)
        self.resumed = len(self._done)
        lines = [{"unfinished": _VERSION, "plan": plan}]
        lines += [{"done": key, "value": value} for key, value in self._done.items()]
        try:
            results.mkdir(parents=True, exist_ok=True)
            with whole_file(self.file) as temporary:
                temporary.write_text("".join(json.dumps(line) + "\n" for line in lines))
        except OSError as error:
            raise UnavailableError(f"{self.file} cannot be written: {error.strerror}") from error

    def get(self, key: str) -> Any:
        """What came of a piece of work; None if it is not done."""
        return self._done.get(key)

    def put(self, key: str, value: Any) -> None:
        """Note that a piece of work is done; on the disk when this returns."""
        self._done[key] = value
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"done": key, "value": value}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> None:
        """The run is over: remove the journal."""
        self.file.unlink(missing_ok=True)


def _read(file: Path, plan: Mapping[str, Any]) -> dict[str, Any]:
    try:
        first, *lines = file.read_text(encoding="utf-8").split("\n")
        head = json.loads(first)
        if head["unfinished"] != _VERSION:
            raise InputError(f"{file}: another version of Seambench wrote it; run without --resume")
        # After the last line end stands nothing, or a line that was cut off when the run died.
        done = [json.loads(line) for line in lines[:-1]]
        found = {str(line["done"]): line["value"] for line in done}
        before = dict(head["plan"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: not readable: {error!r}; run without --resume") from error
    differ = [name for name in {**before, **plan} if before.get(name) != plan.get(name)]
    if differ:
        name = differ[0]
        more = f" (and {', '.join(differ[1:])} differ)" if differ[1:] else ""
        raise UsageError(
            f"--resume: the interrupted run had {name} {_short(before.get(name))}, this one has "
            f"{_short(plan.get(name))}{more}; give the same options, or begin anew without --resume"
        )
    return found


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:99]}\N{HORIZONTAL ELLIPSIS}"
