"""Puts mistakes into a copy of the judge and runs its tests; exit code 1 for one that none finds.

Which tests are asked of which modules stands in `tests.toml`, the quickest first. Mistakes that no
test can find, or that are none, are in `accepted.toml`, each with its reason; so is nothing else:
an entry that fits none of the modules' mistakes fails the run, too.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import seambench
from seambase.wording import counted
from seambench.contracts.data_files import read_toml
from seambench_suites.judged.forked import Place, Seen, changed, failure, preload, put, seen
from seambench_suites.judged.mistakes import Mistake, mistakes

_HERE = Path(__file__).parent
_PACKAGE = Path(seambench.__file__).parent
_SECONDS = 60.0
_ALL_SECONDS = 3600.0
#: What processes that tests start do first: an editable install would find the judge elsewhere.
_FIRST = """import sys
from importlib.machinery import PathFinder

class First:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            return PathFinder.find_spec(name, path or [{folder!r}])

sys.meta_path.insert(0, First)
"""


@dataclass(frozen=True)
class Accepted:
    """Mistakes that may live."""

    modules: str  # pattern of paths below the judge's package
    mistake: str  # pattern of what `Mistake.title` says
    reason: str  # why no test needs to find it


@dataclass(frozen=True)
class _List:
    accepted: Sequence[Accepted] = ()


@dataclass(frozen=True)
class _ModuleTests:
    """Tests for the modules that patterns name; see `tests.toml`."""

    modules: Sequence[str]
    tests: Sequence[str]


@dataclass(frozen=True)
class _Tests:
    asked: Sequence[_ModuleTests]


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw mistakes, make each, run the tests, and list what lives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="mistakes in all; 0 for every one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*", help="pattern of modules: seams/scan/*.py")
    parser.add_argument("--tell", default="*", help="pattern of mistakes, as they are listed")
    parser.add_argument("--since", help="a commit: mistakes in lines that differ from it")
    args = parser.parse_args(arguments)
    tests = read_toml(_Tests, _HERE / "tests.toml").asked
    accepted = read_toml(_List, _HERE / "accepted.toml").accepted
    known = dict(chosen(_PACKAGE, tests))
    needless = unneeded(known, accepted)
    for entry in needless:
        sys.stdout.write(f"needless: {entry.modules}: {entry.mistake}\n")
    differing = None if args.since is None else lines_since(args.since)
    drawn = [
        (module, one)
        for module, made in known.items()
        for one in made
        if fnmatch.fnmatch(module, args.only)
        and fnmatch.fnmatchcase(one.title, args.tell)
        and (differing is None or (module, one.line) in differing)
    ]
    if args.count:
        drawn = Random(args.seed).sample(drawn, min(args.count, len(drawn)))
    # Module after module: what comes of the first is shown before tests of the last are watched.
    drawn.sort(key=lambda one: (one[0], one[1].begin))
    words: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="seambench-judged-") as folder:
        for word, what in _tried(drawn, accepted, tests, Path(folder)):
            words[word.partition(" ")[0]] += 1
            sys.stdout.write(f"{word}: {what}\n")
            sys.stdout.flush()
    counts = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    sys.stdout.write(f"{counted(len(drawn), 'mistake')}: {counts or 'none fits'}\n")
    has_none = not drawn and differing is None
    return 1 if needless or words["lives"] or words["fails"] or has_none else 0


def _tried(
    drawn: Sequence[tuple[str, Mistake]],
    accepted: Sequence[Accepted],
    tests: Sequence[_ModuleTests],
    folder: Path,
) -> Iterator[tuple[str, str]]:
    """What comes of each mistake, and of tests that fail without any, which are left out."""
    copy = folder / _PACKAGE.name
    shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    first = _FIRST.format(package=_PACKAGE.name, folder=str(folder))
    (folder / "sitecustomize.py").write_text(first, encoding="utf-8")
    files = list({test: None for module, _ in drawn for test in _tests_of(module, tests)})
    preload((_module_of(module) for module, _ in drawn), files)
    map_ = _Map()
    for module, one in drawn:
        title = f"{module}:{one.line}: {one.title}"
        if any(_fits(entry, module, one) for entry in accepted):
            yield "listed", title
        else:
            yield _judged(module, one, folder, map_, _tests_of(module, tests)), title
    for test, of in map_.seen.items():
        if not of.passed:
            yield "fails without a mistake", test


class _Map:
    """Which tests run which statements; each file of tests is watched when it is first asked."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = {}
        self._watched: set[str] = set()

    def groups(self, place: Place, tests: Sequence[str]) -> Iterator[dict[str, float]]:
        """Tests that may find a mistake, with the seconds they take: the quickest groups first.

        Those known to run the statement; those of files that were not asked before; at last those
        that start other processes, in which it may run, too.
        """
        yield self._chosen(self.seen, lambda of: place in of.places)
        for file in tests:
            if file not in self._watched:
                self._watched.add(file)
                came = seen([file], _PACKAGE, _ALL_SECONDS)
                self.seen |= came
                yield self._chosen(came, lambda of: place in of.places)
        listed = {test: of for test, of in self.seen.items() if any(_is_of(test, f) for f in tests)}
        yield self._chosen(listed, lambda of: of.others and place not in of.places)

    @staticmethod
    def _chosen(known: Mapping[str, Seen], fits: Callable[[Seen], bool]) -> dict[str, float]:
        """The quickest first."""
        found = [(of.seconds, test) for test, of in known.items() if of.passed and fits(of)]
        return {test: seconds for seconds, test in sorted(found)}


