"""The steps of asv: builds the wheels of a commit, and installs them.

    python .ci/history.py build CHECKOUT CACHE
    python .ci/history.py install CACHE

A commit has one wheel, or, since the library and the judge are apart, three. They lie in a folder
within the cache: of a wheel beside others asv would not know which one is meant.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROJECTS = (".", "impl/seambase", "harness")
_FOLDER = "wheels"


def build(checkout: Path, cache: Path) -> None:
    """Build the wheels of a checkout into a cache."""
    projects = [checkout / one for one in _PROJECTS if (checkout / one / "pyproject.toml").exists()]
    _pip("wheel", "--no-deps", "--no-build-isolation", "-w", cache / _FOLDER, *projects)


def install(cache: Path) -> None:
    """Install the wheels of a cache over whatever was there."""
    _pip("install", "--no-deps", "--force-reinstall", *(cache / _FOLDER).glob("*.whl"))


def _pip(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "pip", *map(str, arguments)], check=True)


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        install(Path(sys.argv[2]))
