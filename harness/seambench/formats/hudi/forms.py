"""Physical forms of Hudi tables: base files, logs cut into other blocks, no metadata table."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seambench.contracts.tables import Form
from seambench.formats.forms.containers import put_file
from seambench.formats.forms.data import data_forms, rewritten_bytes
from seambench.formats.hudi.damage import FILES
from seambench.formats.hudi.log_blocks import AVRO, DELETES, PARQUET, Block, blocks_of
from seambench.formats.hudi.metadata_table import METADATA_FORMS, restate_files
from seambench.formats.hudi.timelines import activated, archived, mend_writes

#: Kinds of blocks of rows, and the entries of a header that tell positions of records.
_ROWS = (DELETES, AVRO, PARQUET)
_POSITIONS = (5, 8)
_TAKEN_UP = re.compile(r'"(([^"]+)_\d+_hudiext)"')


def _mend(
    table: Path, sizes: Mapping[str, int], beside: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Sizes of files in what writes say, and in the metadata table; see `mend_writes`."""
    named = _taken_up(table).items()
    sizes = {**sizes, **{name: sizes[file] for name, file in named if file in sizes}}
    mend_writes(table, sizes, beside or {})
    restate_files(table, sizes, beside or {})


def _taken_up(table: Path) -> Mapping[str, str]:
    """Files that Hudi did not write, by what commits and the metadata table call them."""
    texts = [file.read_text("utf-8") for file in table.glob(".hoodie/*.replacecommit")]
    return {match[1]: match[2] for text in texts for match in _TAKEN_UP.finditer(text)}


def _without_metadata_table(table: Path) -> int:
    """Takes the metadata table away, as a writer does to which it is forbidden."""
    folder = table / ".hoodie" / "metadata"
    if not folder.is_dir() or _taken_up(table):
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


def _logs(each: Callable[[Block], Sequence[Block] | None]) -> Callable[[Path], int]:
    """Changes the blocks of all logs of rows; sizes are mended."""

    def change(table: Path) -> int:
        sizes = {}
        for file in FILES["log"](table):
            if file.name.endswith(".cdc"):
                continue
            blocks = list(blocks_of(file.read_bytes()))
            changed = [each(block) for block in blocks]
            if any(one is not None for one in changed):
                pairs = zip(blocks, changed, strict=True)
                written = [one for old, new in pairs for one in ([old] if new is None else new)]
                put_file(file, b"".join(block.written() for block in written))
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
        records = [_record_each(block) or [block] for block in blocks_of(file.read_bytes())]
        blocks = [block for own in records for block in own]
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
    if plans:
        return
    slices: dict[tuple[Path, str], list[Path]] = {}
    for file in FILES["log"](table):
        slices.setdefault((file.parent, file.name.split(".log.")[0]), []).append(file)
    for logs in slices.values():
        if len(logs) == 1 and not logs[0].name.endswith(".cdc"):
            yield logs[0]


def _without_positions(block: Block) -> tuple[tuple[int, bytes], ...]:
    return tuple(one for one in block.header if one[0] not in _POSITIONS)


def _record_each(block: Block) -> list[Block] | None:
    """A block for each record, found by key."""
    if block.kind != AVRO:
        return None
    header = _without_positions(block)
    found = [replace(block.with_records([one]), header=header) for one in block.records()]
    return found if len(found) > 1 else None


def _by_key(block: Block) -> list[Block] | None:
    header = _without_positions(block)
    return None if header == block.header else [replace(block, header=header)]


def _header_reversed(block: Block) -> list[Block] | None:
    return [replace(block, header=block.header[::-1])] if len(block.header) > 1 else None


def _as_parquet(form: str) -> Callable[[Block], list[Block] | None]:
    def change(block: Block) -> list[Block] | None:
        new = rewritten_bytes(block.content, form) if block.kind == PARQUET else None
        return None if new is None else [replace(block, content=new)]

    return change


def forms() -> Sequence[Form]:
    """Every form."""
    inner = ("row-groups-1", "columns-reversed", "hint-large", "pages-v2", "plain")
    return [
        *data_forms(FILES["base"], _mend, (b"PAR1",)),
        Form("metadata-table-off", "no metadata table", _without_metadata_table),
        *METADATA_FORMS,
        Form("timeline-archived", "all writes archived but the newest", archived),
        Form("timeline-active", "archived writes active again", activated),
        Form("log-records", "a block of a log for each record", _logs(_record_each)),
        Form("log-files", "a log for each block, a record each", _file_each),
        Form("log-keys", "blocks of logs without the positions of records", _logs(_by_key)),
        Form("log-headers", "headers of blocks in another order", _logs(_header_reversed)),
        *(
            Form(f"log-{one}", f"Parquet in blocks of logs as {one}", _logs(_as_parquet(one)))
            for one in inner
        ),
    ]
