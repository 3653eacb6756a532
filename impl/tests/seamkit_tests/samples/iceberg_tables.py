"""Tables that Spark and Iceberg wrote, unpacked from the suites' golden files, and made ones."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.golden_tables import unpack

ICEBERG_GOLDEN = SUITES_GOLDEN / "iceberg"


def iceberg_table_names() -> list[str]:
    """The names that `unpack_iceberg` knows, of tables with what Spark read of each state."""
    return sorted(path.parent.name for path in ICEBERG_GOLDEN.glob("*/witness.json"))


def unpack_iceberg(name: str, folder: Path) -> Path:
    """Unpack a table into a new folder; returns that folder."""
    return unpack(f"iceberg/{name}", folder / name)


@dataclass
class MadeFile:
    """A file of a table that is made by hand.

    Attributes:
        name: below the table's folder `data`.
        rows: what is in it; field ids are given by the table's columns' names.
        partition: values by the names of partition fields, as Avro has them.
        content: 0 data, 1 position deletes, 2 equality deletes.
        changed: other values of fields of its entry's `data_file`.
    """

    name: str
    rows: pa.Table
    partition: Mapping[str, Any] = field(default_factory=dict)
    content: int = 0
    changed: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class MadeCommit:
    """A snapshot that adds files, and keeps all that were added before.

    Attributes:
        files: those that are new.
        avro: Avro's types of partition fields by name, as this commit's writer has them; none for
            one that it leaves out.
        gone: names of files of commits before, which it removes.
        operation: of its summary.
    """

    files: Sequence[MadeFile]
    avro: Mapping[str, Any] = field(default_factory=dict)
    gone: Sequence[str] = ()
    operation: str = "append"


_POSITIONS = {"file_path": 2147483546, "pos": 2147483545}
_COUNTS = (("added", 504, 512), ("existing", 505, 513), ("deleted", 506, 514))


class MadeTable:
    """An Iceberg table made by hand: what no writer at hand writes, or another would.

    Args:
        folder: becomes the table's.
        columns: fields of its schema, as metadata have them.
        partition: fields of its partition spec.
        version: of the format, 2 or 3.
    """

    def __init__(
        self,
        folder: Path,
        columns: Sequence[Mapping[str, Any]],
        partition: Sequence[Mapping[str, Any]] = (),
        version: int = 2,
    ) -> None:
        self.folder, self._columns, self._partition = folder, columns, partition
        self._ids = {one["name"]: one["id"] for one in columns} | _POSITIONS
        self._version, self._snapshots = version, list[dict[str, Any]]()
        self._manifests = list[tuple[dict[str, Any], list[MadeFile], Mapping[str, Any], int]]()
        (folder / "data").mkdir(parents=True)
        (folder / "metadata").mkdir()

    def path(self, name: str) -> str:
        """A data file, as manifests spell it."""
        return f"file://{self.folder}/data/{name}"

    def deletes(self, name: str, of: str, positions: Sequence[int], **more: Any) -> MadeFile:
        """A position delete file for rows of one data file."""
        rows = {"file_path": [self.path(of)] * len(positions), "pos": positions}
        return MadeFile(name, pa.table(rows), content=1, **more)

    def commit(self, commit: MadeCommit) -> None:
        """Write a snapshot, and metadata that show it."""
        number = len(self._snapshots) + 1
        if commit.gone:
            self._remove(set(commit.gone), number)
        for is_deletes in (False, True):
            files = [one for one in commit.files if (one.content > 0) == is_deletes]
            for one in files:
                self._write_rows(one)
            if files:
                entries = [(1, number, one) for one in files]
                row = self._manifest(f"m{number}-{int(is_deletes)}", entries, commit.avro, number)
                self._manifests.append((row, files, commit.avro, number))
        listed = self.folder / "metadata" / f"snap-{number}.avro"
        rows = [row for row, *_ in self._manifests]
        listed.write_bytes(_avro(_LIST, rows, {"snapshot-id": str(number)}))
        self._snapshots.append(
            {
                "snapshot-id": number,
                **({"parent-snapshot-id": number - 1} if number > 1 else {}),
                "sequence-number": number,
                "timestamp-ms": number,
                "manifest-list": f"file://{listed}",
                "summary": {"operation": commit.operation},
                "schema-id": 0,
            }
        )
        self._write_metadata(number)

    def edit(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the newest metadata."""
        edit_metadata(self.folder / f"metadata/v{len(self._snapshots)}.metadata.json", change)

    def map_names(self, names: Sequence[Mapping[str, Any]]) -> None:
        """Give the table a name mapping."""
        mapping = {"schema.name-mapping.default": json.dumps(names)}
        self.edit(lambda parsed: parsed.update(properties=mapping))

    def _remove(self, names: set[str], number: int) -> None:
        """Write manifests anew whose files are removed."""
        for at, (row, files, avro, first) in enumerate(self._manifests):
            if names.isdisjoint(one.name for one in files):
                continue
            entries = [(2 if one.name in names else 0, first, one) for one in files]
            content, name = row["content"], f"m{number}-kept-{at}"
            made = self._manifest(name, entries, avro, number) | {"content": content}
            left = [one for one in files if one.name not in names]
            self._manifests[at] = (made, left, avro, first)

    def _write_rows(self, one: MadeFile) -> None:
        fields = [
            own.with_metadata({"PARQUET:field_id": str(self._ids[own.name])})
            for own in one.rows.schema
        ]
        rows = one.rows.cast(pa.schema(fields))
        pq.write_table(rows, self.folder / "data" / one.name, store_schema=False)

    def _manifest(
        self,
        name: str,
        entries: Sequence[tuple[int, int, MadeFile]],
        avro: Mapping[str, Any],
        number: int,
    ) -> dict[str, Any]:
        """Write a manifest of files with their status and first commit; returns its row."""
        kinds = {one["name"]: avro.get(one["name"], "int") for one in self._partition}
        ids = {one["name"]: one["field-id"] for one in self._partition}
        partition = [
            {"name": own, "type": kind if kind == "null" else ["null", kind], "field-id": ids[own]}
            for own, kind in kinds.items()
            if kind
        ]
        file = self.folder / "metadata" / f"{name}.avro"
        rows = [
            {
                "status": status,
                "snapshot_id": number if status == 2 else first,
                "sequence_number": None if status == 1 else first,
                "file_sequence_number": None if status == 1 else first,
                "data_file": self._data_file(one, kinds),
            }
            for status, first, one in entries
        ]
        content = entries[0][2].content > 0
        header = {
            "schema": json.dumps({"type": "struct", "schema-id": 0, "fields": self._columns}),
            "partition-spec": json.dumps(self._partition),
            "partition-spec-id": "0",
            "format-version": str(self._version),
            "content": "deletes" if content else "data",
        }
        file.write_bytes(_avro(_entry_schema(partition), rows, header))
        row: dict[str, Any] = {
            "manifest_path": f"file://{file}",
            "manifest_length": file.stat().st_size,
            "partition_spec_id": 0,
            "content": int(content),
            "sequence_number": number,
            "min_sequence_number": min(first for _, first, _ in entries),
            "added_snapshot_id": number,
        }
        for status, (word, _, _) in zip((1, 0, 2), _COUNTS, strict=True):
            counted = [one.rows.num_rows for own, _, one in entries if own == status]
            row |= {f"{word}_files_count": len(counted), f"{word}_rows_count": sum(counted)}
        return row

    def _data_file(self, one: MadeFile, kinds: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "content": one.content,
            "file_path": self.path(one.name),
            "file_format": "PARQUET",
            "partition": {name: one.partition.get(name) for name in kinds},
            "record_count": one.rows.num_rows,
            "file_size_in_bytes": (self.folder / "data" / one.name).stat().st_size,
            "equality_ids": [self._ids.get(name) for name in one.rows.column_names]
            if one.content == 2
            else None,
            **one.changed,
        }

    def _write_metadata(self, number: int) -> None:
        metadata = {
            "format-version": self._version,
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": f"file://{self.folder}",
            "last-sequence-number": number,
            "last-updated-ms": number,
            "last-column-id": max(one["id"] for one in self._columns),
            "current-schema-id": 0,
            "schemas": [{"type": "struct", "schema-id": 0, "fields": self._columns}],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": self._partition}],
            "last-partition-id": 999 + len(self._partition),
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "current-snapshot-id": number,
            "refs": {"main": {"snapshot-id": number, "type": "branch"}},
            "snapshots": self._snapshots,
            "snapshot-log": [
                {"snapshot-id": one["snapshot-id"], "timestamp-ms": one["timestamp-ms"]}
                for one in self._snapshots
            ],
            "metadata-log": [],
        }
        if self._version == 3:
            metadata["next-row-id"] = 0
        (self.folder / "metadata" / f"v{number}.metadata.json").write_text(json.dumps(metadata))
        (self.folder / "metadata" / "version-hint.text").write_text(str(number))


