"""The exchange seam: rows move between the workers of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from seambench.contracts.common import TimedFamily
from seambench.contracts.seam import Case, Explanation, Seam, late

if TYPE_CHECKING:
    from seambench.seams.exchange.cases import ExchangeCase

_FUNCTIONS = ("crc32", "fnv", "presto", "spark", "velox", "xxh3")
_FORMATS = ("arrow", "arrow-batch", "presto", "starrocks", "unsaferow")
_TYPES = (
    *("array", "bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "map"),
    *("smallint", "string", "struct", "timestamp", "timestamp_ntz", "tinyint"),
)
_TWO = "Two processes, but for what is passed through."
_CARRIED: Sequence[tuple[str, Sequence[str], str, str]] = (
    (
        "wire",
        ("way",),
        "bytes of lineitem that are there, in each way",
        "Two processes. The copy is the bytes of the pages over a bare Unix socket.",
    ),
    ("transfer", ("way",), "chunks of lineitem that are there, in each way", _TWO),
    (
        "rows",
        ("way",),
        "lineitem dealt, encoded, carried and decoded by one driver, in each way",
        _TWO,
    ),
    ("parallel", ("way",), "the same by a driver for each core", _TWO),
    ("alone", (), "the steps of carrying, each in one thread", ""),
    (
        "dealing",
        ("parts", "way"),
        "lineitem dealt to parts, beside Polars",
        "65,536 rows at a time.",
    ),
    ("slow", (), "seven receivers, without and beside a slow one", ""),
    ("stopped", (), "going on after nobody read for a while", ""),
)
_WORDS = {
    "partitions.hash": "rows with equal keys meet",
    "partitions.bucket": "rows go to whoever has the bucket of their keys",
    "buckets.drivers": "a bucket may be bound to a driver",
    "buckets.unused": "rows of buckets that nobody has are refused, or dropped and counted",
    "partitions.broadcast": "every row comes to every receiver",
    "partitions.random": "rows go anywhere, evenly",
    "partitions.single": "every row comes to the one receiver",
    **{f"functions.{word}": f"rows are dealt as {word} says" for word in _FUNCTIONS},
    "keys.computed": "keys may be computed of columns",
    "output-columns": "columns may stay behind",
    "writers": "more than one driver of a sender, which share its buffer",
    "mixed": "within one exchange, receivers of the sender's process are handed batches",
    "knobs.*": "a setting of the engine, by its name there",
    "drivers": "more than one reader behind a receiver",
    "orders.sender": "rows of a sender stay in their order",
    "orders.merge": "sorted rows come sorted",
    "orders.drivers": "so they do at each of several readers behind a receiver",
    **{f"formats.{word}": f"rows are carried as {word}" for word in _FORMATS},
    "transports.pass-through": "batches change hands within the process",
    "transports.local": "the same between threads, without sink and source",
    "transports.*": "rows travel this way",
    **{f"types.{word}": f"columns of type {word}" for word in _TYPES},
    "encodings.dictionary": "columns may come as dictionaries",
    "encodings.run": "columns may come as runs",
    "encodings.view": "texts may come as views",
    "encodings.large": "texts may come with wide offsets",
    "cancel": "either side can give up",
    "sender": "its senders can face the receivers of another",
    "receiver": "its receivers can face the senders of another",
    "wires.*": "what it speaks to another implementation",
}

_DOORS = {
    "cmd": late("seambench.seams.exchange.doors:CommandExchange"),
    "lib": late("seambench.seams.exchange.library:LibraryExchange"),
}

_PARTS, _WAYS = ("plan", "transport", "chunks", "workers", "rows"), ("transport", "chunks")
_TIMED = (
    TimedFamily(
        "exchange-workers",
        "plans over workers of one machine",
        _PARTS,
        _WAYS,
        "Pass-through and local run between threads of one process, everything else "
        "between processes. The copy is as many bytes over a bare Unix socket.",
    ),
    TimedFamily(
        "exchange-spark",
        "plans over executors of Spark",
        _PARTS,
        _WAYS,
        "Tasks of a barrier job exchange rows between the executors of a cluster.",
    ),
    *(
        TimedFamily(f"exchange-{kind}", title, parts, parts[-1:], note)
        for kind, parts, title, note in _CARRIED
    ),
)


class _ExchangeSeam(Seam):
    name = "exchange"
    title = "rows move between the workers of a query"
    method = "open"
    timed = _TIMED
    words = _WORDS
    doors = _DOORS
    check = late("seambench.seams.exchange.check:check_exchange")
    attempt = late("seambench.seams.exchange.check:attempt_exchange")
    pair = late("seambench.seams.exchange.pairs:Pair")
    pair_names = late("seambench.seams.exchange.pairs:names_of_pairs")

    def cases(self, root: Path, golden: Path | None, begins: Sequence[str]) -> Sequence[Case]:
        from seambase.errors import UsageError
        from seambench.seams.exchange.cases import exchange_cases

        if golden is not None:
            raise UsageError("--golden: the exchange seam has no golden files")
        return exchange_cases(root, begins)

    def explain(self, case: ExchangeCase) -> Explanation:
        from seambench.conformance.definitions import explain_file

        request = {
            **asdict(case.shape),
            "transport": case.transport,
            "format": case.format,
            "encoding": case.encoding,
            **case.knobs,
        }
        return explain_file(case, case.file, request)


SEAM = _ExchangeSeam()
