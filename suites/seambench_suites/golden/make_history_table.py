"""Build `hudi-small`, the table behind the benchmarks by commit: Spark and Hudi write its bytes.

Usage: `python make_history_table.py`. Needs the extra `spark` and, once, a network for the jars.

40,000 rows in two file slices; every value is a function of the row's number `k`, so that the
benchmarks can tell right from wrong without another reader:

* base: keys `k` = 0 .. 39,999; `amount` = (k * 7919 mod 100,000) / 100, `ts` = 1000;
* one upsert of the rows with k mod 5 = 0: `amount` + 1, `note` in capitals, `ts` = 2000;
* one delete of the rows with k mod 100 = 1, `ts` = 3000.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from seambench.contracts.tables import Written
from seambench.formats.hudi import FORMAT
from seambench.formats.hudi.golden import Operation, TableSpec, WriteSpec
from seambench.formats.hudi.writer import save
from seambench.formats.writing import origin_text, pack, small_session

__all__ = ["build"]

ROWS = 40_000
TARGET = Path(__file__).parent / "hudi-small"
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


def _write(session: Any, table: Path) -> None:
    base = session.range(ROWS).selectExpr(
        "id as k",
        "cast((id * 7919) % 100000 / 100 as decimal(15, 2)) as amount",
        "cast(id as double) / 8 as ratio",
        "cast(id % 1000 as int) as grade",
        "date_add(date'1992-01-01', cast(id % 2500 as int)) as day",
        "concat('note of row ', cast(id as string)) as note",
        "cast(1000 as bigint) as ts",
    )
    updates = base.where("k % 5 = 0").selectExpr(
        "k",
        "cast(amount + 1 as decimal(15, 2)) as amount",
        "ratio",
        "grade",
        "day",
        "upper(note) as note",
        "cast(2000 as bigint) as ts",
    )
    deletes = base.where("k % 100 = 1").selectExpr(
        "k", "amount", "ratio", "grade", "day", "note", "cast(3000 as bigint) as ts"
    )
    frames: dict[Operation, Any] = {"bulk_insert": base, "upsert": updates, "delete": deletes}
    for operation, rows in frames.items():
        save(rows, _TABLE, WriteSpec(operation), table, new=operation == "bulk_insert")


def build() -> Path:
    """Write the table anew and pack it; return the archive's path."""
    archive = TARGET / "table.zip"
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, small_session(FORMAT) as session:
        table = Path(folder) / "table"
        _write(session, table)
        pack(table, archive)
        writer = f"Spark {session.version}, {', '.join(FORMAT.bundle(None).packages)}"
    text = origin_text(writer, archive, None, Written())
    (TARGET / "origin.toml").write_text(text, encoding="utf-8")
    return archive


if __name__ == "__main__":
    print(build())  # noqa: T201 - the one thing this script has to say
