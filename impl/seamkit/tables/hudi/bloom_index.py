"""Bloom filters of record keys in the metadata table: its partition `bloom_filters`.

A record has the filter that stands in a base file's footer, too (`key_filters.py`), so that a file
which surely has none of the keys that a filter names need not be opened. Its key ends in the base64
of the MD5 of the file's name; before that comes one of the partition's path (Hudi 1.2.0,
HoodieMetadataPayload, HashID). File names hold a UUID and tell files apart by themselves: where two
records are of one name, neither counts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.key_filters import MOST_KEYS, KeyFilter, read_key_filter
from seamkit.tables.hudi.listing.metadata_table import open_metadata_table
from seamkit.tables.hudi.listing.named_keys import named_record_keys
from seamkit.tables.hudi.timeline.timeline import Timeline

__all__ = ["BloomIndex", "may_hold_keys"]

_PARTITION = "bloom_filters"
# More would take longer to read than the footers that it could spare.
_MOST_BYTES = 32 << 20
# Of a key: the base64 of sixteen bytes, a hash of the file's name.
_FILE_CHARS = 24


@dataclass(frozen=True)
class BloomIndex:
    """Filters of a table's base files, read when they are first asked for.

    Attributes:
        storage: the table's folder.
        timeline: its instants.
    """

    storage: Storage
    timeline: Timeline

    def __getstate__(self) -> dict[str, Any]:
        """Without what was read."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def filter_of(self, file: str) -> KeyFilter | None:
        """The filter of a base file, by its name; None where none is known, or it is broken."""
        digest = hashlib.md5(file.encode(), usedforsecurity=False).digest()
        try:
            kind, text = self._filters[base64.b64encode(digest).decode()]
            return read_key_filter(text, kind.encode(), file)
        except (KeyError, InputError):
            return None

    @cached_property
    def _filters(self) -> Mapping[str, tuple[str, bytes]]:
        """Kind and bytes by hash of a file's name; none where the index is broken or too large."""
        try:
            return self._read()
        except (InputError, RefusedError, LookupError, TypeError, AttributeError):
            return {}  # the last three: records of another form

    def _read(self) -> Mapping[str, tuple[str, bytes]]:
        table = open_metadata_table(self.storage, self.timeline)
        by_key: dict[str, tuple[str, bytes]] = {}
        for slice_ in table.slices_within(_PARTITION, _MOST_BYTES):
            for key, record in table.records(slice_):
                told = None if record is None else record["BloomFilterMetadata"]
                if told is None or told["isDeleted"]:
                    by_key.pop(key, None)
                else:
                    by_key[key] = told["type"], bytes(told["bloomFilter"])
        found: dict[str, tuple[str, bytes]] = {}
        twice = set()
        for key, told in by_key.items():
            name = key[-_FILE_CHARS:]
            if name in found:
                twice.add(name)
            found[name] = told
        return {name: told for name, told in found.items() if name not in twice}


def may_hold_keys(
    index: BloomIndex,
    file: str,
    keys: Collection[str],
    condition: pc.Expression,
    schema: pa.Schema,
    counted: Collection[str],
) -> bool:
    """Whether a base file may have keys that a condition names; for `ReadUnit.file_test`.

    Args:
        index: of the table.
        file: name of the base file.
        keys: names of the key fields.
        condition: a filter.
        schema: the columns that it tests.
        counted: those of them whose values may be looked at.
    """
    named = named_record_keys(condition, list(keys), schema, counted, MOST_KEYS)
    if named is None:
        return True
    found = index.filter_of(file)
    return found is None or any(found.may_hold(text) for forms in named for text in forms)
