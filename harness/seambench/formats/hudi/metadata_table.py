"""Physical forms of Hudi's metadata table: the same records in other HFiles, logs and blocks."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import fastavro

from seambench.contracts.tables import Form
from seambench.formats.forms.containers import put_file
from seambench.formats.hudi.damage import name_parts
from seambench.formats.hudi.hfiles import Cell, HFile, hfile_bytes, read_hfile
from seambench.formats.hudi.log_blocks import DELETES, HFILE, INSTANT, SCHEMA, Block, blocks_of
from seambench.formats.hudi.timelines import has_pending, mend_writes, put_compaction

_FILES, _ROOT = "files", "."
#: Bytes of a block of deletes without any.
_EMPTY_DELETES = 9
_Change = Callable[[HFile, str], Sequence[bytes] | None]


def _folder(table: Path) -> Path:
    return table / ".hoodie" / "metadata"


def _bases(table: Path, partition: str = "*") -> list[Path]:
    return sorted(_folder(table).glob(f"{partition}/*.hfile"))


def _logs(table: Path, partition: str = "*", file_id: str = "*") -> list[Path]:
    found = _folder(table).glob(f"{partition}/.{file_id}_*.log.*")
    return sorted(file for file in found if file.suffix != ".crc")


def _rewritten(table: Path, change: _Change, partition: str = "*", *, bases: bool = True) -> int:
    """Puts other HFiles in the place of each; how many files are other than before.

    Given an HFile and the schema of its values, `change` gives those that stand for it, None where
    it stays; for a base file there is one. Base files may be left as they are.
    """
    sizes: dict[str, int] = {}

    def put(file: Path, content: bytes) -> None:
        put_file(file, content)
        sizes[file.relative_to(_folder(table)).as_posix()] = len(content)

    for file in _bases(table, partition) if bases else []:
        base = read_hfile(file.read_bytes())
        if base.cells and (new := change(base, base.info[b"schema"].decode())):
            put(file, new[0])
    for file in _logs(table, partition):
        blocks = [(block, _of_block(block, change)) for block in blocks_of(file.read_bytes())]
        if any(new is not None for _, new in blocks):
            written = [one for old, new in blocks for one in (new or [old])]
            put(file, b"".join(block.written() for block in written))
    if sizes:
        mend_writes(_folder(table), sizes, {})
    return len(sizes)


def _of_block(block: Block, change: _Change) -> list[Block] | None:
    inner = read_hfile(block.content) if block.kind == HFILE else None
    new = change(inner, block.text(SCHEMA)) if inner and inner.cells else None
    return [replace(block, content=content) for content in new] if new else None


def restate_files(
    table: Path, sizes: Mapping[str, int], beside: Mapping[str, Sequence[str]]
) -> None:
    """Puts right what the metadata table says of files; arguments as in `mend_writes`."""

    def change(file: HFile, schema: str) -> list[bytes] | None:
        kind = fastavro.parse_schema(json.loads(schema))
        cells = [_restated(cell, kind, sizes, beside) for cell in file.cells]
        return None if cells == file.cells else [hfile_bytes(replace(file, cells=cells))]

    _rewritten(table, change, _FILES)


def _restated(
    cell: Cell, schema: Any, sizes: Mapping[str, int], beside: Mapping[str, Sequence[str]]
) -> Cell:
    record = _record(cell, schema)
    prefix = "" if cell.row == _ROOT else f"{cell.row}/"
    files = record["filesystemMetadata"] or {}
    before = json.dumps(files)
    for name in list(files):
        for path in beside.get(prefix + name, ()):
            files.setdefault(path.removeprefix(prefix), dict(files[name]))
    for name, one in files.items():
        if prefix + name in sizes and not one["isDeleted"]:
            one["size"] = sizes[prefix + name]
    return cell if json.dumps(files) == before else _with_record(cell, record, schema)


def _record(cell: Cell, schema: Any) -> dict[str, Any]:
    read: Any = fastavro.schemaless_reader(io.BytesIO(cell.value), schema, return_record_name=True)
    return cast("dict[str, Any]", read)


def _with_record(cell: Cell, record: Mapping[str, Any], schema: Any) -> Cell:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, record)
    return replace(cell, value=out.getvalue())


# Forms.


def _cell_each(table: Path) -> int:
    """A block of data for each cell, not packed."""
    return _rewritten(table, lambda file, _: [hfile_bytes(file, cells_a_block=1, packed=False)])


def _record_each(table: Path) -> int:
    """A block of a log for each record."""

    def change(file: HFile, _: str) -> list[bytes] | None:
        ones = [hfile_bytes(replace(file, cells=[cell])) for cell in file.cells]
        return ones if len(ones) > 1 else None

    return _rewritten(table, change, bases=False)


def _logs_alone(table: Path) -> int:
    """No base files: what is in one comes first in the first log of its slice."""
    done = 0
    for base in _bases(table):
        content = base.read_bytes()
        parts = name_parts(base.name)
        logs = [
            one for one in _logs(table) if one.match(f"{base.parent.name}/.{parts['file_id']}_*")
        ]
        if not logs:
            continue
        header = (
            (INSTANT, parts["instant"].encode()),
            (SCHEMA, read_hfile(content).info[b"schema"]),
        )
        block = Block(1, HFILE, header, content)
        put_file(logs[0], block.written() + logs[0].read_bytes())
        base.unlink()
        path, log = (file.relative_to(_folder(table)).as_posix() for file in (base, logs[0]))
        mend_writes(_folder(table), {log: logs[0].stat().st_size}, {path: [log]})
        done += 1
    return done


def _compacted(table: Path) -> int:
    """The list of files in one base file, as a compaction leaves it."""
    bases, logs = _bases(table, _FILES), _logs(table, _FILES)
    blocks = [block for file in logs for block in blocks_of(file.read_bytes())]
    known = all(
        one.kind == HFILE or (one.kind == DELETES and len(one.content) == _EMPTY_DELETES)
        for one in blocks
    )
    if len(bases) != 1 or not known or has_pending(table):
        return 0
    base = read_hfile(bases[0].read_bytes())
    inner = [base, *(read_hfile(block.content) for block in blocks if block.kind == HFILE)]
    schema = fastavro.parse_schema(json.loads(base.info[b"schema"]))
    merged: dict[str, Cell] = {}
    for cell in (cell for file in inner for cell in file.cells):
        below = merged.get(cell.row)
        merged[cell.row] = cell if below is None else _merged(below, cell, schema)
    cells = [cell for _, cell in sorted(merged.items())]
    ends = {b"minRecordKey": cells[0].row.encode(), b"maxRecordKey": cells[-1].row.encode()}
    info = {name: text for name, text in base.info.items() if not name.startswith(b"bloom")}
    whole = hfile_bytes(replace(base, cells=cells, others=(), info={**info, **ends}))
    file_id = name_parts(bases[0].name)["file_id"]
    put_compaction(_folder(table), f"{_FILES}/{file_id}_0-1-0_{{}}.hfile", whole)
    return 1


def _merged(below: Cell, above: Cell, schema: Any) -> Cell:
    """What two records of files come to."""
    old, more = (_record(cell, schema)["filesystemMetadata"] or {} for cell in (below, above))
    files = {**old, **more}
    kept = {name: one for name, one in files.items() if not one["isDeleted"]}
    return _with_record(above, {**_record(above, schema), "filesystemMetadata": kept}, schema)


METADATA_FORMS = (
    Form("metadata-table-cells", "HFiles of a block for each cell, not packed", _cell_each),
    Form("metadata-table-records", "a block of its logs for each record", _record_each),
    Form("metadata-table-compacted", "the metadata table's list of files compacted", _compacted),
    Form("metadata-table-logs", "no base files in the metadata table, logs alone", _logs_alone),
)
"""Every form of a metadata table that is there."""
