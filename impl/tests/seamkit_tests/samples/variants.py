"""Variants in plain values, encoded, decoded and cut into pieces as Parquet's specification says.

A value is None, a truth, a dict (an object), a list (an array) or a `Leaf`: nothing here is the
library's, so that one can be held against the other.
"""

import decimal
import itertools
import random
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa


class Leaf(NamedTuple):
    """A primitive: its kind, a key of `KINDS`, and what it is."""

    kind: str
    value: Any


#: By kind: number of the type, how `struct` spells the value, and the Arrow type of its column.
KINDS: Mapping[str, tuple[int, str, pa.DataType]] = {
    "int8": (3, "<b", pa.int8()),
    "int16": (4, "<h", pa.int16()),
    "int32": (5, "<i", pa.int32()),
    "int64": (6, "<q", pa.int64()),
    "double": (7, "<d", pa.float64()),
    "decimal4": (8, "<i", pa.decimal128(7, 2)),
    "decimal8": (9, "<q", pa.decimal128(18, 2)),
    "decimal16": (10, "", pa.decimal128(38, 2)),
    "date": (11, "<i", pa.date32()),
    "timestamptz": (12, "<q", pa.timestamp("us", "UTC")),
    "timestampntz": (13, "<q", pa.timestamp("us")),
    "float": (14, "<f", pa.float32()),
    "binary": (15, "", pa.binary()),
    "string": (16, "", pa.string()),
    "time": (17, "<q", pa.time64("us")),
    "timestamptz9": (18, "<q", pa.timestamp("ns", "UTC")),
    "timestampntz9": (19, "<q", pa.timestamp("ns")),
    "uuid": (20, "", pa.binary(16)),
}
MISSING = object()
_SCALE = 2
_DIGITS = decimal.Context(prec=50)


def _metadata_names(metadata: bytes) -> list[str]:
    width = (metadata[0] >> 6) + 1
    assert metadata[0] & 15 == 1
    numbers = [
        int.from_bytes(metadata[at : at + width], "little")
        for at in range(1, 1 + width * (metadata[1] + 2), width)
    ]
    begin = 1 + width * (numbers[0] + 2)
    return [metadata[begin + a : begin + b].decode() for a, b in itertools.pairwise(numbers[1:])]


def decoded(metadata: bytes, value: bytes) -> Any:
    """The plain value of a variant; every byte of it counts."""
    found, size = _decoded(_metadata_names(metadata), value)
    assert size == len(value)
    return found


def _decoded(names: Sequence[str], data: bytes) -> tuple[Any, int]:
    kind, header = data[0] & 3, data[0] >> 2
    if kind == 1:
        return Leaf("string", data[1 : 1 + header].decode()), 1 + header
    if kind == 0:
        return _primitive(header, data)
    is_object = kind == 2
    counted = 4 if header >> (4 if is_object else 2) & 1 else 1
    count = int.from_bytes(data[1 : 1 + counted], "little")
    at, ids = 1 + counted, []
    if is_object:
        width = (header >> 2 & 3) + 1
        for _ in range(count):
            ids.append(int.from_bytes(data[at : at + width], "little"))
            at += width
    width, offsets = (header & 3) + 1, []
    for _ in range(count + 1):
        offsets.append(int.from_bytes(data[at : at + width], "little"))
        at += width
    parts = [_decoded(names, data[at + offset :])[0] for offset in offsets[:-1]]
    if not is_object:
        return parts, at + offsets[-1]
    own = [names[number] for number in ids]
    assert [name.encode() for name in own] == sorted({name.encode() for name in own})
    return dict(zip(own, parts, strict=True)), at + offsets[-1]


