"""Cases of writers: scripts of steps, in TOML, one case for each format that a script is for.

    level = "must"
    requirement = "rows that are appended join those that were there"
    formats = ["its-format"]
    columns = { id = "bigint", s = "string" }
    keys = ["id"]                              # none where rows are not told apart
    partitions = ["s"]
    properties = { its-format = { "its.property" = "true" } }

    [[steps]]                                  # of each step what it takes
    do = "append"
    rows = [[1, "a"], [2, { null = true }]]    # values as cases spell them, in the columns' order

    [[steps]]
    do = "delete"
    where = [["id", "=", 1]]

A step may have two words more, for which writers run as processes of their own:

    killed = true                              # its process is killed at some moment of it
    beside = { do = "append", rows = [...] }   # a second writer does this, by the state before
    late = true                                # and is asked once the first is done, not at once

`create` comes first by itself, with no rows. A file `cases/table-writer/GROUP/NAME.toml` makes the
cases `table-writer/FORMAT/GROUP/NAME`. In place of steps it may say from which ones scripts are
drawn at random; then there is a case for each, `table-writer/FORMAT/GROUP/NAME/NUMBER`:

    random = { scripts = 20, length = 8, steps = ["append", "append", "delete"] }

where `killed = 0.5` and `beside = 0.5` say of how many steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambench.conformance.plain import typed
from seambench.contracts.data_files import CaseFile, build, case_files, may_begin, read_case_file
from seambench.contracts.seam import Case
from seambench.contracts.table_writer import Do
from seambench.seams.table_writer.random_scripts import RandomFile, drawn_steps


@dataclass(frozen=True, kw_only=True)
class StepFile:
    """The keys of a step; see `seambench.contracts.table_writer.WriterStep`."""

    do: Do
    rows: Sequence[Sequence[Any]] = ()
    where: Sequence[Sequence[Any]] = ()
    assign: Mapping[str, Any] = field(default_factory=dict)
    column: str = ""
    type: str = ""
    to: str = ""
    name: str = ""
    # the process is killed before it has answered, if it takes as long as other times
    killed: bool = False
    beside: StepFile | None = None  # what a second writer does, by the state that this step finds
    late: bool = False  # the second writer is asked when this step is done

    @property
    def all(self) -> Sequence[StepFile]:
        """This one and the one beside it."""
        return (self, self.beside) if self.beside else (self,)


@dataclass(frozen=True, kw_only=True)
class ScriptFile(CaseFile):
    """The keys of a case file."""

    formats: Sequence[str]  # names of those that the script is for
    columns: Mapping[str, str]  # types by name, as cases spell them
    steps: Sequence[StepFile] = ()  # what follows the creation
    random: RandomFile | None = None  # from what scripts are drawn, in place of steps
    keys: Sequence[str] = ()  # columns that tell rows apart
    partitions: Sequence[str] = ()  # columns by which the table is partitioned
    # of the table, by format
    properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    source: str = ""  # where the rule is stated


@dataclass(frozen=True)
class WriterCase(Case):
    """A script for one format."""

    format: str
    file: Path
    number: int | None = None  # of a script that is drawn at random, which one

    @property
    def script(self) -> ScriptFile:
        """What the file says, or what is drawn by it."""
        return _script(self.file) if self.number is None else _drawn(self.file, self.number)

    @property
    def apart(self) -> bool:
        """Whether it asks for processes, so that a state may be one of several."""
        return any(step.killed or step.beside for step in self.script.steps)

    @property
    def needs(self) -> Sequence[str]:
        """See `Case`."""
        script = self.script
        all_ = ["create", *(one.do for step in script.steps for one in step.all)]
        steps = dict.fromkeys([*all_, *(["open"] if self.apart else [])])
        words = [word for word in ("keys", "partitions") if getattr(script, word)]
        return [f"formats.{self.format}", *(f"steps.{do}" for do in steps), *words, *script.needs]


@cache
def _script(file: Path) -> ScriptFile:
    script = read_case_file(ScriptFile, file)
    if bool(script.steps) == (script.random is not None):
        raise UsageError(f"{file}: either `steps` or `random` is expected")
    for column in (*script.keys, *script.partitions):
        if column not in script.columns:
            raise UsageError(f"{file}: there is no column {column!r}")
    return script


@cache
def _drawn(file: Path, number: int) -> ScriptFile:
    """The script of a number, of a file that says from what scripts are drawn."""
    script = _script(file)
    assert script.random is not None
    parts = script.columns, script.keys, script.partitions
    drawn = drawn_steps(script.random, *parts, number)
    return replace(script, steps=[build(StepFile, step, file) for step in drawn])


def writer_cases(root: Path, begins: Sequence[str]) -> list[Case]:
    """The cases below a root."""
    return list(_cases(root, begins))


def _cases(root: Path, begins: Sequence[str]) -> Iterator[WriterCase]:
    for id_, file in case_files(root, "table-writer"):
        script = _script(file)
        seam, _, name = id_.partition("/")
        for format_ in script.formats:
            case = f"{seam}/{format_}/{name}"
            if not may_begin(case, begins):
                continue
            said = script.level, script.requirement, format_, file
            if script.random is None:
                yield WriterCase(case, *said)
                continue
            for number in range(script.random.scripts):
                yield WriterCase(f"{case}/{number:02}", *said, number)


def typed_row(row: Sequence[Any], columns: Mapping[str, str], file: Path) -> dict[str, Any]:
    """A row of a case file as Python values by column."""
    if len(row) != len(columns):
        raise UsageError(f"{file}: {list(row)} are not the values of {', '.join(columns)}")
    return {
        name: typed(value, type_) for value, (name, type_) in zip(row, columns.items(), strict=True)
    }
