"""What a table's own Avro schema says of columns that a file lacks.

Hive resolves each file to the schema of `avro.schema.literal`, or else of the file that
`avro.schema.url` names: a field that a file lacks has its default, or is found by another name.
Here columns are found by name and are null without it. Where that is not the same, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from seambase.errors import RefusedError
from seamkit.avro.schema import AvroType, parse_schema
from seamkit.files.columns import ABSENT, Place, Source
from seamkit.tables.hive.row_format import Description

_Find = Callable[[pa.Field], Source]


def by_reader_schema(find: _Find, description: Description, file: Place, where: str) -> _Find:
    """How columns of an Avro file are found, which refuses those that Hive's schema decides."""
    properties = description.properties
    literal = properties.get("avro.schema.literal", "none")
    if literal != "none":
        schema = parse_schema(literal)
        lacking = {name.lower(): path for name, path in _lacking(schema, file)}
        stated = "avro.schema.literal"
    elif properties.get("avro.schema.url", "none") != "none":
        lacking, stated = None, "avro.schema.url"
    else:
        return find

    def found(wanted: pa.Field) -> Source:
        source = find(wanted)
        if lacking is None:
            is_whole = source.read is not None and ABSENT not in str(source.read.type)
            name = None if is_whole else wanted.name
        else:
            name = lacking.get(wanted.name)
        if name is not None:
            raise RefusedError(
                f"{where}: the file lacks {name!r}, whose value is what {stated} says, "
                "which is not supported"
            )
        return source

    return found


def _lacking(kind: AvroType, place: Place) -> Iterator[tuple[str, str]]:
    """Fields of a schema, each with one in it that a file lacks and that is not null for it."""
    own = kind.value_type()
    if own.kind in ("array", "map") and place.children:
        yield from _lacking(own.children[0], place.children[-1])
    if own.kind != "record":
        return
    there = {one.name: one for one in place.children}
    in_any_case = {one.name.lower() for one in place.children}
    for name, child in zip(own.names, own.children, strict=True):
        if name in there:
            inner = next(_lacking(child, there[name]), None)
            if inner is not None:
                yield name, f"{name}.{inner[1]}"
        elif (
            own.defaults.get(name, ABSENT) is not None
            or name in own.renamed
            or name.lower() in in_any_case
        ):
            yield name, name