def _primitive(number: int, data: bytes) -> tuple[Any, int]:
    if number < 3:
        return (None, True, False)[number], 1
    kind = next(name for name, (own, _, _) in KINDS.items() if own == number)
    _, spelling, _ = KINDS[kind]
    if kind in ("binary", "string"):
        (size,) = struct.unpack("<I", data[1:5])
        raw = data[5 : 5 + size]
        return Leaf(kind, raw if kind == "binary" else raw.decode()), 5 + size
    if kind == "uuid":
        return Leaf(kind, data[1:17]), 17
    if kind.startswith("decimal"):
        size = struct.calcsize(spelling) if spelling else 16
        unscaled = int.from_bytes(data[2 : 2 + size], "little", signed=True)
        return Leaf(kind, decimal.Decimal(unscaled).scaleb(-data[1], _DIGITS)), 2 + size
    size = struct.calcsize(spelling)
    return Leaf(kind, struct.unpack(spelling, data[1 : 1 + size])[0]), 1 + size


def metadata_of(names: Sequence[str], width: int = 1) -> bytes:
    """Metadata with these names in this order."""
    words = [name.encode() for name in names]
    offsets = [sum(map(len, words[:n])) for n in range(len(words) + 1)]
    numbers = [len(words), *offsets]
    listed = b"".join(number.to_bytes(width, "little") for number in numbers)
    return bytes([(width - 1) << 6 | 1]) + listed + b"".join(words)


def encoded(value: Any, names: Sequence[str], width: int = 1) -> bytes:
    """A value under these names; with numbers wider than they need be, as writers may."""
    if value is None or isinstance(value, bool):
        return bytes([{None: 0, True: 1, False: 2}[value] << 2])
    if isinstance(value, Leaf):
        return _encoded_leaf(value)
    is_object = isinstance(value, dict)
    # Values lie in the order of the names in the metadata, offsets in that of the names' bytes.
    order = sorted(value, key=names.index) if is_object else range(len(value))
    parts = {key: encoded(value[key], names, width) for key in order}
    starts, at = {}, 0
    for key, part in parts.items():
        starts[key], at = at, at + len(part)
    width = max(width, 1 if at < 256 else 3)
    listed = sorted(value, key=str.encode) if is_object else order
    offsets = b"".join(o.to_bytes(width, "little") for o in [*(starts[k] for k in listed), at])
    large = len(parts) > 255 or width > 1
    count = len(parts).to_bytes(4 if large else 1, "little")
    ids = b"".join(names.index(k).to_bytes(width, "little") for k in listed) if is_object else b""
    header = (large << 4 | (width - 1) << 2 | width - 1) if is_object else large << 2 | width - 1
    kind = 2 if is_object else 3
    return bytes([header << 2 | kind]) + count + ids + offsets + b"".join(parts.values())


def _encoded_leaf(leaf: Leaf) -> bytes:
    number, spelling, _ = KINDS[leaf.kind]
    first = bytes([number << 2])
    if leaf.kind == "string":
        raw = str(leaf.value).encode()
        if len(raw) < 64 and len(raw) % 2:  # the short form need not be taken
            return bytes([len(raw) << 2 | 1]) + raw
        return first + struct.pack("<I", len(raw)) + raw
    if leaf.kind == "binary":
        return first + struct.pack("<I", len(leaf.value)) + bytes(leaf.value)
    if leaf.kind == "uuid":
        return first + bytes(leaf.value)
    if leaf.kind.startswith("decimal"):
        size = struct.calcsize(spelling) if spelling else 16
        unscaled = int(leaf.value.scaleb(_SCALE, _DIGITS))
        return first + bytes([_SCALE]) + unscaled.to_bytes(size, "little", signed=True)
    return first + struct.pack(spelling, leaf.value)


def pieces_type(shape: Any) -> pa.DataType:
    """The columns of a shredded group: a kind, a list of a shape, a dict of shapes, or None."""
    value = pa.field("value", pa.binary())
    if shape is None:
        return pa.struct([value])
    if isinstance(shape, str):
        typed = pa.bool_() if shape == "boolean" else KINDS[shape][2]
    elif isinstance(shape, list):
        typed = pa.list_(pa.field("element", pieces_type(shape[0]), nullable=False))
    else:
        typed = pa.struct([pa.field(k, pieces_type(s), nullable=False) for k, s in shape.items()])
    return pa.struct([value, pa.field("typed_value", typed)])


