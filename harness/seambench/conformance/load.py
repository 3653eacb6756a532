"""The cases of installed suites, and which of them a run is about."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from seambase.errors import UnavailableError, UsageError
from seambench.contracts.registry import find_seam
from seambench.contracts.seam import Case, Seam


def roots() -> list[Path]:
    """Folders with `cases/` and `golden/` of installed suites (entry point `seambench.cases`)."""
    found = dict.fromkeys(Path(entry.load()) for entry in entry_points(group="seambench.cases"))
    if not found:
        raise UnavailableError(
            "no installed package brings cases (entry point group seambench.cases)"
        )
    return list(found)


def load_cases(
    seam: str,
    root: Path | None = None,
    golden: Path | None = None,
    begins: Sequence[str] = ("",),
) -> list[Case]:
    """Cases of a seam, of all installed suites or of a root with `cases/` and `golden/`.

    `golden` is a folder of golden files to take instead; `begins` says how the ids begin that are
    asked for: others may be missing.
    """
    found = find_seam(seam)
    if golden is not None:
        return list(found.cases(root or roots()[0], golden, begins))
    if root is None:
        return list(_installed(seam, tuple(roots()), tuple(begins)))
    return _distinct(found, [root], begins)


def find_case(id_: str) -> Case:
    """The case of installed suites that has an id, which begins with its seam."""
    for case in load_cases(id_.partition("/")[0], begins=[id_]):
        if case.id == id_:
            return case
    raise UsageError(f"no installed suite has the case {id_!r}")


@functools.cache
def _installed(seam: str, folders: Sequence[Path], begins: Sequence[str]) -> Sequence[Case]:
    """Those of installed suites, read once: they are hundreds of files, and do not change."""
    return tuple(_distinct(find_seam(seam), folders, begins))


def _distinct(seam: Seam, folders: Iterable[Path], begins: Sequence[str]) -> list[Case]:
    cases = [case for folder in folders for case in seam.cases(folder, None, begins)]
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise UsageError(f"two cases have the id {case.id!r}")
        seen.add(case.id)
    return cases


def begins_of(patterns: Sequence[str] | None) -> list[str]:
    """How the ids begin that patterns may match; None matches all."""
    return [re.split(r"[*?[]", pattern, maxsplit=1)[0] for pattern in patterns or ("*",)]


def choose_cases(cases: Sequence[Case], patterns: Sequence[str] | None) -> list[Case]:
    """Cases whose ids match any of the patterns; None for all."""
    if patterns is None:
        return list(cases)
    ids = [case.id for case in cases]
    for pattern in patterns:
        if not fnmatch.filter(ids, pattern):
            raise UsageError(f"no case matches {pattern!r}")
    return [case for case in cases if any(fnmatch.fnmatchcase(case.id, p) for p in patterns)]
