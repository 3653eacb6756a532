"""Records for the page: those that are sound, and what is wrong with the others.

A file that is no sound record is no result, but it does not vanish: it is named on the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from seambase.errors import SeambenchError
from seambench.records.files import load_record, record_paths
from seambench.records.model import Record

__all__ = ["Loaded", "Problem", "Shown", "load_records"]


@dataclass(frozen=True)
class Problem:
    """A file that holds no sound record, and why."""

    file: str
    reason: str


@dataclass(frozen=True)
class Shown:
    """A record, the file it came from, and that file's name below the results folder."""

    record: Record
    path: Path
    source: str

    def view(self, copy: str) -> dict[str, Any]:
        """Plain data for the page's script, which draws conformance from elsewhere.

        Args:
            copy: the record's copy beside the page, for links.
        """
        plain: dict[str, Any] = msgspec.to_builtins(self.record)
        plain.pop("conformance", None)
        return plain | {"source": self.source, "file": copy}


@dataclass
class Loaded:
    """All records below a results folder, oldest first, and the files that hold none."""

    records: list[Shown] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def load_records(results_dir: Path) -> Loaded:
    """Read every record below a results folder.

    Args:
        results_dir: the folder `results`; a missing or empty one gives no records.

    Returns:
        Records sorted by start time and file name, and the files that are none.
    """
    loaded = Loaded()
    for path in record_paths(results_dir):
        name = path.relative_to(results_dir).as_posix()
        try:
            loaded.records.append(Shown(load_record(path), path, name))
        except SeambenchError as error:
            reason = str(error).removeprefix(f"{path}: ")
            loaded.problems.append(Problem(name, reason))
    loaded.records.sort(key=lambda shown: (shown.record.run.started_utc, shown.source))
    return loaded
