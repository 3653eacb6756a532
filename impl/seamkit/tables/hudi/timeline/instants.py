"""One instant of a timeline: the name of its file, its body, and instants as users write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa

from seambase.errors import InputError, UsageError
from seamkit.avro.data_file import AvroContainer, Records, read_container
from seamkit.avro.schema import parse_schema
from seamkit.files.reader import check_names
from seamkit.tables.hudi.config.properties import TableConfig

State = Literal["requested", "inflight", "completed"]

WRITES = ("commit", "deltacommit", "replacecommit")
"""Actions under which writes complete."""

_ACTIONS = (
    "commit|deltacommit|clean|rollback|savepoint|replacecommit|clustering|restore|indexing|"
    "compaction|logcompaction|schemacommit"
)
_LAYOUT_1 = re.compile(rf"^(\d+)\.(?:({_ACTIONS})(?:\.(requested|inflight))?|inflight)$")
_LAYOUT_2 = re.compile(rf"^(\d+)(?:_(\d+))?\.(?:({_ACTIONS})(?:\.(requested|inflight))?|inflight)$")
# Only zeros: before everything, as Hudi's own documentation writes it.
_INSTANT = re.compile(r"^(\d{14}(\d{3})?|0+)$")
_WHOLE_SECOND = re.compile(r"[T ]\d\d:?\d\d:?\d\d(?![.,:\d])")
_COMPLETED_AS = {
    "compaction": "commit",
    "logcompaction": "deltacommit",
    "clustering": "replacecommit",
}


@dataclass(frozen=True)
class Instant:
    """One action on the table.

    Attributes:
        requested: when it was requested; its name everywhere else.
        action: what it did, as the file name says.
        state: how far it came.
        completed: when it completed; layout 1 does not know and repeats `requested`.
        path: the file of its furthest state, below the table; empty if it is archived.
    """

    requested: str
    action: str
    state: State
    completed: str | None
    path: str

    @property
    def is_write(self) -> bool:
        """Whether it completed and may have written files."""
        return self.state == "completed" and self.action in WRITES


def completed_as(action: str) -> str:
    """The name under which an action completes: a compaction is a commit in the end."""
    return _COMPLETED_AS.get(action, action)


def parse_name(name: str, path: str, layout: int) -> Instant | None:
    """The instant that a file of the timeline's folder stands for, or None for another file."""
    match = (_LAYOUT_2 if layout == 2 else _LAYOUT_1).match(name)
    if match is None:
        return None
    if layout == 2:
        requested, completed, action, suffix = match.groups()
    else:
        requested, action, suffix = match.groups()
        completed = requested
    if action is None:  # "T.inflight" is a commit's
        return Instant(requested, "commit", "inflight", None, path)
    if suffix is not None:
        state: State = "requested" if suffix == "requested" else "inflight"
        return Instant(requested, action, state, None, path)
    if completed is None:
        raise InputError(f"{path}: a completed instant without its completion time")
    return Instant(requested, completed_as(action), "completed", completed, path)


WriteStat = tuple[str, str, int, int]
"""What a write says of a file: path, id of its group, bytes and rows; "" and 0 for nothing.

Rows that could not be written are no rows: Hudi counts them in where Spark's rows are written as
they stand (`bulk_insert`), and commits all the same.
"""

_AVRO = b"Obj\x01"
_STATS = "partitionToWriteStats"
_STAT = ("path", "fileId", "fileSizeInBytes", "numWrites", "totalWriteErrors")
#: What a reader takes of a write besides the files that it wrote.
_FURTHER = ("partitionToReplaceFileIds", "extraMetadata", "operationType", "compacted")
_READ = frozenset((_STATS, *_FURTHER))


def parse_body(content: bytes, where: str) -> dict[str, Any]:
    """An instant's body: JSON in layout 1, an Avro container in layout 2 and for plans."""
    try:
        if content[:4] == _AVRO:
            body = next(read_container(content, where))
        else:
            body = json.loads(content) if content.strip() else {}
    except (ValueError, RecursionError, StopIteration) as error:
        raise InputError(f"{where}: not readable as an instant ({error})") from error
    if not isinstance(body, dict):
        raise InputError(f"{where}: not readable as an instant (a {type(body).__name__})")
    return body


def parse_write(content: bytes, where: str) -> dict[str, Any]:
    """The body of a completed write; what a reader takes from it has Hudi's types."""
    if content[:4] != _AVRO:
        return checked_write(parse_body(content, where), where)
    container = AvroContainer(content, where)
    records = Records.of(container, (*_FURTHER, (_STATS, _STAT)), where)
    if not len(records):
        raise InputError(f"{where}: not readable as an instant (it has no record)")
    body = dict.fromkeys(parse_schema(container.schema).names)
    stats, names = _stats(records, where), (field.name for field in records.rows.type)
    for name in names:
        if name != _STATS:
            plain = records.rows.field(name)[0]
            is_map = pa.types.is_map(plain.type) and plain.is_valid
            body[name] = dict(plain.as_py()) if is_map else plain.as_py()
    return checked_write(body, where) | ({_STATS: stats} if stats else {})


