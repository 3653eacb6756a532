"""One scan by a scanner written in Java, and the classes on either side of the seam."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import UsageError
from seamkit.core._seam import ffi, lib
from seamkit.core.border import check, made, new_array, new_error
from seamkit.core.memory import Closing, TrackedAllocator
from seamkit.jvm.machine import JavaClasses
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.columns.table import Chain
from seamkit.offheap.columns.types import parse
from seamkit.offheap.engine.schema import EngineSchema, carried_type

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
    return JavaClasses(name, class_path, connector_classes())


class JniLoader:
    """Owns C's hold of a class loader (`struct seam_jni_loader`); threads may share it."""

    def __init__(self, classes: JavaClasses) -> None:
        self.classes = classes
        make, free = lib.seam_jni_loader_new, lib.seam_jni_loader_release
        with classes.inside():
            self.pointer = made(ffi.new("struct seam_jni_loader **"), make, free)


@dataclass(frozen=True)
class JniCounters:
    """Where the time of a scan went, in seconds, and what came of it.

    Attributes:
        open_s: the scanner's constructor and `open`.
        read_s: in Java, making chunks, but for `convert_s`.
        convert_s: in Java, appending rows to columns, where the scanner tells it; else 0, and
            `read_s` has it.
        fill_s: in C, copying chunks into Arrow's columns.
        rows: rows handed over.
        chunks: chunks with rows.
        bytes: bytes of flags, values, offsets and texts that were copied.
    """

    open_s: float
    read_s: float
    convert_s: float
    fill_s: float
    rows: int
    chunks: int
    bytes: int

    @property
    def spent(self) -> list[tuple[str, float]]:
        """The seconds by what they were spent on; see `seambase.scan.ScanReport`."""
        java = [("open", self.open_s), ("read", self.read_s)]
        convert = [("convert", self.convert_s)] if self.convert_s else []
        return [*java, *convert, ("fill", self.fill_s)]


class JniScanner(Closing):
    """Owns a Java `ConnectorScanner`; ends it as a context manager, or with `close`.

    One thread at a time, any number of scanners side by side. Java runs outside of the GIL.

    Args:
        loader: finds the class.
        class_name: of the scanner; it has a constructor `(int, Map<String, String>)`.
        fetch_size: rows for which each table has room before it grows.
        parameters: what to scan, handed to the constructor. With `value_form` `text` the scanner
            hands over dates, datetimes and decimals as formatted texts, which are read strictly.
        allocator: where Java's blocks and the batches come from; its limit holds for both.

    Raises:
        seambase.errors.RefusedError: no such class, no scanner, or it refuses its parameters.
        seambase.errors.InputError: its constructor throws; so in all that follows, where Java does.
        seamkit.core.border.NativeMemoryError: the allocator's limit; so in all that follows.
    """

    def __init__(
        self,
        loader: JniLoader,
        class_name: str,
        fetch_size: int,
        parameters: Mapping[str, str],
        allocator: TrackedAllocator,
    ) -> None:
        if not 0 <= fetch_size < 2**31:
            raise UsageError(f"a table has room for 0 to 2^31 - 1 rows, not for {fetch_size}")
        self.name = class_name
        self._loader, self._allocator = loader, allocator
        self._error = new_error()
        self._scanner: Any = None
        self._counters = JniCounters(0, 0, 0, 0, 0, 0, 0)
        kept: list[Any] = []
        named = [text for pair in parameters.items() for text in pair]
        texts = ffi.new("struct seam_jni_text[]", max(len(named), 1))
        for text, value in zip(texts, named, strict=False):
            _fill_text(text, value, kept)
        name = ffi.new("struct seam_jni_text *")
        _fill_text(name, class_name, kept)
        out = ffi.new("struct seam_jni_scanner **")
        code = lib.seam_jni_scanner_new(
            loader.pointer,
            name[0],
            fetch_size,
            texts,
            len(named),
            allocator.pointer,
            out,
            self._error,
        )
        self._check(code)
        self._scanner = out[0]

    def _check(self, code: int) -> None:
        check(code, self._error, source=self.name, by_caller=True)

    @property
    def _open(self) -> Any:
        if self._scanner is None:
            raise UsageError(f"{self.name}: the scanner is closed")
        return self._scanner

    def open(self) -> None:
        """Java: `open`."""
        self._check(lib.seam_jni_scanner_open(self._open, self._error))

    def schema(self) -> EngineSchema:
        """The columns that an opened scanner names.

        One that extends none of our classes names none; where parts of a column were not asked for,
        the schema is the caller's to say.
        """
        out = ffi.new("char **")
        self._check(lib.seam_jni_scanner_describe(self._open, out, self._error))
        try:
            text = ffi.string(out[0]).decode()
        finally:
            lib.seam_free(out[0])
        if text == "\t":
            raise UsageError(f"{self.name} names no columns: a scanner of another package is told")
        columns = [line.rsplit("\t", 1) for line in text.split("\n") if line]
        types = [parse(column) for _, column in columns]
        pairs = zip(columns, types, strict=True)
        fields = [pa.field(name, carried_type(column)) for (name, _), column in pairs]
        return EngineSchema(pa.schema(fields), types)

    def next_chain(self) -> Chain:
        """The next chunk's chain, as it lies; a chunk of 0 rows is the end.

        Its memory is Java's, until the next call of this scanner.
        """
        out = ffi.new("struct seam_chain *")
        self._check(lib.seam_jni_scanner_chain(self._open, out, self._error))
        return Chain(int(ffi.cast("uintptr_t", out.words)), as_text=bool(out.as_text))

    def batches(self, expected: EngineSchema) -> Iterator[Any]:
        """The rows that are left, as `pyarrow.RecordBatch`es with `expected.schema`.

        Each column goes back to Java as soon as it is copied.
        """
        rows = ffi.new("int64_t *")
        while True:
            array = new_array()
            code = lib.seam_jni_scanner_next(
                self._open, expected.slots, len(expected.types), array, rows, self._error
            )
            self._check(code)
            if rows[0] == 0:
                return
            yield expected.imported(array)

    def counters(self) -> JniCounters:
        """What was done so far; complete after `close`."""
        if self._scanner is not None:
            out = ffi.new("struct seam_jni_counters *")
            lib.seam_jni_scanner_counters(self._scanner, out)
            self._counters = JniCounters(
                open_s=out.open_ns / 1e9,
                read_s=out.read_ns / 1e9,
                convert_s=out.convert_ns / 1e9,
                fill_s=out.fill_ns / 1e9,
                rows=out.rows,
                chunks=out.chunks,
                bytes=out.bytes,
            )
        return self._counters

    def close(self) -> None:
        """Java: `close`; repeatable. All blocks go back, whatever Java says."""
        if self._scanner is not None:
            self.counters()
            scanner, self._scanner = self._scanner, None
            self._check(lib.seam_jni_scanner_close(scanner, self._error))


def _fill_text(text: Any, value: str, kept: list[Any]) -> None:
    units = value.encode("utf-16-le", "surrogatepass")
    block = ffi.new("uint16_t[]", max(len(units) // 2, 1))
    ffi.memmove(block, units, len(units))
    kept.append(block)
    text.units, text.length = block, len(units) // 2
