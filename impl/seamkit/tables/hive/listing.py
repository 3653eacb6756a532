"""The files of a table, and the values that the names of their folders give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from seambase.errors import InputError, RefusedError, SeambenchError
from seambase.scan import ScanWarning
from seamkit.files.storage import FileStatus, Storage
from seamkit.tables.hive.line_reader import parsed_value
from seamkit.tables.hive.types import HiveType, parse_type
from seamkit.tables.partition_folder import PartitionFolder

_NULL = "__HIVE_DEFAULT_PARTITION__"
#: As what else a folder's name may be read: a day may have a time behind it, or a time none.
_OTHER = {"date": parse_type("timestamp", ""), "timestamp": parse_type("date", "")}
_ESCAPED = re.compile(r"%([0-9a-fA-F]{2})")
_OF_TRANSACTIONS = re.compile(r"(base|delta|delete_delta)_\d+(_\d+)*")
#: What each branch of a `UNION ALL` wrote, where Hive runs on Tez, which reads all of them.
_OF_UNION = re.compile(r"HIVE_UNION_SUBDIR_\d+")


Folders = Callable[[], Sequence[PartitionFolder]]
"""Gives the partitions of a table."""

Values = Mapping[str, pa.Scalar]
"""Of partition columns, some or all of them."""

Wanted = Callable[[Sequence[Values]], Sequence[bool]]
"""Which folders are to be listed, by the values that all rows below each have."""


@dataclass(frozen=True)
class Listed:
    """A data file."""

    path: str  # below the storage's folder
    size_bytes: int
    partition: Values  # values of the partition columns
    # another one than the table's, where it lies outside of the table's folder
    storage: Storage | None = None
    # the partition that it belongs to, where a catalog named it
    folder: PartitionFolder | None = None


def list_files(
    storage: Storage,
    partitions: Mapping[str, HiveType],
    wanted: Wanted,
    warnings: list[ScanWarning],
) -> list[Listed]:
    """The data files of a table, by path.

    Folders that are not wanted are not looked into. Names that begin with `_` or `.` are passed
    over, as Hive does, but those of a partition column that is called so. So is what lies beside
    folders of partitions and is none, which is warned of. Partition columns come the outermost
    first.
    """
    return list(_walk(storage, "", list(partitions.items()), {}, wanted, warnings))


def list_folders(
    storage: Storage,
    partitions: Mapping[str, HiveType],
    folders: Sequence[PartitionFolder],
    wanted: Wanted,
) -> list[Listed]:
    """The data files of partitions that are known and may lie anywhere, by partition and path.

    Folders that are not wanted are not listed.
    """
    values = [_values_of(one, partitions, storage.root) for one in folders]
    found: list[Listed] = []
    for one, own, is_wanted in zip(folders, values, wanted(values), strict=True):
        if not is_wanted:
            continue
        place = one.location.rstrip("/")
        below = place.removeprefix(f"{storage.root}/")
        other = storage.elsewhere(place) if below == place else None
        files = _walk(other or storage, "" if other else below, [], own, wanted, [])
        found += [replace(file, storage=other, folder=one) for file in files]
    return found


def _values_of(one: PartitionFolder, partitions: Mapping[str, HiveType], root: str) -> Values:
    """The values of a partition that a catalog names."""
    place = one.location.rstrip("/")
    if not place or len(one.texts) != len(partitions):
        raise InputError(
            f"{root}: the partition {'/'.join(one.texts)} has no folder, or too few values"
        )
    return {
        name: _value(text, kind, f"{place}: column {name!r}")
        for text, (name, kind) in zip(one.texts, partitions.items(), strict=True)
    }


def _walk(
    storage: Storage,
    folder: str,
    below: Sequence[tuple[str, HiveType]],
    values: Values,
    wanted: Wanted,
    warnings: list[ScanWarning],
) -> Iterator[Listed]:
    entries = storage.list(folder)
    if not below:
        for one in (one for one in entries if not _is_hidden(one.name)):
            if one.size_bytes is None and _OF_UNION.fullmatch(one.name):
                yield from _walk(storage, one.path, below, values, wanted, warnings)
            else:
                yield _file(storage, one, values)
        return
    column, kind = below[0]
    folders: list[tuple[str, Values]] = []
    for one in entries:
        name, equals, text = one.name.partition("=")
        if one.size_bytes is not None or not equals or unescaped(name).lower() != column:
            if _is_hidden(one.name):
                continue
            where = storage.full(one.path)
            warnings.append(ScanWarning(where, -1, f"it is no folder of the partition {column!r}"))
            continue
        value = _value(unescaped(text), kind, f"{storage.full(one.path)}: column {column!r}")
        folders.append((one.path, {**values, column: value}))
    for (path, own), is_wanted in zip(folders, wanted([own for _, own in folders]), strict=True):
        if is_wanted:
            yield from _walk(storage, path, below[1:], own, wanted, warnings)


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _file(storage: Storage, entry: FileStatus, values: Values) -> Listed:
    if entry.size_bytes is not None:
        return Listed(entry.path, entry.size_bytes, values)
    where = storage.full(entry.path)
    if _OF_TRANSACTIONS.fullmatch(entry.name):
        raise RefusedError(f"{where}: a folder of a transactional table, which is not supported")
    raise RefusedError(f"{where}: a folder where files are expected; those below it are not read")


def unescaped(name: str) -> str:
    """A name of a folder without Hive's escapes, `%` and two hexadecimal digits."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), name)


def _value(text: str, kind: HiveType, where: str) -> pa.Scalar:
    """The value that a folder's name gives, read as Hive reads a text of that type."""
    if text == _NULL:
        return pa.scalar(None, kind.arrow)
    value = parsed_value(text, kind, where)
    if not value.is_valid and kind.word in _OTHER:
        value = parsed_value(text, _OTHER[kind.word], where).cast(kind.arrow)
    if not value.is_valid:
        raise InputError(f"{where}: the partition value {text!r} is no {kind.word}")
    return value


_META = "_hoodie_"


def differences(stated: Mapping[str, str], own: pa.Schema) -> list[str]:
    """Where the types of a metastore are not those of a table's own schema.

    Stated types go by name in lower case, as Hive spells them; Hudi's meta columns need not be in
    the metastore.
    """
    problems = []
    fields = {field.name.lower(): field for field in own}
    for name, text in stated.items():
        if name not in fields:
            problems.append(f"column {name!r}: the metastore has it, the table does not")
        elif not _agrees(text, fields[name].type):
            kind = fields[name].type
            problems.append(f"column {name!r}: the metastore says {text}, the table {kind}")
    more = (name for name in fields if name not in stated and not name.startswith(_META))
    return [*problems, *(f"column {n!r}: the table has it, the metastore does not" for n in more)]


def _agrees(text: str, own: pa.DataType) -> bool:
    """Whether a type of Hive's is the one that a front end makes of a table's."""
    # Units and zones of timestamps have no word in Hive, nor have lengths of binaries.
    try:
        stated = parse_type(text, "").arrow
    except SeambenchError:
        return False
    return bool(_plain(stated).equals(_plain(own)))


def _plain(kind: pa.DataType) -> pa.DataType:
    kinds = pa.types
    if kinds.is_timestamp(kind):
        return pa.timestamp("us")
    if kinds.is_fixed_size_binary(kind) and not kinds.is_decimal(kind):
        return pa.binary()
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return pa.list_(pa.field("item", _plain(kind.value_type)))
    if kinds.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if kinds.is_struct(kind):
        return pa.struct([pa.field(one.name.lower(), _plain(one.type)) for one in kind])
    return kind