def _stats(records: Records, where: str) -> dict[str, list[WriteStat]]:
    """What a write says of files, by partition."""
    column = records.column(_STATS, Mapping)
    if column is None or not column[0].is_valid:
        return {}
    files = column.items
    if not pa.types.is_list(files.type) or files.null_count:
        raise InputError(f"{where}: not readable as a write (a partition's files are none)")
    inner = Records(files.values, where)
    texts = ([text or "" for text in inner.values(name, str)] for name in _STAT[:2])
    sizes, rows, errors = (
        [number or 0 for number in inner.values(name, int)] for name in _STAT[2:]
    )
    written = [max(n - wrong, 0) for n, wrong in zip(rows, errors, strict=True)]
    listed = [*zip(*texts, sizes, written, strict=True)]
    ends, partitions = files.offsets.to_pylist(), column.keys.to_pylist()
    own = range(column.offsets[0].as_py(), column.offsets[1].as_py())
    named = ((partitions[at], listed[ends[at] : ends[at + 1]]) for at in own)
    return {name: _below_table(name, stats) for name, stats in named}


def checked_write(body: dict[str, Any], where: str) -> dict[str, Any]:
    """The body of a write, if what a reader takes from it has the types of Hudi.

    Of each file there is what a `WriteStat` has.
    """
    check_names(body, _READ, where, "entry")
    if body and _STATS not in body:
        raise InputError(f"{where}: not readable as a write (it does not say which files it wrote)")
    stats = body.get(_STATS) or {}
    replaced = body.get("partitionToReplaceFileIds") or {}
    extra = body.get("extraMetadata") or {}
    if not (isinstance(stats, dict) and isinstance(replaced, dict) and isinstance(extra, dict)):
        raise InputError(f"{where}: not readable as a write (a map is none)")
    for entries, kind in ((stats, dict), (replaced, str)):
        for listed in entries.values():
            if not isinstance(listed, list) or not all(isinstance(e, kind) for e in listed):
                raise InputError(f"{where}: not readable as a write (a partition's files are none)")
    if not stats:
        return body
    named = {name: [_stat(one, where) for one in stats[name]] for name in stats}
    return body | {_STATS: {name: _below_table(name, named[name]) for name in named}}


def _stat(stated: Mapping[str, Any], where: str) -> WriteStat:
    path, file_id = (stated.get(name) or "" for name in _STAT[:2])
    if not (isinstance(path, str) and isinstance(file_id, str)):
        raise InputError(f"{where}: not readable as a write (a file's name is no text)")
    size_bytes, rows, errors = (stated.get(name) or 0 for name in _STAT[2:])
    if not all(isinstance(number, int) for number in (size_bytes, rows, errors)):
        raise InputError(f"{where}: not readable as a write (a file's size or rows are no number)")
    return path, file_id, size_bytes, max(rows - errors, 0)


def _below_table(partition: str, stats: list[WriteStat]) -> list[WriteStat]:
    """What is said of files, whose paths are below the table."""
    # Where a write of version 6 finds a log that its own metadata lack, as one that died before has
    # left it, Hudi 1.x names it by its address less the table's path. If that was given without the
    # scheme, `file:p=1/.ID_...` is left.
    if not any(":" in path for path, *_ in stats):
        return stats
    begin = f"{partition}/." if partition else "."
    ends = [path.rfind(f"{begin}{file_id}_") for path, file_id, *_ in stats]
    return [
        (one[0][at:], *one[1:]) if ":" in one[0][: max(at, 0)] else one
        for one, at in zip(stats, ends, strict=True)
    ]


def instant_time(text: str, config: TableConfig) -> datetime | None:
    """The time that an instant stands for; None for digits that are no time."""
    utc = config.raw.get("hoodie.table.timeline.timezone", "LOCAL").upper() == "UTC"
    try:
        moment = datetime.strptime(text[:14], "%Y%m%d%H%M%S")
        moment = moment.replace(microsecond=1000 * int(text[14:] or 0))
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if utc else moment.astimezone(UTC)


def parse_instant(text: str, config: TableConfig) -> str:
    """An instant as the timeline writes it, from 14 or 17 digits or from ISO 8601.

    ISO times without a zone are in the table's own (`hoodie.table.timeline.timezone`). Without a
    fraction they mean a second to its end (Hudi 1.2.0, HoodieInstantTimeGenerator).
    """
    if _INSTANT.match(text):
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"instant {text!r}: 14 or 17 digits (yyyyMMddHHmmss[SSS]) or ISO 8601 are expected"
        ) from error
    if moment.tzinfo is not None:
        utc = config.raw.get("hoodie.table.timeline.timezone", "LOCAL").upper() == "UTC"
        moment = moment.astimezone(UTC if utc else None)
    millis = 999 if _WHOLE_SECOND.search(text) else moment.microsecond // 1000
    return f"{moment:%Y%m%d%H%M%S}{millis:03}"
