"""What off-heap columns must hold, worked out from the layout's description.

The layout is that of StarRocks' JNI connector (`OffHeapColumnVector`, main tree of June 2025). Per
column: a byte per row that is 1 for NULL; then values of fixed width, or int32 offsets and bytes,
or offsets and children. Bytes under a NULL may be anything (`??`). Values are spelled as the golden
tables spell them; types in the grammar of the type strings. Nothing here is fast, and nothing is
shared with any implementation.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, replace
from decimal import Context, Decimal, Inexact
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.contracts.column import ValueForm

_WIDTHS = {
    "boolean": 1,
    "tinyint": 1,
    "short": 2,
    "smallint": 2,
    "int": 4,
    "float": 4,
    "date": 4,
    "bigint": 8,
    "double": 8,
    "time": 8,
    "timestamp": 8,
    "timestamp-micros": 8,
    "timestamp-millis": 8,
}
#: The words of `struct` by their bytes; wider numbers have none.
_WORDS = {1: "b", 2: "h", 4: "i", 8: "q"}
_EXACT = Context(prec=200, traps=[Inexact])
_NAMES = {"array": ("$0",), "map": ("$0", "$1")}


@dataclass(frozen=True)
class TypeTree:
    """A type. `kind` is the word of its type string; `scale` counts for decimals."""

    kind: str
    width: int = 0
    scale: int = 0
    children: tuple[TypeTree, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def is_run(self) -> bool:
        """Whether values are runs of bytes: texts of dates, timestamps and decimals, too."""
        return not self.width and self.kind not in ("unknown", "variant", "struct", *_NAMES)


_UNKNOWN = TypeTree("unknown")


def parse_type(text: str) -> TypeTree:
    """Read a type string that follows the grammar."""
    if text in _WIDTHS:
        return TypeTree(text, _WIDTHS[text])
    if text == "binary":
        return TypeTree(text)
    if text == "variant":  # laid out as a struct of two binaries
        return TypeTree("variant", 0, 0, (TypeTree("binary"),) * 2, ("metadata", "value"))
    if re.fullmatch(r"string|(var)?char(\(\d+\))?", text):
        return TypeTree("string")
    if match := re.fullmatch(r"decimal\((\d+),(\d+)\)", text):
        width = 8 if int(match[1]) <= 18 else 16
        return TypeTree("decimal", width, int(match[2]))
    match = re.fullmatch(r"(array|map|struct)<(.+)>", text)
    if not match:
        raise UsageError(f"{text!r} does not follow the grammar of type strings")
    parts = _split(match[2])
    names = _NAMES.get(match[1], ())
    if not names:
        names = tuple(part.partition(":")[0] for part in parts)
        parts = [part.partition(":")[2] for part in parts]
    if len(parts) != len(names):
        raise UsageError(f"{text!r} has {counted(len(parts), 'type')} inside, not {len(names)}")
    return TypeTree(match[1], children=tuple(map(parse_type, parts)), names=names)


def _split(text: str) -> list[str]:
    """The pieces between the commas that lie in no brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def expected_slots(
    fields: Sequence[str],
    types: Sequence[str],
    rows: Sequence[Sequence[Any]],
    required: Sequence[str],
    nested: Sequence[str] = (),
    form: ValueForm = "binary",
) -> list[dict[str, Any]]:
    """The words of one chunk's meta chain behind the row count, with what they point at.

    They are as in a golden file: `kind`, `column` and, where there is a buffer, `hex`. Rows are as
    long as `fields`; a required column that these lack is missing; `nested` has dotted paths of the
    parts asked for.
    """
    found: list[dict[str, Any]] = []
    for name, part in requested_parts(fields, types, required, nested, form=form):
        at = list(fields).index(name) if name in fields else 0
        values = [row[at] for row in rows] if name in fields else []
        _encode(part, parse_type(types[at]) if name in fields else part, name, values, found)
    return found


def requested_parts(
    fields: Sequence[str],
    types: Sequence[str],
    required: Sequence[str],
    nested: Sequence[str],
    *,
    form: ValueForm = "binary",
) -> list[tuple[str, TypeTree]]:
    """The columns asked for and the parts of each, of kind `unknown` where there is none."""
    paths = [path.split(".") for path in nested]
    found = []
    for name in required:
        part = _UNKNOWN
        if name in fields:
            below = [path[1:] for path in paths if path[0] == name and len(path) > 1]
            part = _prune(parse_type(types[list(fields).index(name)]), below)
            part = _in_text(part) if form == "text" else part
        found.append((name, part))
    return found


def _in_text(tree: TypeTree) -> TypeTree:
    """The type in the text form, where these kinds have no width."""
    texts = tree.kind in ("date", "decimal") or tree.kind.startswith("timestamp")
    children = tuple(map(_in_text, tree.children))
    return replace(tree, width=0 if texts else tree.width, children=children)


def _prune(tree: TypeTree, paths: Sequence[Sequence[str]]) -> TypeTree:
    """The parts that paths name, in the order in which they first name them."""
    names = list(dict.fromkeys(path[0] for path in paths))
    if not names:
        return tree
    if tree.kind == "map":
        names.sort()  # keys lie in front of values, whatever comes first in the paths
    known = dict(zip(tree.names, tree.children, strict=True))
    children = [
        _prune(known[name], [path[1:] for path in paths if path[0] == name and len(path) > 1])
        if name in known
        else _UNKNOWN
        for name in names
    ]
    return TypeTree(tree.kind, tree.width, tree.scale, tuple(children), tuple(names))


