"""Physical forms of Iceberg tables: data files, manifests and metadata files written otherwise."""

from __future__ import annotations

import copy
import datetime as dt
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seambench.contracts.tables import Form
from seambench.formats.forms.containers import (
    AVRO_FORMS,
    AvroFile,
    AvroForm,
    put_file,
    read_avro,
    write_avro,
)
from seambench.formats.forms.data import data_forms
from seambench.formats.forms.manifests import Manifests, Row
from seambench.formats.iceberg.golden import FILES

_EXISTING, _ADDED, _DELETED = range(3)
#: What a manifest or a list may tell, or not.
_OPTIONAL = frozenset(
    [
        "column_sizes",
        "value_counts",
        "null_value_counts",
        "nan_value_counts",
        "distinct_counts",
        "lower_bounds",
        "upper_bounds",
        "key_metadata",
        "split_offsets",
        "sort_order_id",
        "partitions",
    ]
)
_EPOCH = dt.date(1970, 1, 1)


def _content(table: Path) -> list[Path]:
    return [*FILES["data"](table), *FILES["deletes"](table)]


def _mend(table: Path, sizes: Mapping[str, int]) -> None:
    """Sizes of files in manifests, and no row groups' places; then the sizes of manifests."""
    by_name = {Path(path).name: size for path, size in sizes.items()}
    for file in FILES["manifest"](table):
        content = read_avro(file)
        for data_file in (entry["data_file"] for entry in content.rows):
            size = by_name.get(Path(data_file["file_path"]).name)
            if size is not None:
                data_file |= {"file_size_in_bytes": size, "split_offsets": None}
        write_avro(file, content)
    _MANIFESTS.each_list(table)


def _manifest(table: Path, row: Row) -> Path:
    return table / "metadata" / Path(row["manifest_path"]).name


_MANIFESTS = Manifests(FILES["manifest"], FILES["list"], _manifest, "manifest_length")


def _counted(row: Row, entries: Sequence[Row]) -> Row:
    """A manifest's row in a list, with how many entries it has, and of how many rows."""
    row = dict(row)
    for word, status in (("added", _ADDED), ("existing", _EXISTING), ("deleted", _DELETED)):
        rows = [one["data_file"]["record_count"] for one in entries if one["status"] == status]
        for name, value in (
            (f"{word}_files_count", len(rows)),
            (f"{word}_data_files_count", len(rows)),
            (f"{word}_rows_count", sum(rows)),
        ):
            if name in row:
                row[name] = value
    return row


# Manifests cut otherwise.


def _one_each(row: Row, entries: Sequence[Row]) -> list[Row]:
    """A row of a list for each entry of a manifest."""
    rows, first = [], row.get("first_row_id")
    for number, entry in enumerate(entries):
        path = row["manifest_path"].removesuffix(".avro") + f"-{number}.avro"
        one = _counted({**row, "manifest_path": path}, [entry])
        if first is not None:
            one["first_row_id"] = first
            inherits = entry["data_file"].get("first_row_id") is None
            first += _rows(entry) if inherits and entry["status"] != _DELETED else 0
        rows.append(one)
    return rows


def _rows(entry: Row) -> int:
    return int(entry["data_file"]["record_count"])


def _joined(table: Path) -> int:
    """One manifest for all of a snapshot's of a kind, as a merging append leaves them."""
    made = 0
    for file in FILES["list"](table):
        content = read_avro(file)
        groups: dict[str, list[tuple[Row, AvroFile]]] = {}
        for row in content.rows:
            manifest = read_avro(_manifest(table, row))
            key = [row.get("content"), row["partition_spec_id"], manifest.schema]
            groups.setdefault(json.dumps(key), []).append((row, manifest))
        rows = []
        for number, group in enumerate(groups.values()):
            if len(group) == 1 or not _tells_row_ids(group):
                rows += [row for row, _ in group]
                continue
            snapshot = int(content.metadata["snapshot-id"])
            rows.append(
                _one_of(
                    table, group, snapshot, f"{file.stem.removeprefix('snap-')}-joined{number}.avro"
                )
            )
            made += 1
        write_avro(file, replace(content, rows=rows))
    if made:
        _MANIFESTS.each_list(table)
    return made


def _tells_row_ids(group: Sequence[tuple[Row, AvroFile]]) -> bool:
    """Whether entries of manifests can say the row ids that they would inherit, if any."""
    inherits = any(row.get("first_row_id") is not None for row, _ in group)
    return not inherits or all(
        "first_row_id" in entry["data_file"] for _, manifest in group for entry in manifest.rows
    )


def _one_of(table: Path, group: Sequence[tuple[Row, AvroFile]], snapshot: int, name: str) -> Row:
    """Writes one manifest for several."""
    entries = [
        entry if entry["snapshot_id"] == snapshot else {**entry, "status": _EXISTING}
        for row, manifest in group
        for entry in _without_inheriting(row, manifest.rows)
        if entry["snapshot_id"] == snapshot or entry["status"] != _DELETED
    ]
    rows = [row for row, _ in group]
    path = rows[0]["manifest_path"].rpartition("/")[0] + f"/{name}"
    row = {**rows[0], "manifest_path": path, "added_snapshot_id": snapshot, "partitions": None}
    for key, chosen in (("sequence_number", max), ("min_sequence_number", min)):
        if key in row:
            row[key] = chosen(one[key] for one in rows)
    write_avro(_manifest(table, row), replace(group[0][1], rows=entries))
    return _counted(row, entries)


