"""What forms of Parquet files change of footers: statistics, schemas, key-value metadata.

Each takes the new footer and the old one, and says whether the form has a place.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.formats.forms.footer import (
    BYTES,
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    Binary,
    Footer,
    Leaf,
    Listed,
    Number,
    Struct,
    is_decimal,
    subtree_end,
)

_HINT = "ARROW:schema"


def each_statistics(change: Callable[[Leaf, Struct], bool]) -> Callable[[Footer, Footer], bool]:
    """Changes the statistics of each chunk that has some."""

    def changed(footer: Footer, _before: Footer) -> bool:
        done = [change(leaf, chunk[3][12]) for leaf, chunk in footer.chunks() if 12 in chunk[3]]
        return any(done)

    return changed


def without(*fields: int) -> Callable[[Leaf, Struct], bool]:
    """Takes fields of statistics away."""

    def change(_leaf: Leaf, statistics: Struct) -> bool:
        found = [one for one in fields if one in statistics]
        for one in found:
            del statistics[one]
        return bool(found)

    return change


def old_bounds(leaf: Leaf, statistics: Struct) -> bool:
    """Bounds in the fields that signed comparison was meant for, and no others."""
    if leaf.physical not in (INT32, INT64, FLOAT, DOUBLE) or 5 not in statistics:
        return without(5, 6)(leaf, statistics)
    statistics[1], statistics[2] = statistics.pop(5), statistics.pop(6)
    return without(7, 8)(leaf, statistics) or True


def wider_bounds(leaf: Leaf, statistics: Struct) -> bool:
    """Bounds that no row has, as writers cut long texts; whether they are exact is not said."""
    without(7, 8)(leaf, statistics)
    if 5 not in statistics or 6 not in statistics:
        return False
    high, low = statistics[5].value, statistics[6].value
    if leaf.physical in (INT32, INT64) and not leaf.annotated:
        most = 1 << 8 * len(high) - 1
        top, bottom = (int.from_bytes(one, "little", signed=True) for one in (high, low))
        if top + 1 >= most or bottom - 1 < -most:
            return False
        high = (top + 1).to_bytes(len(high), "little", signed=True)
        low = (bottom - 1).to_bytes(len(low), "little", signed=True)
    elif leaf.physical == BYTES and high and high[0] < 0x7E and (not low or low[0] < 0x80):
        high, low = bytes([high[0] + 1]), low[:1]
    else:
        return False
    statistics[5], statistics[6] = Binary(high), Binary(low)
    return True


def two_levels(footer: Footer, _before: Footer) -> bool:
    """Lists whose elements are never null, without the level that would say so."""
    schema, found = footer.schema, False
    items, at = list(schema.items), 0
    while at < len(items) - 2:
        group, middle, element = items[at : at + 3]
        is_list = group.whole(5) == 1 and (group.whole(6, -1) == 3 or 3 in group.get(10, ()))
        if is_list and middle.whole(3) == 2 and middle.whole(5) == 1 and not element.whole(3):
            element[3], element[4] = Number(5, 2), Binary(b"array")
            group.pop(10, None)
            group[6] = Number(5, 3)
            del items[at + 1]
            found = True
        at += 1
    footer.schema = Listed(schema.kind, items)
    return found


def hint(kind: Callable[[pa.DataType], pa.DataType]) -> Callable[[Footer, Footer], bool]:
    """Adds Arrow's own schema, in which columns have types of another library's taste."""

    def changed(footer: Footer, _before: Footer) -> bool:
        schema = pq.read_schema(io.BytesIO(footer.file())).remove_metadata()
        fields = [one.with_type(kind(one.type)) for one in schema]
        encoded = pa.schema(fields).serialize().to_pybytes()
        footer.put_text(_HINT, base64.b64encode(encoded).decode())
        return True

    return changed


def _other_lengths(
    text: pa.DataType, content: pa.DataType, items: Callable[[pa.Field], pa.DataType]
) -> Callable[[pa.DataType], pa.DataType]:
    def changed(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_string(kind):
            return text
        if pa.types.is_binary(kind):
            return content
        return items(kind.value_field) if pa.types.is_list(kind) else kind

    return changed


#: Texts, bytes and lists with offsets of 64 bits, and as views.
large_hint = _other_lengths(pa.large_string(), pa.large_binary(), pa.large_list)
view_hint = _other_lengths(pa.string_view(), pa.binary_view(), pa.list_view)


def dictionary_hint(kind: pa.DataType) -> pa.DataType:
    """Texts and bytes as dictionaries."""
    texts = pa.types.is_string(kind) or pa.types.is_binary(kind)
    return pa.dictionary(pa.int32(), kind) if texts else kind


def zone_hint(kind: pa.DataType) -> pa.DataType:
    """Units and zones that a writer's memory had and its file has not."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("s" if kind.unit == "ms" else kind.unit, kind.tz and "Asia/Kolkata")
    return pa.date64() if pa.types.is_date32(kind) else kind


def spell_decimals(footer: Footer, before: Footer) -> bool:
    """Marks byte arrays that are decimals as the first writer marked them."""
    marks = {one.text(4): one for one in _tops(before.schema) if is_decimal(one)}
    for element in _tops(footer.schema):
        if mark := marks.get(element.text(4)):
            element.update({number: mark[number] for number in (6, 7, 8, 10) if number in mark})
    for leaf, chunk in footer.chunks():
        if leaf.path[0] in marks:
            chunk[3].pop(12, None)  # bounds of bytes are no bounds of numbers
    return True


def _tops(schema: Listed) -> list[Struct]:
    found, at = [], 1
    while at < len(schema.items):
        found.append(schema.items[at])
        at = subtree_end(schema, at)
    return found


def old_types(footer: Footer, _before: Footer) -> bool:
    """Takes logical types away where converted types say the same: of all but local times."""
    alike = [
        one
        for one in _told_twice(footer)
        if not any(_is_local(one[10].get(kind)) for kind in (7, 8))
    ]
    for one in alike:
        del one[10]
    return bool(alike)


def _told_twice(footer: Footer) -> list[Struct]:
    """Elements of the schema with a converted and a logical type."""
    return [one for one in footer.schema.items if 6 in one and 10 in one]


def _is_local(time: Struct | None) -> bool:
    return time is not None and time[1].value == 0


def new_types(footer: Footer, _before: Footer) -> bool:
    """Takes converted types away where logical types stand beside them."""
    told = _told_twice(footer)
    for one in told:
        for field in (6, 7, 8):
            one.pop(field, None)
    return bool(told)


def no_texts(footer: Footer, _before: Footer) -> bool:
    """Takes the key-value metadata away."""
    return footer.tree.pop(5, None) is not None
