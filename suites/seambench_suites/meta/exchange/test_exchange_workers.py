"""Plans over real workers: processes that exchange rows give what the generator says."""

import itertools
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, SeambenchError, UnavailableError
from seambench.bench.exchange.cluster import Cluster, Way
from seambench.bench.exchange.oracle import Oracle, write_tables
from seambench.bench.exchange.plans import PLANS
from seambench.bench.exchange.suite import (
    WITHIN,
    ExchangeOptions,
    hosts_of,
    local_share,
    measure_exchanges,
)
from seambench.data.oracle import DIGEST_KIND
from seambench.data.tpch import generate_part
from seambench.engines.digest import digest_reader
from seambench.records.files import problems
from seambench.records.model import Answered, Floor

_SCALE = 0.002
_FORMATS = ["arrow", "arrow-batch", "presto", "starrocks", "unsaferow"]
_NETWORK = ["sockets", "grpc", "flight"]
_SECONDS = 60.0

Judged = Callable[[str, Cluster, Way], "str | None"]


@pytest.fixture(scope="module")
def judge(folder: Path) -> Judged:
    """Runs a plan over workers and says what is wrong with its outcome."""

    def run(plan: str, cluster: Cluster, way: Way) -> str | None:
        cluster.prepare(plan, folder)
        return Oracle(PLANS[plan], folder).judge(cluster.run(way).outcomes).wrong

    return run


@pytest.fixture(scope="module")
def two_processes() -> Iterator[Cluster]:
    """Two workers, each in a process."""
    with Cluster("seambench", [1, 1], timeout=_SECONDS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def four_threads() -> Iterator[Cluster]:
    """Four workers in one process."""
    with Cluster("seambench", [4], timeout=_SECONDS) as cluster:
        yield cluster


@pytest.mark.parametrize(("transport", "chunk_format"), [*zip(itertools.cycle(_NETWORK), _FORMATS)])
def test_two_processes_shuffle_every_row_to_its_key(
    judge: Judged, two_processes: Cluster, transport: str, chunk_format: str
) -> None:
    """Every transport and format: all rows arrive once, those of a key at one worker.

    Cases have every format over every transport.
    """
    assert judge("shuffle", two_processes, Way(transport, chunk_format)) is None


@pytest.mark.parametrize(
    ("plan", "transport"),
    [*zip([name for name in PLANS if name != "shuffle"], itertools.cycle(_NETWORK))],
)
def test_two_processes_agree_with_the_oracle(
    judge: Judged, two_processes: Cluster, transport: str, plan: str
) -> None:
    """Broadcast, random, skewed keys, Q1 in two stages, the join of Q3, each over a transport.

    Every plan over every transport is a slow test, below.
    """
    assert judge(plan, two_processes, Way(transport, "presto", chunk_rows=512)) is None


# A local exchange, every second one, knows no buckets.
@pytest.mark.parametrize(("transport", "plan"), [*zip(itertools.cycle(WITHIN), PLANS)])
def test_threads_of_one_process_agree_with_the_oracle(
    judge: Judged, four_threads: Cluster, plan: str, transport: str
) -> None:
    """Pass-through, and a local exchange: four workers share a process."""
    assert judge(plan, four_threads, Way(transport, chunk_rows=512)) is None


@pytest.fixture(scope="module")
def two_of_two() -> Iterator[Cluster]:
    """Two processes of two workers each."""
    with Cluster("seambench", [2, 2], timeout=_SECONDS) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("plan", "drivers"),
    [("shuffle", 4), ("broadcast", 1), ("q03-buckets", 2)],
)
def test_batches_stay_in_a_process_and_bytes_leave_it(
    folder: Path, two_of_two: Cluster, plan: str, drivers: int
) -> None:
    """In one exchange, with several drivers on both sides: all rows, each key at one driver."""
    way = Way("sockets", "arrow-batch", chunk_rows=512, near=2, drivers=drivers)
    two_of_two.prepare(plan, folder)
    ran = two_of_two.run(way)
    assert Oracle(PLANS[plan], folder).judge(ran.outcomes).wrong is None
    assert ran.passed_bytes > 0
    assert two_of_two.run(replace(way, near=0)).passed_bytes == 0


@pytest.mark.parametrize(
    ("workers", "way", "hosts", "share"),
    [
        (4, Way("sockets"), [1, 1, 1, 1], 0.0),
        (4, Way("sockets", near=1), [1, 1, 1, 1], 0.25),
        (4, Way("grpc", near=2), [2, 2], 0.5),
        (3, Way("grpc", near=2), [2, 1], 5 / 9),
        (4, Way("sockets", near=8), [4], 1.0),
        (4, Way("pass-through"), [1, 1, 1, 1], 1.0),
    ],
)
def test_the_share_of_local_destinations(
    workers: int, way: Way, hosts: list[int], share: float
) -> None:
    """Of all pairs of workers, those in one process, as far as they hand batches over."""
    assert hosts_of(workers, min(max(way.near, 1), workers)) == hosts
    assert local_share(workers, way) == share


