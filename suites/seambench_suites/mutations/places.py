"""Where in a file a change lies, in words that patterns can name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from seambench_suites.mutations.avro_places import avro_place, is_between_blocks
from seambench_suites.mutations.changes import Mutation
from seambench_suites.mutations.footer_fields import FieldChange
from seambench_suites.mutations.json_places import json_place
from seambench_suites.mutations.log_places import log_place, orc_place, properties_place
from seambench_suites.mutations.parquet_places import parquet_place
from seambench_suites.mutations.text_places import sequence_place, text_place

_HIVE = "_hive_table.json"
_LINES = ("text", "csv", "json")


def place(mutation: Mutation | FieldChange, whole: Mapping[str, bytes]) -> str:
    """Of a flipped bit where it lies, as ` in a.*.b value`; nothing in a file of an unknown kind.

    Of an Avro file that is cut behind its header or a block, ` between blocks`. `whole` is the
    table before it; what begins with a brace is taken for JSON.
    """
    if isinstance(mutation, FieldChange):
        return f" in footer {mutation.path}"
    if mutation.operation == "cut" and whole[mutation.file].startswith(b"Obj\x01"):
        return " between blocks" if is_between_blocks(whole[mutation.file], mutation.at) else ""
    if mutation.operation != "flip":
        return ""
    at, content = mutation.at // 8, whole[mutation.file]
    for magic, told in _PLACES.items():
        if content.startswith(magic):
            return f" in {told(content, at)}"
    if mutation.file.endswith((".properties", ".hoodie_partition_metadata")):
        return f" in {properties_place(content, at)}"
    if _HIVE in whole and mutation.file != _HIVE:
        table = json.loads(whole[_HIVE])
        if content.startswith(b"SEQ"):
            return f" in {sequence_place(content, at, table)}"
        if table["format"] in _LINES:
            return f" in {text_place(content, at, table, mutation.file)}"
    return f" in {json_place(content, at)}" if content.lstrip().startswith(b"{") else ""


_PLACES: Mapping[bytes, Callable[[bytes, int], str]] = {
    b"PAR1": parquet_place,
    b"Obj\x01": avro_place,
    b"#HUDI#": log_place,
    b"ORC": orc_place,
}
