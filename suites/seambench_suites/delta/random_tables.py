"""Random Delta tables: declarations that a seed decides, of much that Spark can do to one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from seambench.formats.delta.golden import TableSpec

KEYS = 12
_PARTS = ("x", "y", "a b", None)
_WIDER = {"SMALLINT": "INT", "INT": "BIGINT"}


def random_table(seed: int) -> TableSpec:
    """The table of a seed: some ten steps after its creation."""
    return _Life(random.Random(seed)).table(seed)


def text(value: object) -> str:
    """A value in SQL."""
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


class Life:
    """A table as it comes to be; its columns are known at each step, by what they were at first."""

    called = "golden"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names = {"k": "k", "v": "v", "p": "p", "s": "s"}
        self._more = 0

    def _where(self) -> str:
        k, p = self._names["k"], self._names["p"]
        keys = ", ".join(str(self._chance.randrange(KEYS)) for _ in range(3))
        return self._chance.choice(
            [f"{k} IN ({keys})", f"{k} IS NULL", f"{p} = 'x'", f"{k} % 3 = 1", f"{p} IS NULL"]
        )

    def _delete(self) -> str:
        return f"DELETE FROM {self.called} WHERE {self._where()}"  # noqa: S608 - our own text

    def _rename(self) -> str | None:
        old = self._chance.choice(self._movable())
        before, after = self._names[old], f"{old}{self._chance.randrange(1000)}"
        self._names[old] = after
        return f"ALTER TABLE {self.called} RENAME COLUMN {before} TO {after}"

    def _movable(self) -> list[str]:
        return sorted(self._names)


class _Life(Life):
    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._key = chance.choice(["SMALLINT", "INT"])
        self._mapping = chance.choice(["none", "none", "name", "id"])
        self._widens = chance.random() < 0.4
        self._by_part = chance.random() < 0.4

    def table(self, seed: int) -> TableSpec:
        """All of its steps."""
        chance = self._chance
        properties = {
            "delta.enableDeletionVectors": chance.choice(["true", "true", "false"]),
            "delta.columnMapping.mode": self._mapping,
            "delta.checkpointInterval": str(chance.choice([2, 4, 10])),
            "delta.checkpointPolicy": chance.choice(["classic", "v2"]),
            "delta.enableTypeWidening": str(self._widens).lower(),
            "delta.enableRowTracking": chance.choice(["true", "false", "false"]),
            "delta.enableInCommitTimestamps": chance.choice(["true", "false"]),
            "delta.enableChangeDataFeed": chance.choice(["true", "false"]),
            "delta.randomizeFilePrefixes": chance.choice(["true", "false", "false"]),
        }
        stated = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
        by = "PARTITIONED BY (p)" if self._by_part else ""
        create = (
            f"CREATE TABLE golden (k {self._key}, v STRING, p STRING, s STRUCT<x: INT, y: STRING>) "
            f"USING delta {by} LOCATION '{{path}}' TBLPROPERTIES ({stated})"
        )
        steps: list[Any] = [create, self._insert(), self._insert()]
        doings: list[Callable[[], str | None]] = []
        doings += [self._insert] * 4 + [self._delete] * 4 + [self._update] * 3
        doings += [self._merge] * 3 + [self._optimize] * 2
        doings += [self._rename, self._widen, self._add, self._drop, self._purge, self._vectors]
        doings += [self._restore, self._overwrite]
        steps += [chance.choice(doings)() for _ in range(chance.randint(6, 12))]
        return TableSpec(f"random-{seed}", "random", {}, [step for step in steps if step])

    def _row(self) -> str:
        chance = self._chance
        k = chance.choice([None, *range(KEYS), *range(KEYS)])
        v = chance.choice([None, "", "a", "ab", "b€"])
        x = chance.choice([None, 1, 2])
        struct = chance.choice(["NULL", f"named_struct('x', {text(x)}, 'y', {text(v)})"])
        own = {"k": text(k), "v": text(v), "p": text(chance.choice(_PARTS)), "s": struct}
        more = [str(chance.randint(0, 3)) for _ in range(self._more)]
        return f"({', '.join([own[name] for name in self._names] + more)})"

    def _insert(self) -> str:
        rows = ", ".join(self._row() for _ in range(self._chance.randint(1, 8)))
        return f"INSERT INTO golden VALUES {rows}"  # noqa: S608 - our own text

    def _update(self) -> str:
        name = self._names[self._chance.choice(["p", *(n for n in ("v",) if n in self._names)])]
        return f"UPDATE golden SET {name} = 'new' WHERE {self._where()}"  # noqa: S608 - our own

    def _merge(self) -> str:
        k, p = self._names["k"], self._names["p"]
        keys = self._chance.sample(range(KEYS + 4), 3)
        source = " UNION ALL ".join(f"SELECT {key} AS {k}, 'm' AS {p}" for key in keys)
        matched = self._chance.choice(["DELETE", f"UPDATE SET {p} = s.{p}"])
        return (
            f"MERGE INTO golden t USING ({source}) s "  # noqa: S608 - our own text
            f"ON t.{k} = s.{k} WHEN MATCHED THEN {matched} "
            f"WHEN NOT MATCHED THEN INSERT ({k}, {p}) VALUES (s.{k}, s.{p})"
        )

    def _optimize(self) -> str:
        return "OPTIMIZE golden"

    def _purge(self) -> str:
        return "REORG TABLE golden APPLY (PURGE)"

    def _vectors(self) -> str:
        is_on = self._chance.choice(["true", "false"])
        return f"ALTER TABLE golden SET TBLPROPERTIES ('delta.enableDeletionVectors'='{is_on}')"

    def _restore(self) -> str:
        # Steps that do not fit the columns of that time fail, and change nothing.
        return f"RESTORE TABLE golden TO VERSION AS OF {self._chance.choice([1, 2])}"

    def _overwrite(self) -> str:
        return f"INSERT OVERWRITE golden VALUES {self._row()}"  # noqa: S608 - our own text

    def _rename(self) -> str | None:
        return None if self._mapping == "none" else super()._rename()

    def _movable(self) -> list[str]:
        return [name for name in super()._movable() if name != "p" or not self._by_part]

    def _widen(self) -> str | None:
        wider = _WIDER.get(self._key)
        if not self._widens or wider is None:
            return None
        self._key = wider
        return f"ALTER TABLE golden ALTER COLUMN {self._names['k']} TYPE {wider}"

    def _add(self) -> str:
        self._more += 1
        return f"ALTER TABLE golden ADD COLUMNS (more{self._more} INT)"

    def _drop(self) -> str | None:
        if self._mapping == "none" or "v" not in self._names:
            return None
        return f"ALTER TABLE golden DROP COLUMN {self._names.pop('v')}"
