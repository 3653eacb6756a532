"""Implementations of a seam beside each other, at this commit: once as tests, or as benchmarks.

Those of one group do the same work in turns of pytest-benchmark's; what comes is compared before a
time counts. Engines that need a JVM, and times for the page, are `seambench run`'s and
`seambench throughput`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import UnavailableError
from seambase.serde import SerdeRequest
from seambase.type_fields import fields_of
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench.engines.digest import digest_reader
from seambench_suites.history.column_kernels import lineitem
from seambench_suites.history.scan_kernels import RatioScan, unpacked

SCANNERS: Sequence[str] = ("auto", "merge", "connector", "engine", "hudi-rs", "daft-hudi")

#: By format of bytes: the language of its types, and who writes and reads it, a witness first.
SERDES: dict[str, tuple[Any, Sequence[str]]] = {
    "arrow": ("spark", ("arrow", "arro3", "nanoarrow", "polars-ipc")),
    "presto": ("presto", ("seambench",)),
    "unsaferow": ("spark", ("seambench",)),
    "compactrow": ("spark", ("seambench",)),
}
SIDES = [
    (format_, name, side)
    for format_, (_, names) in SERDES.items()
    for name in names
    for side in ("serialize", "deserialize")
]


def implementation(seam: str, name: str) -> Any:
    """One of the registry, if it is on this machine."""
    try:
        return registry.resolve(seam, name)
    except UnavailableError as error:
        pytest.skip(f"unavailable: {error}")


@pytest.mark.parametrize("name", SCANNERS)
def test_scanners_read_the_same_amounts(benchmark: Any, name: str) -> None:
    """Two columns of a Hudi table, half of whose 20,000 rows are updated in logs."""
    scanner = implementation("scan", name)
    request = ScanRequest(table=str(unpacked("hudi-ratios")), columns=("k", "amount"), threads=1)
    benchmark.group = "scan of hudi-ratios"

    def read() -> pa.Table:
        return pa.Table.from_batches(scanner.open(request).to_reader())

    table = benchmark.pedantic(read, rounds=5, warmup_rounds=1)

    assert round(pc.sum(table.column("amount")).as_py() * 100) == RatioScan.cents("50")


@cache
def batch() -> pa.RecordBatch:
    """4096 rows of 16 columns like lineitem's."""
    return lineitem()


@pytest.mark.parametrize(("format_", "name", "side"), SIDES)
def test_serdes_carry_the_same_rows(benchmark: Any, format_: str, name: str, side: str) -> None:
    """Rows like lineitem's become bytes, and these the same rows again."""
    serde = implementation("serde", name)
    if not serde.capabilities.get(side):
        pytest.skip(f"not offered: {side}")
    language, [witness, *_] = SERDES[format_]
    options = {"types": language} if format_ == "arrow" else {}
    request = SerdeRequest(format_, fields_of(batch().schema, language), options)
    data = implementation("serde", witness).serialize(request, [batch()])
    benchmark.group = f"{format_}, {side}"

    def work() -> Any:
        if side == "serialize":
            return serde.serialize(request, [batch()])
        return serde.deserialize(request, data)

    result = benchmark.pedantic(work, rounds=15, warmup_rounds=2)

    if side == "serialize":
        result = implementation("serde", witness).deserialize(request, result)
    came = pa.Table.from_batches(result)
    assert digest_reader(came.to_reader(), batch().schema) == digest_reader(batch())
