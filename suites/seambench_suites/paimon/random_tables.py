"""Random lives of Paimon tables with a primary key, as steps for Paimon's own core."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

Step = Mapping[str, Any]
"""See `seambench.formats.paimon.writer`."""

_FUNCTIONS = (
    "sum",
    "max",
    "min",
    "last_value",
    "last_non_null_value",
    "first_value",
    "first_non_null_value",
)
#: Of those, the functions that take retracts.
_RETRACTING = ("sum", "last_value", "last_non_null_value")
_COLUMNS = {
    "k": "INT NOT NULL",
    "j": "STRING NOT NULL",
    "s": "INT",
    "a": "INT",
    "b": "STRING",
    "g": "INT",
    "c": "BIGINT",
}


def random_life(seed: int) -> Sequence[Step]:
    """The steps of one table; the first makes it."""
    chance = random.Random(seed)
    engine = chance.choice(
        ["deduplicate", "deduplicate", "partial-update", "aggregation", "first-row"]
    )
    options = {"merge-engine": engine, "bucket": "1"}
    options["file.format"] = chance.choice(["parquet", "parquet", "orc", "avro"])
    options["num-sorted-run.compaction-trigger"] = chance.choice(["3", "5", "100"])
    kinds = _kinds(chance, engine, options)
    if engine != "first-row" and chance.random() < 0.4:
        options["sequence.field"] = "s"
        if chance.random() < 0.3:
            options["sequence.field.sort-order"] = "descending"
    elif engine == "deduplicate" and chance.random() < 0.4:
        options["deletion-vectors.enabled"] = "true"
        options["deletion-vectors.bitmap64"] = chance.choice(["true", "false"])
    if chance.random() < 0.3:
        options["data-file.thin-mode"] = "true"
    keys = chance.choice([["k"], ["j"], ["j", "k"], ["k", "j"]])
    steps: list[Step] = [{"create": _COLUMNS, "keys": keys, "partition": [], "options": options}]
    for _ in range(chance.randrange(2, 9)):
        if chance.random() < 0.25:
            steps.append({"compact": True})
        else:
            rows = [_row(chance, kinds) for _ in range(chance.randrange(1, 9))]
            steps.append({"write": rows})
    return steps


def _kinds(chance: random.Random, engine: str, options: dict[str, str]) -> Sequence[str]:
    """The kinds of rows that an engine takes, and the options that let it."""
    plain, all_kinds = ("+I", "+U"), ("+I", "+I", "+I", "+U", "-D", "-U")
    if engine == "deduplicate":
        if chance.random() < 0.2:
            options["ignore-delete"] = "true"
        return all_kinds
    if engine == "first-row":
        return ("+I",)
    if engine == "aggregation":
        retracts = chance.random() < 0.4
        for name in ("a", "b", "c", "g"):
            known = _RETRACTING if retracts else _FUNCTIONS
            usable = [one for one in known if name != "b" or one != "sum"]
            options[f"fields.{name}.aggregate-function"] = chance.choice(usable)
        return all_kinds if retracts else plain
    way = chance.choice(["plain", "ignored", "groups", "functions", "removed", "by-group"])
    options |= _partial_update(chance, way)
    if way == "removed":
        return ("+I", "+I", "+U", "-D")
    return plain if way in ("plain", "functions") else all_kinds


def _partial_update(chance: random.Random, way: str) -> Mapping[str, str]:
    """What partial updates make of retracts, and of fields of groups."""
    if way == "ignored":
        return {"ignore-delete": "true"}
    if way == "removed":
        return {"partial-update.remove-record-on-delete": "true"}
    if way == "groups":
        return {"fields.g.sequence-group": "a,b"}
    if way == "functions":
        function = chance.choice(
            ["sum", "max", "last_value", "first_value", "first_non_null_value"]
        )
        return {"fields.g.sequence-group": "a,b", "fields.a.aggregate-function": function}
    if way == "by-group":
        return {
            "fields.g.sequence-group": "a",
            "fields.c.sequence-group": "b",
            "fields.a.aggregate-function": chance.choice(_RETRACTING),
            "partial-update.remove-record-on-sequence-group": chance.choice(["g", "c", "g,c"]),
        }
    return {}


def _row(chance: random.Random, kinds: Sequence[str]) -> list[Any]:
    def maybe(value: Any) -> Any:
        return "null" if chance.random() < 0.25 else value

    return [
        chance.choice(kinds),
        chance.randrange(6),
        chance.choice(["", "a", "ab", "ä", "b"]),
        maybe(chance.randrange(4)),
        maybe(chance.randrange(100)),
        maybe(chance.choice(["x", "y", "zz", ""])),
        maybe(chance.randrange(4)),
        maybe(chance.randrange(10**12)),
    ]
