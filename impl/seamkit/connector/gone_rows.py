"""Which rows of a file deletes take out, by plain sets: of positions, and of keys.

A second reading of deletion vectors (Delta, Iceberg, Paimon), position deletes and equality deletes
(Iceberg), from their specifications. Which deletes may apply to a file comes from the plan. Whoever
planned checks a vector's frame and sums when it is loaded, so it is loaded here, too; its positions
are taken from its bytes once more.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.connector.plain_values import alike
from seamkit.connector.planned import Row, reader_rows, stated, word
from seamkit.files.storage import Storage, read_part
from seamkit.scan.units import KeyMask, Mask, ReadContext, UnitFile
from seamkit.tables.iceberg.data_files import FileRows
from seamkit.tables.iceberg.metadata.schema import Field, keys_alone
from seamkit.tables.paimon.data_files import located

_KIND = "_VALUE_KIND"


def gone_positions(mask: Mask | None, rows: int) -> Set[int]:
    """The rows of a file of so many that a mask takes out."""
    if mask is None:
        return frozenset()
    mask.load()
    given = stated(mask.load)
    match word(mask.load):
        case "read_vector":
            return frozenset(_vector(given))
        case "deleted_rows":
            return frozenset(_named(given["deletes"], given["path"], given["num_rows"]))
        case "retracts_of":
            return frozenset(_retracts(given["opened"]))
        case "all_but":  # what one state of a Delta file masks, and the other leaves
            now, before = (_of_file(given["files"], given[state]) for state in ("masked", "left"))
            return frozenset(range(rows)) - (now - before)
        case "all_but_new":
            now, before = (gone_positions(given[state], rows) for state in ("now", "old"))
            return frozenset(range(rows)) - (now - before)
    raise RefusedError(f"the connector knows no deletes by {word(mask.load)}")


def _of_file(files: Any, add: Any) -> Set[int]:
    if add.vector is None:
        return frozenset()
    return frozenset(_vector({"files": files, "vector": add.vector}))


def _retracts(opened: Callable[[], Any]) -> Iterator[int]:
    """Rows of a Paimon file that take others back: updates' old rows, and deletes."""
    rows = reader_rows(opened(), pa.schema([(_KIND, pa.int8())]))
    return (at for at, row in enumerate(rows) if row[_KIND] in (1, 3))


def _named(deletes: Sequence[Any], path: str, rows: int) -> Iterator[int]:
    """Positions that Iceberg's position delete files name of a data file; more than it has none."""
    columns = {
        "file_path": [Field(2147483546, "file_path", pa.string(), required=True)],
        "pos": [Field(2147483545, "pos", pa.int64(), required=True)],
    }
    schema = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])
    for one in deletes:
        for row in reader_rows(one.opener.open(one.entry, columns, FileRows()), schema):
            if row["file_path"] == path and row["pos"] < rows:
                yield row["pos"]


def key_test(file: UnitFile, mask: KeyMask, context: ReadContext) -> Callable[[Row], bool]:
    """Whether a row of an Iceberg file is deleted by key; its columns of keys are given."""
    sequence: int = stated(file.open)["self"].entry.sequence_number
    tests = [_key_test(schema.names, test, sequence) for schema, test in mask.keys]
    for _, test in mask.keys:
        test(context)  # it checks what it reads
    return lambda row: any(test(row) for test in tests)


def _key_test(names: Sequence[str], test: Any, sequence: int) -> Callable[[Row], bool]:
    given = stated(test)
    if word(test) == "load_inverted":  # rows of which none of some tests is true
        inner = [_key_test(schema.names, one, sequence) for schema, one in given["tests"]]
        return lambda row: not any(one(row) for one in inner)
    if word(test) != "test":
        raise RefusedError(f"the connector knows no deletes by {word(test)}")
    keys = frozenset(_deleted_keys(given["self"], sequence))
    return lambda row: _key(row, names) in keys


def _deleted_keys(deleted: Any, sequence: int) -> Iterator[tuple[Any, ...]]:
    """The keys in files of a later sequence number than a data file's; equal ones do not count."""
    own = keys_alone(deleted.columns)
    for entry in deleted.entries:
        if sequence < entry.sequence_number:
            for row in reader_rows(deleted.opener.open(entry, own, FileRows()), deleted.schema):
                yield _key(row, deleted.schema.names)


