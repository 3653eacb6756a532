"""Random lives of tables whose fields are arrays, maps and sets in bytes, each with a function."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from seambench_suites.paimon.random_tables import Step

#: Columns whose items have no order.
UNORDERED = frozenset(("n", "l", "m"))
_TEXTS = ("", "1", "10", "2", "ä", "\uffee", "\U0001f600")


def _rows(first: int) -> Any:
    kinds = {"id": "INT", "v": "STRING", "w": "BIGINT"}
    fields = [
        {"id": first + i, "name": name, "type": kind}
        for i, (name, kind) in enumerate(kinds.items())
    ]
    return {"type": "ROW", "fields": fields}


_COLUMNS = {
    "k": "INT NOT NULL",
    "g": "INT",
    "n": {"type": "ARRAY", "element": _rows(10)},
    "l": {"type": "ARRAY", "element": _rows(20)},
    "u": {"type": "ARRAY", "element": _rows(30)},
    "m": {"type": "MAP", "key": "STRING", "value": _rows(40)},
    "b": "BYTES",
    "t": "BYTES",
    "h": "BYTES",
}
_FUNCTIONS = {
    "n": "nested_partial_update",
    "l": "nested_update",
    "u": "nested_update",
    "m": "merge_map_with_keytime",
    "b": "rbm32",
    "t": "theta_sketch",
    "h": "hll_sketch",
}


def random_functions(seed: int) -> Sequence[Step]:
    """The steps of one table; the first makes it."""
    chance = random.Random(seed)
    in_groups, retracts = chance.random() < 0.5, chance.random() < 0.5
    options = {"bucket": "1", "file.format": chance.choice(["parquet", "orc", "avro"])}
    options["num-sorted-run.compaction-trigger"] = chance.choice(["3", "100"])
    options["merge-engine"] = "partial-update" if in_groups else "aggregation"
    if in_groups:
        options["fields.g.sequence-group"] = ",".join(_FUNCTIONS)
    for name, function in _FUNCTIONS.items():
        options[f"fields.{name}.aggregate-function"] = function
        if retracts and (function != "nested_update" or chance.random() < 0.3):
            options[f"fields.{name}.ignore-retract"] = "true"
    options["fields.n.nested-key"] = options["fields.l.nested-key"] = chance.choice(["id", "id,v"])
    options["fields.m.ts-field"] = "v"
    options["fields.u.count-limit"] = str(chance.randrange(1, 6))
    if not in_groups:
        options["fields.l.count-limit"] = str(chance.randrange(2, 7))
    kinds = ("+I", "+I", "+U", "-D", "-U") if retracts else ("+I", "+U")
    steps: list[Step] = [
        {"create": _COLUMNS, "keys": ["k"], "partition": [], "options": options},
    ]
    for _ in range(chance.randrange(2, 6)):
        if chance.random() < 0.2:
            steps.append({"compact": True})
        else:
            steps.append({"write": [_row(chance, kinds) for _ in range(chance.randrange(1, 7))]})
    return steps


def _row(chance: random.Random, kinds: Sequence[str]) -> list[Any]:
    def maybe(value: Any, share: float = 0.2) -> Any:
        return "null" if chance.random() < share else value

    def nested() -> list[Any]:
        own = [chance.randrange(3), chance.choice(_TEXTS), chance.randrange(9)]
        return [maybe(value) for value in own]

    def rows() -> Any:
        return maybe([maybe(nested(), 0.1) for _ in range(chance.randrange(4))])

    entries = {chance.choice("abc"): maybe(nested()) for _ in range(chance.randrange(4))}
    sketches = [maybe(chance.choice(own)) for own in _sketches()]
    return [
        chance.choice(kinds),
        chance.randrange(3),
        maybe(chance.randrange(4)),
        *(rows() for _ in range(3)),
        maybe([list(entry) for entry in entries.items()]),
        maybe(_bitmap(chance)),
        *sketches,
    ]


def _bitmap(chance: random.Random) -> str:
    """A portable bitmap of arrays, in hexadecimal digits."""
    containers = {}
    for key in sorted(chance.sample(range(4), chance.randrange(3))):
        begin, step = chance.randrange(50), chance.choice((1, 1, 2, 3))
        containers[key] = [begin + i * step for i in range(chance.randrange(1, 40))]
    data = struct.pack("<II", 12346, len(containers))
    for key, values in containers.items():
        data += struct.pack("<HH", key, len(values) - 1)
    at = len(data) + 4 * len(containers)
    for values in containers.values():
        data += struct.pack("<I", at)
        at += 2 * len(values)
    return (data + b"".join(struct.pack("<H", v) for own in containers.values() for v in own)).hex()


@cache
def _sketches() -> Sequence[Sequence[str]]:
    """Theta sketches and HyperLogLog sketches of several ranges of numbers, in digits."""
    import datasketches

    thetas, hlls = [], []
    for begin, count in ((0, 0), (0, 1), (5, 3), (2, 20), (100, 90), (50, 400)):
        theta = datasketches.update_theta_sketch(6)
        hll = datasketches.hll_sketch(6)
        for value in range(begin, begin + count):
            theta.update(value)
            hll.update(value)
        thetas.append(theta.compact().serialize().hex())
        hlls.append(hll.serialize_compact().hex())
    return thetas, hlls
