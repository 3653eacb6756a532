"""Builds the wheels of this checkout where their sources have changed, and installs them.

    python .ci/wheels.py build
    python .ci/wheels.py install seamkit 'seambench[exchange]' pypaimon
    python .ci/wheels.py release
    python .ci/wheels.py check PYTHON...

Wheels lie in `.venv/wheels`. Whoever comes while another builds waits for him, so that environments
of tox that run at once build nothing twice. `install` puts the wheels named, `seambase`, what
their extras bring and what else is named into the environment of the Python that runs this. Needs
the program uv, which comes with tox-uv.

`release` puts into `dist` what others install: seamkit's wheels for every Linux of the last ten
years, the two that are pure Python, and the sources of all three. Zig's clang is the compiler,
since it links for an older glibc, and for another processor, than this machine's. `check` tries
them in an empty environment of each Python named (`3.13`, or a path): the library reads a table of
each format, the judge judges a program, and no compiler is at hand.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
WHEELS = CHECKOUT / ".venv" / "wheels"
RELEASED = CHECKOUT / "dist"
#: By distribution, its project and the folders and files that it is made of.
PROJECTS = {
    "seambase": ("impl/seambase", ("impl/seambase",)),
    "seamkit": (".", ("pyproject.toml", "CMakeLists.txt", "native", "impl/seamkit")),
    "seambench": (
        "harness",
        ("harness/pyproject.toml", "harness/seambench", "impl/seambench_impl", "suites"),
    ),
}
#: By platform of a wheel, what zig, CMake and Python call it.
PLATFORMS = {
    "manylinux_2_17_x86_64": ("x86_64-linux-gnu.2.17", "x86_64", "linux-x86_64"),
    "manylinux_2_17_aarch64": ("aarch64-linux-gnu.2.17", "aarch64", "linux-aarch64"),
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
    ours = [_of(wheels, one) for one in named]
    again = [part for name in PROJECTS for part in ("--reinstall-package", name)]
    _uv("pip", "install", "--quiet", "--python", sys.executable, *again, *ours)


def _of(wheels: dict[str, Path], requirement: str) -> str:
    wheel = wheels.get(requirement.partition("[")[0])
    return f"{requirement} @ {wheel.as_uri()}" if wheel else requirement


def release(folder: Path) -> None:
    """Build all that others install into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    for project, _ in PROJECTS.values():
        kinds = ("--sdist",) if project == "." else ("--sdist", "--wheel")
        _uv("build", "--quiet", *kinds, "--out-dir", str(folder), str(CHECKOUT / project))
    for name in PLATFORMS:
        with tempfile.TemporaryDirectory() as work:
            _portable(name, Path(work), folder)


def _portable(name: str, work: Path, folder: Path) -> None:
    """Cross-compile the library, and name the wheel after the oldest glibc that it runs with."""
    zig, processor, python = PLATFORMS[name]
    toolchain = work / "toolchain.cmake"
    tools = {"C_COMPILER": f"cc -target {zig}", "AR": "ar", "RANLIB": "ranlib"}
    lines = ["set(CMAKE_SYSTEM_NAME Linux)", f"set(CMAKE_SYSTEM_PROCESSOR {processor})"]
    for tool, words in tools.items():
        program = work / tool
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {words} "$@"\n')
        program.chmod(0o755)
        lines.append(f"set(CMAKE_{tool} {program})")
    lines.append("set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)")
    if processor == "x86_64":
        lines.append(f"set(SEAM_CPU_RUNTIME {_gcc_runtime()})")
    toolchain.write_text("\n".join(lines))
    # The linker strips: the program strip of this machine knows no other processor.
    settings = ("--config-setting", "install.strip=false", "--config-setting", "build-dir=")
    _uv(
        *("build", "--quiet", "--wheel", *settings, "--out-dir", str(work), str(CHECKOUT)),
        CMAKE_TOOLCHAIN_FILE=str(toolchain),
        _PYTHON_HOST_PLATFORM=python,
    )
    (wheel,) = work.glob("*.whl")
    _run("auditwheel", "repair", "--plat", "auto", "--wheel-dir", str(folder), str(wheel))
    (made,) = folder.glob(f"seamkit-*_{processor}.whl")
    if not made.name.endswith(f"{name}.whl"):
        sys.exit(f"{made.name} is no wheel for {name}: it asks for a newer glibc")
    _run("abi3audit", "--strict", "--assume-minimum-abi3", "3.11", str(made))


def _gcc_runtime() -> str:
    """What chooses between copies of loops: the runtime of zig's clang knows no processor."""
    if platform.machine() != "x86_64" or shutil.which("gcc") is None:
        sys.exit("wheels for x86_64 need the runtime of a gcc of that processor: apt install gcc")
    command = ["gcc", "-print-libgcc-file-name"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def check(pythons: Sequence[str]) -> None:
    """Install what was released into empty environments, and use it."""
    for python in pythons:
        command = [_uv_program(), "python", "find", "--no-python-downloads", python]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            sys.exit(f"there is no Python {python}: name the program itself, or leave it out")
    suffix = f"*_{platform.machine()}.whl"
    base, ours, judge = (
        *RELEASED.glob("seambase*.whl"),
        *RELEASED.glob(f"seamkit{suffix}"),
        *RELEASED.glob("seambench*.whl"),
    )
    bare = CHECKOUT / "impl/tests/seamkit_tests/front/bare.py"
    alone = CHECKOUT / "harness/tests/seambench_tests/wheel/alone.py"
    golden = CHECKOUT / "suites/seambench_suites/golden"
    for wheel, words in ((ours, (bare, golden)), (judge, (alone,))):
        for python in pythons:
            with tempfile.TemporaryDirectory() as work:
                _uv("venv", "--quiet", "--no-python-downloads", "--python", python, work)
                program = Path(work, "bin", "python")
                where = ("--quiet", "--only-binary", ":all:", "--python", str(program))
                _uv("pip", "install", *where, str(base), str(wheel))
                sys.stderr.write(f"{wheel.name} in {python}:\n")
                path = str(program.parent)
                subprocess.run([program, *words], check=True, cwd=work, env={"PATH": path})


def _run(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)


def _uv(*arguments: str, **variables: str) -> None:
    subprocess.run([_uv_program(), *arguments], check=True, env={**os.environ, **variables})


def _uv_program() -> str:
    program = shutil.which("uv", path=os.pathsep.join((_beside(), os.environ.get("PATH", ""))))
    if program is None:
        sys.exit("uv is neither in .venv nor on the path: run make, or pip install uv")
    return program


def _beside() -> str:
    return str(CHECKOUT / ".venv" / "bin")


if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        sys.stdout.writelines(f"{wheel}\n" for wheel in build().values())
    elif sys.argv[1:2] == ["install"] and sys.argv[2:]:
        install(sys.argv[2:])
    elif sys.argv[1:] == ["release"]:
        release(RELEASED)
    elif sys.argv[1:2] == ["check"]:
        check(sys.argv[2:])
    else:
        sys.exit(__doc__)
