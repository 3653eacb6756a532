"""Puts mistakes into a copy of the judge and runs its tests; exit code 1 for one that none finds.

Which tests are asked of which modules stands in `tests.toml`, the quickest first. Mistakes that no
test can find, or that are none, are in `accepted.toml`, each with its reason; so is nothing else:
an entry that fits none of the modules' mistakes fails the run, too.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import seambench
from seambench.contracts.data_files import read_toml
from seambench_suites.judged.forked import Seen, changed, failure, preload, put, seen
from seambench_suites.judged.mistakes import Mistake, mistakes

_HERE = Path(__file__).parent
_PACKAGE = Path(seambench.__file__).parent
_SECONDS = 600.0
_ALL_SECONDS = 3600.0


@dataclass(frozen=True)
class Accepted:
    """Mistakes that may live.

    Attributes:
        modules: pattern of paths below the judge's package.
        mistake: pattern of what `Mistake.told` says.
        reason: why no test needs to find it.
    """

    modules: str
    mistake: str
    reason: str


@dataclass(frozen=True)
class _List:
    accepted: Sequence[Accepted] = ()


@dataclass(frozen=True)
class _Asked:
    """Tests for the modules that patterns name; see `tests.toml`."""

    modules: Sequence[str]
    tests: Sequence[str]


@dataclass(frozen=True)
class _Tests:
    asked: Sequence[_Asked]


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw mistakes, make each, run the tests, and list what lives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="mistakes in all; 0 for every one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*", help="pattern of modules: seams/scan/*.py")
    parser.add_argument("--tell", default="*", help="pattern of mistakes, as they are listed")
    args = parser.parse_args(arguments)
    tests = read_toml(_Tests, _HERE / "tests.toml").asked
    accepted = read_toml(_List, _HERE / "accepted.toml").accepted
    known = dict(chosen(_PACKAGE, tests))
    wrong = 0
    for entry in unneeded(known, accepted):
        sys.stdout.write(f"needless: {entry.modules}: {entry.mistake}\n")
        wrong += 1
    drawn = [
        (module, one)
        for module, found in known.items()
        for one in found
        if fnmatch.fnmatch(module, args.only)
        and fnmatch.fnmatchcase(one.told, args.tell)
        and not any(_fits(entry, module, one) for entry in accepted)
    ]
    if args.count:
        drawn = Random(args.seed).sample(drawn, min(args.count, len(drawn)))
    # Module after module: what comes of the first is told before tests of the last are watched.
    drawn.sort(key=lambda one: (one[0], one[1].begin))
    words: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="seambench-judged-") as folder:
        copy = Path(folder, _PACKAGE.name)
        shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        asked = list({test: None for module, _ in drawn for test in _tests_of(module, tests)})
        preload((_module_of(module) for module, _ in drawn), asked)
        met: dict[str, Seen] = {}
        watched: set[str] = set()
        for module, one in drawn:
            those = _tests_of(module, tests)
            if new := [test for test in those if test not in watched]:
                watched.update(new)
                came = seen(new, _PACKAGE, _ALL_SECONDS)
                if isinstance(came, str):
                    sys.stdout.write(f"no mistake is made, and this fails: {came}\n")
                    return 1
                met.update(came)
                for test in (test for test, of in came.items() if not of.passed):
                    sys.stdout.write(
                        f"no mistake is made, and this fails, so it is left out: {test}\n"
                    )
                    wrong += 1
            word = _judged(module, one, Path(folder), met, those)
            words[word] += 1
            sys.stdout.write(f"{word}: {module}:{one.line}: {one.told}\n")
            sys.stdout.flush()
    told = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    sys.stdout.write(f"{len(drawn)} mistakes: {told or 'none fits'}\n")
    return 1 if wrong or words["lives"] or not drawn else 0


def chosen(package: Path, tests: Sequence[_Asked]) -> Iterator[tuple[str, list[Mistake]]]:
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
        one.told, entry.mistake
    )


def _tests_of(module: str, tests: Sequence[_Asked]) -> list[str]:
    return [
        test
        for asked in tests
        if any(fnmatch.fnmatchcase(module, pattern) for pattern in asked.modules)
        for test in asked.tests
    ]


def _module_of(path: str) -> str:
    return f"{_PACKAGE.name}.{path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"


def _judged(
    module: str, one: Mistake, root: Path, met: Mapping[str, Seen], tests: Sequence[str]
) -> str:
    """`found` by the tests, or it `lives`; a run that does not end has found it.

    Tests that ran the function are asked, the quickest first; where none did in this process, all
    that are listed for the module. `root` holds the copy that other processes import.
    """
    file = _PACKAGE / module
    copy = root / _PACKAGE.name / module
    right = file.read_text(encoding="utf-8")
    wrong = one.made_in(right)
    codes = changed(file, wrong)
    ran = sorted(
        (of.seconds, test)
        for test, of in met.items()
        if of.passed and not of.places.isdisjoint(codes)
    )
    broken = [test for test, of in met.items() if not of.passed]
    copy.write_text(wrong, encoding="utf-8")
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])

    def prepare() -> None:
        os.environ.update(PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
        put(codes)

    try:
        found = failure([test for _, test in ran] or tests, broken, prepare, _SECONDS)
        return "found" if found else "lives"
    finally:
        copy.write_text(right, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
