"""Table formats by name: what the harness must know of one to write, damage, lint and show it.

A format is an object `TableFormat`, announced by a package as an entry point of the group
`seambench.format`. Data generation, golden tables, cases, the command line and the page ask it;
none of them names one.
"""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from seambase.errors import UnavailableError, UsageError
from seambench.contracts import registry
from seambench.contracts.common import Level
from seambench.contracts.tables import (
    CommitRequest,
    Design,
    Form,
    Groups,
    Layout,
    SparkBundle,
    Step,
    TableSpec,
    Written,
)

Lint = Callable[[Path], Iterator["Fault"]]
"""Of a table's folder, what is wrong with the table as it now is, by its format's specification.

It shares no code with the readers that a verdict on a table stands on, so that a mistake there is
not made here again.
"""


@dataclass(frozen=True)
class Fault:
    """One place of a table that breaks a rule.

    Attributes:
        rule: name of the rule, which begins with that of what states it: `delta.stats.max-values`.
        source: where the rule stands: document and section.
        place: the file, below the table's folder, and the field in it.
        says: one sentence: what stands there, and what it must be.
        level: `must` where the specification demands it, or readers lose or change rows; `should`
            where it recommends it.
    """

    rule: str
    source: str
    place: str
    says: str
    level: Level = "must"


_FORMATS = "seambench.format"


class Golden(Protocol):
    """Golden tables of a format (a module will do): `golden/<format>/<table>/` of a suite.

    `seambench.formats.golden` has what all formats share: folders, variants, archives, origins.
    """

    def load_table(self, folder: Path, file: Path | None = None) -> TableSpec:
        """Read what a golden table is.

        Args:
            folder: folder of the table, or of one of its variants.
            file: its `table.toml`; None for the one there or, for a variant, in the folder above.

        Raises:
            UsageError: an unknown or missing key, or a variant that is none.
        """

    def needs(self, spec: Any, request: CommitRequest) -> Sequence[str]:
        """Capabilities that a reader must state to be asked this of this table."""

    def settle(self, table: Path) -> None:
        """Put right what an archive cannot hold, after a table was unpacked."""


class Damage(Protocol):
    """What edits name in tables of a format (a module will do); see `seambench.formats.edits`."""

    #: Kinds of files, and how they are found below a table's folder.
    FILES: Mapping[str, Callable[[Path], Sequence[Path]]]

    def position(self, data: bytes, name: str) -> int:
        """Offset of a place in a file's bytes that has a name in this format.

        Raises:
            UsageError: there is no such place.
        """

    def name_parts(self, name: str) -> Mapping[str, str]:
        """Parts of a file's name that the target of a `rename` or `copy` may hold in braces."""


class Layouts(Protocol):
    """Names of data sets, and what they say about the tables in them (a module will do)."""

    #: How the names are spelled, for messages.
    SPELLING: str

    def parse(self, name: str) -> Layout | None:
        """The layout of a name, or None if it is not spelled like one of this format.

        Raises:
            UsageError: it is, and asks for something that cannot be written.
        """

    def make(self, ratio: float, share: float, knobs: Mapping[str, str]) -> Layout:
        """A layout whose tables are changed.

        Args:
            ratio: per cent of the rows changed in a group of rows that is changed at all.
            share: per cent of the groups that are changed.
            knobs: what else the format lets one choose, by name.

        Raises:
            UsageError: an unknown knob, or a value that cannot be written.
        """


class Writer(Protocol):
    """How Spark writes tables of a format (a module will do)."""

    def write(self, step: Step, frame: Any, design: Design, path: Path) -> None:
        """Do one step of a data set's table.

        Args:
            step: `create` and `upsert` write whole rows, `delete` the rows that are to go.
            frame: a Spark data frame with the table's columns and `ts`, unique by key.
            design: the table.
            path: its folder.
        """

    def groups(self, keys: Sequence[npt.NDArray[np.int64]], count: int) -> npt.NDArray[np.int64]:
        """Number of the group, from 0, into which `write` puts each row, by its key columns.

        A group's rows lie together in files of their own once the table was created.
        """

    def check(self, path: Path, groups: Groups) -> None:
        """Check that the files of a table are as its groups say.

        Raises:
            SeambenchError: they are not; the message names the groups.
        """

    def writer_version(self, spec: Any) -> str | None:
        """Version of the bundle that writes a golden table; each runs in its own process."""

    def write_table(
        self, session: Any, spec: Any, table: Path, *, lenient: bool = False
    ) -> Written:
        """Carry out every step of a golden table in the new folder `table`.

        Args:
            session: a Spark session with the format's bundle.
            spec: what to write.
            table: where.
            lenient: go on after a step that fails, with the table as it then is.
        """


