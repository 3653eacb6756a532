"""Metadata in JSON with values of other kinds than a writer's ends in a typed error, or is read."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seambase.errors import SeambenchError
from seamkit.tables.opening import open_table
from seamkit_tests.samples.hive_tables import unpack_hive
from seamkit_tests.samples.paimon_tables import unpack_paimon

ODD: tuple[Any, ...] = ([], [{}], {}, {"a": 1}, 0, -1, 1.5, 2**70, None, True, "x", "", "\0")
#: Values that are replaced in each file, of all places and odd values.
TRIALS = 60


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, own in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(own, (*path, key))


def _replaced(document: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    changed = json.loads(json.dumps(document))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return changed


@pytest.mark.parametrize(
    ("unpack", "name", "pattern"),
    [
        (unpack_paimon, "pk-life", "schema/schema-*"),
        (unpack_paimon, "pk-life", "snapshot/snapshot-*"),
        (unpack_paimon, "core-branches", "tag/tag-*"),
        (unpack_paimon, "partial-groups", "schema/schema-*"),
        (unpack_hive, "text-rest", "*.json"),
        (unpack_hive, "avro-evolved", "*.json"),
    ],
)
def test_odd_values_end_in_typed_errors(
    unpack: Callable[[str, Path], Path], name: str, pattern: str, tmp_path: Path
) -> None:
    """Lists, objects, numbers, null and texts in the place of any value: nothing raw is raised."""
    table = unpack(name, tmp_path)
    file = max(table.glob(pattern))
    content = file.read_bytes()
    document = json.loads(content)
    trials = [(path, odd) for path in _places(document) for odd in ODD]
    refused = 0
    for path, odd in Random(5).sample(trials, min(TRIALS, len(trials))):
        file.write_text(json.dumps(_replaced(document, path, odd)), encoding="utf-8")
        try:
            found = open_table(str(table), format="hive" if unpack is unpack_hive else "paimon")
            found.scan().to_table()
            for tag in getattr(found, "tags", ()):
                found.scan(as_of=tag).count_rows()
        except SeambenchError:
            refused += 1
    assert refused
