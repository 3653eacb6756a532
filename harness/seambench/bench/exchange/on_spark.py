"""Plans between the tasks of a barrier job, so that rows cross between a cluster's executors."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from seambase.errors import RefusedError, SeambenchError, UsageError
from seambase.wording import counted
from seambench.bench.exchange.cluster import Ran, Way
from seambench.bench.exchange.host import Host
from seambench.bench.exchange.plans import plan_named
from seambench.bench.exchange.suite import WITHIN
from seambench.data.tpch import generate_part, part_count


class SparkWorkers:
    """Workers that are tasks of a barrier job: all run at once, each in an executor's Python.

    Each task makes its own part of the tables before the clock starts. Addresses come from the
    barrier's context: a task listens at its executor's host and tells the others its ports. The
    cluster of the session has a core for each worker, which waits for rows for `timeout` seconds.
    """

    def __init__(self, spark: Any, implementation: str, scale: float, timeout: float) -> None:
        self._spark = spark
        self._command: dict[str, Any] = {"scale": scale, "timeout": timeout}
        self._command["implementation"] = implementation

    def prepare(self, plan: str, workers: int, folder: Path) -> None:  # noqa: ARG002 - tasks generate
        """See `seambench.bench.exchange.suite.Workers`."""
        self._command |= {"plan": plan, "workers": workers}

    def run(self, way: Way, *, memory: bool = False) -> Ran:
        """See `seambench.bench.exchange.suite.Workers`: one barrier job."""
        if way.transport in WITHIN or way.near:
            raise RefusedError("tasks of a job are processes: rows must leave them")
        command = self._command | way.settings() | {"memory": memory}
        workers = command["workers"]

        def task(_: Iterable[int]) -> Iterator[str]:
            yield json.dumps(_run_task(command))

        numbers = self._spark.sparkContext.parallelize(range(workers), workers)
        try:
            said = numbers.barrier().mapPartitions(task).collect()
        except Exception as error:  # py4j and Spark have no common one
            raise SeambenchError(f"the barrier job failed: {_reason(error)}") from error
        done = [json.loads(line) for line in said]
        return Ran.of([one["ran"] for one in done], [one["outcome"] for one in done])

    def close(self) -> None:
        """The session is its owner's."""


_LOCAL = re.compile(r"local(?:\[\s*(\*|\d+)\s*(?:,\s*\d+\s*)?\])?")
_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")


def require_slots(spark: Any, workers: int) -> None:
    """Refuse more workers than tasks that run at once, for which Spark would wait ten minutes.

    That is known of masters on this machine; others may still be joined by executors.
    """
    context = spark.sparkContext
    conf, master = context.getConf(), str(context.master)
    each = int(conf.get("spark.task.cpus", "1"))
    if found := _LOCAL.fullmatch(master):
        machine = context._jvm.java.lang.Runtime.getRuntime().availableProcessors()
        slots = (machine if found[1] == "*" else int(found[1] or 1)) // each
    elif found := _CLUSTER.fullmatch(master):
        executors, cores = int(found[1]), int(found[2])
        most = int(conf.get("spark.cores.max", str(executors * cores)))
        slots = min(executors * (cores // each), most // each)
    else:
        return
    if slots < workers:
        raise UsageError(
            f"{counted(workers, 'worker')} at once need a task each, and the master {master} runs "
            f"{slots}: ask for fewer --workers, or name a master of more cores"
        )


def end_barriers(spark: Any) -> None:
    """End the timer of Spark's barriers: a JVM whose own tasks had some would never end.

    No barrier job can follow in this JVM. Releases in whose timer nothing keeps the JVM have none.
    """
    from py4j.protocol import Py4JError

    with contextlib.suppress(Py4JError, AttributeError):
        barriers = getattr(spark.sparkContext._jvm.org.apache.spark, "BarrierTaskContext$")
        timer = "org$apache$spark$BarrierTaskContext$$timer"
        getattr(getattr(barriers, "MODULE$"), timer)().cancel()


def _run_task(command: Mapping[str, Any]) -> dict[str, Any]:
    """One worker, from its tables to its verdict; runs in an executor's Python."""
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    index, plan = context.partitionId(), plan_named(command["plan"])
    own = context.getTaskInfos()[index].address.rpartition(":")[0]
    host = Host()
    host.start({**command, "indexes": [index]})
    host.nodes[0].prepare(plan, _parts(plan.name, command["scale"], index, command["workers"]))
    try:
        listening = host.listen({**command, "address": f"tcp:{own}:0"})[str(index)]
        addresses: dict[str, list[str]] = {}
        for line in context.allGather(json.dumps(listening)):
            for step, address in json.loads(line).items():
                addresses.setdefault(step, []).append(address)
        host.connect({"addresses": addresses})
        context.barrier()
        ran = host.run(command)
        [outcome] = host.judge({})
        context.barrier()  # nobody closes while others read
    finally:
        host.close({})
    return {"ran": ran, "outcome": outcome}


@lru_cache(maxsize=2)
def _parts(name: str, scale: float, index: int, workers: int) -> dict[str, Any]:
    """This worker's rows of a plan; Spark uses a process for one task after another."""
    import pyarrow as pa

    plan, parts = plan_named(name), {}
    if plan.place:
        raise RefusedError(f"plan {name}: tasks make their own rows, wherever these belong")
    for table in plan.tables:
        if part_count(table, scale, workers) == 1:  # too few rows to be generated apart
            whole = pa.Table.from_batches(generate_part(table, scale, 1, 1))
            begin, end = (whole.num_rows * i // workers for i in (index, index + 1))
            part = whole.slice(begin, end - begin)
        else:
            part = pa.Table.from_batches(generate_part(table, scale, index + 1, workers))
        parts[table] = plan.derive.get(table, lambda rows: rows)(part).combine_chunks()
    return parts


def _reason(error: Exception) -> str:
    """The line that tells most: what a task raised, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if line.startswith("seambench")]
    return (raised or lines or [type(error).__name__])[0]
