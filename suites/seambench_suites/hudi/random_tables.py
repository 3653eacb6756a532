"""Random lives of small tables: a seed gives the declaration of one."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Literal

from seambench.formats.hudi.golden import Operation, TableSpec, WriteSpec

Row = dict[str, Any]
_KEYS = "abcdefgh"
_MERGES: list[Literal["event-time", "commit-time"]] = ["event-time", "commit-time"]
_SERVICES: list[Operation] = [
    "schedule-compaction",
    "compact",
    "cluster",
    "rollback",
    "crash",
]
_SERVICES_COW: list[Operation] = ["cluster", "rollback"]
_OVERWRITES: list[Operation] = ["insert_overwrite", "insert_overwrite_table"]
_FIRST: list[Operation] = ["bulk_insert", "insert", "upsert"]
_COLUMNS = {
    "k": "string",
    "j": "int",
    "p": "string",
    "v": "string",
    "n": "decimal(12,2)",
    "i": "int",
    "ts": "bigint",
}
_PAYLOADS = [
    "OverwriteNonDefaultsWithLatestAvroPayload",
    "PartialUpdateAvroPayload",
    "EventTimeAvroPayload",
]
_NOW_AND_THEN = [
    (0.25, "hoodie.metadata.enable", "true"),
    (0.2, "hoodie.datasource.write.hive_style_partitioning", "false"),
    (0.15, "hoodie.table.cdc.enabled", "true"),
    (0.15, "hoodie.populate.meta.fields", "false"),
    (0.15, "hoodie.log.compaction.inline", "true"),
]
_ARCHIVING = {
    "hoodie.clean.automatic": "true",
    "hoodie.clean.commits.retained": "1",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}


def random_table(seed: int, version: int, hudi: str) -> TableSpec:
    """The declaration that a seed means for a table version and its writer."""
    dice = random.Random(f"{seed}-{version}-{hudi}")
    merge = dice.choice(_MERGES)
    columns = {**_COLUMNS, "ts": dice.choice(["bigint", "bigint", "bigint", "int", "double"])}
    if dice.random() < 0.25:
        columns["_hoodie_is_deleted"] = "boolean"
    partition = dice.choice([None, None, "p"])
    spec = TableSpec(
        name=f"random-{seed}",
        note="random",
        table_version=version,
        merge=merge,
        keys=["k", "j"] if dice.random() < 0.2 else ["k"],
        columns=columns,
        writes=(),
        table_type="copy-on-write" if dice.random() < 0.12 else "merge-on-read",
        ordering="ts",
        partition=partition,
        index=dice.choice(["simple", "simple", "bucket", "bloom"]),
        log_blocks=dice.choice(["avro", "avro", "avro", "parquet"]),
        hudi=hudi,
        options=_options(dice, version, partition),
    )
    later = dice.choice(["bigint", "double", "string"]) if dice.random() < 0.3 else "int"
    count = dice.randint(3, 7)
    changes = dice.randint(2, count)
    writes = [_first(dice, spec)]
    for number in range(2, count + 2):
        step = _step(dice, spec, number)
        writes.append(_promoted(step, later) if number > changes and step.rows else step)
    return TableSpec(**{**spec.__dict__, "writes": writes})


def _promoted(step: WriteSpec, type_: str) -> WriteSpec:
    """A write whose column `i` has another type."""
    if type_ == "int" or "i" in step.without:
        return step
    turn = {"bigint": int, "double": float, "string": str}[type_]
    rows = [{**row, "i": turn(row["i"])} if "i" in row else row for row in step.rows]
    return replace(step, rows=rows, retype={"i": type_})


def _options(dice: random.Random, version: int, partition: str | None) -> dict[str, str]:
    """Options of a table, each now and then."""
    options = {
        "hoodie.parquet.small.file.limit": dice.choice(["0", "104857600"]),
        # Some writes lack a column.
        "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
        "hoodie.log.compaction.blocks.threshold": "2",
    }
    options |= {name: value for chance, name, value in _NOW_AND_THEN if dice.random() < chance}
    if partition and dice.random() < 0.2:
        options["hoodie.datasource.write.drop.partition.columns"] = "true"
    if version > 6 and dice.random() < 0.3:
        options["hoodie.write.record.positions"] = "false"
    if dice.random() < 0.2:
        options |= _ARCHIVING
    if dice.random() < 0.2:
        payload = "org.apache.hudi.common.model." + dice.choice(_PAYLOADS)
        options["hoodie.datasource.write.payload.class"] = payload
    return options


def _first(dice: random.Random, spec: TableSpec) -> WriteSpec:
    keys = dice.sample(_KEYS, dice.randint(3, 6))
    rows = [_row(dice, spec, key, 0) for key in keys]
    return WriteSpec(dice.choice(_FIRST), rows)


def _row(dice: random.Random, spec: TableSpec, key: str, step: int) -> Row:
    """A record; its partition follows from its key, so that no index needs to move it."""
    ts = dice.randint(-1, 5)
    row: Row = {"k": key, "j": _KEYS.index(key) % 3, "p": "xy"[_KEYS.index(key) % 2]}
    row |= {"v": f"{key}{step}", "ts": ts / 2 if spec.columns["ts"] == "double" else ts}
    if dice.random() < 0.7:
        row["n"] = f"{dice.randint(-999, 999)}.{dice.randint(10, 99)}"
    if dice.random() < 0.7:
        row["i"] = dice.randint(-9, 9)
    if "_hoodie_is_deleted" in spec.columns:
        row["_hoodie_is_deleted"] = step > 1 and dice.random() < 0.3
    return row


def _step(dice: random.Random, spec: TableSpec, number: int) -> WriteSpec:
    services = _SERVICES if spec.table_type == "merge-on-read" else _SERVICES_COW
    kind = dice.choices(
        ["upsert", "delete", "update", "sql-delete", "merge", "insert", "service", "overwrite"],
        [9, 3, 3, 2, 2, 1, 5, 1],
    )[0]
    if kind == "service":
        operation = dice.choice(services)
        if operation == "cluster" and spec.index == "bucket":
            operation = "compact"
        if number == 2 and operation in ("rollback", "crash"):
            operation = "compact"
        return WriteSpec(operation, of=number - 1 if operation == "rollback" else 0)
    if kind == "update":
        where = f"k IN ('{dice.choice(_KEYS)}', '{dice.choice(_KEYS)}')"
        change = dice.choice(["", f", ts = {dice.randint(-1, 6)}"])
        text = f"UPDATE golden SET v = 'u{number}'{change} WHERE {where}"  # noqa: S608 - our values
        return WriteSpec("sql", sql=text)
    if kind == "sql-delete":
        text = f"DELETE FROM golden WHERE k = '{dice.choice(_KEYS)}'"  # noqa: S608 - our values
        return WriteSpec("sql", sql=text)
    if kind == "merge":
        return WriteSpec("sql", sql=_merge_into(dice, spec, number))
    if kind == "overwrite":
        rows = [_row(dice, spec, key, number) for key in dice.sample(_KEYS, 2)]
        return WriteSpec(dice.choice(_OVERWRITES), rows)
    rows = [_row(dice, spec, key, number) for key in dice.sample(_KEYS, dice.randint(1, 4))]
    if kind == "insert":
        return WriteSpec("insert", rows)
    without = [dice.choice("ni")] if kind == "upsert" and dice.random() < 0.1 else []
    rows = [{name: x for name, x in row.items() if name not in without} for row in rows]
    return WriteSpec("upsert" if kind == "upsert" else "delete", rows, without=without)


def _merge_into(dice: random.Random, spec: TableSpec, number: int) -> str:
    """A MERGE INTO that updates some columns, inserts the rest of a row, or deletes."""
    key, ts = dice.choice(_KEYS), dice.randint(-1, 6)
    source = f"SELECT '{key}' AS k, '{'xy'[_KEYS.index(key) % 2]}' AS p, 'm{number}' AS v, "
    source += f"{_KEYS.index(key) % 3} AS j, 4 AS i, CAST(1.50 AS DECIMAL(12,2)) AS n, "
    source += f"CAST({ts} AS {spec.columns['ts']}) AS ts"
    if "_hoodie_is_deleted" in spec.columns:
        source += ", false AS _hoodie_is_deleted"
    change = dice.choice(
        [
            "WHEN MATCHED THEN UPDATE SET v = s.v, ts = s.ts",
            "WHEN MATCHED THEN UPDATE SET n = s.n, ts = s.ts",
            "WHEN MATCHED THEN DELETE",
        ]
    )
    insert = "WHEN NOT MATCHED THEN INSERT *"
    on = " AND ".join(f"t.{name} = s.{name}" for name in spec.keys)
    return f"MERGE INTO golden t USING ({source}) s ON {on} {change} {insert}"