def test_workers_take_the_rows_that_spark_made(tmp_path: Path) -> None:
    """Of a data set of the scale, as its manifest's digests say; where there is none, generated."""
    data = tmp_path / "data" / f"sf{_SCALE}" / "parquet"
    table = pa.Table.from_batches(generate_part("region", _SCALE, 1, 1))
    mixed = table.take([3, 1, 4, 0, 2])
    (data / "region").mkdir(parents=True)
    pq.write_table(mixed.slice(0, 2), data / "region" / "a.parquet")
    pq.write_table(mixed.slice(2), data / "region" / "b.parquet")
    entry = {"path": "region", "ts": None, "rows": 5, "digest": digest_reader(table)}
    manifest = {
        "schema_version": 1,
        "layout": "parquet",
        "scale": _SCALE,
        "knobs": {"generator": "made by hand", "digest_kind": DIGEST_KIND},
        "tables": {"region": {"kind": "parquet", "path": "region"}},
        "expected": {"base": {"region": entry}, "snapshot": {"region": entry}},
    }
    (data / "manifest.json").write_text(json.dumps(manifest))
    plan = replace(PLANS["broadcast"], tables=("region",))
    made = write_tables(tmp_path, [plan], _SCALE, tmp_path / "data")
    assert (made.by, made.generator, made.rows) == ("spark", "made by hand", {"region": 5})
    with pa.memory_map(str(tmp_path / "region.arrow")) as file:
        assert pa.ipc.open_file(file).read_all() == mixed
    assert write_tables(tmp_path, [plan], 0.003, tmp_path / "data").by == "generator"
    entry["digest"] = "5:0"
    (data / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="table region has rows"):
        write_tables(tmp_path, [plan], _SCALE, tmp_path / "data")


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [[1], [1] * 4, [2, 2], [1] * 8], ids=str)
def test_one_to_eight_workers_agree_with_the_oracle(judge: Judged, hosts: list[int]) -> None:
    """Every plan, transport and format, also where two workers share a process."""
    with Cluster("seambench", hosts, timeout=_SECONDS) as cluster:
        for plan in PLANS:
            for transport in _NETWORK:
                for chunk_format in _FORMATS:
                    assert judge(plan, cluster, Way(transport, chunk_format)) is None


@pytest.mark.parametrize(
    "transport", ["sockets", *(pytest.param(name, marks=pytest.mark.slow) for name in _NETWORK[1:])]
)
def test_a_killed_worker_fails_the_run_in_bounded_time(folder: Path, transport: str) -> None:
    """The others are told, or found dead; nobody waits for ever, and nothing is recorded."""
    with Cluster("seambench", [1, 1], timeout=_SECONDS) as cluster:
        cluster.prepare("shuffle", folder)
        cluster.run(Way(transport, chunk_rows=64))
        killing = threading.Timer(0.02, os.kill, (cluster.pids[1], signal.SIGKILL))
        killing.start()
        with pytest.raises(SeambenchError, match=r"lost|died|failed|cannot be reached"):
            _run_for_ever(cluster, Way(transport, chunk_rows=64))
        killing.join()


def _run_for_ever(cluster: Cluster, way: Way) -> None:
    while True:
        cluster.run(way)


def test_pass_through_does_not_leave_a_process(folder: Path) -> None:
    """Two processes cannot hand batches over; that is said, not done in another way."""
    with Cluster("seambench", [1, 1], timeout=_SECONDS) as cluster:
        cluster.prepare("shuffle", folder)
        with pytest.raises(UnavailableError, match="is not in this process"):
            cluster.run(Way("pass-through"))


def test_what_was_measured_is_a_record() -> None:
    """Answers that agree, a floor without one; bytes, processor seconds and memory are there."""
    options = ExchangeOptions(
        plans=("q01",), transports=("pass-through", "sockets"), scale=_SCALE, samples=1
    )
    [made] = measure_exchanges(options)
    assert problems(made) == []
    assert [timing.case for timing in made.timings] == [
        "exchange-workers/q01/pass-through/none/2/4096",
        "exchange-workers/q01/sockets/presto/2/4096",
        "exchange-workers/q01/copy/unix/2/4096",
    ]
    for timing in made.timings:
        assert timing.outcome == "pass"
        assert min(timing.bytes or 0, *timing.hot, *timing.cpu) > 0
    assert [type(timing) for timing in made.timings] == [Answered, Answered, Floor]
    assert all((timing.peak_bytes or 0) > 0 for timing in made.timings[:2])
    assert [timing.over.dimensions for timing in made.timings] == [
        _dimensions(drivers=1, share=1.0),
        _dimensions(drivers=1, share=0.0),
        {"rows made by": "generator", "workers": 2},
    ]


def _dimensions(*, drivers: int, share: float) -> dict[str, object]:
    facts = {"rows made by": "generator", "workers": 2}
    return {**facts, "drivers": drivers, "local destinations": share}
