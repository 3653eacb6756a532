"""Reads Paimon tables by several readers in turns, each in a process of its own, by wall time.

A process stays between turns, so that starting it and compiling Java are no part of a time. Spark
reads into its noop sink, others hand out their batches. The number of rows of every read, and sums
over some columns, must be those of the first reader.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fastavro

from seambase.errors import InputError, UnavailableError
from seambench.contracts.peers.catalogue import peer_of
from seambench.contracts.peers.environments import MARK, python_of

__all__ = ["seconds_in_turns", "with_newer_manifests"]

_SUMMED = ("l_orderkey", "l_partkey", "l_quantity", "l_extendedprice")
#: After so many seconds of reading a reader reads no more.
_ENOUGH_SECONDS = 20.0
#: Each line asks for a read of all columns; the answer begins with `=`: seconds, rows and sums.
_PROGRAM = """
import json, sys, time
import pyarrow.compute as pc
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
scanner, table, names = registry.resolve("scan", sys.argv[1]), sys.argv[2], sys.argv[3].split(",")

def sums(batches):
    rows, found = 0, [0] * len(names)
    for batch in batches:
        rows += batch.num_rows
        for i, name in enumerate(names):
            found[i] += pc.sum(batch.column(batch.schema.get_field_index(name))).as_py() or 0
    return [rows, *map(str, found)]

def dropped():
    # Its sink shows no rows: the sums are those of a read of its own, which warms Java up, too.
    answer = sums(scanner.open(ScanRequest(table, columns=names)).to_reader())
    begin = time.perf_counter()
    scanner.open(ScanRequest(table)).drop_rows()
    return [time.perf_counter() - begin, answer]

def read():
    begin = time.perf_counter()
    scan = scanner.open(ScanRequest(table))
    if hasattr(scan, "drop_rows"):
        return dropped()
    answer = sums(scan.to_reader())
    return [time.perf_counter() - begin, answer]

for _ in sys.stdin:
    print("=", json.dumps(read()), flush=True)
"""


class _Reader:
    """A process that reads one table by one reader."""

    def __init__(self, impl: str, table: Path) -> None:
        self._impl = impl
        versioned = peer_of("scan", impl)
        python, name, environment = Path(sys.executable), impl, dict(os.environ)
        if versioned is not None:
            python, name = python_of(*versioned), versioned[0].name
            environment |= {MARK: impl, "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
        command = [str(python), "-c", _PROGRAM, name, str(table), ",".join(_SUMMED)]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def read(self) -> tuple[float, list[Any]]:
        """Seconds of a read of all columns; its number of rows, and sums."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("read\n")
            self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("= "):
                seconds, answer = json.loads(line[2:])
                return seconds, answer
        raise UnavailableError(f"{self._impl} ended without an answer")

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def seconds_in_turns(
    readers: Sequence[str], tables: Sequence[Path], turns: int
) -> dict[str, float]:
    """By reader the least seconds that reading all columns took.

    Args:
        readers: names of implementations, the first of which the others are compared with.
        tables: what each of them reads; its rows are the same.
        turns: how often each reads, unless that takes it over 20 seconds.

    Raises:
        InputError: a reader's rows are not those of the first.
        UnavailableError: a reader ends without an answer.
    """
    with contextlib.ExitStack() as stack:
        processes = {}
        for reader, table in zip(readers, tables, strict=True):
            processes[reader] = _Reader(reader, table)
            stack.callback(processes[reader].close)
        answers: dict[str, list[Any]] = {}
        spent = dict.fromkeys(readers, 0.0)
        least = dict.fromkeys(readers, float("inf"))
        for _ in range(turns):
            for reader, process in processes.items():
                if spent[reader] > _ENOUGH_SECONDS:
                    continue
                seconds, answers[reader] = process.read()
                if answers[reader] != answers[readers[0]]:
                    raise InputError(
                        f"{reader} finds {answers[reader]}, {readers[0]} {answers[readers[0]]}"
                    )
                spent[reader] += seconds
                least[reader] = min(least[reader], seconds)
    return least


def with_newer_manifests(table: Path, target: Path) -> Path:
    """A copy of a table of 0.9 whose manifests have a field of later versions, and links for files.

    pypaimon refuses manifests without `_VALUE_STATS_COLS`; null says that statistics are of all
    columns, as they are.

    Args:
        table: an unpartitioned table.
        target: a folder that is not there yet.

    Returns:
        The target.
    """
    target.mkdir()
    for part in table.iterdir():
        if part.name in ("schema", "snapshot", "manifest"):
            shutil.copytree(part, target / part.name)
        else:
            (target / part.name).symlink_to(part.absolute())
    for path in target.glob("manifest/manifest-*"):
        if not path.name.startswith("manifest-list-"):
            _rewrite(path)
    return target


def _rewrite(manifest: Path) -> None:
    with manifest.open("rb") as content:
        reader = fastavro.reader(content)
        schema: Any = json.loads(reader.metadata["avro.schema"])
        entries = list(reader)
    [file] = (field for field in schema["fields"] if field["name"] == "_FILE")
    record = next(one for one in _branches(file["type"]) if isinstance(one, dict))
    if any(field["name"] == "_VALUE_STATS_COLS" for field in record["fields"]):
        return
    strings = {"type": "array", "items": "string"}
    record["fields"].append(
        {"name": "_VALUE_STATS_COLS", "type": ["null", strings], "default": None}
    )
    with manifest.open("wb") as out:
        fastavro.writer(out, schema, entries, codec="zstandard")


def _branches(kind: Any) -> Iterator[Any]:
    yield from kind if isinstance(kind, list) else [kind]