def _encode(
    tree: TypeTree, source: TypeTree, name: str, values: Sequence[Any], slots: list[dict[str, Any]]
) -> None:
    def slot(kind: str, content: str) -> None:
        slots.append({"kind": kind, "column": name, "hex": content})

    if tree.kind == "unknown":
        slots.append({"kind": "unknown", "column": name})
        return
    slot("nulls", bytes([value is None for value in values]).hex())
    if tree.width:
        slot("data", _fixed(tree, values))
    elif tree.is_run:
        write = _run_writer(tree)
        pieces = [b"" if value is None else write(value) for value in values]
        slot("offsets", _offsets(pieces))
        slot("bytes", b"".join(pieces).hex())
    elif tree.kind in ("struct", "variant"):
        _encode_struct(tree, source, name, values, slots)
    else:
        slot("offsets", _offsets([value or () for value in values]))
        entries = [entry for value in values for entry in value or ()]
        for child, part in zip(tree.names, tree.children, strict=True):
            at = source.names.index(child)
            items = entries if tree.kind == "array" else [entry[at] for entry in entries]
            _encode(part, source.children[at], f"{name}.{child}", items, slots)


def _encode_struct(
    tree: TypeTree, source: TypeTree, name: str, values: Sequence[Any], slots: list[dict[str, Any]]
) -> None:
    for child, part in zip(tree.names, tree.children, strict=True):
        if part.kind == "unknown":
            slots.append({"kind": "unknown", "column": f"{name}.{child}"})
            continue
        at = source.names.index(child)
        items = [None if value is None else value[at] for value in values]
        _encode(part, source.children[at], f"{name}.{child}", items, slots)


def _offsets(runs: Sequence[Sized]) -> str:
    return struct.pack(f"<{len(runs) + 1}i", 0, *accumulate(map(len, runs))).hex()


def _run_writer(tree: TypeTree) -> Callable[[str], bytes]:
    """What makes of a value its run of bytes."""
    if tree.kind == "binary":
        return bytes.fromhex
    if tree.kind == "decimal":
        return partial(_decimal_text, tree.scale)
    return _clock_text if tree.kind.startswith("timestamp") else str.encode


def _decimal_text(scale: int, value: str) -> bytes:
    """As many digits behind the point as the scale says, zeros too."""
    return f"{Decimal(unscaled(value, scale)).scaleb(-scale, _EXACT):f}".encode()


def _clock_text(value: str) -> bytes:
    """Microseconds only where there are some."""
    clock, _, fraction = value.partition(".")
    fraction = fraction[:6].ljust(6, "0")
    return (f"{clock}.{fraction}" if int(fraction) else clock).encode()


def _fixed(tree: TypeTree, values: Sequence[Any]) -> str:
    """Values of fixed width as hex."""
    present = [value for value in values if value is not None]
    if tree.kind in ("float", "double"):
        data = struct.pack(f"<{len(present)}{tree.kind[0]}", *map(float, present))
    elif tree.kind == "time":
        data = struct.pack(f"<{len(present)}d", *(value / 1000.0 for value in present))
    elif tree.width > max(_WORDS):
        numbers = map(_number_of(tree), present)
        data = b"".join(number.to_bytes(tree.width, "little", signed=True) for number in numbers)
    else:
        word = _WORDS[tree.width]
        data = struct.pack(f"<{len(present)}{word}", *map(_number_of(tree), present))
    text = data.hex()
    if len(present) == len(values):
        return text
    signs = np.full((len(values), 2 * tree.width), ord("?"), np.uint8)
    known = np.frombuffer(text.encode(), np.uint8).reshape(-1, 2 * tree.width)
    signs[[value is not None for value in values]] = known
    return signs.tobytes().decode()


def _number_of(tree: TypeTree) -> Callable[[Any], int]:
    """What makes of a value the number that stands for it."""
    if tree.kind == "decimal":
        return lambda value: unscaled(value, tree.scale)
    if tree.kind == "date":
        return julian_day
    return _moment if tree.kind.startswith("timestamp") else int


def _moment(value: str) -> int:
    day, _, clock = value.partition(" ")
    return julian_day(day) << 40 | micro_of_day(clock)


def unscaled(text: str, scale: int) -> int:
    """A decimal without its point."""
    return int(_EXACT.to_integral_exact(_EXACT.scaleb(Decimal(text), scale)))


def julian_day(text: str) -> int:
    """The Julian day of YYYY-MM-DD in the Gregorian calendar (Fliegel and Van Flandern, 1968)."""
    year, month, day = map(int, text.split("-"))
    shift = (14 - month) // 12
    y, m = year + 4800 - shift, month + 12 * shift - 3
    return day + (153 * m + 2) // 5 + 365 * y + y // 4 - y // 100 + y // 400 - 32045


def micro_of_day(text: str) -> int:
    """Microseconds of HH:MM:SS.f...; what is finer is cut off."""
    hour, minute, rest = text.split(":")
    second, _, fraction = rest.partition(".")
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second)
    return seconds * 1_000_000 + int(fraction[:6].ljust(6, "0"))
