"""What a seam is to the harness: its cases, how one is checked and explained, its doors and passes.

A seam is announced by an installed package as entry point `NAME` of the group `seambench.seam`,
whose value is an instance of `Seam`. Nothing central knows which seams there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

from seambase.errors import RefusedError, UsageError
from seambase.wording import counted, did_you_mean
from seambench.contracts.common import Level, TimedFamily
from seambench.contracts.outcomes import Outcome
from seambench.contracts.peers.catalogue import Peer


@dataclass(frozen=True)
class ShownRows:
    """Rows as text.

    Attributes:
        rows: a text for each column of each row.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Step:
    """One step in the life of what a case reads: a write, a service, an edit of a file.

    Attributes:
        title: what was done, e.g. `upsert`, or a statement of SQL.
        detail: how, in one line; may be empty.
        rows: what was written, if that is known.
    """

    title: str
    detail: str = ""
    rows: ShownRows | None = None

    def __str__(self) -> str:
        return f"{self.title} of {counted(len(self.rows.rows), 'row')}" if self.rows else self.title


@dataclass(frozen=True)
class Explanation:
    """A case explained.

    Attributes:
        rule: what must hold.
        sources: where the rule is written down, or engines were found to break it.
        file: where the case lies, below its suite's folder.
        life: of the table, or whatever is read.
        request: what is asked, by name of the option.
        expected: right answers; more than one where each of them is right.
        outcome: in words what must come where that is no rows.
        definition: the case's own text, where life and request do not say it all.
    """

    rule: str
    sources: Sequence[str] = ()
    file: str = ""
    life: Sequence[Step] = ()
    request: Mapping[str, str] = field(default_factory=dict)
    expected: Sequence[ShownRows] = ()
    outcome: str = ""
    definition: str = ""


@dataclass(frozen=True)
class Case:
    """One case. Seams add what is theirs.

    Attributes:
        id: the seam, a format or a group of rules, and a name: `scan/its-format/folder/case`.
        level: `must` or `should`; see `seambench.contracts.common.Level`.
        requirement: the rule in words.
    """

    id: str
    level: Level
    requirement: str

    @property
    def seam(self) -> str:
        """Name of the seam."""
        return self.id.partition("/")[0]

    @property
    def group(self) -> str:
        """The format or the group of rules that the case belongs to."""
        return self.id.split("/")[1]

    @property
    def needs(self) -> Sequence[str]:
        """Capabilities that an implementation must state for the case to be put to it."""
        return ()

    @property
    def subject(self) -> str:
        """What is read: cases that say the same here are about the same bytes.

        Behind a `#` stands the form in which it is read; nothing for that in which it was written.
        """
        return self.id

    @property
    def refused(self) -> Sequence[str]:
        """Exceptions of `seambase.errors`, one of which must come in place of an answer."""
        return ()

    @property
    def says(self) -> Sequence[str]:
        """Words that the message of the refusal must contain."""
        return ()

    @property
    def witness(self) -> str:
        """An engine whose answer this was seen to be, or what else vouches for it; may be empty."""
        return ""

    @property
    def must_honour(self) -> Sequence[str]:
        """Those of `needs` that tell what lies in the data, not what is asked of an implementation.

        Whoever lacks nothing but such ones meets the data all the same: it must refuse or be right.
        Otherwise the case is not put to it.
        """
        return ()

    def prepare(self) -> None:
        """Read what a check needs of the case's own files: what is wrong with these is no failure.

        Called before the case is put to an implementation that offers what it needs.
        """


def refusal_in_words(case: Case) -> str:
    """What must come in place of an answer, as a sentence; empty where an answer must come."""
    if not case.refused:
        return ""
    words = " and ".join(repr(word) for word in case.says)
    ours = " or ".join(case.refused) + (f" that names {words}" if words else "")
    return f"a refusal: {ours}; from outside, any refusal in a sentence"


Keep = Callable[[str, str, Path], None]


@dataclass(frozen=True)
class PassRun:
    """What an extra pass over the cases of a seam is given.

    Attributes:
        implementations: their names.
        cases: those chosen, in order.
        ask: puts a request to an implementation's own process: name of the implementation, what to
            do (a key of `Seam.requests`), the case, further members, and the implementation's seam
            if that is another than the case's. The answer has at least `outcome` and `reason`.
        outcome: makes an outcome, given implementation, case, and such an answer.
        keep: takes the name of an implementation, a case, and a table of its that was misread; None
            where nothing is recorded.
    """

    implementations: Sequence[str]
    cases: Sequence[Any]
    ask: Callable[..., Mapping[str, Any]]
    outcome: Callable[[str, Case, Mapping[str, Any]], Outcome]
    keep: Keep | None = None


Pass = Callable[[PassRun], Iterator[Outcome]]
Request = Callable[[Any, Any, Mapping[str, Any]], Mapping[str, Any]]
"""Of a case, an implementation and the members of a request; what it returns joins the answer."""


class Late:
    """See `late`. It has no `__get__`, so that it is called without the seam whose method it is."""

    def __init__(self, target: str) -> None:
        self._target = target

    @property
    def imported(self) -> Any:
        """What it stands for, imported."""
        module, _, name = self._target.partition(":")
        return getattr(import_module(module), name)

    def __call__(self, *given: Any) -> Any:
        """Call it."""
        return self.imported(*given)


def late(target: str) -> Any:
    """A function or class, `MODULE:NAME`, of a module that is imported when it is called."""
    return Late(target)


