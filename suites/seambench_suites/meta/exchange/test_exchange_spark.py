"""An exchange between the executors of a cluster: barrier tasks on local-cluster."""

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from seambase.java import find_java
from seambench.records.files import load_record

_SECONDS = 600.0
_MASTER = "local-cluster[2,1,2048]"
# A job's barriers ask once a second, so that each transport takes a quarter of a minute of waiting;
# what tells them apart is tested between plain processes.
_OTHERS = ("sockets", "grpc")


@pytest.mark.spark
def test_the_job_ends_under_spark_submit(tmp_path: Path) -> None:
    """With a local master the driver's JVM has the tasks' barriers, and ends all the same."""
    submit = Path(sys.executable).with_name("spark-submit")
    job = Path(str(files("seambench"))) / "jobs" / "exchange.py"
    asked = ["--workers", "2", "--samples", "1", "--scale", "0.002", "--plan", "shuffle"]
    asked += ["--transport", "sockets", "--results", str(tmp_path)]
    done = subprocess.run(
        [str(submit), "--master", "local[2]", str(job), *asked],
        env=os.environ
        | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        | {"JAVA_HOME": str(find_java().home)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "exchange-spark/shuffle/sockets/presto/2/4096: " in done.stdout
    assert [load_record(path).timings[0].outcome for path in tmp_path.rglob("*.json")] == ["pass"]


@pytest.mark.spark
@pytest.mark.parametrize(
    "transport", ["flight", *(pytest.param(name, marks=pytest.mark.slow) for name in _OTHERS)]
)
def test_executors_exchange_every_row(transport: str, tmp_path: Path) -> None:
    """Two executors shuffle over a transport; every digest is the oracle's."""
    asked = ["--master", _MASTER, "--workers", "2", "--samples", "1", "--scale", "0.002"]
    asked += ["--plan", "shuffle", "--transport", transport]
    # Executors of a checkout must find the packages too.
    paths = os.pathsep.join(path for path in sys.path if path)
    for setting in (f"spark.executorEnv.PYTHONPATH={paths}", "spark.cores.max=2"):
        asked += ["--conf", setting]
    done = subprocess.run(
        [sys.executable, "-m", "seambench.jobs.exchange", *asked, "--results", str(tmp_path)],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    [path] = tmp_path.rglob("*.json")
    [timing] = load_record(path).timings
    assert timing.case == f"exchange-spark/shuffle/{transport}/presto/2/4096"
    assert timing.outcome == "pass", timing
    assert len(timing.hot) == 1
