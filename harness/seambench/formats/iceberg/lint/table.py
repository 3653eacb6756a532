"""The metadata of a table that counts now, its files of Avro, and where what it names lies here."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro

from seambench.formats.iceberg.lint.types import Field
from seambench.formats.lint import read_json

_NAME = re.compile(r"(v?)(\d+)(?:-[^.]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")


@dataclass
class Table:
    """A table's metadata with what the rules ask of it."""

    folder: Path  # where the table lies here
    file: Path  # its newest metadata file
    said: dict[str, Any]  # what stands in it
    # fields of all depths, by the schema's id, oldest first
    schemas: dict[int, list[Field]] = field(default_factory=dict)
    # fields of the partition specs
    specs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """Version of the format."""
        return int(self.said["format-version"])

    @property
    def newest(self) -> dict[int, Field]:
        """Each field by its id, as the last schema has it that knows it."""
        return {one.id: one for fields in self.schemas.values() for one in fields}

    def dropped(self, spec: int) -> set[int]:
        """Ids of a spec's fields whose column the current schema lacks: nobody need tell them."""
        here = {one.id for one in self.schemas.get(self.said["current-schema-id"], [])}
        parts = (part for part in self.specs.get(spec, []) if "source-id" in part)
        return {part["field-id"] for part in parts if part["source-id"] not in here}

    @property
    def snapshots(self) -> dict[int, dict[str, Any]]:
        """The valid snapshots by their ids."""
        return {one["snapshot-id"]: one for one in self.said.get("snapshots") or []}

    def path(self, address: str) -> Path:
        """Where a file lies of which the metadata give the address."""
        home, bare = _bare(self.said["location"]).rstrip("/") + "/", _bare(address)
        return self.folder / bare.removeprefix(home) if bare.startswith(home) else Path(bare)

    def place(self, address: str | Path, what: str = "") -> str:
        """A file's name below the table's folder, and what in it."""
        file = address if isinstance(address, Path) else self.path(address)
        name = file.relative_to(self.folder) if file.is_relative_to(self.folder) else file
        return f"{name.as_posix()}: {what}" if what else name.as_posix()


def _bare(address: str) -> str:
    return re.sub(r"^file:(//)?(?=/)", "", address)


def newest_metadata(folder: Path) -> Path:
    """The metadata file that counts.

    Raises:
        FileNotFoundError: there is none, or none of the version that the hint names.
    """
    files: dict[int, Path] = {}
    for file in sorted((folder / "metadata").glob("*.metadata.json*")):
        if name := _NAME.fullmatch(file.name):
            files[int(name[2])] = file
    hint = folder / "metadata" / "version-hint.text"
    said = hint.read_text(encoding="utf-8").strip() if hint.exists() else ""
    number = int(said) if said.isdecimal() else max(files, default=0)
    if number not in files:
        raise FileNotFoundError(f"there is no metadata file of version {number}")
    while number + 1 in files:  # a hint may be older than the last commit
        number += 1
    return files[number]


def read_metadata(file: Path) -> Any:
    """The JSON of a metadata file, compressed or not.

    Raises:
        ValueError, OSError, EOFError: it is not JSON.
    """
    data = file.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return read_json(data)


Row = dict[Any, Any]


@dataclass(frozen=True)
class AvroFile:
    """What stands in an Avro file."""

    metadata: Mapping[str, str]
    schema: Any
    rows: list[Row]  # records by field ids, or by names where a field has none

    def nameless(self) -> list[str]:
        """Fields of records at any depth that have no id."""
        return list(_nameless(self.schema))


def read_avro(file: Path) -> AvroFile:
    """Read a file to its last sync marker.

    Raises:
        OSError, ValueError, EOFError, TypeError, KeyError: it is no whole Avro file.
    """
    rows: list[Row] = []
    with file.open("rb") as stream:
        reader = fastavro.block_reader(stream)
        schema = json.loads(reader.metadata["avro.schema"])
        plain = fastavro.parse_schema(_plain(schema))
        for block in reader:
            rows += [
                _by_id(schema, fastavro.schemaless_reader(block.bytes_, plain, None))
                for _ in range(block.num_records)
            ]
    return AvroFile(dict(reader.metadata), schema, rows)


def _plain(schema: Any) -> Any:
    if isinstance(schema, dict):
        left_out = ("logicalType", "default", "field-id")
        return {name: _plain(value) for name, value in schema.items() if name not in left_out}
    return [_plain(one) for one in schema] if isinstance(schema, list) else schema


def _by_id(schema: Any, value: Any) -> Any:
    if isinstance(schema, list):
        schema = next((one for one in schema if one != "null"), "null")
    if value is None or not isinstance(schema, dict):
        return value
    if schema["type"] == "record":
        fields = schema["fields"]
        return {f.get("field-id", f["name"]): _by_id(f["type"], value[f["name"]]) for f in fields}
    if schema["type"] == "array":
        items = schema["items"]
        if isinstance(items, dict) and [f["name"] for f in items.get("fields", [])] == [
            "key",
            "value",
        ]:
            return {one["key"]: one["value"] for one in value}
        return [_by_id(items, one) for one in value]
    return value


def _nameless(schema: Any) -> Any:
    for one in schema if isinstance(schema, list) else [schema]:
        if isinstance(one, dict) and one.get("type") == "record":
            for field in one["fields"]:
                if "field-id" not in field:
                    yield field["name"]
                yield from _nameless(field["type"])
        elif isinstance(one, dict) and one.get("type") == "array":
            yield from _nameless(one["items"])