def edit_metadata(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a metadata file in place."""
    parsed = json.loads(file.read_text(encoding="utf-8"))
    change(parsed)
    file.write_text(json.dumps(parsed), encoding="utf-8")


def stats_of(
    count: int, lower: bytes, upper: bytes, *ids: int, nulls: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """What an entry says of columns, the first one unless others are named."""
    counts = {"value_counts": count, "null_value_counts": nulls}
    ends = {"lower_bounds": lower, "upper_bounds": upper}
    return {
        name: [{"key": id_, "value": value} for id_ in ids or (1,)]
        for name, value in {**counts, **ends}.items()
    }


def _avro(schema: Any, rows: Sequence[Any], header: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows, metadata=header)
    return out.getvalue()


def _record(name: str, fields: Sequence[Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _field(name: str, kind: Any, id_: int) -> dict[str, Any]:
    return {"name": name, "type": kind, "field-id": id_}


_MAPS = {
    "value_counts": ("long", 109),
    "null_value_counts": ("long", 110),
    "lower_bounds": ("bytes", 125),
    "upper_bounds": ("bytes", 128),
}


def _map(name: str, kind: str, id_: int) -> dict[str, Any]:
    """A map whose keys are numbers: a list of pairs."""
    pair = _record(f"pair_{id_}", [_field("key", "int", 117), _field("value", kind, 118)])
    listed = {"type": "array", "items": pair, "logicalType": "map"}
    return _field(name, ["null", listed], id_)


def _entry_schema(partition: Sequence[Any]) -> dict[str, Any]:
    ids = {"type": "array", "items": "int", "element-id": 136}
    file = [
        _field("content", "int", 134),
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", _record("r102", partition), 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
        *(_map(name, kind, id_) for name, (kind, id_) in _MAPS.items()),
        _field("equality_ids", ["null", ids], 135),
        _field("referenced_data_file", ["null", "string"], 143),
        _field("content_offset", ["null", "long"], 144),
        _field("content_size_in_bytes", ["null", "long"], 145),
    ]
    whole = ["null", "long"]
    return _record(
        "manifest_entry",
        [
            _field("status", "int", 0),
            _field("snapshot_id", whole, 1),
            _field("sequence_number", whole, 3),
            _field("file_sequence_number", whole, 4),
            _field("data_file", _record("r2", file), 2),
        ],
    )


_LIST = _record(
    "manifest_file",
    [
        _field("manifest_path", "string", 500),
        _field("manifest_length", "long", 501),
        _field("partition_spec_id", "int", 502),
        _field("content", "int", 517),
        _field("sequence_number", "long", 515),
        _field("min_sequence_number", "long", 516),
        _field("added_snapshot_id", "long", 503),
        *(_field(f"{word}_files_count", "int", files) for word, files, _ in _COUNTS),
        *(_field(f"{word}_rows_count", "long", rows) for word, _, rows in _COUNTS),
    ],
)


def field_of(name: str, kind: Any, id_: int = 1, **more: Any) -> dict[str, Any]:
    """An optional field of a schema; further words have lines in place of hyphens."""
    told = {word.replace("_", "-"): value for word, value in more.items()}
    return {"id": id_, "name": name, "required": False, "type": kind, **told}


KEY: Mapping[str, Any] = field_of("k", "long")


def numbered_table(
    folder: Path,
    commits: int = 1,
    columns: Sequence[Mapping[str, Any]] = (KEY,),
    version: int = 2,
) -> MadeTable:
    """A table whose commits have a row each: their number, from 0 on, in the column `k`."""
    table = MadeTable(folder, columns, version=version)
    for number in range(commits):
        rows = pa.table({"k": pa.array([number], pa.int64())})
        table.commit(MadeCommit([MadeFile(f"{number}.parquet", rows)]))
    return table
