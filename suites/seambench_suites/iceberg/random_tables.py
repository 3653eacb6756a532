"""Random Iceberg tables: declarations that a seed decides, of all that Spark can do to one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from seambench.formats.iceberg.golden import TableSpec
from seambench_suites.delta.random_tables import KEYS, Life, text

_PARTS = ("x", "y", None)


def random_table(seed: int) -> TableSpec:
    """The table of a seed: some ten steps after its creation."""
    return _Life(random.Random(seed)).table(seed)


class _Life(Life):
    called = "{table}"

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._version = chance.choice([1, 2, 2, 2, 3, 3])
        self._by = chance.choice(["", "", "p", "bucket(3, k)", "truncate(2, v)"])
        self._evolved = False

    def table(self, seed: int) -> TableSpec:
        """All of its steps."""
        mode = self._chance.choice(["merge-on-read", "merge-on-read", "copy-on-write"])
        properties = {
            "format-version": str(self._version),
            **{f"write.{what}.mode": mode for what in ("delete", "update", "merge")},
            "write.delete.granularity": self._chance.choice(["file", "partition"]),
            "write.format.default": self._chance.choice(["parquet", "parquet", "orc", "avro"]),
        }
        stated = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
        by = f"PARTITIONED BY ({self._by})" if self._by else ""
        create = (
            "CREATE TABLE {table} (k INT, v STRING, p STRING, s STRUCT<x: INT, y: STRING>) "
            f"USING iceberg {by} TBLPROPERTIES ({stated})"
        )
        steps: list[Any] = [create, self._insert(), self._insert()]
        doings: list[Callable[[], Any]] = [self._insert] * 4 + [self._delete] * 4
        doings += [self._update] * 2 + [self._equality] * 4
        doings += [self._rename, self._widen, self._add, self._compact, self._format]
        doings += [self._partition, self._upgrade, self._overwrite]
        steps += [self._chance.choice(doings)() for _ in range(self._chance.randint(6, 12))]
        return TableSpec(f"random-{seed}", "random", {}, [step for step in steps if step])

    def _row(self) -> dict[str, Any]:
        chance = self._chance
        return {
            "k": chance.choice([None, *range(KEYS), *range(KEYS)]),
            "v": chance.choice([None, "", "a", "ab", "abc", "b€"]),
            "p": chance.choice(_PARTS),
        }

    def _insert(self) -> str:
        rows = []
        for _ in range(self._chance.randint(1, 8)):
            row = self._row()
            values = [text(row[name]) for name in ("k", "v", "p")]
            x = text(self._chance.choice([None, 1, 2]))
            struct = self._chance.choice(["NULL", f"named_struct('x', {x}, 'y', {text(row['v'])})"])
            more = [str(self._chance.randint(0, 3)) for _ in range(self._more)]
            rows.append(f"({', '.join([*values, struct, *more])})")
        return f"INSERT INTO {{table}} VALUES {', '.join(rows)}"  # noqa: S608 - our own text

    def _update(self) -> str:
        change = f"{self._names['v']} = 'new'"
        return f"UPDATE {{table}} SET {change} WHERE {self._where()}"  # noqa: S608 - our own text

    def _overwrite(self) -> str | None:
        return None if self._more else "INSERT OVERWRITE {table} VALUES (1, 'over', 'x', NULL)"

    def _equality(self) -> Any:
        """Deletes by keys, where a row says its table's partition."""
        if self._version == 1 or self._evolved or self._by not in ("", "p"):
            return self._delete()
        by = self._chance.choice([["k"], ["k"], ["v"], ["k", "v"]])
        rows = []
        for _ in range(self._chance.randint(1, 5)):
            row = self._row()
            rows.append({self._names[n]: row[n] for n in by if row[n] is not None})
        step: dict[str, Any] = {
            "op": "equality-delete",
            "by": [self._names[n] for n in by],
            "rows": rows,
        }
        step["format"] = self._chance.choice(["parquet", "parquet", "avro", "orc"])
        if self._by == "p":
            part = self._chance.choice(_PARTS)
            step["partition"] = {} if part is None else {"p": part}
        return step

    def _widen(self) -> str:
        return f"ALTER TABLE {{table}} ALTER COLUMN {self._names['k']} TYPE BIGINT"

    def _add(self) -> str:
        self._more += 1
        return f"ALTER TABLE {{table}} ADD COLUMN more{self._more} INT"

    def _compact(self) -> str:
        return (
            "CALL {catalog}.system.rewrite_data_files(table => '{name}', "
            "options => map('rewrite-all','true'))"
        )

    def _format(self) -> str:
        kind = self._chance.choice(["parquet", "orc", "avro"])
        return f"ALTER TABLE {{table}} SET TBLPROPERTIES ('write.format.default'='{kind}')"

    def _partition(self) -> str:
        self._evolved = True
        name = self._chance.choice(["k", "v"])
        return f"ALTER TABLE {{table}} ADD PARTITION FIELD truncate(3, {self._names[name]})"

    def _upgrade(self) -> str:
        self._version = min(self._version + 1, 3)
        return f"ALTER TABLE {{table}} SET TBLPROPERTIES ('format-version'='{self._version}')"