class Seam(ABC):
    """One seam. Methods import what they need when they are called: a seam itself is light.

    Attributes:
        name: as in ids of cases and names of implementations.
        title: one line for lists and the page.
        method: what every implementation must have besides `name`, `version`, `kind` and
            `capabilities`.
        reader: the seam whose implementations take what those of this one make; empty where that
            is this one.
        pairs_by: the extra pass by which a check of a pair is made, which is given its name as an
            implementation's; empty where `pair` makes one implementation.
    """

    name: str
    title: str
    method: str
    reader: str = ""
    pairs_by: str = ""

    @property
    @abstractmethod
    def words(self) -> Mapping[str, str]:
        """Every capability that there is, with its meaning; `*` stands for any text."""

    @abstractmethod
    def cases(self, root: Path, golden: Path | None, begins: Sequence[str]) -> Sequence[Case]:
        """The cases below a root; none where it has none of this seam.

        Args:
            root: folder with `cases/` and `golden/`.
            golden: folder of golden files to take instead of the root's cases.
            begins: how ids begin of the cases that are asked for; files of others need not be read
                (`seambench.contracts.data_files.case_files`).

        Raises:
            UsageError: a broken case, or `golden` holds none.
        """

    @abstractmethod
    def check(self, case: Any, implementation: Any) -> int | None:
        """Put a case to an implementation that states what it needs, and judge the answer.

        Returns:
            Of a case with several right answers, which of them came, from 1.

        Raises:
            Mismatch: the answer is wrong.
        """

    def attempt(self, case: Any, implementation: Any) -> None:
        """Ask an implementation for what it must refuse (`Case.refused`)."""
        raise NotImplementedError(f"the {self.name} seam has no refusals")

    def explain(self, case: Any) -> Explanation:
        """What a case is about, for people; a seam says more where it knows more."""
        return Explanation(case.requirement, outcome=refusal_in_words(case))

    def keep(self, case: Any, folder: Path) -> Sequence[str]:
        """Leave what a case reads in a folder, with the request of programs as `request.json`.

        Args:
            case: the case.
            folder: a new folder.

        Returns:
            What can be done with it: a line for each.

        Raises:
            UsageError: the case reads nothing that could be kept.
        """
        raise UsageError(
            f"{folder}: nothing to keep, since {case.id} of the {self.name} seam reads no files"
        )

    def asked(self, case: Any) -> str:
        """The request that a program gets, one line of JSON; empty where it gets none."""
        del case
        return ""

    @property
    def doors(self) -> Mapping[str, Callable[[str], Any]]:
        """Doors for implementations that are no Python objects: by the word before the colon.

        Each is called with what follows the colon. `cmd` are commands, `lib` shared libraries,
        `http` and `https` addresses of services.
        """
        return {}

    def wrap(self, function: Callable[..., Any], name: str) -> Any:
        """An implementation that is a Python function.

        Raises:
            RefusedError: the seam takes none.
        """
        del function
        raise RefusedError(f"{name} is a function: the {self.name} seam takes Python classes")

    def served(self, peer: Peer, version: str) -> Any:
        """A version of a peer as a program that runs in an environment of its own.

        Raises:
            RefusedError: the seam has no such program; the cases of a check go there by themselves.
        """
        raise RefusedError(
            f"{peer.name}@{version}: versions of a peer of the {self.name} seam can be checked only"
        )

    def pair(self, first: Any, second: Any) -> Any:
        """One implementation made of two, named `FIRST -> SECOND`.

        Raises:
            UsageError: the seam does not pair implementations, or these do not go together.
        """
        raise UsageError(f"the {self.name} seam has no pairs: {first.name} -> {second.name}")

    def beside(self, first: Any, second: Any) -> Any:
        """One implementation made of two that are asked at once, named `FIRST + SECOND`.

        Raises:
            UsageError: the seam has no such questions.
        """
        raise UsageError(f"the {self.name} seam asks one at a time: {first.name} + {second.name}")

    def pair_names(self, name: str, against: str) -> list[str]:
        """Names of the pairs that two implementations make.

        Raises:
            UsageError: they make none.
        """
        raise UsageError(f"{name} against {against}: the {self.name} seam has no pairs")

    @property
    def timed(self) -> Sequence[TimedFamily]:
        """How the page shows what was timed of this seam; other timings are shown by their case."""
        return ()

    def pass_cases(self, name: str, cases: Sequence[Any]) -> Sequence[Case]:
        """The cases of an extra pass, which may be others than the seam's; see `passes`."""
        del name
        return cases

    @property
    def requests(self) -> Mapping[str, Request]:
        """What the extra passes ask of the process of an implementation, by name."""
        return {}

    @property
    def passes(self) -> Mapping[str, Pass]:
        """Extra passes over the cases, by name: what must hold beyond each case for itself."""
        return {}

    def require_words(self, capabilities: Mapping[str, bool], owner: str) -> None:
        """Refuse a capability that does not exist.

        Raises:
            UsageError: the word, and the one that was probably meant.
        """
        words = self.words
        for word in capabilities:
            if not any(fnmatchcase(word, known) for known in words):
                hint = did_you_mean(word, [known for known in words if "*" not in known])
                raise UsageError(
                    f"{owner} states the capability {word!r}, which the {self.name} seam does not "
                    f"know{hint}"
                )


@dataclass(frozen=True)
class Demo:
    """A demonstration, announced as entry point of the group `seambench.demo`.

    Attributes:
        good: name of an implementation that passes them all.
        broken: name of one that does not.
        remark: what is wrong with it.
        shown: id of the one that is shown in full.
    """

    seam: str
    good: str
    broken: str
    remark: str
    cases: str
    shown: str