@dataclass(frozen=True, eq=False)
class TableFormat:
    """A table format.

    Attributes:
        name: as in capabilities (`formats.NAME`), case ids, folders and manifests.
        title: its name in sentences.
        meta_columns: columns that every table has besides the user's; shown only when asked for.
        is_meta: whether a column is hidden unless it is named.
        recognises: whether a folder looks like one of its tables, or a file like a part of one.
        bundle: what Spark needs for its tables, by the bundle's version; None for the default one.
        golden: its golden tables.
        damage: what edits name in them.
        layouts: its layouts of data sets; None if there are none, because its rows never change.
        writer: how Spark writes its tables.
        home: where the bytes of a table say that its folder lies; None where they name no place.
        forms: `MODULE:FUNCTION`, which returns the physical forms that its tables can take; see
            `seambench.formats.forms`. It is loaded when one is asked for; empty where there are
            none.
        capabilities: words that readers of its tables may state besides those of the scan seam,
            each with its meaning: features of tables, which a reader that does not state them must
            refuse.
        asked: those among them that are about what is asked of a reader, not what a table has.
        lint: `MODULE:FUNCTION`, which says what is wrong with one of its tables; see
            `seambench.contracts.formats`. Empty where nothing can tell.
        first_words: those that a new reader states first.
        first_cases: the pattern of the cases that it is put to first, below those of the format.
    """

    name: str
    title: str
    recognises: Callable[[Path], bool]
    bundle: Callable[[str | None], SparkBundle]
    golden: Golden
    damage: Damage
    layouts: Layouts | None
    writer: Writer
    meta_columns: tuple[str, ...] = ()
    is_meta: Callable[[str], bool] = lambda _column: False
    home: Callable[[Path], Path] | None = None
    forms: str = ""
    lint: str = ""
    capabilities: Mapping[str, str] = field(default_factory=dict, hash=False)
    asked: frozenset[str] = frozenset()
    first_words: tuple[str, ...] = ()
    first_cases: str = "*"

    @property
    def features(self) -> frozenset[str]:
        """Words for what a table of the format may have."""
        return frozenset(self.capabilities) - self.asked

    def shown(self, columns: Iterable[str]) -> list[str]:
        """Those of a table's columns that a read shows which names none."""
        return [name for name in columns if not self.is_meta(name)]

    def faults(self, table: Path) -> Iterator[Fault]:
        """What is wrong with one of its tables, by its specification.

        Raises:
            UsageError: nothing can tell.
        """
        if not self.lint:
            raise UsageError(f"{self.title} tables have no linter")
        found: Lint = pkgutil.resolve_name(self.lint)
        return found(table)

    def known_forms(self) -> Sequence[Form]:
        """The physical forms that its tables can take."""
        return pkgutil.resolve_name(self.forms)() if self.forms else ()

    def form(self, name: str) -> Form:
        """The form of a name.

        Raises:
            UsageError: there is none.
        """
        known = {form.name: form for form in self.known_forms()}
        if name not in known:
            raise UsageError(f"{self.title} tables have no form {name!r}; {', '.join(known)}")
        return known[name]


def format_names() -> list[str]:
    """Names of the announced formats, in alphabetical order."""
    return sorted(registry.grouped(_FORMATS))


def resolve_format(name: str) -> TableFormat:
    """The format of a name.

    Raises:
        UsageError: unknown name.
        UnavailableError: it needs a package that is not installed.
    """
    point = registry.pick(registry.grouped(_FORMATS), name, "table format")
    found: TableFormat = registry.load(point, name)
    return found


def formats_of_data() -> list[str]:
    """Names of the formats that have data sets."""
    return [name for name in format_names() if resolve_format(name).layouts is not None]


def layouts_of(name: str) -> Layouts:
    """How the data sets of a format are called.

    Raises:
        UsageError: an unknown name, or a format without data sets.
    """
    format_ = resolve_format(name)
    if format_.layouts is None:
        raise UsageError(
            f"there are no data sets of {format_.title} tables: their rows never change; "
            f"there are some of {', '.join(formats_of_data())}"
        )
    return format_.layouts


def announced_formats() -> list[TableFormat]:
    """All announced formats that can be loaded here, by name."""
    found = []
    for name in format_names():
        with contextlib.suppress(UnavailableError):
            found.append(resolve_format(name))
    return found


def offered_formats(capabilities: Mapping[str, bool]) -> list[TableFormat]:
    """The formats that an implementation with these capabilities offers."""
    return [one for one in announced_formats() if capabilities.get(f"formats.{one.name}")]


def recognised_formats(path: Path) -> list[TableFormat]:
    """The formats that a folder on this machine looks like a table of, or a file like a part."""
    return [one for one in announced_formats() if one.recognises(path)]
