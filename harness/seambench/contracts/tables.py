"""Words about tables that every table format shares: layouts, golden tables, edits, requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, get_args

from seambase.errors import SeambenchError, UsageError
from seambase.scan import Query

Ordering = Literal["event", "commit"]
"""Which of two versions of a row counts: the one with the higher ordering value, or the later."""

Step = Literal["create", "upsert", "delete"]
"""What is done to a table of a data set, in this order."""


@dataclass(frozen=True)
class SparkBundle:
    """What a Spark session needs to write and read the tables of a format.

    Attributes:
        title: the format's name in messages.
        packages: Maven coordinates of its jars, `group:artifact:version`.
        settings: Spark settings.
        probe: a Java class by which one sees that a session has the jars.
    """

    title: str
    packages: tuple[str, ...]
    settings: Mapping[str, str]
    probe: str


@dataclass(frozen=True)
class Layout:
    """One way to lay out the tables of a data set: as such plain Parquet; formats derive theirs.

    Attributes:
        ratio: per cent of the rows changed in a group of rows that is changed at all.
        share: per cent of the groups that are changed.
        ordering: which of two versions of a row counts.
    """

    #: Name of the table format.
    format_name: ClassVar[str] = "parquet"

    ratio: float = 0.0
    share: float = 100.0
    ordering: Ordering = "event"

    def __post_init__(self) -> None:
        for word, value in (("update ratio", self.ratio), ("slice share", self.share)):
            if not 0 <= value <= 100:
                raise UsageError(f"{word} {value:g} is not a per cent between 0 and 100")
        if self.ordering not in get_args(Ordering):
            raise UsageError(f"ordering {self.ordering!r} is neither event nor commit")

    @property
    def name(self) -> str:
        """Name of the data set's folder."""
        return self.format_name

    @property
    def changes(self) -> bool:
        """Whether any row is changed after the table was created."""
        return self.ratio > 0 and self.share > 0

    def base(self) -> Layout:
        """The layout whose tables this one's are right after their creation; a key, no name."""
        return replace(self, ratio=100.0 if self.changes else 0.0, share=100.0)

    def dimensions(self) -> Mapping[str, Any]:
        """What results are grouped by: an open map, in which each format has words of its own."""
        return {}


@dataclass(frozen=True)
class Design:
    """A table of a data set, to be written.

    Attributes:
        keys: columns of its primary key; the ordering column is `ts`.
        layout: the data set's.
        slices: number of groups of rows.
    """

    name: str
    keys: tuple[str, ...]
    layout: Layout
    slices: int


@dataclass(frozen=True)
class Groups:
    """Groups of a table's rows, by number, of which something is known.

    Attributes:
        base: those with rows after the table was created.
        changed: those with rows that were updated, inserted or deleted later.
        replaced: those in which a row of the base is no longer the one to read.
    """

    base: frozenset[int]
    changed: frozenset[int]
    replaced: frozenset[int]

    def check(self, table: str, created: Iterable[int], touched: Set[int]) -> None:
        """Hold a table to them: one file a group at first, and files that lost rows later."""
        if sorted(created) != sorted(self.base):
            raise SeambenchError(
                f"table {table}: it was created with files of the groups {sorted(created)}, "
                f"expected {sorted(self.base)}"
            )
        if touched != self.replaced:
            raise SeambenchError(
                f"table {table}: files of the groups {sorted(touched)} were changed, expected "
                f"{sorted(self.replaced)}"
            )


class TableSpec(Protocol):
    """The declaration of a golden table, as far as every format has it."""

    @property
    def name(self) -> str:
        """Name of the table, with its variant: `event/v9`."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Its latest schema: names, and types of cases (`seambench.conformance.plain`)."""

    @property
    def steps(self) -> Sequence[Any]:
        """What was done, in order, for it to come to be."""


@dataclass(frozen=True)
class Origin:
    """Who wrote a golden table (`origin.toml`).

    Attributes:
        instants: what each step's commit is called, in order; empty for one that left none.
        completions: the time at which each completed, where bounds of windows mean that.
        sha256: of the archive.
        spec: SHA-256 of the `table.toml` it was made from, empty if that is not known.
        confirmed: other readers that read the rows which cases expect, when it was made.
    """

    writer: str
    made: str
    instants: Sequence[str]
    sha256: str
    completions: Sequence[str] = ()
    spec: str = ""
    confirmed: Sequence[str] = ()


@dataclass
class Written:
    """What became of the steps of a golden table so far; the lists are as long as there are steps.

    Attributes:
        instants: what each step's commit is called, empty where there is none.
        completions: their completion times, empty where there is none.
        failures: what the engine said to the steps that it did not carry out, by number.
        witness: what the engine itself reads after each step, where the format keeps that.
    """

    instants: list[str] = field(default_factory=list)
    completions: list[str] = field(default_factory=list)
    failures: dict[int, str] = field(default_factory=dict)
    witness: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Form:
    """A physical form that a table can take; its rows stay the same.

    Attributes:
        name: of the form.
        title: what it is, for people.
        change: brings the table of a folder into the form, sizes and checksums in its metadata
            with it, and says how many files are other than before: 0 where it has no place.
        needs: capabilities that a reader must state to be shown it, besides the case's.
    """

    name: str
    title: str
    change: Callable[[Path], int]
    needs: Sequence[str] = ()


@dataclass(frozen=True)
class CommitRequest:
    """What a case asks of a table. Commits are given by the number of the step, from 1."""

    query: Query = "snapshot"
    as_of: int | None = None
    begin: int | None = None
    end: int | None = None
    columns: Sequence[str] | None = None
    where: str | None = None
    strict: bool = False
    row_kinds: bool = False


@dataclass(frozen=True)
class Edit:
    """One change to one file of a table.

    Attributes:
        file: which file: `path:GLOB`, or a kind of file of the table's format and a number, `log:2`
            (the n-th by name, numbers by value).
        op: `truncate` cuts `count` bytes off the tail; `empty` leaves none; `delete` removes the
            file or folder; `insert` puts `hex` in at `at`; `overwrite` writes `hex` over what is
            there; `add` adds `count` to the big-endian 64-bit integer there; `replace` changes the
            text `find` to `text` (it must be there); `rename` moves to `to`; `copy` copies to `to`;
            `append-to` moves the file's bytes to the end of the file `to`.
        at: a position: `start`, `end`, or one that the format names; `+N` or `-N` behind it moves
            by N bytes.
        to: a file as in `file`, or for `rename` and `copy` a path, in which `{name}` is the name.
    """

    file: str
    op: Literal[
        "truncate",
        "empty",
        "delete",
        "insert",
        "overwrite",
        "add",
        "replace",
        "rename",
        "copy",
        "append-to",
    ]
    at: str = "end"
    count: int = 0
    hex: str = ""
    find: str = ""
    text: str = ""
    to: str = ""
