"""What is wrong with the base files of a Hudi table: meta columns, ends of keys, Bloom filters."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc
import pyarrow.parquet as pq

from seambench.contracts.formats import Fault
from seambench.formats.hudi.lint.instants import Instants
from seambench.formats.lint import Finding, Rules, reason
from seambench.formats.lint.parquet import judged

RULES = Rules("hudi", "Hudi", Path(__file__).with_name("rules.toml"))
_TIME, KEY, _PARTITION, _FILE = (
    f"_hoodie_{name}" for name in ("commit_time", "record_key", "partition_path", "file_name")
)
_LEAST, _GREATEST = b"hoodie_min_record_key", b"hoodie_max_record_key"
FILTER = b"org.apache.hudi.bloomfilter"
#: Types whose values are spelled alike by everybody.
_PLAIN = (pa.types.is_string, pa.types.is_integer)
#: A file that Hudi did not write, as commits and the metadata table name it: its own name and the
#: instant that took it up (`ExternalFilePathUtil`).
TAKEN_UP = re.compile(r"(.+)_(\d+)_hudiext")
Wrong = Iterator[tuple[str, str, str]]
"""The end of a rule's name, a column or key of the footer, and what stands there."""


def row_count(file: Path) -> int | None:
    """Rows of a base file, None where its format or bytes are not readable here."""
    try:
        if file.suffix == ".parquet":
            return int(pq.read_metadata(file).num_rows)
        return int(orc.ORCFile(file).nrows) if file.suffix == ".orc" else None
    except (OSError, ValueError):
        return None


def base_faults(
    table: Path, file: Path, conf: Mapping[str, str], instants: Instants
) -> Iterator[Fault]:
    """What is wrong with a base file of a completed instant."""
    place, rows = file.relative_to(table).as_posix(), None
    footer: Mapping[bytes, bytes] = {}
    if file.suffix == ".parquet":
        parquet = judged(file, place)
        yield from parquet.faults
        rows, footer = parquet.rows, parquet.metadata
    elif file.suffix != ".orc":
        says = f"its rows were not looked at: nothing here reads files of {file.suffix}"
        yield RULES.fault(("base.unread", place, says))
        return
    check = partial(_findings, file, rows, footer, conf, instants, place)
    yield from RULES.faults(check, "base.unreadable", place)


def _findings(
    file: Path,
    rows: pa.Table | None,
    footer: Mapping[bytes, bytes],
    conf: Mapping[str, str],
    instants: Instants,
    place: str,
) -> Iterator[Finding]:
    if rows is None and file.suffix == ".parquet":
        yield "base.unreadable", place, "it cannot be read"
        return
    rows = orc.read_table(file) if rows is None else rows
    folder = place.rpartition("/")[0]
    wrong = [*_row_faults(rows, file.name, folder, conf, instants)]
    if KEY in rows.column_names:
        wrong += footer_faults(footer, [one for one in rows[KEY].to_pylist() if one is not None])
    for rule, field, says in wrong:
        yield f"base.{rule}", f"{place} {field}", says


def _row_faults(
    rows: pa.Table, name: str, folder: str, conf: Mapping[str, str], instants: Instants
) -> Wrong:
    """Rule, source, column and sentence of what is wrong with the rows."""
    own = conf.get("hoodie.populate.meta.fields", "true") == "true"
    names = (_TIME, KEY, _PARTITION, _FILE)
    missing = [one for one in names if one not in rows.column_names]
    if missing and own:
        yield "meta-columns", ",".join(missing), "the file lacks a meta column"
    if missing or not own:
        return
    for one in (one for one in names if rows[one].null_count):
        yield "meta-nulls", one, f"{rows[one].null_count} rows have none"
    for rule, column, right in (
        ("partition-path", _PARTITION, lambda said: said == folder),
        ("file-name", _FILE, lambda said: said == name),
        ("commit-time", _TIME, instants.has_completed),
    ):
        for said in pc.unique(rows[column].drop_null()).to_pylist():
            if not right(said):
                says = f"rows have {said!r}, in {name} of {folder!r}"
                yield rule, column, says
    counted = pc.value_counts(rows[KEY])
    doubled = [one["values"].as_py() for one in counted if one["counts"].as_py() > 1]
    if doubled:
        yield "keys-doubled", KEY, f"{len(doubled)} keys are there twice, as {doubled[0]!r}"
    yield from _key_faults(rows, conf)
    yield from _partition_faults(rows, folder, conf)


def _key_faults(rows: pa.Table, conf: Mapping[str, str]) -> Wrong:
    """Record keys against the fields that they are made of, by the plain key generators."""
    names = [one for one in conf.get("hoodie.table.recordkey.fields", "").split(",") if one]
    if not names or not _are_plain(rows, names):
        return
    columns = [rows[one].to_pylist() for one in names]
    for at, key in enumerate(rows[KEY].to_pylist()):
        values = [_spelled(column[at]) for column in columns]
        named = ",".join(f"{n}:{v}" for n, v in zip(names, values, strict=True))
        right = {named, *values} if len(names) == 1 else {named}
        if key not in right:
            says = f"row {at} has the key {key!r}, its fields say {min(right)!r}"
            yield "record-key", KEY, says
            return


