"""Physical forms of Hudi tables: base files, logs cut into other blocks, no metadata table."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seambench.contracts.tables import Form
from seambench.formats.forms.containers import is_avro, put_file, read_avro, write_avro
from seambench.formats.forms.data import data_forms, rewritten_bytes
from seambench.formats.hudi.damage import FILES, MAGIC, block_positions

__all__ = ["forms"]

#: Kinds of blocks, and the entries of a header that tell positions of records in a base file.
_DELETES, _AVRO, _PARQUET = 1, 3, 5
_ROWS = (_DELETES, _AVRO, _PARQUET)
_POSITIONS = (5, 8)
_SIZES = ("fileSizeInBytes", "totalWriteBytes")
_COMMITS = re.compile(r".*\.(commit|deltacommit|replacecommit|compaction|clustering)")


def _is_archived(table: Path) -> bool:
    """Whether commits lie in archives, in which sizes stand that nothing here mends."""
    folder = table / ".hoodie"
    return any(folder.glob("archived/.commits*")) or any(folder.glob("timeline/history/*.parquet"))


def _bases(table: Path) -> Sequence[Path]:
    return [] if _is_archived(table) else FILES["base"](table)


def _mend(
    table: Path, sizes: Mapping[str, int], beside: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Sizes in the metadata of commits; the metadata table goes, whose files hold them too.

    Args:
        table: its folder.
        sizes: in bytes, of files by path.
        beside: by path of a log those of all that stand for it, itself first.
    """
    for file in (table / ".hoodie").rglob("*"):
        parts = file.relative_to(table).parts
        if not file.is_file() or "metadata" in parts or not _COMMITS.fullmatch(file.name):
            continue
        if not file.stat().st_size:
            continue
        if is_avro(file):
            content = read_avro(file)
            _listed(content.rows, beside or {})
            rows = [row for row in content.rows if _sized(row, sizes)]
            if rows:
                write_avro(file, replace(content, rows=content.rows))
        else:
            told = json.loads(file.read_text(encoding="utf-8"))
            _listed(told, beside or {})
            if _sized(told, sizes):
                put_file(file, json.dumps(told, indent=2).encode())
    _without_metadata_table(table)


def _listed(value: Any, beside: Mapping[str, Sequence[str]]) -> None:
    """Puts a statistic of a write for each log where there was one for the first."""
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    for one in inner:
        _listed(one, beside)
    if isinstance(value, list):
        value[:] = [new for one in value for new in _of_each(one, beside)]


def _of_each(told: Any, beside: Mapping[str, Sequence[str]]) -> list[Any]:
    paths = beside.get(str(told.get("path")), ()) if isinstance(told, dict) else ()
    # How many rows each has nobody reads of a log.
    return [{**told, "path": path, "logFiles": [Path(path).name]} for path in paths] or [told]


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


def _without_metadata_table(table: Path) -> int:
    """Takes the metadata table away, as a writer does to which it is forbidden."""
    folder = table / ".hoodie" / "metadata"
    if not folder.is_dir():
        return 0
    files = sum(1 for file in folder.rglob("*") if file.is_file())
    shutil.rmtree(folder)
    properties = table / ".hoodie" / "hoodie.properties"
    lines = properties.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("hoodie.table.metadata.partitions")]
    put_file(properties, ("\n".join(kept) + "\n").encode())
    shutil.rmtree(table / ".hoodie" / ".index_defs", ignore_errors=True)
    return files


# Logs.


@dataclass(frozen=True)
class _Block:
    """A block of a log: version of the log format, kind, header in order, content."""

    version: int
    kind: int
    header: tuple[tuple[int, bytes], ...]
    content: bytes

    def written(self) -> bytes:
        """The block's bytes."""
        told = b"".join(struct.pack(">ii", key, len(text)) + text for key, text in self.header)
        inner = struct.pack(">iii", self.version, self.kind, len(self.header)) + told
        inner += struct.pack(">q", len(self.content)) + self.content + struct.pack(">i", 0)
        return (
            MAGIC + struct.pack(">q", len(inner) + 8) + inner + struct.pack(">q", len(inner) + 14)
        )


def _blocks(log: bytes) -> Iterator[_Block]:
    for places in block_positions(log):
        version, kind, count = struct.unpack_from(">iii", log, places["version"])
        at, header = places["header"] + 4, []
        for _ in range(count):
            key, size = struct.unpack_from(">ii", log, at)
            header.append((key, log[at + 8 : at + 8 + size]))
            at += 8 + size
        size = struct.unpack_from(">q", log, places["length"])[0]
        content = log[places["content"] : places["content"] + size]
        yield _Block(version, kind, tuple(header), content)


