"""Golden tables with base files of several row groups, of which filters leave any out.

What is expected is the plain read of the table as Hudi wrote it, filtered by pyarrow.
"""

import itertools
import random
import zlib
from collections.abc import Iterator
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import seamkit
from seambench.formats.hudi.forms import forms
from seamkit.files.file_cache import CACHE_BYTES
from seamkit.tables.hudi.listing.metadata_table import has_partition
from seamkit.tables.hudi.merge.keys import RECORD_KEY
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import golden_table_names, unpack_table
from seamkit_tests.samples.outlets import OUTLETS, Filter, bag, comparable, compare

_FORMS = {form.name: form for form in forms()}


def _by_keys(table: HudiTable, rows: pa.Table) -> Iterator[Filter]:
    """For each two records the condition that asks for both."""
    names, known = list(table.config.record_keys), set(rows.schema.names)
    if not known.issuperset(names) or not all(comparable(rows[name].type) for name in names):
        names = [RECORD_KEY]
    keys = {tuple(row.values()) for row in rows.select(names).to_pylist()}
    ways = [
        reduce(and_, map(compare, names, itertools.repeat("="), key))
        for key in sorted(keys, key=repr)
    ]
    yield from itertools.starmap(or_, itertools.combinations(ways, 2))


def _random_filters(rows: pa.Table, chance: random.Random) -> Iterator[Filter]:
    """One to three comparisons with values of the table, without end."""
    names = [field.name for field in rows.schema if comparable(field.type)]
    while rows.num_rows:
        found = []
        for _ in range(chance.randint(1, 3)):
            name = chance.choice(names)
            value = rows[name][chance.randrange(rows.num_rows)].as_py()
            signs = ["=", "<>"] if isinstance(value, bool) else ["=", "=", "<>", "<", ">="]
            found.append(compare(name, chance.choice(signs), value))
        yield reduce(chance.choice([and_, or_]), found)


def _filters(table: HudiTable, rows: pa.Table, most: int, chance: random.Random) -> list[Filter]:
    """Half of them pairs of keys, as far as there are so many."""
    pairs = list(_by_keys(table, rows))
    chosen = chance.sample(pairs, min(len(pairs), most // 2))
    return chosen + list(itertools.islice(_random_filters(rows, chance), most - len(chosen)))


@pytest.mark.parametrize("outlet", OUTLETS)
@pytest.mark.parametrize("name", ["mor-v9-event", "mor-v9-typed-delete"])
def test_row_groups_that_are_no_neighbours_keep_their_changes(
    name: str, outlet: str, tmp_path: Path
) -> None:
    """Two keys leave groups between them out: rows replaced or deleted stay so, at every outlet.

    Of the larger table a third of all pairs is asked, drawn by the outlet's name.
    """
    folder = unpack_table(name, tmp_path)
    whole = HudiTable(str(folder)).scan().to_table()
    assert _FORMS["row-groups-1"].change(folder)
    table = HudiTable(str(folder))
    pairs, chance = list(_by_keys(table, whole)), random.Random(zlib.crc32(outlet.encode()))
    few = len(pairs) // 3 if name == "mor-v9-event" else len(pairs)
    for number, test in enumerate(chance.sample(pairs, few)):
        options = {"batch_rows": 1 + number % 3, "threads": 1 + number % 2 * 3}
        seamkit.keep_at_most(0)
        seamkit.keep_at_most(CACHE_BYTES)
        found = OUTLETS[outlet](table, test, options)
        assert bag(found) == bag(whole.filter(test.expression)), (test.sql, options)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if number % 50 else [])
        for number, name in enumerate(golden_table_names())
    ],
)
def test_a_table_has_the_same_rows_however_its_base_files_are_cut(
    name: str, tmp_path: Path
) -> None:
    """In four ways, under filters by two keys and by values of any columns."""
    folder = unpack_table(name, tmp_path)
    original = HudiTable(str(folder))
    columns = original.schema.names
    whole = original.scan(columns).to_table()
    chance = random.Random(zlib.crc32(name.encode()))
    filters = _filters(original, whole, 8, chance)
    for listing, rows in ("metadata", 7), ("metadata", 2), ("files", 2), ("files", 1):
        source: Any = listing if has_partition(original.timeline()) else "files"
        _FORMS[f"row-groups-{rows}"].change(folder)
        table = HudiTable(str(folder), listing=source)
        assert bag(table.scan(columns).to_table()) == bag(whole), rows
        for test in filters:
            outlet = chance.choice(["table", "dataset"])
            options = {"columns": columns, "batch_rows": chance.randint(1, 3)}
            found = OUTLETS[outlet](table, test, {**options, "threads": chance.choice([1, 4])})
            assert bag(found) == bag(whole.filter(test.expression)), (rows, outlet, test.sql)
