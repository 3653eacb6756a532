"""Start Spark with the jars of a table format on whatever this machine has, or say what is missing.

Jars come through Spark's own `spark.jars.packages` (kept by Ivy in its usual cache), or from paths
given by hand. What Spark prints goes to a file that is kept when something fails, so that the
terminal shows progress only.
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
from types import FrameType
from typing import Any

from seambase.errors import SeambenchError, UnavailableError, UsageError
from seambase.extras import not_installed
from seambase.java import find_java
from seambench.contracts.tables import SparkBundle

OWN_ERROR = re.compile(rf"^{re.escape(SeambenchError.__module__)}\.(\w+): (.+)$", re.MULTILINE)
"""An error of ours within Spark's account of a failed task: the name of its class, its sentence."""

_TRUST_STORE = Path("/etc/ssl/certs/java/cacerts")

# Masters whose tasks are threads of the driver.
_LOCAL = re.compile(r"local(\[[^]]*\])?")
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
class SparkOptions:
    """How to start Spark."""

    # Spark master; None means what a surrounding spark-submit says, else `local[*]`
    master: str | None = None
    memory: str = "4g"  # heap of the driver (which does all the work on a local master), e.g. `4g`.
    jars: tuple[str, ...] = ()  # paths of jars to use instead of fetching those of the bundle
    # further Spark settings; they win over the ones made here
    conf: Mapping[str, str] = field(default_factory=dict)
    # whether the work takes so little that Java's second compiler would only cost time
    brief: bool = False
    # what a table format needs; None where Spark reads and writes plain files alone
    bundle: SparkBundle | None = None


def parse_settings(settings: Sequence[str], flag: str = "--conf") -> dict[str, str]:
    """Settings, each given by a flag as `KEY=VALUE`."""
    for setting in settings:
        if not re.match(r"[^=\s]+=", setting):
            raise UsageError(f"{flag} {setting} is not of the form KEY=VALUE")
    return dict(setting.split("=", 1) for setting in settings)


def _jar_settings(options: SparkOptions) -> dict[str, str]:
    if not options.jars:
        return {"spark.jars.packages": ",".join(options.bundle.packages)} if options.bundle else {}
    for jar in options.jars:
        if not Path(jar).is_file():
            raise UsageError(f"jar {jar} does not exist")
    return {"spark.jars": ",".join(str(Path(jar).resolve()) for jar in options.jars)}


