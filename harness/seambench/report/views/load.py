"""Records for the page: those that are sound, and what is wrong with the others.

A file that is no sound record is no result, but it does not vanish: it is named on the page.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from seambase.errors import SeambenchError
from seambench.records.files import load_record, record_paths
from seambench.records.misread import kept
from seambench.records.model import Record, Timing
from seambench.records.ratios import LEAST_SAMPLES, disturbed, unfit


def named(name: str, version: str) -> str:
    """Name and version, once: peers in versions bear theirs in the name, some state none."""
    if "@" in name:
        return name.replace("@", " ")
    return name if version == "unknown" else f"{name} {version}"


@dataclass(frozen=True)
class Problem:
    """A file that holds no sound record, and why."""

    file: str
    reason: str


@dataclass(frozen=True)
class Shown:
    """A record."""

    record: Record
    path: Path
    source: str  # that file's name below the results folder
    link: str  # of its copy beside the page
    is_visitors: bool = False  # it lies in a checkout, and is none of the records that came with it

    @property
    def tables(self) -> dict[str, Path]:
        """Tables that were misread: their archives, by the links of copies beside the page."""
        return {self.table_link(file.name): file for file in kept(self.path)}

    def table_link(self, name: str) -> str:
        """The link of an archive's copy."""
        return f"{self.link.removesuffix('.json')}--{name}"

    @property
    def label(self) -> str:
        """Name and version of the implementation."""
        about = self.record.implementation
        return named(about.name, about.version)

    @property
    def commit(self) -> str:
        """Of Seambench, short; a mark where the checkout had changes."""
        run = self.record.run
        return (run.commit or "unknown")[:7] + ("+" if run.dirty else "")


@dataclass
class Loaded:
    """All records below a results folder, oldest first, and the files that hold none."""

    records: list[Shown] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def of(self, *, visitors: bool) -> Loaded:
        """The records of visitors, or those of all others."""
        kept = [shown for shown in self.records if shown.is_visitors is visitors]
        return Loaded(kept, self.problems)


def load_records(results_dir: Path) -> Loaded:
    """Read every record below a results folder, which may be missing.

    Records are sorted by start time and file name; files that are none are named.
    """
    loaded = Loaded()
    paths = record_paths(results_dir)
    came = _came_with_checkout(results_dir)
    for path, name in zip(paths, _copy_names(paths), strict=True):
        source = path.relative_to(results_dir).as_posix()
        own = came is not None and source not in came
        try:
            loaded.records.append(Shown(load_record(path), path, source, f"records/{name}", own))
        except SeambenchError as error:
            reason = str(error).removeprefix(f"{path}: ")
            loaded.problems.append(Problem(source, reason))
    loaded.records.sort(key=lambda shown: (shown.record.run.started_utc, shown.source))
    return loaded


def _came_with_checkout(results_dir: Path) -> frozenset[str] | None:
    """Files of the folder that are part of a checkout; None where there is none, or nothing is."""
    git = ["git", "-C", str(results_dir), "ls-files", "-z", "."]
    try:
        done = subprocess.run(git, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return frozenset(done.stdout.split("\0")[:-1]) or None


def with_figures(loaded: Loaded, *, quiet: bool = False) -> Loaded:
    """The same records with those timings alone that may be figures, or quiet figures."""
    records = [
        replace(shown, record=structs.replace(shown.record, timings=_standing(shown.record, quiet)))
        for shown in loaded.records
    ]
    return Loaded(records, loaded.problems)


def _standing(record: Record, quiet: bool) -> list[Timing]:
    """What gave no time stays, as it says why."""
    if quiet and disturbed(record) is not None:
        return []
    return [t for t in record.timings if not t.hot or unfit(record, t) is None]


def left_out(loaded: Loaded) -> str:
    """How much of what was timed is no figure, in a sentence; empty: nothing."""
    every, some, calm = (
        sum(bool(timing.hot) for shown in one.records for timing in shown.record.timings)
        for one in (loaded, with_figures(loaded), with_figures(loaded, quiet=True))
    )
    if every == calm:
        return ""
    said = []
    if every > some:
        said.append(
            f"{every - some:,} of {every:,} timings on record are no figures here: fewer than "
            f"{LEAST_SAMPLES} warm samples, or a checkout with changes."
        )
    if some > calm:
        said.append(
            f"{some - calm:,} {'more' if said else f'of {every:,} timings on record'} stay off the "
            "first page where it has quieter ones: others used the machine, or nobody looked."
        )
    return " ".join(said)


def _copy_names(paths: Sequence[Path]) -> list[str]:
    """Names for the copies: from the records' paths, safe in a URL, unique whatever the case."""
    names: list[str] = []
    taken: set[str] = set()
    for path in paths:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", "--".join(path.parts[-3:]))
        stem = stem.removesuffix(".json").lstrip(".-")[-150:] or "record"
        name, number = f"{stem}.json", 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}.json"
        taken.add(name.lower())
        names.append(name)
    return names
