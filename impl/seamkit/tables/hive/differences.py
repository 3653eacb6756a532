"""Where the types that a metastore states are not those of a table's own schema."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from seambase.errors import SeambenchError
from seamkit.tables.hive.types import parse_type

_META = "_hoodie_"


def differences(stated: Mapping[str, str], own: pa.Schema) -> list[str]:
    """Where the types of a metastore are not those of a table's own schema.

    Args:
        stated: types by name in lower case, as Hive spells them.
        own: the table's columns; Hudi's meta columns need not be in the metastore.
    """
    found = []
    fields = {field.name.lower(): field for field in own}
    for name, text in stated.items():
        if name not in fields:
            found.append(f"column {name!r}: the metastore has it, the table does not")
        elif not _agrees(text, fields[name].type):
            kind = fields[name].type
            found.append(f"column {name!r}: the metastore says {text}, the table {kind}")
    more = (name for name in fields if name not in stated and not name.startswith(_META))
    return [*found, *(f"column {n!r}: the table has it, the metastore does not" for n in more)]


def _agrees(text: str, own: pa.DataType) -> bool:
    """Whether a type of Hive's is the one that a front end makes of a table's.

    Units and zones of timestamps have no word in Hive, nor have lengths of binaries.
    """
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
