"""Golden tables step by step: declarations without variants, and how Spark carries steps out.

Of files that have no positions with names, what edits may name: their kinds alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.contracts.data_files import build
from seambench.contracts.tables import CommitRequest, Written
from seambench.formats.golden import read_declaration


@dataclass(frozen=True)
class SteppedTable:
    """What a golden table is and how it came to be."""

    name: str
    note: str
    # its latest schema, with the types of cases (`seambench.conformance.plain`)
    columns: Mapping[str, str]
    steps: Sequence[Any]  # what is done, in the words of the table's format
    partition: Sequence[str] = ()  # its partition columns, where they are columns
    features: Sequence[str] = ()  # words of capabilities that reading it takes
    settings: Mapping[str, str] = field(default_factory=dict)  # of the Spark session, for all steps
    # the program that made the table where Spark did not: a module, its steps in words; empty for
    # Spark
    recipe: str = ""


_Table = TypeVar("_Table", bound=SteppedTable)


def _settled(table: Path) -> None:
    """Nothing: an archive holds all of a table."""


@dataclass(frozen=True)
class SteppedGolden(Generic[_Table]):
    """The golden tables of a format; see `seambench.contracts.formats.Golden`."""

    kind: type[_Table]  # what its declarations are
    title: str  # the format's, for messages
    settle: Callable[[Path], None] = _settled  # puts right what an archive cannot hold

    def load_table(self, folder: Path, file: Path | None = None) -> _Table:
        """Read what a golden table is."""
        file, data = read_declaration(folder, file, self._variant)
        spec: _Table = build(self.kind, data, file)
        return spec

    def needs(self, spec: SteppedTable, request: CommitRequest) -> list[str]:
        """Its features, and partitions."""
        del request
        return [*spec.features, *(["partitioned"] if spec.partition else [])]

    def _variant(self, name: str, file: Path) -> Mapping[str, Any]:
        raise UsageError(f"{file}: golden {self.title} tables have no variants, such as {name!r}")


@contextmanager
def settings(values: Mapping[str, str], *confs: Any) -> Iterator[None]:
    """Settings that hold for a while, in configurations of Spark's or Hadoop's."""
    for name, value in values.items():
        for conf in confs:
            conf.set(name, value)
    try:
        yield
    finally:
        for name in values:
            for conf in confs:
                conf.unset(name)


def carry_out(
    steps: Iterable[Any],
    do: Callable[[Any], object],
    note: Callable[[Written], None],
    *,
    lenient: bool,
    needed: int = 1,
) -> Written:
    """Carry out steps one by one, and note what came of each.

    Args:
        steps: in the words of the table's format.
        do: carries one out.
        note: gets after each what became of those before.
        lenient: go on after a step that fails, with the table as it then is.
        needed: so many steps at the beginning must not fail.
    """
    done = Written()
    for number, step in enumerate(steps, 1):
        try:
            do(step)
        except Exception as error:
            if not lenient or number <= needed:
                raise
            done.failures[number] = str(error)[:500]
        note(done)
    return done


def moment(millis: int) -> str:
    """A time in milliseconds since 1970, in words."""
    found = dt.datetime.fromtimestamp(millis // 1000, dt.UTC)
    found += dt.timedelta(milliseconds=millis % 1000)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class PlainDamage:
    """Kinds of files alone; see `seambench.contracts.formats.Damage`."""

    def __init__(self, files: Mapping[str, Callable[[Path], Sequence[Path]]]) -> None:
        self.FILES = files

    def position(self, data: bytes, name: str) -> int:
        """No place in such a file has a name of its own."""
        raise UsageError(
            f"{name!r} is no position: start or end, with +N or -N, in {counted(len(data), 'byte')}"
        )

    def name_parts(self, name: str) -> Mapping[str, str]:
        """None: names of such files tell nothing."""
        del name
        return {}
