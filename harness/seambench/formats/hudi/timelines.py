"""Completed writes of a Hudi table: what they say, and whether they are active or archived.

Layout 1 has a file of JSON for each in `.hoodie`, and archives them into logs of Avro blocks;
layout 2 has Avro in `.hoodie/timeline`, and archives them into Parquet files of a manifest.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambench.formats.forms.containers import AvroForm, avro_bytes, avro_content, put_file
from seambench.formats.forms.parquet import parquet_bytes, read_parquet
from seambench.formats.hudi.damage import FILES, name_parts
from seambench.formats.hudi.log_blocks import AVRO, INSTANT, SCHEMA, Block, blocks_of

_NAME = re.compile(r"(\d+)(?:_(\d+))?\.([a-z]+)(?:\.(requested|inflight))?")
_WRITES = ("commit", "deltacommit", "replacecommit")
_BODIES = {False: "hoodieCommitMetadata", True: "hoodieReplaceCommitMetadata"}
_SIZES = ("fileSizeInBytes", "totalWriteBytes")
#: Behind all instants.
_BEYOND = "~"
#: Fields of an entry of an archive of layout 1, as far as a reader asks for them.
_TEXT, _LONG = (["null", kind] for kind in ("string", "long"))
_STATISTIC = {
    **dict.fromkeys(("fileId", "path", "prevCommit", "partitionPath"), _TEXT),
    **dict.fromkeys(("numWrites", "numDeletes", "numUpdateWrites", "numInserts"), _LONG),
    **dict.fromkeys(("totalWriteBytes", "totalWriteErrors", "fileSizeInBytes"), _LONG),
}


def _record(name: str, fields: Mapping[str, Any]) -> Any:
    columns = [{"name": key, "type": kind, "default": None} for key, kind in fields.items()]
    return {"type": "record", "name": name, "fields": columns}


def _map(values: Any) -> Any:
    return ["null", {"type": "map", "values": values}]


def _body(name: str, statistic: Any, **more: Any) -> Any:
    files = _map({"type": "array", "items": statistic})
    fields = {"partitionToWriteStats": files, "extraMetadata": _map("string")}
    return ["null", _record(name, {**fields, "operationType": _TEXT, **more})]


_ENTRY = _record(
    "HoodieArchivedMetaEntry",
    {
        _BODIES[False]: _body("HoodieCommitMetadata", _record("HoodieWriteStat", _STATISTIC)),
        _BODIES[True]: _body(
            "HoodieReplaceCommitMetadata",
            "HoodieWriteStat",
            partitionToReplaceFileIds=_map({"type": "array", "items": "string"}),
        ),
        **dict.fromkeys(("commitTime", "actionType", "actionState"), _TEXT),
    },
)
_PLAIN = AvroForm("", "", codec="null")
_HISTORY = pa.schema(
    [
        *((name, pa.string()) for name in ("instantTime", "completionTime", "action")),
        *((name, pa.binary()) for name in ("metadata", "plan")),
        pa.field("version", pa.int32(), nullable=False),
    ]
)


def properties(table: Path) -> Mapping[str, str]:
    """What a table's properties say."""
    lines = (table / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")


@dataclass(frozen=True)
class Write:
    """A write that has completed."""

    requested: str  # its instant
    completed: str  # when it completed; layout 1 does not say
    action: str  # under which it did
    body: bytes  # what it says, as its file has it
    plan: bytes = b""  # what was planned; empty for most


@dataclass(frozen=True)
class Timeline:
    """The folder of active instants, and how a layout archives them."""

    folder: Path
    conf: Mapping[str, str]

    def kept(self) -> Iterator[Write]:
        """Writes in the archive."""
        raise NotImplementedError

    def change_kept(self, change: Callable[[Any], int]) -> None:
        """Change what archived writes say."""
        raise NotImplementedError

    def keep(self, writes: Sequence[Write]) -> None:
        """Archive writes."""
        raise NotImplementedError

    def clear(self) -> None:
        """Take the archive away."""
        raise NotImplementedError

    def names(self) -> Iterator[tuple[Path, str, str, str, bool]]:
        """File, instant, time of completion and action of each state; whether it completed."""
        for file in sorted(self.folder.iterdir()):
            if match := _NAME.fullmatch(file.name):
                done = match[4] is None and match[3] != "inflight"
                yield file, match[1], match[2] or "", match[3], done

    def completed(self) -> set[str]:
        """Instants of all that has completed."""
        return {instant for _, instant, _, _, done in self.names() if done}

    def writes(self) -> list[Write]:
        """Completed writes, the oldest first."""
        return [
            Write(instant, completed, action, file.read_bytes(), self._plan(instant))
            for file, instant, completed, action, done in self.names()
            if done and action in _WRITES
        ]

    def _plan(self, instant: str) -> bytes:
        return b"".join(file.read_bytes() for file in self.folder.glob(f"{instant}.*.requested"))

    def put(self, write: Write) -> None:
        """Let a write be active."""
        completed = f"_{write.completed}" if write.completed else ""
        (self.folder / f"{write.requested}{completed}.{write.action}").write_bytes(write.body)

    def remove(self, write: Write) -> None:
        """Take away a write in all its states."""
        for file, instant, *_ in self.names():
            if instant == write.requested:
                file.unlink()
                (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


class _Logged(Timeline):
    """Layout 1."""

    @property
    def archive(self) -> Path:
        """The folder of archives."""
        return self.folder / (self.conf.get("hoodie.archivelog.folder") or "archived")

    def files(self) -> list[Path]:
        """The archives, in order."""
        found = self.archive.glob(".commits_.archive.*")
        return sorted(found, key=lambda file: int(file.name.split(".")[3].split("_")[0]))

    def kept(self) -> Iterator[Write]:
        logs = (blocks_of(file.read_bytes()) for file in self.files())
        for row in (row for blocks in logs for block in blocks for row in block.rows()):
            body = row["hoodieReplaceCommitMetadata"] or row["hoodieCommitMetadata"]
            if row["actionState"] == "COMPLETED" and body:
                text = json.dumps(body, indent=2).encode()
                yield Write(row["commitTime"], "", row["actionType"], text)

    def change_kept(self, change: Callable[[Any], int]) -> None:
        for file in self.files():
            blocks = []
            for block in blocks_of(file.read_bytes()):
                rows = block.rows()
                if sum([change(row) for row in rows]):
                    block = block.with_rows(rows)
                blocks.append(block)
            put_file(file, b"".join(block.written() for block in blocks))

    def keep(self, writes: Sequence[Write]) -> None:
        """Archive writes, each in a block of its own, with the states before its completion."""
        states = ("REQUESTED", "INFLIGHT", "COMPLETED")
        block = Block(1, AVRO, ((SCHEMA, json.dumps(_ENTRY).encode()),), b"\0\0\0\3\0\0\0\0")
        blocks = []
        for write in writes:
            body = json.loads(write.body)
            same = {"commitTime": write.requested, "actionType": write.action}
            name = _BODIES[write.action == "replacecommit"]
            rows = [{**same, "actionState": state} for state in states]
            blocks.append(block.with_rows([*rows[:2], {**rows[2], name: body}]))
        self.archive.mkdir(exist_ok=True)
        name = f".commits_.archive.{len(self.files()) + 1}_1-0-1"
        (self.archive / name).write_bytes(b"".join(one.written() for one in blocks))

    def clear(self) -> None:
        shutil.rmtree(self.archive, ignore_errors=True)


class _Listed(Timeline):
    """Layout 2."""

    @property
    def history(self) -> Path:
        """The folder of Parquet files and their manifests."""
        return self.folder / (self.conf.get("hoodie.timeline.history.path") or "history")

    def version(self) -> int:
        """The newest manifest, 0 for none."""
        file = self.history / "_version_"
        return int(file.read_text(encoding="ascii")) if file.exists() else 0

    def files(self) -> list[Path]:
        """The files of the newest manifest."""
        if not (version := self.version()):
            return []
        manifest = json.loads((self.history / f"manifest_{version}").read_text(encoding="utf-8"))
        return [self.history / one["fileName"] for one in manifest["files"]]

    def kept(self) -> Iterator[Write]:
        for row in (row for file in self.files() for row in read_parquet(file).to_pylist()):
            if row["action"] in _WRITES:
                yield Write(
                    row["instantTime"], row["completionTime"], row["action"], row["metadata"]
                )

    def change_kept(self, change: Callable[[Any], int]) -> None:
        files = self.files()
        for file in files:
            rows = read_parquet(file).to_pylist()
            for row in rows:
                row["metadata"] = row["metadata"] and _changed(row["metadata"], change)
            put_file(file, parquet_bytes(pa.Table.from_pylist(rows, _HISTORY)))
        if files:
            self._list(files)

    def keep(self, writes: Sequence[Write]) -> None:
        """Archive writes, two a file."""
        self.history.mkdir(exist_ok=True)
        files = self.files()
        for at in range(0, len(writes), 2):
            pair = writes[at : at + 2]
            rows = [dict(zip(_HISTORY.names, (*astuple(one), 1), strict=True)) for one in pair]
            name = f"{pair[0].requested}_{pair[-1].requested}_0.parquet"
            content = parquet_bytes(pa.Table.from_pylist(rows, _HISTORY))
            (self.history / name).write_bytes(content)
            self._list([*files, self.history / name])
            files = self.files()

    def _list(self, files: Sequence[Path]) -> None:
        """A new manifest."""
        version = self.version() + 1
        listed = [{"fileName": file.name, "fileLen": file.stat().st_size} for file in files]
        text = json.dumps({"files": listed}, indent=2)
        (self.history / f"manifest_{version}").write_text(text, encoding="utf-8")
        put_file(self.history / "_version_", str(version).encode())

    def clear(self) -> None:
        shutil.rmtree(self.history, ignore_errors=True)
        self.history.mkdir()


def open_timeline(table: Path) -> Timeline:
    """The timeline of a table, by the layout that its properties name."""
    conf = properties(table)
    if int(conf["hoodie.timeline.layout.version"]) == 1:
        return _Logged(table / ".hoodie", conf)
    return _Listed(table / ".hoodie" / (conf.get("hoodie.timeline.path") or "timeline"), conf)


def mend_writes(table: Path, sizes: Mapping[str, int], beside: Mapping[str, Sequence[str]]) -> None:
    """Puts right the sizes of files in what writes say, archived ones too.

    `beside` has by path of a log those of all that stand for it, itself first.
    """

    def change(body: Any) -> int:
        _listed(body, beside)
        return _sized(body, sizes)

    timeline = open_timeline(table)
    for file, *_, done in timeline.names():
        if done and file.stat().st_size:
            before = file.read_bytes()
            after = _changed(before, change)
            if after != before:
                put_file(file, after)
    timeline.change_kept(change)


def _listed(value: Any, beside: Mapping[str, Sequence[str]]) -> None:
    """Puts a statistic of a write for each log where there was one for the first."""
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    for one in inner:
        _listed(one, beside)
    if isinstance(value, list):
        value[:] = [new for one in value for new in _of_each(one, beside)]


def _of_each(item: Any, beside: Mapping[str, Sequence[str]]) -> list[Any]:
    paths = beside.get(str(item.get("path")), ()) if isinstance(item, dict) else ()
    # How many rows each has nobody reads of a log.
    return [{**item, "path": path, "logFiles": [Path(path).name]} for path in paths] or [item]


def _sized(value: Any, sizes: Mapping[str, int]) -> int:
    """Puts the sizes of files in statistics of writes; how many there were."""
    if isinstance(value, list):
        return sum(_sized(one, sizes) for one in value)
    if not isinstance(value, dict):
        return 0
    found = 0
    if value.get("path") in sizes:
        for key in _SIZES:
            if key in value:
                value[key] = sizes[value["path"]]
                found += 1
    return found + sum(_sized(one, sizes) for one in value.values())


def _changed(body: bytes, change: Callable[[Any], int]) -> bytes:
    if body.startswith(b"Obj\x01"):
        content = avro_content(body)
        done = sum([change(row) for row in content.rows])
        return avro_bytes(content, _PLAIN) if done else body
    parsed = json.loads(body)
    return json.dumps(parsed, indent=2).encode() if change(parsed) else body


def has_pending(table: Path) -> bool:
    """Whether anything has begun that has not completed."""
    timeline = open_timeline(table)
    return {instant for _, instant, *_ in timeline.names()} != timeline.completed()


def put_compaction(table: Path, path: str, content: bytes) -> None:
    """Adds a compaction behind all writes, with one file.

    Its path has `{}` for the compaction's instant.
    """
    timeline = open_timeline(table)
    newest = timeline.writes()[-1]
    instant = _next(newest.completed or newest.requested)
    partition, path = path.partition("/")[0], path.format(instant)
    (table / path).write_bytes(content)

    def change(body: Any) -> int:
        [statistic, *_] = body["partitionToWriteStats"][partition]
        statistic |= {"path": path, "logFiles": None, "baseFile": Path(path).name}
        statistic |= dict.fromkeys(_SIZES, len(content))
        body["partitionToWriteStats"] = {partition: [statistic]}
        body |= {"operationType": "COMPACT", "compacted": True}
        return 1

    completed = newest.completed and _next(instant)
    timeline.put(Write(instant, completed, "commit", _changed(newest.body, change)))


def _next(instant: str) -> str:
    return str(int(instant) + 1).zfill(len(instant))


# Forms.


def archived(table: Path) -> int:
    """Archives all writes but the newest, up to one that must stay."""
    timeline = open_timeline(table)
    if isinstance(timeline, _Logged) and timeline.conf.get("hoodie.table.cdc.enabled") == "true":
        return 0  # an archive of layout 1 does not tell of files of changes
    held, left = _held(timeline), _left(table, timeline)
    # What is older than all that is active counts as completed.
    pairs = pairwise(timeline.writes())
    older = [one for one, after in pairs if one.requested < held and after.requested < left]
    moved = list(takewhile(lambda one: not _is_needed(table, one), older))
    if moved:
        timeline.keep(moved)
    for write in moved:
        timeline.remove(write)
    return len(moved)


def _held(timeline: Timeline) -> str:
    """The first instant that is pending or that a savepoint holds; beyond all others if none is."""
    states = [(instant, action, done) for _, instant, _, action, done in timeline.names()]
    saved = {instant for instant, action, done in states if done and action == "savepoint"}
    return min({one for one, *_ in states} - timeline.completed() | saved, default=_BEYOND)


def _left(table: Path, timeline: Timeline) -> str:
    """The first instant that never completed but has left files or blocks of logs."""
    named = {name_parts(file.name)["instant"] for file in FILES["base"](table)}
    for file in FILES["log"](table):
        named |= {block.text(INSTANT) for block in blocks_of(file.read_bytes())}
    kept = {write.requested for write in timeline.kept()}
    return min(named - timeline.completed() - kept, default=_BEYOND)


def _is_needed(table: Path, write: Write) -> bool:
    """Whether a write has replaced groups of files that are there still."""
    if write.action != "replacecommit":
        return False
    replaced = body_of(write.body).get("partitionToReplaceFileIds") or {}
    return any(
        any((table / partition).glob(f"*{group}*"))
        for partition, groups in replaced.items()
        for group in groups
    )


def body_of(body: bytes) -> Any:
    """What the file of a completed action says, in Avro or JSON."""
    return avro_content(body).rows[0] if body.startswith(b"Obj\x01") else json.loads(body)


def activated(table: Path) -> int:
    """Brings archived writes back to the active ones, as if nothing had been archived."""
    timeline = open_timeline(table)
    kept = list(timeline.kept())
    for write in kept:
        timeline.put(write)
    if kept:
        timeline.clear()
    return len(kept)
