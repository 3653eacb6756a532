"""Folders of tables made of empty files: enough for everything that does not touch rows."""

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import load_config
from seamkit.tables.hudi.listing.file_groups import list_slices
from seamkit.tables.hudi.listing.files import FileSlice, Listing, list_files
from seamkit.tables.hudi.timeline.timeline import Timeline, load_timeline
from seamkit.tables.hudi.timeline.window import NOW, Window
from seamkit_tests.samples.avro_schemas import array, container, map_of, optional, record
from seamkit_tests.samples.hudi_log_bytes import SCHEMA, avro_content, block

_OPERATION = record(
    "operation", partitionPath=optional("string"), fileId="string", deltaFilePaths=array("string")
)
_PLAN_SCHEMA = record("plan", operations=array(_OPERATION))
_COMMIT_SCHEMA = record(
    "commit",
    partitionToWriteStats=map_of(array(record("stat", fileId="string", path="string"))),
    extraMetadata=optional(map_of("string")),
    operationType=optional("string"),
    partitionToReplaceFileIds=optional(map_of(array("string"))),
)
_ARCHIVED_SCHEMA = record(
    "HoodieArchivedMetaEntry",
    commitTime=optional("string"),
    actionType=optional("string"),
    actionState=optional("string"),
    hoodieCommitMetadata=optional(_COMMIT_SCHEMA),
)


def properties_text(version: int, **properties: str) -> str:
    """`hoodie.properties` with what every table of a version has, and more; name "sample"."""
    lines = {
        "hoodie.table.name": "sample",
        "hoodie.table.checksum": str(zlib.crc32(b".sample")),
        "hoodie.table.version": str(version),
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.timeline.layout.version": "2" if version >= 8 else "1",
        "hoodie.archivelog.folder": "history" if version >= 8 else "archived",
        "hoodie.datasource.write.drop.partition.columns": "false",
    }
    if version >= 8:
        lines |= {
            "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
            "hoodie.table.initial.version": str(version),
            "hoodie.timeline.path": "timeline",
            "hoodie.timeline.history.path": "history",
        }
    return "".join(f"{key}={value}\n" for key, value in (lines | properties).items())


