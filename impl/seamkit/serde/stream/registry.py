"""Serializers by name, as Velox's VectorSerde: what a stream of vectors asks of a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from seambase.errors import UsageError
from seambase.serde import SerdeField
from seamkit.serde.selection import Rows
from seamkit.serde.stream.byte_stream import ByteInputStream
from seamkit.serde.stream.result import StreamArena, VectorResult


class OutputStream(Protocol):
    """Where serialized bytes go: a `ByteOutputStream`, a file, anything with `write`."""

    def write(self, data: memoryview, /) -> Any:
        """Take all of the bytes; they are the caller's again on return."""


class IterativeSerializer(Protocol):
    """Collects rows in many small steps and writes them as one page or group.

    Takes its memory from the arena that it was made with: `clear` it before the arena is cleared.
    One thread at a time for serializers over one arena.
    """

    @property
    def num_rows(self) -> int:
        """Rows appended since the last clear."""

    def append(self, batch: Any, rows: Rows = None) -> None:
        """Append rows of a `pyarrow.RecordBatch`: all, a range, or a list of their numbers."""

    def estimate(self, batch: Any, rows: Rows = None) -> Any:
        """Upper bounds, as an int64 array, of the bytes that each row would take."""

    @property
    def max_serialized_size(self) -> int:
        """Most bytes that a flush would write now."""

    def flush(self, out: OutputStream) -> int:
        """Write what was appended, in one call of `out` or in several; returns how many bytes.

        Rows of a page stay until they are cleared, those of a group are gone.
        """

    def clear(self) -> None:
        """Back to no rows."""


class BatchSerializer(Protocol):
    """Writes one batch at once and keeps nothing."""

    def serialize(self, batch: Any, out: OutputStream, rows: Rows = None) -> int:
        """Write rows of a batch as one page or group; returns how many bytes."""


@runtime_checkable
class VectorSerde(Protocol):
    """One format.

    `fields` name columns and types in its own words; `options` are those of a
    `seambase.serde.SerdeRequest`.
    """

    name: str

    def iterative(
        self,
        fields: Sequence[SerdeField],
        options: Mapping[str, Any],
        arena: StreamArena,
        rows: int = 0,
    ) -> IterativeSerializer:
        """A serializer of no rows.

        Args:
            fields: the columns.
            options: what decides bytes.
            arena: where it takes memory.
            rows: how many will come, about (Velox's `numRows`): memory for them may be taken at
                once, which changes no byte. 0 where nobody knows.
        """

    def batch(self, fields: Sequence[SerdeField], options: Mapping[str, Any]) -> BatchSerializer:
        """A serializer of whole batches, which keeps their encodings where the format can."""

    def deserialize(
        self,
        source: ByteInputStream,
        fields: Sequence[SerdeField],
        options: Mapping[str, Any],
        result: VectorResult | None = None,
    ) -> VectorResult:
        """Read the next page or group.

        Args:
            source: is left at the byte after it.
            fields: the columns.
            options: what the writer was given.
            result: what was read before, to which the new rows are appended; None for a new one.
        """


# Ours, made when they are first asked for.
_BUILT_IN: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "Presto": ("seamkit.serde.stream.presto", "PrestoVectorSerde", ()),
    "CompactRow": ("seamkit.serde.stream.rows", "RowVectorSerde", ("compactrow",)),
    "UnsafeRow": ("seamkit.serde.stream.rows", "RowVectorSerde", ("unsaferow",)),
}
_registered: dict[str, VectorSerde] = {}


def register_serde(serde: VectorSerde) -> None:
    """Make a serde known by its name; outsiders' come in beside ours.

    Raises:
        UsageError: the name is taken, or the object lacks a method.
    """
    if not isinstance(serde, VectorSerde):
        raise UsageError(f"{type(serde).__name__} lacks a method of VectorSerde")
    if serde.name in _BUILT_IN or _registered.setdefault(serde.name, serde) is not serde:
        raise UsageError(f"there is a serde named {serde.name!r} already")


def unregister_serde(name: str) -> None:
    """Forget an outsider's serde; an unknown name is ignored."""
    if name not in _BUILT_IN:
        _registered.pop(name, None)


def serde_named(name: str) -> VectorSerde:
    """The serde of a name: one object for all who ask."""
    if name not in serde_names():
        raise UsageError(f"there is no serde named {name!r}, only: {', '.join(serde_names())}")
    if name not in _registered:
        module, kind, arguments = _BUILT_IN[name]
        made = getattr(import_module(module), kind)(*((name, *arguments) if arguments else ()))
        _registered.setdefault(name, made)
    return _registered[name]


def serde_names() -> list[str]:
    """All names that `serde_named` knows, sorted."""
    return sorted({*_BUILT_IN, *_registered})
