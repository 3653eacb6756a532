"""Timed steps of the exchange: each result stands for the rows that went in."""

import pyarrow as pa
import pytest

from seambench.engines.digest import digest_reader
from seambench_impl.exchange import SeambenchExchange
from seamkit.exchange.formats.formats import FORMATS
from seamkit.exchange.transports.by_name import TRANSPORTS


@pytest.mark.parametrize(("rows", "times"), [(1, 1), (5000, 2)])
def test_steps_keep_their_rows(rows: int, times: int) -> None:
    """Hashes, parts, every transport with every format, and the whole way, twice each."""
    exchange = SeambenchExchange()
    batch = pa.record_batch(
        {"k": pa.array(range(rows), pa.int64()), "s": [f"text {n % 7}" for n in range(rows)]}
    )
    stages = {stage.name: stage for stage in exchange.stages(batch)}
    dealing = {f"{how} {parts}" for how in ("partition", "split") for parts in (8, 64)}
    assert {"hash", "transfer pass-through"} | dealing <= set(stages)
    assert {f"transfer {t} {f}" for t in TRANSPORTS for f in FORMATS} <= set(stages)
    assert {"end to end pass-through", "end to end sockets presto"} <= set(stages)
    for stage in stages.values():
        for _ in range(times):
            assert digest_reader(stage.rows(stage.run()), batch.schema) == digest_reader(batch)
    wrong = stages["hash"].rows(stages["hash"].run() + 1)
    assert digest_reader(wrong, batch.schema) != digest_reader(batch)
