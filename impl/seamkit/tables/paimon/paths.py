"""Where the files of a table lie: folders of partitions and buckets, and paths outside of both.

Folders are named after values as Paimon's writers spell them (PartitionPathUtils of paimon-core).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa

from seambase.errors import InputError
from seamkit.files.storage import Storage

_ESCAPED = re.compile(r"[\x01-\x1f\"#%'*/:=?\\\x7f{\[\]^]")
_EPOCH = dt.datetime(1970, 1, 1)
_PLAIN = (1e-3, 1e7)  # Java writes floats without an exponent between these


def bucket_folder(
    partition: Mapping[str, pa.Scalar], bucket: int, options: Mapping[str, str]
) -> str:
    """The folder of a bucket below the table.

    Args:
        partition: values by column, in the order of the partition keys.
        bucket: number of the bucket; -2 for rows that wait for theirs.
        options: of the table.
    """
    default = options.get("partition.default-name", "__DEFAULT_PARTITION__")
    legacy = options.get("partition.legacy-name", "true").lower() == "true"
    parts = []
    if folder := options.get("data-file.path-directory"):
        parts.append(folder)
    for name, value in partition.items():
        text = _text(value, legacy) if value.is_valid else ""
        parts.append(f"{_escape(name)}={_escape(text) if text.strip() else _escape(default)}")
    parts.append("bucket-postpone" if bucket == -2 else f"bucket-{max(bucket, 0)}")
    return "/".join(parts)


def located(storage: Storage, folder: str, name: str, external: str | None) -> tuple[Storage, str]:
    """A file's storage, and its path there.

    Args:
        storage: the table's.
        folder: where the file lies unless it has a path of its own.
        name: of the file.
        external: its whole path outside of the table's folder, or None.
    """
    if external is None:
        if "/" in name or name in ("", ".", ".."):
            raise InputError(f"{storage.root}: {name!r} is no name of a file")
        return storage, f"{folder}/{name}"
    outside, _, own = external.rpartition("/")
    return storage.elsewhere(outside), own


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _text(value: pa.Scalar, legacy: bool) -> str:
    """A value as a folder's name has it: as Java prints it, or as it is cast to a text."""
    kind = value.type
    if pa.types.is_boolean(kind):
        return str(value.as_py()).lower()
    if pa.types.is_date32(kind):
        return str(value.cast(pa.int32()).as_py()) if legacy else value.as_py().isoformat()
    if pa.types.is_timestamp(kind):
        return _timestamp(value, legacy)
    if pa.types.is_floating(kind):
        return _float(value)
    if pa.types.is_time32(kind) and legacy:
        return str(value.cast(pa.int32()).as_py())
    if pa.types.is_decimal(kind):
        return f"{value.as_py():f}"
    return str(value.as_py())


def _timestamp(value: pa.Scalar, legacy: bool) -> str:
    micros = value.cast(pa.timestamp("us", value.type.tz)).cast(pa.int64()).as_py()
    moment = _EPOCH + dt.timedelta(microseconds=micros)
    clock = moment.strftime("%H:%M:%S")
    if not legacy:  # as many digits as the type has
        digits = {"ms": 3, "us": 6, "ns": 9}[value.type.unit]
        fraction = f"{moment.microsecond:06d}".ljust(digits, "0")[:digits]
        return f"{moment.date().isoformat()} {clock}.{fraction}"
    fraction = f".{moment.microsecond:06d}" if moment.microsecond else ""
    fraction = fraction.removesuffix("000")
    if not fraction and not moment.second:
        clock = clock[:5]
    return f"{moment.date().isoformat()}T{clock}{fraction}"


def _float(value: pa.Scalar) -> str:
    """As Java's `toString` of floats and doubles."""
    number = value.as_py()
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    shortest = np.float32(number) if value.type == pa.float32() else np.float64(number)
    digits = Decimal(np.format_float_scientific(shortest, trim="-"))
    if number == 0 or _PLAIN[0] <= abs(number) < _PLAIN[1]:
        text = f"{digits:f}"
        text = text if "." in text else f"{text}.0"
        return f"-{text}" if number == 0 and np.signbit(shortest) and text[0] != "-" else text
    mantissa, _, exponent = f"{digits.normalize():E}".partition("E")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}E{int(exponent)}"
