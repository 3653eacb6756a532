"""Build the tables behind the benchmarks by commit: Spark and Hudi write their bytes.

Usage: `python make_history_table.py [small] [ratios]`. Needs the extra `spark` and, once, a network
for the jars.

Every value is a function of the row's number `k`, so that the benchmarks can tell right from wrong
without another reader. `hudi-small` has 40,000 rows in two file slices:

* base: keys `k` = 0 .. 39,999; `amount` = (k * 7919 mod 100,000) / 100, `ts` = 1000;
* one upsert of the rows with k mod 5 = 0: `amount` + 1, `note` in capitals, `ts` = 2000;
* one delete of the rows with k mod 100 = 1, `ts` = 3000.

`hudi-ratios` has 20,000 such rows and three upserts as above, of the rows with k mod 20 in 0, in
1 to 3 and in 4 to 9: as of each of them 5, 20 and 50 % of the rows are updated in logs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from seambench.contracts.tables import Written
from seambench.formats.golden import origin_text, pack, small_session
from seambench.formats.hudi import FORMAT
from seambench.formats.hudi.golden import Operation, TableSpec, WriteSpec
from seambench.formats.hudi.writer import save

ROWS = {"small": 40_000, "ratios": 20_000}
FOLDER = Path(__file__).parent
_TABLE = TableSpec(
    name="small",
    note="the table behind the benchmarks by commit",
    table_version=9,
    merge="event-time",
    keys=["k"],
    columns={},
    writes=(),
    ordering="ts",
    buckets=2,
    options={
        "hoodie.table.name": "small",
        "hoodie.bloom.index.filter.type": "SIMPLE",
        "hoodie.index.bloom.num_entries": "100",
        "hoodie.bulkinsert.shuffle.parallelism": "2",
        "hoodie.upsert.shuffle.parallelism": "2",
    },
)


def _rows(session: Any, count: int) -> Any:
    return session.range(count).selectExpr(
        "id as k",
        "cast((id * 7919) % 100000 / 100 as decimal(15, 2)) as amount",
        "cast(id as double) / 8 as ratio",
        "cast(id % 1000 as int) as grade",
        "date_add(date'1992-01-01', cast(id % 2500 as int)) as day",
        "concat('note of row ', cast(id as string)) as note",
        "cast(1000 as bigint) as ts",
    )


def _updated(rows: Any) -> Any:
    return rows.selectExpr(
        "k",
        "cast(amount + 1 as decimal(15, 2)) as amount",
        "ratio",
        "grade",
        "day",
        "upper(note) as note",
        "cast(2000 as bigint) as ts",
    )


def _small(base: Any) -> Sequence[tuple[Operation, Any]]:
    deletes = base.where("k % 100 = 1").selectExpr(
        "k", "amount", "ratio", "grade", "day", "note", "cast(3000 as bigint) as ts"
    )
    updates = _updated(base.where("k % 5 = 0"))
    return [("bulk_insert", base), ("upsert", updates), ("delete", deletes)]


def _ratios(base: Any) -> Sequence[tuple[Operation, Any]]:
    chosen = ("k % 20 = 0", "k % 20 between 1 and 3", "k % 20 between 4 and 9")
    steps: list[tuple[Operation, Any]] = [("bulk_insert", base)]
    steps += [("upsert", _updated(base.where(condition))) for condition in chosen]
    return steps


_STEPS: dict[str, Callable[[Any], Sequence[tuple[Operation, Any]]]] = {
    "small": _small,
    "ratios": _ratios,
}


def _write(session: Any, name: str, table: Path) -> None:
    for operation, rows in _STEPS[name](_rows(session, ROWS[name])):
        save(rows, _TABLE, WriteSpec(operation), table, new=operation == "bulk_insert")


def build(name: str) -> Path:
    """Write a table anew and pack it; return the archive's path."""
    target = FOLDER / f"hudi-{name}"
    archive = target / "table.zip"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, small_session(FORMAT) as session:
        table = Path(folder) / "table"
        _write(session, name, table)
        pack(table, archive)
        writer = f"Spark {session.version}, {', '.join(FORMAT.bundle(None).packages)}"
    text = origin_text(writer, archive, None, Written())
    (target / "origin.toml").write_text(text, encoding="utf-8")
    return archive


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ROWS:
        print(build(chosen))  # noqa: T201 - the one thing this script has to say
