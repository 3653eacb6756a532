"""Golden Paimon tables by every way to read."""

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

from seambase.errors import RefusedError
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.paimon_tables import (
    NAN_TABLES,
    need_packages,
    paimon_table_names,
    unpack_paimon,
    witnessed_paimon_states,
)


@pytest.mark.parametrize("name", NAN_TABLES)
@pytest.mark.parametrize("threads", [1, 4])
def test_order_by_nan_is_refused(name: str, threads: int, tmp_path: Path) -> None:
    """NaN in a key or sequence of rows that are merged is refused with its file, in every way.

    Paimon's comparators ask for `>` and `<` alone, so its rows depend on which files meet first: of
    `core-nan-keys` the witness loses a key with each snapshot. A file alone is read as it stands.
    """
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    alone = table.scan(as_of=1, threads=threads).to_table()
    witness = next(found for state, found in witnessed_paimon_states(name) if state == 1)
    assert alone.num_rows == len(witness["rows"])

    def read(snapshot: int, columns: list[str] | None, condition: str | None, way: str) -> None:
        scan = table.scan(columns, filter=condition, as_of=snapshot, threads=threads, batch_rows=1)
        getattr(scan, way)()

    for asked in itertools.product(
        (2, 3), (None, ["v"]), (None, "v > 0"), ("to_table", "count_rows")
    ):
        with pytest.raises(RefusedError, match=rf"^{re.escape(str(tmp_path))}.* NaN"):
            read(*asked)


@pytest.mark.parametrize("name", sorted({*paimon_table_names()} - {*NAN_TABLES}))
def test_ways_to_read_agree(name: str, tmp_path: Path) -> None:
    """Batches of one row, several threads, a count and each column alone say the same rows."""
    need_packages(name)
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    whole = table.scan(threads=1).to_table()
    rows = Counter(map(repr, whole.to_pylist()))
    assert Counter(map(repr, table.scan(batch_rows=1).to_table().to_pylist())) == rows
    assert table.scan().count_rows() == whole.num_rows
    for column in whole.column_names:
        alone = table.scan([column], threads=1, batch_rows=3).to_table()
        assert Counter(map(repr, alone.column(0).to_pylist())) == Counter(
            map(repr, whole.column(column).to_pylist())
        )
