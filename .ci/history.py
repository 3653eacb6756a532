"""The steps of asv: chooses commits, builds the wheels of one, and installs them.

    python .ci/history.py choose FIRST [LAST] > results/history/commits.txt
    python .ci/history.py build CHECKOUT CACHE
    python .ci/history.py install CACHE

Of commits with the same C and the same library one is enough. Of those that changed either every
tenth is chosen, and each among the last fifty of all, in an order in which a run that ends early
has seen the whole time, ever more closely. `objects.py` keeps what the C of one commit gave for the
next.

A commit has one wheel, or, since the library and the judge are apart, three. They lie in a folder
within the cache: of a wheel beside others asv would not know which one is meant.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path

_PROJECTS = (".", "impl/seambase", "harness")
_FOLDER = "wheels"
#: What the kernels run. Where there is no `seamkit`, its adapters are the library.
_MEASURED = (
    "native", "CMakeLists.txt", "impl/seambase", "impl/seamkit", "impl/seambench_impl",
    "impl/seambench_impl/scan.py", "harness/seambench/contracts/scan.py",
)  # fmt: skip
_EVERY, _NEWEST = 10, 50


def choose(first: str, last: str = "HEAD") -> list[str]:
    """The commits to measure, since the first that runs."""
    commits = [
        *_git("rev-parse", first),
        *_git("rev-list", "--first-parent", "--reverse", f"{first}..{last}"),
    ]
    objects = "".join(f"{commit}:{path}\n" for commit in commits for path in _MEASURED)
    names = _git("cat-file", "--batch-check=%(objectname)", text=objects)
    seen, changing = set[tuple[str, ...]](), []
    for at, commit in enumerate(commits):
        own = names[at * len(_MEASURED) :][: len(_MEASURED)]
        trees = ("" if name.endswith(" missing") else name for name in own)
        *built, library, adapters, scan, contract = trees
        known = (*built, library or adapters, scan, contract)
        if known not in seen:
            seen.add(known)
            changing.append(commit)
    wanted = {*changing[::_EVERY], *(set(changing) & set(commits[-_NEWEST:]))}
    return _halving([commit for commit in changing if commit in wanted])


def _git(*arguments: str, text: str | None = None) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], input=text, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()


def _halving(commits: Sequence[str]) -> list[str]:
    """The newest, the oldest, then what is in the middle of each part that is open."""
    order, parts = [*commits[-1:], *commits[:-1][:1]], deque([commits[1:-1]])
    while parts:
        if part := parts.popleft():
            middle = len(part) // 2
            order.append(part[middle])
            parts += [part[:middle], part[middle + 1 :]]
    return order


def build(checkout: Path, cache: Path) -> None:
    """Build the wheels of a checkout into a cache."""
    here = Path(__file__).resolve().parent
    kept = here.parent / ".asv" / "objects"
    os.environ["CMAKE_C_COMPILER_LAUNCHER"] = f"{sys.executable};{here / 'objects.py'};{kept}"
    projects = [checkout / one for one in _PROJECTS if (checkout / one / "pyproject.toml").exists()]
    _pip("wheel", "--no-deps", "--no-build-isolation", "-w", cache / _FOLDER, *projects)


def install(cache: Path) -> None:
    """Install the wheels of a cache over whatever was there."""
    _pip("install", "--no-deps", "--force-reinstall", *(cache / _FOLDER).glob("*.whl"))


def _pip(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "pip", *map(str, arguments)], check=True)


if __name__ == "__main__":
    if sys.argv[1] == "choose":
        sys.stdout.writelines(f"{commit}\n" for commit in choose(*sys.argv[2:]))
    elif sys.argv[1] == "build":
        build(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        install(Path(sys.argv[2]))
