"""Java sources of ours, compiled once and kept: nobody needs a JDK.

Janino, the compiler inside Spark's jars, takes plain Java 11 without lambdas, multi-catch, default
methods of interfaces that look at their own object, and the like. Classes are kept in a folder that
is named by a digest of the sources, of the compiler and of the names of the jars that they use, so
that a later process, or a machine without Spark, only loads them.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seambase.errors import UnavailableError
from seambase.written import cache_folder
from seamkit.jvm.machine import JavaClasses, java_failure, platform_loader, spark_classes

#: To be raised when the compiler's settings change.
_SETTINGS = b"janino, debug lines, Java 8\n"
_RESOURCES = "org.codehaus.commons.compiler.util.resource"


def compiled_package(
    name: str, sources: Path | Sequence[Path], parent: JavaClasses | None = None
) -> JavaClasses:
    """The classes of sources, or of all in a folder, in a loader of their own below the parent's.

    They may name each other, lie in folders of their packages, and use the parent's classes, of
    which the names of jars tell versions.
    """
    if isinstance(sources, Path):
        sources = sorted(sources.rglob("*.java"))
    digest = hashlib.sha256(_SETTINGS)
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    for jar in () if parent is None else parent.jars:
        digest.update(jar.name.encode() + b"\0")
    kept = cache_folder() / "java" / f"{name}-{digest.hexdigest()[:16]}"
    if not kept.is_dir():
        above = platform_loader() if parent is None else parent.loader
        _compile(name, sources, above, kept)
    return JavaClasses(name, [kept], parent)


def _compile(name: str, sources: Sequence[Path], above: Any, kept: Path) -> None:
    """Compile into a folder beside `kept`, which then gets that name: whole, or not at all."""
    janino = spark_classes()
    jpype = janino.jpype
    file = jpype.JClass("java.io.File")
    resource = janino.java_class(f"{_RESOURCES}.FileResource")
    files = jpype.JClass("java.lang.reflect.Array").newInstance(
        janino.java_class(f"{_RESOURCES}.Resource").class_, len(sources)
    )
    for i, source in enumerate(sources):
        jpype.JClass("java.lang.reflect.Array").set(files, i, resource(file(str(source))))
    compiler = janino.java_class("org.codehaus.janino.Compiler")()
    compiler.setIClassLoader(
        janino.java_class("org.codehaus.janino.ClassLoaderIClassLoader")(above)
    )
    # Java 8, so that static methods of interfaces can be called.
    compiler.setSourceVersion(8)
    compiler.setTargetVersion(8)
    compiler.setDebugLines(True)
    compiler.setDebugSource(True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".compiling-") as fresh:
        out = Path(fresh) / "classes"
        out.mkdir()
        creator = janino.java_class(f"{_RESOURCES}.DirectoryResourceCreator")
        compiler.setClassFileCreator(creator(file(str(out))))
        try:
            compiler.compile(files)
        except jpype.JException as error:
            raise UnavailableError(f"{name} does not compile: {java_failure(error)}") from error
        try:
            out.rename(kept)
        except OSError:
            if not kept.is_dir():  # else another process was faster, with the same classes
                raise
