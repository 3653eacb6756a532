"""Data files of a Paimon bucket cut into several, as a writer leaves them that rolls over sooner.

Each part is as the whole was, but for what is its own: name and size, numbers of rows, keys at
its ends, sequence numbers. Bounds of values stay those of the whole, which are true of each part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from seambench.formats.forms.containers import put_file, read_avro, write_avro
from seambench.formats.forms.manifests import Row
from seambench.formats.forms.parquet import ParquetForm, read_parquet
from seambench.formats.paimon.binary_rows import binary_rows
from seambench.formats.paimon.golden import FILES

#: No file is cut into more parts than this.
_PARTS = 3
_KEY, _SEQUENCE, _KIND = "_KEY_", "_SEQUENCE_NUMBER", "_VALUE_KIND"
#: Kinds of rows that take something back.
_RETRACTS = pa.array([1, 3], pa.int8())


def split_files(table: Path) -> int:
    """Cut the files of a table's buckets; manifests tell of the parts in place of the whole.

    Left whole are files of one row, those of other formats than Parquet, those whose rows something
    else names by position (deletion vectors, indexes), and those by keys of other types than
    numbers and texts. Gives how many parts there are.
    """
    files = {one.name: one for one in table.glob("**/bucket-*/*.parquet")}
    whole = set(_with_vectors(table))
    keys = _thin_keys(table)
    parts: dict[str, list[Row]] = {}
    made = 0
    for manifest in FILES["manifest"](table):
        content = read_avro(manifest)
        rows = []
        for entry in content.rows:
            meta = entry["_FILE"]
            name = meta["_FILE_NAME"]
            if name not in parts:
                cut = name in files and name not in whole and not _is_named_by_rows(meta)
                parts[name] = _cut(files[name], meta, keys) if cut else []
                made += len(parts[name])
            rows += [{**entry, "_FILE": {**meta, **own}} for own in parts[name]] or [entry]
        write_avro(manifest, replace(content, rows=rows))
    for name in (name for name, own in parts.items() if own):
        files[name].unlink()
    return made


def _with_vectors(table: Path) -> Iterator[str]:
    """Files some rows of which deletion vectors name."""
    for file in table.glob("**/index-manifest-*"):
        for entry in read_avro(file).rows:
            yield from (one["f0"] for one in entry["_DELETIONS_VECTORS_RANGES"] or ())


def _is_named_by_rows(meta: Row) -> bool:
    names = ("_EXTRA_FILES", "_EMBEDDED_FILE_INDEX", "_EXTERNAL_PATH", "_WRITE_COLS")
    return any(meta.get(name) for name in names)


def _thin_keys(table: Path) -> list[str]:
    """The columns that are keys in files without columns of keys."""
    schemas = sorted(table.glob("schema/schema-*"), key=lambda one: int(one.name[7:]))
    schema = json.loads(schemas[-1].read_text(encoding="utf-8"))
    return [name for name in schema["primaryKeys"] if name not in schema["partitionKeys"]]


def _cut(file: Path, meta: Row, thin: Sequence[str]) -> list[Row]:
    """Writes the parts of a file; what lists say of each, nothing where it is left whole."""
    rows = read_parquet(file)
    named = [name for name in rows.column_names if name.startswith(_KEY)]
    keys = rows.select(named or thin)
    size = -(-rows.num_rows // _PARTS)
    packed = binary_rows(keys) or [b""]
    if rows.num_rows < 2 or [packed[0], packed[-1]] != [meta["_MIN_KEY"], meta["_MAX_KEY"]]:
        return []
    found = []
    for number, begin in enumerate(range(0, rows.num_rows, size)):
        part = rows.slice(begin, size)
        data = ParquetForm("", "", table=_slice(begin, size)).rewritten(file.read_bytes())
        if data is None:
            return []
        name = f"{file.stem}-{number}{file.suffix}"
        put_file(file.with_name(name), data)
        found.append(
            {
                "_FILE_NAME": name,
                "_FILE_SIZE": len(data),
                "_ROW_COUNT": part.num_rows,
                "_MIN_KEY": packed[begin],
                "_MAX_KEY": packed[begin + part.num_rows - 1],
                **_of_rows(part, meta, begin),
            }
        )
    return found


def _slice(begin: int, size: int) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.slice(begin, size)


def _of_rows(part: pa.Table, meta: Row, begin: int) -> Row:
    """What lists say of the rows of a part, which begins at a row of the whole."""
    whole, size = meta["_ROW_COUNT"], part.num_rows
    found: Row = {}
    if _SEQUENCE in part.column_names:
        ends = pc.min_max(part[_SEQUENCE]).as_py()
        found |= {"_MIN_SEQUENCE_NUMBER": ends["min"], "_MAX_SEQUENCE_NUMBER": ends["max"]}
    elif meta["_MAX_SEQUENCE_NUMBER"] - meta["_MIN_SEQUENCE_NUMBER"] == whole - 1:
        first = meta["_MIN_SEQUENCE_NUMBER"] + begin
        found |= {"_MIN_SEQUENCE_NUMBER": first, "_MAX_SEQUENCE_NUMBER": first + size - 1}
    if meta.get("_DELETE_ROW_COUNT"):
        retracts = pc.is_in(part[_KIND], _RETRACTS)
        found["_DELETE_ROW_COUNT"] = pc.sum(retracts, min_count=0).as_py()
    if meta.get("_FIRST_ROW_ID") is not None:
        found["_FIRST_ROW_ID"] = meta["_FIRST_ROW_ID"] + begin
    for name in ("_KEY_STATS", "_VALUE_STATS"):
        counts = [{0: 0, whole: size}.get(one) for one in meta[name]["_NULL_COUNTS"] or ()]
        found[name] = {**meta[name], "_NULL_COUNTS": counts}
    return found
