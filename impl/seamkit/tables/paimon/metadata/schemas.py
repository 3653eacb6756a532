"""Schemas of a table: columns by id, keys and options.

A data file is read by the one that it was written by, which its manifest names.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import cached_property

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.storage import Storage
from seamkit.tables.paimon.metadata.json_files import field, read_json
from seamkit.tables.paimon.metadata.types import Field, parse_fields

__all__ = ["Schemas", "TableSchema"]

_NEWEST_VERSION = 3
_NAME = re.compile(r"schema-(\d{1,19})")


@dataclass(frozen=True)
class TableSchema:
    """One schema of a table.

    Attributes:
        id: its number.
        fields: the columns in order.
        partition_keys: names of the columns that partition the table.
        primary_keys: names of the key's columns, those of partitions among them; none in append
            tables.
        options: the table's options.
        where: its file, for messages.
    """

    id: int
    fields: Sequence[Field]
    partition_keys: Sequence[str]
    primary_keys: Sequence[str]
    options: Mapping[str, str]
    where: str
    arrow: pa.Schema = attribute(init=False)

    def __post_init__(self) -> None:
        arrow = pa.schema([pa.field(own.name, own.type) for own in self.fields])
        object.__setattr__(self, "arrow", arrow)

    def field(self, name: str) -> Field:
        """The column of a name."""
        return self.by_name[name]

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """The columns by name."""
        return {own.name: own for own in self.fields}

    @property
    def merge_keys(self) -> Sequence[str]:
        """The key's columns by which rows of a bucket are merged: a partition has one value."""
        return [name for name in self.primary_keys if name not in self.partition_keys]


class Schemas:
    """The schemas of a table, each read once. Threads may share one.

    Args:
        storage: the table's folder.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[int, TableSchema] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> tuple[Storage, dict[int, TableSchema]]:
        return self._storage, self._known

    def __setstate__(self, state: tuple[Storage, dict[int, TableSchema]]) -> None:
        self._storage, self._known = state
        self._lock = threading.Lock()

    def newest(self) -> TableSchema:
        """The schema with the highest number.

        Raises:
            InputError: there is none.
        """
        numbers = [
            int(match[1])
            for status in self._storage.list("schema")
            if (match := _NAME.fullmatch(status.name))
        ]
        if not numbers:
            raise InputError(f"{self._storage.root} is no Paimon table: it has no schema")
        return self.load(max(numbers))

    def load(self, number: int) -> TableSchema:
        """A schema by its number.

        Raises:
            InputError: it is missing or broken.
            RefusedError: a version or a type that is not supported.
        """
        with self._lock:
            if number not in self._known:
                self._known[number] = _read(self._storage, number)
            return self._known[number]


def _read(storage: Storage, number: int) -> TableSchema:
    path = f"schema/schema-{number}"
    where = storage.full(path)
    content = read_json(storage, path)
    version = field(content, "version", int, where, 1)
    if not 1 <= version <= _NEWEST_VERSION:
        raise RefusedError(f"{where}: version {version} of schemas is not supported")
    if field(content, "id", int, where) != number:
        raise InputError(f"{where}: its id is {content['id']}")
    fields = parse_fields(field(content, "fields", list, where), where)
    _check_ids(fields, number, field(content, "highestFieldId", int, where, None), where)
    names = [own.name for own in fields]
    keys = {}
    for word in ("partitionKeys", "primaryKeys"):
        keys[word] = field(content, word, list, where)
        for name in keys[word]:
            if name not in names:
                raise InputError(f"{where}: it has no column {name!r}, which is among {word}")
    options = field(content, "options", dict, where)
    if not all(isinstance(text, str) for pair in options.items() for text in pair):
        raise InputError(f"{where}: an option is no text")
    return TableSchema(number, fields, keys["partitionKeys"], keys["primaryKeys"], options, where)


def _check_ids(fields: Sequence[Field], number: int, highest: int | None, where: str) -> None:
    """Hold the ids of fields against the highest one, which writers keep when fields are dropped.

    Ids of a table's first schema end with it: nothing was dropped yet. Fields of rows are not held
    against it, since not all writers count them.
    """
    for own in fields:
        if own.id < 0 or (highest is not None and own.id > highest):
            bounds = "0 or more" if highest is None else f"from 0 to highestFieldId, {highest}"
            raise InputError(
                f"{where}: the field {own.name!r} has the id {own.id}; ids are {bounds}"
            )
    if number == 0 and highest is not None and highest > max(_ids(fields), default=highest):
        raise InputError(
            f"{where}: highestFieldId is {highest}, which no field of the table's first schema has"
        )


def _ids(fields: Sequence[Field]) -> Iterator[int]:
    for own in fields:
        yield own.id
        yield from _ids(own.children)
