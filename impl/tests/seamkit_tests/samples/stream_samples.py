"""Random batches of nested and encoded columns, made from a seed."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

PRESTO_FLAT = (
    "boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "varchar",
    "varbinary", "date", "time", "timestamp", "timestamp with time zone", "decimal(10,2)",
    "decimal(38,4)", "uuid", "ipaddress", "ipprefix", "json", "interval year to month",
    "interval day to second", "unknown",
)  # fmt: skip
SPARK_FLAT = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary",
    "date", "timestamp", "timestamp_ntz", "decimal(10,2)", "decimal(38,4)", "void",
    "interval year to month", "interval day to second",
)  # fmt: skip


def random_type(rng: Random, flat: tuple[str, ...], depth: int) -> str:
    """A type text of at most `depth` levels, in Presto's words or Spark's as `flat` is."""
    presto = "varchar" in flat
    if depth == 1 or rng.random() < 0.4:
        return rng.choice(flat)
    kind = rng.choice(("array", "map", "row"))
    parts = [random_type(rng, flat, depth - 1) for _ in range(rng.randint(1, 3))]
    if kind == "array":
        inner = parts[0]
    elif kind == "map":
        inner = f"{rng.choice(('bigint', 'varchar' if presto else 'string'))},{parts[0]}"
    elif presto:
        inner = ",".join(f"f{i} {part}" for i, part in enumerate(parts))
    else:
        kind = "struct"
        inner = ",".join(f"f{i}:{part}" for i, part in enumerate(parts))
    return f"{kind}({inner})" if presto else f"{kind}<{inner}>"


def random_batch(rng: Random, schema: Any, rows: int, *, encodings: bool = True) -> Any:
    """A batch of a schema's columns, some of them dictionaries or runs, at any level."""
    columns = [random_array(rng, field.type, rows, encodings=encodings) for field in schema]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def random_array(rng: Random, data_type: Any, rows: int, *, encodings: bool = True) -> Any:
    """An array of a type, a third of the time without nulls; with `encodings` in any dress."""
    dress = rng.random() if encodings else 1.0
    if dress < 0.12:
        values = random_array(rng, data_type, rng.randint(1, 5), encodings=encodings)
        picks = [_pick(rng, len(values)) for _ in range(rows)]
        return pa.DictionaryArray.from_arrays(pa.array(picks, pa.int32()), values)
    if dress < 0.2 and rows:
        ends = sorted({*rng.sample(range(1, rows + 1), min(rows, 3)), rows})
        values = random_array(rng, data_type, len(ends), encodings=encodings)
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), values)
    if dress < 0.3:  # a slice that begins anywhere
        return random_array(rng, data_type, rows + 3, encodings=False).slice(3)
    chance = rng.choice((0.0, 0.2, 0.9))
    mask = np.array([rng.random() < chance for _ in range(rows)], bool)
    return _plain(rng, data_type, mask, encodings)


def _pick(rng: Random, count: int) -> int | None:
    return None if rng.random() < 0.1 else rng.randrange(count)


def _plain(rng: Random, data_type: Any, mask: Any, encodings: bool) -> Any:
    """An array of a type itself, null where the mask says so."""
    rows = len(mask)
    if isinstance(data_type, pa.BaseExtensionType):
        storage = _plain(rng, data_type.storage_type, mask, encodings=False)
        return pa.ExtensionArray.from_storage(data_type, storage)
    if pa.types.is_struct(data_type):
        children = [random_array(rng, f.type, rows, encodings=encodings) for f in data_type]
        fields = [f.with_type(c.type) for f, c in zip(data_type, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=pa.array(mask))
    if pa.types.is_list(data_type) or pa.types.is_map(data_type):
        return _lists(rng, data_type, mask, encodings)
    values = [None if null else _value(rng, data_type) for null in mask]
    if pa.types.is_floating(data_type) or pa.types.is_boolean(data_type):
        return pa.array(values, data_type)
    if pa.types.is_decimal(data_type):
        return _decimals(values, data_type)
    if _is_number(data_type):  # dates and times as the whole numbers they are
        whole = pa.array(values, pa.int32() if data_type.bit_width == 32 else pa.int64())
        return (
            pa.array(values, data_type) if pa.types.is_integer(data_type) else whole.view(data_type)
        )
    return pa.array(values, data_type)


def _is_number(data_type: Any) -> bool:
    temporal = pa.types.is_temporal(data_type)
    return bool(pa.types.is_integer(data_type) or temporal)


def _decimals(values: list[Any], data_type: Any) -> Any:
    """Unscaled numbers, as the format holds them."""
    words = b"".join((value or 0).to_bytes(16, "little", signed=True) for value in values)
    valid = pa.array([value is not None for value in values], pa.bool_())
    return pa.Array.from_buffers(data_type, len(values), [valid.buffers()[1], pa.py_buffer(words)])


def _value(rng: Random, data_type: Any) -> Any:
    """A value that no type of its kind refuses."""
    if pa.types.is_null(data_type):
        return None
    if pa.types.is_boolean(data_type):
        return rng.random() < 0.5
    if pa.types.is_floating(data_type):
        return rng.choice((0.0, -0.0, 1.5, -(2.0**70), float("inf")))
    if pa.types.is_decimal(data_type):
        most = 10**data_type.precision - 1
        return rng.choice((0, 1, -1, most, -most, rng.randint(-most, most)))
    if pa.types.is_time(data_type):
        return rng.randrange(86_400_000)
    if pa.types.is_temporal(data_type):
        return rng.randint(-(2**30), 2**30)
    if pa.types.is_integer(data_type):
        half = 1 << (data_type.bit_width - 1)
        return rng.choice((0, -1, -half, half - 1, rng.randint(-half, half - 1)))
    if pa.types.is_fixed_size_binary(data_type):
        return rng.randbytes(data_type.byte_width)
    if pa.types.is_string(data_type):
        return "".join(rng.choices("abc é€\U0001f600", k=rng.choice((0, 1, 3, 17, 40))))
    return rng.randbytes(rng.choice((0, 1, 5, 16, 33)))


def _lists(rng: Random, data_type: Any, mask: Any, encodings: bool) -> Any:
    """Lists and maps; now and then a null one owns elements, which Arrow allows."""
    lengths = [rng.choice((0, 1, 2, 5)) if not null or rng.random() < 0.3 else 0 for null in mask]
    if lengths and rng.random() < 0.1:
        lengths[0] = 700  # more than a piece holds
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    count = sum(lengths)
    nulls = pa.array(mask)
    if pa.types.is_list(data_type):
        values = random_array(rng, data_type.value_type, count, encodings=encodings)
        return pa.ListArray.from_arrays(offsets, values, mask=nulls)
    keys = _plain(rng, data_type.key_type, np.zeros(count, bool), encodings=False)
    items = random_array(rng, data_type.item_type, count, encodings=encodings)
    return pa.MapArray.from_arrays(offsets, keys, items, mask=nulls)
