"""Random lives of tables whose fields are arrays, maps, texts and sets, each with a function."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from seambench_suites.paimon.random_tables import Step

#: Columns whose items have no order.
UNORDERED = frozenset(("n", "l", "m", "d", "p"))
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
    "c": {"type": "ARRAY", "element": "INT"},
    "d": {"type": "ARRAY", "element": "INT"},
    "s": "STRING",
    "p": {"type": "MAP", "key": "STRING", "value": "INT"},
    "q": "DECIMAL(9, 2)",
    "b": "BYTES",
    "t": "BYTES",
    "h": "BYTES",
}
_FUNCTIONS = {
    "n": "nested_partial_update",
    "l": "nested_update",
    "u": "nested_update",
    "m": "merge_map_with_keytime",
    "c": "collect",
    "d": "collect",
    "s": "listagg",
    "p": "merge_map",
    "q": "sum",
    "b": "rbm32",
    "t": "theta_sketch",
    "h": "hll_sketch",
}
_SETS = ("b", "t", "h")
_TAKE_BACK = ("nested_update", "collect", "merge_map", "sum")


def random_items(seed: int) -> Sequence[Step]:
    """As `random_functions`, without sets in bytes, which our connector refuses."""
    return random_functions(seed, sets=False)


def random_functions(seed: int, *, sets: bool = True) -> Sequence[Step]:
    """The steps of one table; the first makes it."""
    chance = random.Random(seed)
    functions = {name: own for name, own in _FUNCTIONS.items() if sets or name not in _SETS}
    in_groups, retracts = chance.random() < 0.5, chance.random() < 0.5
    options = {"bucket": "1", "file.format": chance.choice(["parquet", "orc", "avro"])}
    options["num-sorted-run.compaction-trigger"] = chance.choice(["3", "100"])
    options["merge-engine"] = "partial-update" if in_groups else "aggregation"
    if in_groups:
        options["fields.g.sequence-group"] = ",".join(functions)
    for name, function in functions.items():
        options[f"fields.{name}.aggregate-function"] = function
        if retracts and (function not in _TAKE_BACK or chance.random() < 0.3):
            options[f"fields.{name}.ignore-retract"] = "true"
    options["fields.n.nested-key"] = options["fields.l.nested-key"] = chance.choice(["id", "id,v"])
    options["fields.m.ts-field"], options["fields.d.distinct"] = "v", "true"
    options["fields.s.distinct"] = chance.choice(("true", "false"))
    options["fields.u.count-limit"] = str(chance.randrange(1, 6))
    if not in_groups:
        options["fields.l.count-limit"] = str(chance.randrange(2, 7))
    columns = {name: kind for name, kind in _COLUMNS.items() if sets or name not in _SETS}
    kinds = ("+I", "+I", "+U", "-D", "-U") if retracts else ("+I", "+U")
    steps: list[Step] = [
        {"create": columns, "keys": ["k"], "partition": [], "options": options},
    ]
    for _ in range(chance.randrange(2, 6)):
        if chance.random() < 0.2:
            steps.append({"compact": True})
        else:
            rows = chance.randrange(1, 7)
            steps.append({"write": [_row(chance, kinds, sets=sets) for _ in range(rows)]})
    return steps


def _row(chance: random.Random, kinds: Sequence[str], *, sets: bool) -> list[Any]:
    def maybe(value: Any, share: float = 0.2) -> Any:
        return "null" if chance.random() < share else value

    def nested() -> list[Any]:
        own = [chance.randrange(3), chance.choice(_TEXTS), chance.randrange(9)]
        return [maybe(value) for value in own]

    def rows() -> Any:
        return maybe([maybe(nested(), 0.1) for _ in range(chance.randrange(4))])

    entries = {chance.choice("abc"): maybe(nested()) for _ in range(chance.randrange(4))}

    def items() -> Any:
        return maybe([maybe(chance.randrange(4), 0.1) for _ in range(chance.randrange(4))])

    numbers = {chance.choice("abc"): maybe(chance.randrange(4)) for _ in range(chance.randrange(4))}
    parts = [chance.choice(("a", "b", "c", "", " ")) for _ in range(chance.randrange(4))]
    bytes_ = [_bitmap(chance), *(chance.choice(own) for own in _sketches())] if sets else []
    return [
        chance.choice(kinds),
        chance.randrange(3),
        maybe(chance.randrange(4)),
        *(rows() for _ in range(3)),
        maybe([list(entry) for entry in entries.items()]),
        items(),
        items(),
        maybe(",".join(parts)),
        maybe([list(entry) for entry in numbers.items()]),
        maybe(f"{chance.randrange(-999999, 999999) / 100:.2f}"),
        *map(maybe, bytes_),
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
