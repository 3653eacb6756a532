"""What `spark-submit` is given runs to its end, as documents say."""

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from unittest.mock import MagicMock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import UsageError
from seambase.java import find_java
from seambench.bench.exchange.on_spark import require_slots
from seambench.records.files import load_record

_SECONDS = 600.0


def submitted(job: str, *asked: str) -> str:
    """What a job printed that ended well, on a local master; it is no child of a session here."""
    submit = Path(sys.executable).with_name("spark-submit")
    done = subprocess.run(
        [submit, "--master", "local[2]", str(files("seambench") / "jobs" / job), *asked],
        env=os.environ
        | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        | {"JAVA_HOME": str(find_java().home)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


def _session(master: str, conf: Mapping[str, str]) -> MagicMock:
    """A session on a machine of eight cores."""
    session = MagicMock()
    session.sparkContext.master = master
    session.sparkContext.getConf.return_value = conf
    runtime = session.sparkContext._jvm.java.lang.Runtime.getRuntime.return_value
    runtime.availableProcessors.return_value = 8
    return session


@pytest.mark.parametrize(
    ("master", "conf", "slots"),
    [
        ("local", {}, 1),
        ("local[3]", {}, 3),
        ("local[2, 4]", {}, 2),
        ("local[*]", {}, 8),
        ("local[*,4]", {}, 8),
        ("local[5]", {"spark.task.cpus": "2"}, 2),
        ("local[2]", {"spark.default.parallelism": "64"}, 2),
        ("local-cluster[2,3,1024]", {}, 6),
        ("local-cluster[2, 3, 1024]", {"spark.task.cpus": "2"}, 2),
        ("local-cluster[2,3,1024]", {"spark.cores.max": "4"}, 4),
    ],
)
def test_more_workers_than_tasks_run_at_once_are_refused(
    master: str, conf: Mapping[str, str], slots: int
) -> None:
    """By the sentence that says how many do; Spark would wait for ten minutes."""
    require_slots(_session(master, conf), slots)
    with pytest.raises(UsageError, match=f"runs {slots}: ask for fewer"):
        require_slots(_session(master, conf), slots + 1)


def test_a_cluster_elsewhere_may_grow() -> None:
    """How many executors it will have nobody knows."""
    require_slots(_session("spark://host:7077", {}), 1000)


@pytest.mark.spark
def test_a_barrier_is_not_waited_for(tmp_path: Path) -> None:
    """An exchange of three workers on two cores ends with the sentence, and at once."""
    with pytest.raises(AssertionError, match=r"the master local\[2\] runs 2"):
        submitted("exchange.py", "--workers", "3", "--results", str(tmp_path))
    assert not list(tmp_path.rglob("*.json"))


_FOLLOWING = """
from seambench.engines.spark import SparkOptions, spark_session
from seambench.formats.delta import bundle

for jars in (bundle(), bundle(), None, bundle()):
    with spark_session(SparkOptions(memory="1g", bundle=jars)) as (spark, _):
        print(spark.range(3).count())
"""


@pytest.mark.spark
def test_sessions_follow_each_other_under_spark_submit(tmp_path: Path) -> None:
    """In Java processes of their own, for jars that spark-submit's lacks, and in this one."""
    script = tmp_path / "following.py"
    script.write_text(_FOLLOWING)
    assert submitted(str(script)).split() == ["3"] * 4


@pytest.mark.spark
def test_a_comparison_and_a_scan_run_under_spark_submit(tmp_path: Path) -> None:
    """The one makes data and records right answers; the other reads what was made, row by row."""
    data, results, site = (tmp_path / name for name in ("data", "results", "site"))
    measured = "--reader auto --queries none --samples 1 --no-conformance --update-ratio 20"
    tables = "--scale 0.001 --format delta --slices 2"
    places = ["--data", str(data), "--results", str(results), "--site", str(site)]
    submitted("run.py", *f"{tables} {measured}".split(), *places)
    [record] = [load_record(path) for path in results.rglob("*.json")]
    assert {timing.outcome for timing in record.timings} == {"pass"}
    assert (site / "index.html").is_file()
    [made] = data.glob("*/delta-*")
    out = tmp_path / "rows.parquet"
    submitted("scan.py", str(made / "lineitem"), "-o", str(out), "--columns", "l_orderkey")
    expected = pq.read_table(made / "expected" / "snapshot" / "lineitem.parquet")
    keys = expected.column("l_orderkey").cast(pa.int64()).to_pylist()
    assert keys
    assert sorted(pq.read_table(out).column("l_orderkey").to_pylist()) == sorted(keys)