def _without_inheriting(row: Row, rows: Sequence[Row]) -> Iterator[Row]:
    """The entries of a manifest with all written out that they inherit from its row in a list."""
    first = row.get("first_row_id")
    for entry in copy.deepcopy(rows):
        if entry["snapshot_id"] is None:
            entry["snapshot_id"] = row["added_snapshot_id"]
        for key in ("sequence_number", "file_sequence_number"):
            if key in entry and entry[key] is None:
                entry[key] = row["sequence_number"]
        stored = entry["data_file"]
        if first is not None and entry["status"] != _DELETED and stored["first_row_id"] is None:
            stored["first_row_id"] = first
            first += _rows(entry)
        yield entry


# Avro files of other writers.


def _avro(form: AvroForm) -> Form:
    return Form(form.name, form.title, lambda table: _MANIFESTS.each_manifest(table, form))


def _fewer_fields(content: AvroFile) -> AvroFile:
    """Without the fields that need not be there."""
    schema = copy.deepcopy(content.schema)
    records = [schema, *(f["type"] for f in schema["fields"] if f["name"] == "data_file")]
    for record in records:
        record["fields"] = [one for one in record["fields"] if one["name"] not in _OPTIONAL]
    return replace(content, schema=schema)


def _plain_days(content: AvroFile) -> AvroFile | None:
    """Dates of partitions as numbers that are not said to be dates."""
    schema, rows = copy.deepcopy(content.schema), copy.deepcopy(content.rows)
    declared = next((one for one in schema["fields"] if one["name"] == "data_file"), None)
    if declared is None:
        return content  # a list
    [partition] = [one["type"] for one in declared["type"]["fields"] if one["name"] == "partition"]
    found = False
    for field in partition["fields"]:
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        if any(isinstance(one, dict) and one.get("logicalType") == "date" for one in kinds):
            found = True
            field["type"] = ["null", "int"]
            for values in (row["data_file"]["partition"] for row in rows):
                day = values[field["name"]]
                values[field["name"]] = None if day is None else (day - _EPOCH).days
    return replace(content, schema=schema, rows=rows) if found else None


# Metadata files.


def _zipped(table: Path) -> int:
    files = [one for one in FILES["metadata"](table) if not one.name.endswith(".gz.metadata.json")]
    for file in files:
        name = file.name.replace(".metadata.json", ".gz.metadata.json")
        file.with_name(name).write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        file.unlink()
    return len(files)


def _unhinted(table: Path) -> int:
    hints = list((table / "metadata").glob("version-hint.text"))
    for hint in hints:
        hint.unlink()
    return len(hints)


def _newest_alone(table: Path) -> int:
    """Earlier metadata files are gone, as they go where few are to be kept."""
    by_version = {
        int(one.name[1:].split(".")[0]): one
        for one in FILES["metadata"](table)
        if one.name[0] == "v"
    }
    old = [file for version, file in by_version.items() if version != max(by_version)]
    for file in old:
        file.unlink()
    return len(old)


def _lists_reversed(table: Path) -> int:
    done = 0
    for file in FILES["list"](table):
        content = read_avro(file)
        done += len(content.rows) > 1
        write_avro(file, replace(content, rows=content.rows[::-1]))
    return done


def _metadata_less(table: Path) -> int:
    """Without the metadata's optional parts that no read needs."""
    for file in FILES["metadata"](table):
        if file.name.endswith(".gz.metadata.json"):
            return 0
        document = json.loads(file.read_text(encoding="utf-8"))
        for key in ("statistics", "partition-statistics", "metadata-log"):
            document.pop(key, None)
        put_file(file, json.dumps(document, sort_keys=True).encode())
    return 1


def forms() -> Sequence[Form]:
    """Every form."""
    avro = [
        *AVRO_FORMS,
        AvroForm("avro-less", "manifests without what they need not tell", change=_fewer_fields),
        AvroForm("avro-days", "days of partitions as plain numbers", change=_plain_days),
    ]
    return [
        *data_forms(_content, _mend),
        Form(
            "manifests-split",
            "a manifest for each file",
            lambda table: _MANIFESTS.split(table, _one_each),
        ),
        Form("manifests-joined", "one manifest for all of a snapshot's", _joined),
        *map(_avro, avro),
        Form("lists-reversed", "manifest lists in the other order", _lists_reversed),
        Form("metadata-zipped", "metadata files in gzip", _zipped),
        Form("metadata-unhinted", "no version hint", _unhinted),
        Form("metadata-newest", "the newest metadata file alone", _newest_alone),
        Form(
            "metadata-less",
            "metadata without optional parts, keys in another order",
            _metadata_less,
        ),
    ]
