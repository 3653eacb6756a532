"""Metadata in JSON with values of other kinds than a writer's ends in a typed error, or is read."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from seambase.errors import SeambenchError
from seamkit.tables.opening import open_table
from seamkit_tests.samples.golden_tables import unpack

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
    ("name", "pattern"),
    [
        ("paimon/pk-life", "schema/schema-*"),
        ("paimon/pk-life", "snapshot/snapshot-*"),
        ("paimon/core-branches", "tag/tag-*"),
        ("paimon/partial-groups", "schema/schema-*"),
        ("hive/text-rest", "*.json"),
        ("hive/avro-evolved", "*.json"),
    ],
)
def test_odd_values_end_in_typed_errors(name: str, pattern: str, tmp_path: Path) -> None:
    """Lists, objects, numbers, null and texts in the place of any value: nothing raw is raised."""
    table, format_ = unpack(name, tmp_path), name.partition("/")[0]
    file = max(table.glob(pattern))
    content = file.read_bytes()
    document = json.loads(content)
    trials = [(path, odd) for path in _places(document) for odd in ODD]
    refused = 0
    for path, odd in Random(5).sample(trials, min(TRIALS, len(trials))):
        file.write_text(json.dumps(_replaced(document, path, odd)), encoding="utf-8")
        try:
            found: Any = open_table(str(table), format=cast("Any", format_))
            found.scan().to_table()
            for tag in getattr(found, "tags", ()):
                found.scan(as_of=tag).count_rows()
        except SeambenchError:
            refused += 1
    assert refused
