"""Changes to the files of a table that know nothing of its format, and where they lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from seambench_suites.mutations.avro_places import avro_place, is_between_blocks
from seambench_suites.mutations.footer_fields import FieldChange, parquet_place
from seambench_suites.mutations.log_places import log_place, orc_place, properties_place
from seambench_suites.mutations.text_places import json_place, sequence_place, text_place

OPERATIONS = ("flip", "cut", "remove", "empty", "swap")
#: Flips and cuts are many for each file, the others one.
_WEIGHTS = (8, 4, 1, 1, 2)


class Change(Protocol):
    """What is done to a table."""

    def apply(self, whole: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        """The files that change, and what they are then; None for one that is gone."""


@dataclass(frozen=True)
class Mutation:
    """One change."""

    file: str  # path below the table
    # `flip` one bit, `cut` to a length, `remove` the file, `empty` it, or `swap` its bytes with
    # those of another file
    operation: str
    at: int = 0  # the bit of a flip, the length of a cut
    other: str = ""

    def __str__(self) -> str:
        where = {
            "flip": f" bit {self.at % 8} of byte {self.at // 8}",
            "cut": f" to {self.at} bytes",
        }
        return f"{self.operation}{where.get(self.operation, '')} {self.file} {self.other}".rstrip()

    def apply(self, whole: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        """The files that change, and what they are then; None for one that is gone."""
        content = whole[self.file]
        if self.operation == "flip":
            changed = bytearray(content)
            changed[self.at // 8] ^= 1 << self.at % 8
            return {self.file: bytes(changed)}
        if self.operation == "swap":
            return {self.file: whole[self.other], self.other: content}
        return {self.file: None if self.operation == "remove" else content[: self.at]}


def contents(table: Path) -> dict[str, bytes]:
    """The bytes of each file below a folder, by path, in the order of paths."""
    files = sorted(path for path in table.rglob("*") if path.is_file())
    return {path.relative_to(table).as_posix(): path.read_bytes() for path in files}


def random_mutation(whole: Mapping[str, bytes], random: Random) -> Mutation:
    """A mutation of a table, files alike however long they are."""
    names = list(whole)
    (operation,) = random.choices(OPERATIONS, _WEIGHTS)
    if operation in ("flip", "cut"):
        name = random.choice([name for name in names if whole[name]])
        most = len(whole[name]) * (8 if operation == "flip" else 1)
        return Mutation(name, operation, random.randrange(most))
    name = random.choice(names)
    other = random.choice(names) if operation == "swap" else ""
    return Mutation(name, operation, 0, other)


@contextmanager
def mutated(table: Path, whole: Mapping[str, bytes], mutation: Change) -> Iterator[None]:
    """A mutation as long as the context lasts."""
    changed = mutation.apply(whole)
    for name, content in changed.items():
        path = table / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
    try:
        yield
    finally:
        for name in changed:
            (table / name).write_bytes(whole[name])


_HIVE = "_hive_table.json"
_LINES = ("text", "csv", "json")


def place(mutation: Mutation | FieldChange, whole: Mapping[str, bytes]) -> str:
    """Of a flipped bit where it lies, as ` in a.*.b value`; nothing in a file of an unknown kind.

    Of an Avro file that is cut behind its header or a block, ` between blocks`. `whole` is the
    table before it; what begins with a brace is taken for JSON.
    """
    if isinstance(mutation, FieldChange):
        return f" in footer {mutation.path}"
    if mutation.operation == "cut" and whole[mutation.file].startswith(b"Obj\x01"):
        return " between blocks" if is_between_blocks(whole[mutation.file], mutation.at) else ""
    if mutation.operation != "flip":
        return ""
    at, content = mutation.at // 8, whole[mutation.file]
    for magic, place_in in _PLACES.items():
        if content.startswith(magic):
            return f" in {place_in(content, at)}"
    if mutation.file.endswith((".properties", ".hoodie_partition_metadata")):
        return f" in {properties_place(content, at)}"
    if _HIVE in whole and mutation.file != _HIVE:
        table = json.loads(whole[_HIVE])
        if content.startswith(b"SEQ"):
            return f" in {sequence_place(content, at, table)}"
        if table["format"] in _LINES:
            return f" in {text_place(content, at, table, mutation.file)}"
    return f" in {json_place(content, at)}" if content.lstrip().startswith(b"{") else ""


_PLACES: Mapping[bytes, Callable[[bytes, int], str]] = {
    b"PAR1": parquet_place,
    b"Obj\x01": avro_place,
    b"#HUDI#": log_place,
    b"ORC": orc_place,
}
