"""The Java side of the connector seam, and class paths of scanners beside it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from seambase.errors import UsageError
from seamkit.core._seam import ffi, lib
from seamkit.core.border import made
from seamkit.jvm.machine import JavaClasses
from seamkit.jvm.sources import compiled_package

_JAVA = Path(__file__).parents[1] / "java"


@functools.cache
def connector_classes() -> JavaClasses:
    """The classes of `seamkit.offheap`: ConnectorScanner, OffHeapTable, ColumnType and the rest."""
    return compiled_package("seamkit.offheap", _JAVA)


def scanner_classes(name: str, class_path: Sequence[Path]) -> JavaClasses:
    """Somebody's own classes in jars and folders, which extend those of `connector_classes`."""
    for part in class_path:
        if not part.exists():
            raise UsageError(f"class path: {part} does not exist")
    return JavaClasses.of_jars(name, class_path, connector_classes())


class JniLoader:
    """Owns C's hold of a class loader (`struct seam_jni_loader`); threads may share it."""

    def __init__(self, classes: JavaClasses) -> None:
        self.classes = classes
        make, free = lib.seam_jni_loader_new, lib.seam_jni_loader_release
        with classes.inside():
            self.pointer = made(ffi.new("struct seam_jni_loader **"), make, free)