def pieces(value: Any, shape: Any, names: Sequence[str], width: int = 1) -> dict[str, Any]:
    """A value, or `MISSING`, cut into the pieces of a shape."""
    rest = {"value": None if value is MISSING else encoded(value, names, width)}
    if shape is None:
        return rest
    whole = {"value": None, "typed_value": None}
    if isinstance(shape, str):
        if isinstance(value, bool) and shape == "boolean":
            return whole | {"typed_value": value}
        if isinstance(value, Leaf) and value.kind == shape:
            return whole | {"typed_value": value.value}
    elif isinstance(shape, list) and isinstance(value, list):
        return whole | {"typed_value": [pieces(one, shape[0], names, width) for one in value]}
    elif isinstance(shape, dict) and isinstance(value, dict):
        typed = {k: pieces(value.get(k, MISSING), s, names, width) for k, s in shape.items()}
        others = {k: one for k, one in value.items() if k not in shape}
        left = encoded(others, names, width) if others else None
        return {"value": left, "typed_value": typed}
    return whole | rest


_NAMES = ("a", "b", "zz", "", "ä", "\U0001f600", "￿", "A")


def random_life(chance: random.Random, rows: int) -> tuple[Any, list[Any], list[str]]:
    """A shape, values that partly fit it (`MISSING` for no variant at all), and their names."""
    shape = _shape(chance, 3)
    values = [MISSING if chance.random() < 0.1 else _value(chance, shape, 3) for _ in range(rows)]
    names = list(_NAMES)
    chance.shuffle(names)
    return shape, values, names


def _shape(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if depth and kind < 0.4:
        names = chance.sample(_NAMES, chance.randint(1, 4))
        return {name: None if kind < 0.05 else _shape(chance, depth - 1) for name in names}
    if depth and kind < 0.6:
        return [_shape(chance, depth - 1)]
    return chance.choice([*KINDS, "boolean"])


def _value(chance: random.Random, shape: Any, depth: int) -> Any:
    if chance.random() < 0.2 or shape is None:
        shape = _shape(chance, depth)
    if chance.random() < 0.1:
        return None
    if isinstance(shape, dict):
        own = {k: _value(chance, s, depth - 1) for k, s in shape.items() if chance.random() < 0.7}
        more = [name for name in _NAMES if name not in shape and chance.random() < 0.15]
        return own | {name: _value(chance, "int8", 0) for name in more}
    if isinstance(shape, list):
        most = 300 if chance.random() < 0.02 else 4
        return [_value(chance, shape[0], depth - 1) for _ in range(chance.randint(0, most))]
    return chance.random() < 0.5 if shape == "boolean" else _leaf(chance, shape)


def _leaf(chance: random.Random, kind: str) -> Leaf:
    _, spelling, _ = KINDS[kind]
    if kind == "string":
        return Leaf(
            kind, "é" * chance.choice([0, 1, 31, 32, 63, 64, 200]) + "x" * chance.choice([0, 1])
        )
    if kind == "binary":
        return Leaf(kind, chance.randbytes(chance.choice([0, 1, 70])))
    if kind == "uuid":
        return Leaf(kind, chance.randbytes(16))
    if kind.startswith("decimal"):
        digits = {"decimal4": 7, "decimal8": 18, "decimal16": 38}[kind]
        unscaled = chance.choice([0, 1, -1, 10**digits - 1, 1 - 10**digits])
        return Leaf(kind, decimal.Decimal(unscaled).scaleb(-_SCALE, _DIGITS))
    if kind in ("double", "float"):
        return Leaf(kind, chance.choice([0.0, -0.0, 1.5, float("inf"), float("nan"), -(2.0**100)]))
    if kind == "time":
        return Leaf(kind, chance.choice([0, 86_399_999_999]))
    half = 1 << (8 * struct.calcsize(spelling) - 1)
    return Leaf(kind, chance.choice([0, 1, -1, half - 1, -half]))
