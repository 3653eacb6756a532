"""Random types of either engine, nested up to four levels, and columns of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.types import Language, SerdeType, parse_type
from seamkit_tests.samples import presto_samples, spark_samples

_SAMPLES: Mapping[Language, ModuleType] = {"presto": presto_samples, "spark": spark_samples}
_ROWS = (0, 1, 2, 7, 8, 9, 64, 65)
_NULLS = (0.0, 0.0, 0.2, 0.5, 1.0)


def _flat(language: Language) -> list[str]:
    texts = _SAMPLES[language].SAMPLES
    return sorted(text for text in texts if not parse_type(text, language).children)


def random_types(draw: random.Random, language: Language) -> list[str]:
    """Types of one to four columns."""
    return [_type(draw, language, draw.randint(0, 4)) for _ in range(draw.randint(1, 4))]


def _type(draw: random.Random, language: Language, depth: int) -> str:
    flat = _flat(language)
    if depth == 0 or draw.random() < 0.4:
        return draw.choice(flat)
    opening, closing, between = ("(", ")", " ") if language == "presto" else ("<", ">", ":")
    kind = draw.choice(["array", "map", "row" if language == "presto" else "struct"])
    if kind == "array":
        inner = _type(draw, language, depth - 1)
    elif kind == "map":
        keys = [text for text in flat if text not in ("unknown", "void", "interval")]
        inner = f"{draw.choice(keys)},{_type(draw, language, depth - 1)}"
    else:
        fields = range(draw.randint(1, 3))
        inner = ",".join(f"f{i}{between}{_type(draw, language, depth - 1)}" for i in fields)
    return f"{kind}{opening}{inner}{closing}"


def random_batch(draw: random.Random, language: Language, types: list[str]) -> pa.RecordBatch:
    """Columns c0, c1, ... of the types; some are slices of longer ones."""
    rows, share = draw.choice(_ROWS), draw.choice(_NULLS)
    arrays = [_column(draw, parse_type(text, language), rows, share) for text in types]
    batch = pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])
    return batch.slice(1, rows - 2) if rows > 2 and draw.random() < 0.3 else batch


def _column(draw: random.Random, type_: SerdeType, rows: int, share: float) -> pa.Array:
    """A column in which each row is null with a probability of `share`."""
    nulls = np.array([draw.random() < share for _ in range(rows)], np.bool_)
    if type_.kind in ("array", "map"):
        return _spans(draw, type_, nulls, share)
    if type_.children:
        fields = [_column(draw, child, rows, share) for child in type_.children]
        named = [pa.field(name, one.type) for name, one in zip(type_.names, fields, strict=True)]
        return pa.Array.from_buffers(pa.struct(named), rows, [_bitmap(nulls)], children=fields)
    pool = _pool(type_)
    if len(pool) == 0:
        return pa.nulls(rows)
    places = np.array([draw.randrange(len(pool)) for _ in range(rows)], np.int32)
    return pool.take(pa.array(places, mask=nulls))


def _pool(type_: SerdeType) -> Any:
    """Values of a flat type."""
    module = _SAMPLES[type_.language]
    texts = {parse_type(text, type_.language).text: text for text in module.SAMPLES}
    return module.sample(texts[type_.text], False)


def _spans(
    draw: random.Random, type_: SerdeType, nulls: np.ndarray[Any, Any], share: float
) -> pa.Array:
    """Lists or maps; null rows span nothing, keys are never null."""
    lengths = [0 if null else draw.choice([0, 0, 1, 2, 3]) for null in nulls]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    total, key = int(offsets[-1]), type_.kind == "map"
    children = [
        _column(draw, child, total, 0.0 if key and index == 0 else share)
        for index, child in enumerate(type_.children)
    ]
    buffers = [_bitmap(nulls), pa.py_buffer(offsets)]
    if not key:
        target = pa.list_(children[0].type)
        return pa.Array.from_buffers(target, len(nulls), buffers, children=children)
    target = pa.map_(children[0].type, children[1].type)
    pair = pa.struct([target.key_field, target.item_field])
    entries = pa.Array.from_buffers(pair, total, [None], children=children)
    return pa.Array.from_buffers(target, len(nulls), buffers, children=[entries])


def _bitmap(nulls: np.ndarray[Any, Any]) -> pa.Buffer | None:
    return pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