def _partition_faults(rows: pa.Table, folder: str, conf: Mapping[str, str]) -> Wrong:
    """Values of partition columns against the folder, where the folder spells them plainly."""
    fields = [one for one in conf.get("hoodie.table.partition.fields", "").split(",") if one]
    kind = (
        f"{conf.get('hoodie.table.keygenerator.type')}{conf.get('hoodie.table.keygenerator.class')}"
    )
    names = [one.partition(":")[0] for one in fields]
    parts = folder.split("/")
    special = re.search("TIMESTAMP|CUSTOM", kind.upper()) or any(":" in one for one in fields)
    # What a file has of columns that are dropped counts for nothing: the folder has the values.
    special = special or conf.get("hoodie.datasource.write.drop.partition.columns") == "true"
    if special or len(parts) != len(names) or not names or not _are_plain(rows, names):
        return
    # Of a column that orders versions the row's value counts, whatever partition keeps the row.
    order = (
        conf.get(f"hoodie.table.{word}", "") for word in ("ordering.fields", "precombine.field")
    )
    orders = set(",".join(order).split(","))
    for name, part in zip(names, parts, strict=True):
        if name in orders:
            continue
        hive = conf.get("hoodie.datasource.write.hive_style_partitioning") == "true"
        text = part.removeprefix(f"{name}=") if hive else part
        if conf.get("hoodie.datasource.write.partitionpath.urlencode") == "true":
            text = unquote(text)
        for value in pc.unique(rows[name]).to_pylist():
            default = ("default", "__HIVE_DEFAULT_PARTITION__")
            if str(value) != text and not (value in (None, "") and text in default):
                says = f"rows have {name} {value!r}, the folder says {text!r}"
                yield "partition-values", name, says


def _are_plain(rows: pa.Table, names: Sequence[str]) -> bool:
    return set(names) <= set(rows.column_names) and all(
        any(is_(rows[one].type) for is_ in _PLAIN) for one in names
    )


def _spelled(value: str | int | None) -> str:
    if value is None:
        return "__null__"
    return "__empty__" if value == "" else str(value)


def footer_faults(footer: Mapping[bytes, bytes], keys: Sequence[str]) -> Wrong:
    """The least and the greatest key, and the Bloom filter, by which writers look keys up."""
    if not keys:
        return
    for name, least in ((_LEAST, True), (_GREATEST, False)):
        said = footer.get(name)
        real = (min if least else max)(one.encode() for one in keys)
        if said is not None and (said > real if least else said < real):
            says = f"it is {said.decode()!r}, and the key {real.decode()!r} is there"
            yield f"{'min' if least else 'max'}-record-key", name.decode(), says
    if (packed := footer.get(FILTER)) is None:
        return
    field = FILTER.decode()
    try:
        filters = list(_filters(base64.b64decode(packed)))
    except (struct.error, ValueError, IndexError) as why:
        yield "bloom-filter", field, f"the filter cannot be read: {reason(why)}"
        return
    lost = [key for key in keys if not any(_holds(one, key.encode()) for one in filters)]
    if lost:
        says = f"it denies {len(lost)} of {len(keys)} keys, as {lost[0]!r}"
        yield "bloom-filter", field, says


# Bloom filters as Hadoop writes them: its MurmurHash of a key again and again, each with the last
# result as seed; a dynamic filter is a row of them.

_Filter = tuple[int, int, bytes]


def _filters(data: bytes) -> Iterator[_Filter]:
    hashes, size = _head(data, 0)
    if 13 + -(-size // 8) == len(data):
        yield hashes, size, data[13:]
        return
    _, _, count = struct.unpack_from(">iii", data, 13)
    at = 25
    for _ in range(count):
        hashes, size = _head(data, at)
        end = at + 13 + -(-size // 8)
        yield hashes, size, data[at + 13 : end]
        at = end
    if at != len(data):
        raise ValueError(f"{count} filters end at {at} of {len(data)} bytes")


def _head(data: bytes, at: int) -> tuple[int, int]:
    version, hashes, kind, size = struct.unpack_from(">iibi", data, at)
    if (version, kind) != (-1, 1):
        raise ValueError(f"its version is {version}, its hash {kind}")
    return hashes, size


def _holds(one: _Filter, key: bytes) -> bool:
    hashes, size, bits = one
    seed = 0
    for _ in range(hashes):
        seed = _murmur(key, seed)
        signed = seed - (1 << 32) if seed >> 31 else seed
        place = abs(signed) % size
        if not bits[place // 8] >> place % 8 & 1:
            return False
    return True


@cache
def _murmur(data: bytes, seed: int) -> int:
    """Hadoop's MurmurHash, the second of that name, over signed bytes at its end."""
    factor, mask = 0x5BD1E995, 0xFFFFFFFF
    code = (seed ^ len(data)) & mask
    whole = len(data) // 4
    for (word,) in struct.iter_unpack("<I", data[: 4 * whole]):
        word = word * factor & mask
        word = (word ^ word >> 24) * factor & mask
        code = (code * factor & mask) ^ word
    if rest := len(data) - 4 * whole:
        for back in range(rest, 0, -1):
            signed = data[-back] - 256 if data[-back] > 127 else data[-back]
            code ^= (signed << 8 * (back - 1)) & mask
        code = code * factor & mask
    code = (code ^ code >> 13) * factor & mask
    return code ^ code >> 15