def _logs(each: Callable[[_Block], Sequence[_Block] | None]) -> Callable[[Path], int]:
    """Changes the blocks of all logs of rows; sizes are mended."""

    def change(table: Path) -> int:
        sizes = {}
        for file in FILES["log"](table) if not _is_archived(table) else []:
            if file.name.endswith(".cdc"):
                continue
            blocks = list(_blocks(file.read_bytes()))
            changed = [each(block) for block in blocks]
            if any(one is not None for one in changed):
                pairs = zip(blocks, changed, strict=True)
                found = [one for old, new in pairs for one in ([old] if new is None else new)]
                put_file(file, b"".join(block.written() for block in found))
                sizes[file.relative_to(table).as_posix()] = file.stat().st_size
        if sizes:
            _mend(table, sizes)
        return len(sizes)

    return change


def _file_each(table: Path) -> int:
    """A log for each block, a record each; commits list them all."""
    sizes: dict[str, int] = {}
    beside: dict[str, list[str]] = {}
    for file in _last_logs(table):
        records = [_record_each(block) or [block] for block in _blocks(file.read_bytes())]
        blocks = [block for found in records for block in found]
        if len(blocks) < 2 or any(block.kind not in _ROWS for block in blocks):
            continue
        stem, token = file.name.rsplit("_", 1)
        name, number = stem.rsplit(".", 1)
        names = [f"{name}.{int(number) + at}_{token}" for at in range(len(blocks))]
        paths = [file.with_name(one).relative_to(table).as_posix() for one in names]
        for path, block in zip(paths, blocks, strict=True):
            put_file(table / path, block.written())
            sizes[path] = (table / path).stat().st_size
        beside[paths[0]] = paths
    if sizes:
        _mend(table, sizes, beside)
    return len(sizes)


def _last_logs(table: Path) -> Iterator[Path]:
    """Logs behind which no other one of their file slice comes, where commits alone list them."""
    plans = [*table.glob(".hoodie/**/*compaction.requested"), *table.glob(".hoodie/**/*.rollback")]
    if _is_archived(table) or plans:
        return
    slices: dict[tuple[Path, str], list[Path]] = {}
    for file in FILES["log"](table):
        slices.setdefault((file.parent, file.name.split(".log.")[0]), []).append(file)
    for logs in slices.values():
        if len(logs) == 1 and not logs[0].name.endswith(".cdc"):
            yield logs[0]


def _without_positions(block: _Block) -> tuple[tuple[int, bytes], ...]:
    return tuple(one for one in block.header if one[0] not in _POSITIONS)


def _record_each(block: _Block) -> list[_Block] | None:
    """A block for each record, found by key."""
    if block.kind != _AVRO:
        return None
    version, count = struct.unpack_from(">ii", block.content)
    at, found = 8, []
    for _ in range(count):
        size = 4 + struct.unpack_from(">i", block.content, at)[0]
        content = struct.pack(">ii", version, 1) + block.content[at : at + size]
        found.append(replace(block, header=_without_positions(block), content=content))
        at += size
    return found if count > 1 else None


def _by_key(block: _Block) -> list[_Block] | None:
    header = _without_positions(block)
    return None if header == block.header else [replace(block, header=header)]


def _header_reversed(block: _Block) -> list[_Block] | None:
    return [replace(block, header=block.header[::-1])] if len(block.header) > 1 else None


def _as_parquet(form: str) -> Callable[[_Block], list[_Block] | None]:
    def change(block: _Block) -> list[_Block] | None:
        new = rewritten_bytes(block.content, form) if block.kind == _PARQUET else None
        return None if new is None else [replace(block, content=new)]

    return change


def forms() -> Sequence[Form]:
    """Every form."""
    inner = ("row-groups-1", "columns-reversed", "hint-large", "pages-v2", "plain")
    return [
        *data_forms(_bases, _mend, (b"PAR1",)),
        Form("metadata-table-off", "no metadata table", _without_metadata_table),
        Form("log-records", "a block of a log for each record", _logs(_record_each)),
        Form("log-files", "a log for each block, a record each", _file_each),
        Form("log-keys", "blocks of logs without the positions of records", _logs(_by_key)),
        Form("log-headers", "headers of blocks in another order", _logs(_header_reversed)),
        *(
            Form(f"log-{one}", f"Parquet in blocks of logs as {one}", _logs(_as_parquet(one)))
            for one in inner
        ),
    ]
