"""What `spark-submit` is given runs to its end, as documents say."""

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.java import find_java
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
