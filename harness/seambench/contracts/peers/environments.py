"""An environment for each version of a peer: made when it is first named, kept in a cache.

It holds the peer, pyarrow, DuckDB, what our packages need at least, and links to these, which are
plain Python there; it is made by uv, or by pip where there is no uv.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from seambase.errors import UnavailableError
from seambase.written import cache_folder, writing
from seambench.contracts.peers.catalogue import AT, Peer

#: Environment variable that tells a process in which peer's environment it runs.
MARK = "SEAMBENCH_PEER"

_OURS = ("seambase", "seamkit", "seambench", "seambench_impl", "seambench_suites")
#: Distributions that implementations are made of.
_SHARED = ("seambase", "seamkit")
#: Of the judge's own needs, those without which a worker reads no case.
_OF_THE_JUDGE = ("fastavro", "msgspec")
_DONE = "seambench-ready"
_SECONDS = 900


def is_inside(peer: Peer, version: str) -> bool:
    """Whether this process runs in the environment of a version of a peer."""
    return os.environ.get(MARK) == f"{peer.name}{AT}{version}"


def version_inside(name: str) -> str:
    """The version of a peer in whose environment this process runs; empty outside of one."""
    base, _, version = os.environ.get(MARK, "").partition(AT)
    return version if base == name else ""


def environment(peer: Peer, version: str) -> Path:
    """Folder of a version's environment, whether it is made or not."""
    wanted = "\n".join([sys.version, sys.base_prefix, *_requirements(peer, version)])
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:12]
    return cache_folder() / "peers" / f"{peer.seam}-{peer.name}@{version}-{digest}"


def made_environments(peer: Peer) -> dict[str, list[Path]]:
    """The environments of a peer that are made, by version; those of other Pythons as well."""
    found: dict[str, list[Path]] = {}
    prefix = f"{peer.seam}-{peer.name}@"
    for folder in sorted((cache_folder() / "peers").glob(f"{prefix}*")):
        if (folder / _DONE).exists():
            version = folder.name.removeprefix(prefix).rpartition("-")[0]
            found.setdefault(version, []).append(folder)
    return found


def python_of(peer: Peer, version: str) -> Path:
    """The interpreter of a version's environment, which is made if need be.

    Where it cannot be made, the message has the installer's last line.
    """
    folder = environment(peer, version)
    if not (folder / _DONE).exists():
        with _one_at_a_time(folder.parent):
            if not (folder / _DONE).exists():  # else another process was faster
                _make(folder, _requirements(peer, version))
    _link(folder)
    return folder / "bin" / "python"


def _requirements(peer: Peer, version: str) -> list[str]:
    """What is installed: the peer, what its adapter needs, and what the harness needs to judge."""
    brings_duckdb = any(one.startswith("duckdb==") for one in (f"{peer.package}==", *peer.requires))
    return [
        *([f"{peer.package}=={version}"] if peer.package else []),
        *peer.requires,
        *([] if peer.package == "pyarrow" else [f"pyarrow{peer.pyarrow}"]),
        *([] if brings_duckdb else [f"duckdb=={metadata.version('duckdb')}"]),
        *_base_names(),
    ]


def _base_names() -> list[str]:
    """Names of what our packages need at least, but for pyarrow; a peer may bound versions."""
    needed = (one for name in _present() for one in metadata.requires(name) or ())
    names = {re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in needed if ";" not in one}
    return sorted((names | {*_OF_THE_JUDGE}) - {"pyarrow", *_SHARED})


def _present() -> list[str]:
    """Those of our distributions that implementations are made of, where they are installed."""
    found = {one.name for one in metadata.distributions()}
    return [name for name in _SHARED if name in found]


@contextmanager
def _one_at_a_time(cache: Path) -> Iterator[None]:
    """For as long as this lasts no other process makes an environment: it would replace ours."""
    with writing(cache):
        cache.mkdir(parents=True, exist_ok=True)
        lock = os.open(cache, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _make(folder: Path, requirements: Sequence[str]) -> None:
    """Make an environment beside its place, and put it there when it is whole."""
    work = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        for command in _commands(work, requirements):
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
            if done.returncode:
                said = _reason(done.stderr or done.stdout)
                raise UnavailableError(
                    f"{folder.name.rpartition('-')[0]} cannot be installed: {said}"
                )
        (work / _DONE).touch()
        shutil.rmtree(folder, ignore_errors=True)
        work.rename(folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{folder}: {error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _reason(said: str) -> str:
    """Why an installer failed, in few words: without network it says at length what it tried."""
    # pip, which goes on to say that there are no versions; uv
    unreached = r"Connect\w*Error\(.*from versions: none|failed to lookup address"
    if re.search(unreached, said, re.DOTALL):
        return "the index of packages cannot be reached: is there a network?"
    # pip lists all versions, of which some hundreds hide what it says before them.
    if lacking := re.search(r"requirement (\S+) \(from versions: ([^)]*)\)", said):
        newest = ", ".join(lacking[2].split(", ")[-3:])
        return f"the index has no {lacking[1]}; the last of its versions: {newest}"
    return " ".join(said.strip().splitlines() or ["no word"])[-400:]


def _commands(work: Path, requirements: Sequence[str]) -> list[list[str]]:
    uv = _uv()
    python = str(work / "bin" / "python")
    if uv is None:
        return [
            [sys.executable, "-m", "venv", str(work)],
            [python, "-m", "pip", "install", "--quiet", *requirements],
        ]
    return [
        [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(work)],
        [uv, "pip", "install", "--quiet", "--python", python, *requirements],
    ]


def _uv() -> str | None:
    """The program uv: of its package, or on the path."""
    if importlib.util.find_spec("uv") is not None:
        from uv import find_uv_bin

        return str(find_uv_bin())
    return shutil.which("uv")


def _link(folder: Path) -> None:
    """Let our packages be found there, and nothing else of this environment."""
    [site] = (folder / "lib").glob("python3*/site-packages")
    for target in _ours():
        link = site / target.name
        if not link.is_symlink() or link.readlink() != target:
            fresh = site / f".{target.name}.{os.getpid()}-{threading.get_ident()}"
            fresh.symlink_to(target)
            fresh.replace(link)


def _ours() -> list[Path]:
    """Folders of our packages, and of what says of them which implementations there are."""
    folders = []
    for package in _OURS:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            folders.append(Path(spec.origin).parent)
    for name in ("seambench", *_present()):
        files = metadata.files(name) or []
        listed = [file for file in files if file.name == "METADATA"]
        folders += [Path(str(file.locate())).parent for file in listed[:1]]
    return folders