def lines_since(commit: str) -> set[tuple[str, int]]:
    """Modules of the judge and numbers of their lines that differ from a commit's.

    To be called in a checkout whose judge is the one that is imported.
    """
    command = ["git", "diff", "-U0", "--no-ext-diff", commit, "--", f"harness/{_PACKAGE.name}"]
    hunks = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found, module = set(), ""
    for line in hunks.splitlines():
        if line.startswith("+++ "):
            module = line.partition(f"harness/{_PACKAGE.name}/")[2]
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first = int(hunk[1])
            found |= {(module, at) for at in range(first, first + int(hunk[2] or 1))}
    return found


def chosen(package: Path, tests: Sequence[_ModuleTests]) -> Iterator[tuple[str, list[Mistake]]]:
    """The modules that have tests here, each with every mistake that can be made in it."""
    for file in sorted(package.rglob("*.py")):
        module = file.relative_to(package).as_posix()
        if _tests_of(module, tests):
            yield module, mistakes(file.read_text(encoding="utf-8"))


def unneeded(
    known: Mapping[str, Sequence[Mistake]], accepted: Sequence[Accepted]
) -> list[Accepted]:
    """Entries of the accepted mistakes that fit none."""
    return [
        entry
        for entry in accepted
        if not any(_fits(entry, module, one) for module, found in known.items() for one in found)
    ]


def _fits(entry: Accepted, module: str, one: Mistake) -> bool:
    return fnmatch.fnmatchcase(module, entry.modules) and fnmatch.fnmatchcase(
        one.title, entry.mistake
    )


def _tests_of(module: str, tests: Sequence[_ModuleTests]) -> list[str]:
    return [
        test
        for entry in tests
        if any(fnmatch.fnmatchcase(module, pattern) for pattern in entry.modules)
        for test in entry.tests
    ]


def _module_of(path: str) -> str:
    return f"{_PACKAGE.name}.{path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"


def _judged(module: str, one: Mistake, folder: Path, map_: _Map, tests: Sequence[str]) -> str:
    """Which test has `found` it, or it `lives`; a run that does not end has found it.

    `folder` holds the copy that other processes import.
    """
    file = _PACKAGE / module
    copy = folder / _PACKAGE.name / module
    right = file.read_text(encoding="utf-8")
    wrong = one.made_in(right)
    codes = changed(file, wrong)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])

    def prepare() -> None:
        os.environ.update(PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
        put(codes)

    tried = 0
    for group in map_.groups((str(file), one.statement), tests):
        tried += len(group)
        copy.write_text(wrong, encoding="utf-8")
        try:
            most = _SECONDS + 10.0 * sum(group.values())
            if group and (found := failure(list(group), prepare, most)):
                return f"found by {found}"
        finally:
            copy.write_text(right, encoding="utf-8")
    return f"lives with {counted(tried, 'test')}"


def _is_of(test: str, name: str) -> bool:
    """Whether the id of a test is one of a file or module."""
    file, listed = (
        part.removesuffix(".py").replace("/", ".") for part in (test.partition("::")[0], name)
    )
    return file.endswith(listed) or listed.endswith(f".{file}")  # of a folder that is its own root


if __name__ == "__main__":
    sys.exit(main())