def _settings(options: SparkOptions, master: str, log4j: Path) -> dict[str, str]:
    java_options = [
        f"-Dlog4j2.configurationFile={log4j.as_uri()}",
        # Some formats measure objects with a library that else tries to attach to its own process.
        "-Djdk.attach.allowAttachSelf=true",
        "-Dfile.encoding=UTF-8",
        "-Duser.timezone=UTC",
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
        "spark.sql.warehouse.dir": (log4j.parent / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    settings |= _jar_settings(options)
    if options.bundle is not None:
        settings |= dict(options.bundle.settings)
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

    `log` has what Spark printed, if it is ours; `doing` is such as `writing table orders`.
    """
    text = str(error)
    printed = log.read_text(errors="replace") if log is not None and log.exists() else ""
    where = f" (all that Spark printed: {_keep(log)})" if log is not None and printed else ""
    if "No space left on device" in text or "No space left on device" in printed:
        return UnavailableError(f"no space left on the disk while {doing}: free some and run again")
    if re.search(r"UNRESOLVED DEPENDENCIES|unresolved dependency|download failed", printed):
        missing = re.search(r":: ([\w.-]+)#([\w.-]+);([\w.-]+): not found", printed)
        which = ":".join(missing.groups()) if missing else "its jars"
        return UnavailableError(
            f"Spark could not fetch {which}: without network, download that jar elsewhere "
            f"and name its path with --jars{where}"
        )
    if "OutOfMemoryError" in text or "OutOfMemoryError" in printed:
        return UnavailableError(f"Spark ran out of memory while {doing}: raise --memory{where}")
    if isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
        return SeambenchError(f"Spark's process went away while {doing}{where}")
    return SeambenchError(f"Spark failed while {doing}: {_reason(text)[:400]}{where}")


def _reason(text: str) -> str:
    """The cause within a Java stack trace, without the trace."""
    if ours := OWN_ERROR.search(text):
        return ours[2]
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
    if not _has(session.sparkContext._jvm, options.bundle):
        raise UnavailableError(f"this Spark session lacks {_advice(options.bundle)}")
    return session


def _has(jvm: Any, bundle: SparkBundle | None) -> bool:
    """Whether a Java process has a bundle's classes.

    It is asked for the class's file: what Java raises becomes an error of pyspark's once a session
    was there, and of that nothing can be told while there is none.
    """
    if bundle is None:
        return True
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(f"{bundle.probe.replace('.', '/')}.class") is not None


def _advice(bundle: SparkBundle | None) -> str:
    assert bundle is not None
    return f"{bundle.title}: start it with --packages {','.join(bundle.packages)}"


def _submitted(options: SparkOptions) -> tuple[Any | None, dict[str, str]]:
    """What a surrounding spark-submit brings: its gateway if that can be used, and its settings.

    Jars cannot be added to a Java process that runs already. If the one of spark-submit lacks those
    of the format, its settings are carried over to a new one.
    """
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None, {}
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway()
    given = dict(SparkConf(_jvm=gateway.jvm).getAll())
    if _has(gateway.jvm, options.bundle):
        return gateway, given
    if given.get("spark.submit.deployMode") == "cluster":
        raise UnavailableError(f"spark-submit in cluster mode lacks {_advice(options.bundle)}")
    # These tell of the script that was submitted, and make no sense to a second process.
    own = {name for name in given if name.startswith(("spark.app.", "spark.submit."))}
    own.add("spark.files")
    gateway.close()  # and no more: the next session here asks for these settings, too
    return None, {name: value for name, value in given.items() if name not in own}


def running_cluster() -> str | None:
    """The master of the session that runs, if its tasks run in processes of their own."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    master = None if session is None else str(session.sparkContext.master)
    return None if master is None or _LOCAL.fullmatch(master) else master


def require_spark() -> None:
    """Refuse, before anything is written, where no session can be had for lack of what it needs."""
    if importlib.util.find_spec("pyspark") is None:
        raise not_installed("pyspark", "seambench[spark]", "a Spark session")
    if "pyspark" not in sys.modules and "PYSPARK_GATEWAY_PORT" not in os.environ:
        find_java()


@contextlib.contextmanager
def spark_session(options: SparkOptions) -> Iterator[tuple[Any, Path | None]]:
    """Run with a Spark session that can write the tables of a format.

    A session that was started here is stopped in the end. With it comes the file with what its Java
    process prints (None for a foreign session).
    """
    require_spark()
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
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    variables = _variables(master, launches=gateway is None)
    with _environment(variables), remembered_processes() as started:
        try:
            if gateway is None:
                with log.open("wb") as printed:
                    gateway = launch_gateway(conf, {"stdout": printed, "stderr": printed})
            handler = signal.getsignal(signal.SIGINT)
            context = SparkContext(gateway=gateway, conf=conf)
        except BaseException:
            for process in started:
                kill_process(process)
            _forget_gateway()
            raise
        # Spark's own handler talks to Java on a connection that may be in use at that moment.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
        # When Java dies, this server would print a stack trace beside our message.
        context._accumulatorServer.handle_error = _ignore
        return context, gateway


def _variables(master: str, *, launches: bool) -> dict[str, str | None]:
    """Environment of Spark's processes; None for a variable that is taken out."""
    variables: dict[str, str | None] = {
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON") or sys.executable,
        "PYSPARK_SUBMIT_ARGS": None,
    }
    if master.startswith("local"):
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
        variables["PYSPARK_PYTHON"] = sys.executable
    if launches:
        variables |= {"PYSPARK_GATEWAY_PORT": None, "PYSPARK_GATEWAY_SECRET": None}
        variables["JAVA_HOME"] = str(find_java().home)
    return variables


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
    """Stop Spark; a second Ctrl-C must not leave Java behind either."""
    process = getattr(gateway, "proc", None)
    try:
        with contextlib.suppress(Exception):
            context.stop()
        with contextlib.suppress(Exception):
            # What spark-submit serves it ends by itself; until then another session may come.
            (gateway.close if process is None else gateway.shutdown)()
        if process is not None:
            with contextlib.suppress(Exception):
                process.stdin.close()
                process.wait(timeout=10)
    finally:
        if process is not None and process.poll() is None:
            kill_process(process)
        _forget_gateway()


def _forget_gateway() -> None:
    """Let the next session in this process have a gateway of its own."""
    from pyspark import SparkContext

    SparkContext._gateway = None
    SparkContext._jvm = None


@contextlib.contextmanager
def remembered_processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Remember the processes that pyspark starts meanwhile, each the leader of its own group.

    An interruption makes pyspark forget the Java that it has just started, which then waits for
    ever: whoever is interrupted ends the processes in this list.
    """
    from pyspark import java_gateway

    started: list[subprocess.Popen[bytes]] = []

    def start(command: Any, **options: Any) -> subprocess.Popen[bytes]:
        with _deferred_interrupt():
            process = subprocess.Popen(command, start_new_session=True, **options)
            started.append(process)
        return process

    before, java_gateway.Popen = java_gateway.Popen, start
    try:
        yield started
    finally:
        java_gateway.Popen = before


@contextlib.contextmanager
def _deferred_interrupt() -> Iterator[None]:
    """Let Ctrl-C take effect at the end of the block, so that nothing in it is half-done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *given: arrived.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived and callable(handler):
            handler(*arrived[0])


def kill_process(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
