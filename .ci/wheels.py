"""Builds the wheels of this checkout where their sources have changed, and installs them.

    python .ci/wheels.py build
    python .ci/wheels.py install seamkit 'seambench[exchange]'

Wheels lie in `.venv/wheels`. Whoever comes while another builds waits for him, so that environments
of tox that run at once build nothing twice. `install` puts the wheels named, `seambase`, and what
their extras bring into the environment of the Python that runs this. Needs the program uv, which
comes with tox-uv.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
WHEELS = CHECKOUT / ".venv" / "wheels"
#: By distribution, its project and the folders and files that it is made of.
PROJECTS = {
    "seambase": ("impl/seambase", ("impl/seambase",)),
    "seamkit": (".", ("pyproject.toml", "CMakeLists.txt", "native", "impl/seamkit")),
    "seambench": (
        "harness",
        ("harness/pyproject.toml", "harness/seambench", "impl/seambench_impl", "suites"),
    ),
}
_NO_SOURCES = {"__pycache__", "tests", "fuzz"}


def build() -> dict[str, Path]:
    """Build what has changed; the wheel of each distribution."""
    WHEELS.mkdir(parents=True, exist_ok=True)
    with (WHEELS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return {name: _built(name) for name in PROJECTS}


def _built(name: str) -> Path:
    project, parts = PROJECTS[name]
    folder = WHEELS / name
    kept = folder / "sources"
    now = _digest(parts)
    if not kept.exists() or kept.read_text() != now:
        shutil.rmtree(folder, ignore_errors=True)
        arguments = ("build", "--quiet", "--wheel", "--python", sys.executable, "--out-dir")
        _uv(*arguments, str(folder), str(CHECKOUT / project))
        kept.write_text(now)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _digest(parts: Sequence[str]) -> str:
    """What tells sources apart: their names, sizes and times, and who builds."""
    found = hashlib.sha256(f"{sys.version} {os.environ.get('CC')}".encode())
    for file in sorted(file for part in parts for file in _files(CHECKOUT / part)):
        state = file.stat()
        found.update(f"{file.relative_to(CHECKOUT)} {state.st_size} {state.st_mtime_ns}\n".encode())
    return found.hexdigest()


def _files(part: Path) -> Iterator[Path]:
    if part.is_file():
        yield part
        return
    for folder, below, names in os.walk(part):
        below[:] = [one for one in below if one not in _NO_SOURCES]
        yield from (Path(folder, name) for name in names if not name.endswith((".so", ".pyc")))


def install(requirements: Sequence[str]) -> None:
    """Install wheels with their extras, and what these need, over whatever was there."""
    wheels = build()
    named = ["seambase", *requirements]
    asked = [f"{one} @ {wheels[one.partition('[')[0]].as_uri()}" for one in named]
    again = [part for name in PROJECTS for part in ("--reinstall-package", name)]
    _uv("pip", "install", "--quiet", "--python", sys.executable, *again, *asked)


def _uv(*arguments: str) -> None:
    program = shutil.which("uv", path=os.pathsep.join((_beside(), os.environ.get("PATH", ""))))
    if program is None:
        sys.exit("uv is neither in .venv nor on the path: run make, or pip install uv")
    subprocess.run([program, *arguments], check=True)


def _beside() -> str:
    return str(CHECKOUT / ".venv" / "bin")


if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        sys.stdout.writelines(f"{wheel}\n" for wheel in build().values())
    elif sys.argv[1:2] == ["install"] and sys.argv[2:]:
        install(sys.argv[2:])
    else:
        sys.exit(__doc__)