class Table:
    """A table's folder with empty files: enough for everything that does not touch rows."""

    def __init__(self, root: Path, version: int, **properties: str) -> None:
        self.root = root
        self.version = version
        own = {key.replace("__", "."): value for key, value in properties.items()}
        self.timeline = root / ".hoodie" / ("timeline" if version >= 8 else "")
        self.timeline.mkdir(parents=True)
        (root / ".hoodie" / "hoodie.properties").write_text(properties_text(version, **own))
        (root / ".hoodie_partition_metadata").touch()

    def instant(
        self, requested: str, action: str, state: str, *paths: str, schema: str = ""
    ) -> None:
        """One file of the timeline; `state` is a suffix, or the completion time."""
        stats = [{"fileId": path.split("_")[0].lstrip("."), "path": path} for path in paths]
        body: dict[str, Any] = {"partitionToWriteStats": {"": stats} if stats else {}}
        if schema:
            body["extraMetadata"] = {"schema": schema}
        if state in ("requested", "inflight"):
            (self.timeline / f"{requested}.{action}.{state}").touch()
        elif self.version >= 8:
            content = container(_COMMIT_SCHEMA, [body])
            (self.timeline / f"{requested}_{state}.{action}").write_bytes(content)
        else:
            (self.timeline / f"{requested}.{action}").write_text(json.dumps(body))

    def log_compaction(self, requested: str, completed: str, *logs: str) -> None:
        """A completed log compaction (layout 2) of some logs."""
        plan = {"operations": [{"partitionPath": "", "fileId": "f-0", "deltaFilePaths": logs}]}
        content = container(_PLAN_SCHEMA, [plan])
        (self.timeline / f"{requested}.logcompaction.requested").write_bytes(content)
        body = {"partitionToWriteStats": {}, "operationType": "LOG_COMPACT"}
        content = container(_COMMIT_SCHEMA, [body])
        (self.timeline / f"{requested}_{completed}.deltacommit").write_bytes(content)

    def compaction(self, requested: str, *file_ids: str) -> None:
        """A compaction that is scheduled and not done."""
        empty = {"partitionPath": "", "deltaFilePaths": []}
        plan = {"operations": [{**empty, "fileId": f} for f in file_ids]}
        content = container(_PLAN_SCHEMA, [plan])
        (self.timeline / f"{requested}.compaction.requested").write_bytes(content)

    def files(self, *names: str) -> None:
        """Empty data files."""
        for name in names:
            (self.root / name).touch()

    def replaced(self, requested: str, completed: str, *file_ids: str) -> None:
        """A completed replacecommit."""
        body = {"partitionToWriteStats": {}, "partitionToReplaceFileIds": {"": list(file_ids)}}
        if self.version >= 8:
            content = container(_COMMIT_SCHEMA, [body])
            (self.timeline / f"{requested}_{completed}.replacecommit").write_bytes(content)
        else:
            (self.timeline / f"{requested}.replacecommit").write_text(json.dumps(body))

    def archived(self, *writes: tuple[str, str, str, dict[str, Any]]) -> None:
        """Archived writes, each its requested and completion time, action and body."""
        if self.version >= 8:
            self._list(writes)
        else:
            self._append(writes)

    def _list(self, writes: Sequence[tuple[str, str, str, dict[str, Any]]]) -> None:
        folder = self.timeline / "history"
        folder.mkdir(parents=True)
        bodies = [container(_COMMIT_SCHEMA, [{"partitionToWriteStats": {}} | w[3]]) for w in writes]
        names = ("instantTime", "completionTime", "action")
        columns = dict(
            zip(names, map(list, zip(*(w[:3] for w in writes), strict=True)), strict=True)
        )
        pq.write_table(pa.table(columns | {"metadata": bodies}), folder / "1_2_0.parquet")
        (folder / "manifest_1").write_text(json.dumps({"files": [{"fileName": "1_2_0.parquet"}]}))
        (folder / "_version_").write_text("1")

    def _append(self, writes: Sequence[tuple[str, str, str, dict[str, Any]]]) -> None:
        """One Avro block; each instant appears in its three states, as Hudi archives them."""
        records = [
            {
                "commitTime": requested,
                "actionType": action,
                "actionState": state,
                "hoodieCommitMetadata": {"partitionToWriteStats": {}} | body,
            }
            for requested, _, action, body in writes
            for state in ("REQUESTED", "INFLIGHT", "COMPLETED")
        ]
        content = avro_content(_ARCHIVED_SCHEMA, records)
        folder = self.root / ".hoodie" / "archived"
        folder.mkdir()
        header = {SCHEMA: json.dumps(_ARCHIVED_SCHEMA)}
        (folder / ".commits_.archive.1_1-0-1").write_bytes(block("avro", header, content))

    def load(self) -> Timeline:
        """The timeline as the code under test reads it."""
        storage = Storage(str(self.root))
        return load_timeline(storage, load_config(storage))

    def listing(self) -> Listing:
        """The files."""
        return list_files(Storage(str(self.root)))

    def slices(self, window: Window = NOW) -> list[FileSlice]:
        """What the code under test makes of it."""
        return list_slices(self.listing(), self.load(), window)


def at(minute: int) -> str:
    """An instant."""
    return f"202601010000{minute:02}000"


def base(minute: int, file_id: str = "f-0") -> str:
    """Name of a base file."""
    return f"{file_id}_0-1-1_{at(minute)}.parquet"


def log(minute: int, version: int = 1, task: str = "0-1-1", file_id: str = "f-0") -> str:
    """Name of a log file."""
    return f".{file_id}_{at(minute)}.log.{version}_{task}"


def names(slice_: FileSlice) -> tuple[str | None, list[str]]:
    """Base file and logs of a slice."""
    return slice_.base.path if slice_.base else None, [log.path for log in slice_.logs]