def _key(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    """Null equals null, NaN itself, and zero has two signs."""
    return tuple(alike(row[name]) for name in names)


def _vector(given: Mapping[str, Any]) -> Iterator[int]:
    """The positions of a deletion vector, wherever its format keeps it."""
    vector = given["vector"]
    if "storage" in given:  # Paimon: a range of an index file
        storage, path = located(
            given["storage"], vector.folder, vector.index_file, vector.external_path
        )
        return _positions(_framed(storage, path, vector.offset))
    if not hasattr(vector, "storage_type"):  # Iceberg: a blob of a Puffin file
        storage, path = given["files"].locate(vector.path)
        return _positions(_framed(storage, path, vector.offset))
    if vector.storage_type == "i":
        return _positions(_z85(vector.location)[: vector.size_bytes])
    path = vector.location
    if vector.storage_type == "u":
        prefix, name = path[:-20], uuid.UUID(bytes=_z85(path[-20:]))
        path = f"{prefix}{'/' if prefix else ''}deletion_vector_{name}.bin"
    storage, path = given["files"].locate(path)
    return _positions(_framed(storage, path, 1 if vector.offset is None else vector.offset))


def _framed(storage: Storage, path: str, at: int) -> bytes:
    """A vector in a file: behind its size, before its checksum."""
    with storage.open(path) as file:
        size: int = struct.unpack(">i", read_part(file, at, 4))[0]
        return read_part(file, at + 4, size)


def _z85(text: str) -> bytes:
    """Five characters stand for four bytes; a last group with `#` in front for fewer."""
    signs = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    found = b""
    for at in range(0, len(text), 5):
        group = text[at : at + 5]
        digits = group.lstrip("#") if at + 5 == len(text) else group
        number = 0
        for sign in digits:
            number = 85 * number + signs.index(sign)
        found += number.to_bytes(len(digits) - 1, "big")
    return found


def _positions(body: bytes) -> Iterator[int]:
    """Positions of a vector: a magic number, and a bitmap of 32 bits or of 64."""
    if body[:4] == struct.pack(">i", 1581511376):
        yield from _bitmap(body, 4)[0]
        return
    (count,), at = struct.unpack_from("<q", body, 4), 12
    for _ in range(count):
        (high,) = struct.unpack_from("<I", body, at)
        low, at = _bitmap(body, at + 4)
        yield from (high << 32 | one for one in low)


def _bitmap(body: bytes, at: int) -> tuple[list[int], int]:
    """The numbers of a roaring bitmap of 32 bits in its portable form, and where it ends."""
    (cookie,) = struct.unpack_from("<I", body, at)
    at += 4
    runs = b""
    if cookie & 0xFFFF == 12347:
        size = (cookie >> 16) + 1
        runs = body[at : at + (size + 7) // 8]
        at += len(runs)
    elif cookie == 12346:
        (size,) = struct.unpack_from("<I", body, at)
        at += 4
    else:
        raise InputError(f"a deletion vector's bitmap begins with {cookie:#x}")
    heads = [struct.unpack_from("<HH", body, at + 4 * i) for i in range(size)]
    at += 4 * size
    if not runs or size >= 4:
        at += 4 * size  # where containers begin; they follow each other
    found: list[int] = []
    for i, (high, count) in enumerate(heads):
        if runs and runs[i // 8] >> i % 8 & 1:
            own, at = _runs(body, at)
        elif count < 4096:
            own, at = struct.unpack_from(f"<{count + 1}H", body, at), at + 2 * (count + 1)
        else:
            words = body[at : at + 8192]
            own, at = [n for n in range(1 << 16) if words[n // 8] >> n % 8 & 1], at + 8192
        found += (high << 16 | one for one in own)
    return found, at


def _runs(body: bytes, at: int) -> tuple[Sequence[int], int]:
    (count,) = struct.unpack_from("<H", body, at)
    pairs = struct.iter_unpack("<HH", body[at + 2 : at + 2 + 4 * count])
    return [one for first, more in pairs for one in range(first, first + more + 1)], (
        at + 2 + 4 * count
    )
