"""Planning of Hudi tables with many files, empty ones: names and timelines are all that counts."""

from __future__ import annotations

import atexit
import io
import shutil
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .kernels import Kernel, feature

_PARTITIONS = 100
_LOG_COMMITS = 9
_STAT = ("fileId", "path", "prevCommit", "partitionPath")
_COUNTS = ("numWrites", "numDeletes", "numUpdateWrites", "numInserts", "totalWriteBytes")
_COMMIT = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "fields": [
        {
            "name": "partitionToWriteStats",
            "type": {
                "type": "map",
                "values": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "HoodieWriteStat",
                        "fields": [
                            *({"name": name, "type": ["null", "string"]} for name in _STAT),
                            *({"name": name, "type": ["null", "long"]} for name in _COUNTS),
                        ],
                    },
                },
            },
        },
        {"name": "extraMetadata", "type": {"type": "map", "values": "string"}},
    ],
}


class PlanSlices(Kernel):
    """A table of version 9 of as many files: half of them base files, each with a log."""

    def __init__(self, files: str) -> None:
        table = feature("seamkit.tables.hudi.table", "HudiTable")
        root = Path(tempfile.mkdtemp(prefix="seambench-plan-"))
        atexit.register(shutil.rmtree, root, ignore_errors=True)
        self._groups = int(files) // 2
        write_table(root, self._groups)
        self._open: Callable[[], Any] = lambda: table.HudiTable(str(root))
        if {len(slice_.logs) for slice_ in self.run()} != {1}:
            raise AssertionError("a slice without its log")

    def run(self) -> list[Any]:
        """Open the table and find its slices."""
        slices: list[Any] = self._open().slices()
        if len(slices) != self._groups:
            raise AssertionError(f"{len(slices)} slices of {self._groups}")
        return slices


_PROPERTIES = {
    "table.name": "t",
    "table.checksum": str(zlib.crc32(b".t")),
    "table.version": "9",
    "table.initial.version": "9",
    "table.type": "MERGE_ON_READ",
    "table.partition.fields": "p",
    "record.merge.mode": "COMMIT_TIME_ORDERING",
    "datasource.write.drop.partition.columns": "false",
    "archivelog.folder": "history",
    "timeline.layout.version": "2",
    "timeline.path": "timeline",
    "timeline.history.path": "history",
}


def write_table(root: Path, groups: int, partitions: int = _PARTITIONS) -> None:
    """Write a table into an empty folder: a bulk insert, then nine delta commits.

    Each file group, spread over partitions, is a base file and a log.
    """
    timeline = root / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    lines = [f"hoodie.{key}={value}\n" for key, value in _PROPERTIES.items()]
    (root / ".hoodie" / "hoodie.properties").write_text("".join(lines))
    stats: list[dict[str, list[dict[str, Any]]]] = [
        defaultdict(list) for _ in range(1 + _LOG_COMMITS)
    ]
    for number in range(groups):
        partition = f"p={number % partitions}"
        file_id = f"{number:08x}-0000-4000-8000-000000000000-0"
        commit = 1 + number % _LOG_COMMITS
        names = {
            0: f"{file_id}_0-1-1_{_instant(0)}.parquet",
            commit: f".{file_id}_{_instant(commit)}.log.1_0-1-1",
        }
        folder = root / partition
        if number < partitions:
            folder.mkdir()
            (folder / ".hoodie_partition_metadata").touch()
        for at, name in names.items():
            (folder / name).touch()
            stats[at][partition].append(_stat(partition, file_id, name))
    for at, own in enumerate(stats):
        _write_commit(timeline, at, own)


def _instant(commit: int) -> str:
    return f"2026010100{commit:02}00000"


def _stat(partition: str, file_id: str, name: str) -> dict[str, Any]:
    texts = (file_id, f"{partition}/{name}", "null", partition)
    return dict(zip(_STAT, texts, strict=True)) | dict.fromkeys(_COUNTS, 10)


def commit_body(stats: dict[str, Any]) -> bytes:
    """The file of a completed write that tells of some files, by partition."""
    fastavro = feature("fastavro", "writer")
    schema = '{"type": "record", "name": "t", "fields": [{"name": "p", "type": "string"}]}'
    out = io.BytesIO()
    body = {"partitionToWriteStats": stats, "extraMetadata": {"schema": schema}}
    fastavro.writer(out, _COMMIT, [body])
    return out.getvalue()


def _write_commit(timeline: Path, commit: int, stats: dict[str, Any]) -> None:
    action = "deltacommit" if commit else "commit"
    requested = _instant(commit)
    (timeline / f"{requested}.{action}.requested").touch()
    (timeline / f"{requested}_{requested[:-3]}500.{action}").write_bytes(commit_body(stats))
