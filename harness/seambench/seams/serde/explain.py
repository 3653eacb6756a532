"""A serde case in words: the request, the bytes, the values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from seambase.errors import UsageError
from seambench.contracts.seam import Section
from seambench.seams.serde.cases import SerdeCase
from seambench.seams.serde.check import batches_of
from seambench.seams.serde.doors import serde_request

__all__ = ["explain_serde", "keep_serde"]

_BYTES_SHOWN = 256
_LINE = 16
_VALUES_SHOWN = 8


def explain_serde(case: SerdeCase) -> list[Section]:
    """The request as programs get it, the bytes if any are known, the values by column."""
    vector = case.vector()
    sections = [Section("what is asked", [f"{case.operation}: {_request(case)}"])]
    if vector.data is not None:
        rest = len(vector.data) - _BYTES_SHOWN
        lines = list(_hex(vector.data[:_BYTES_SHOWN]))
        more = [f"... {rest:,} more bytes"] if rest > 0 else []
        sections.append(Section(f"the bytes ({len(vector.data):,})", lines + more))
    if case.refused:
        said = f", and a message with {', '.join(case.says)}" if case.says else ""
        must = [f"a refusal ({' or '.join(case.refused)}){said}"]
    else:
        must = [
            f"{field.name} {field.type}: {_values(column)}"
            for batch in vector.batches
            for field, column in zip(vector.request.fields, batch.columns, strict=True)
        ]
    return [*sections, Section("what must come", must)]


def keep_serde(case: SerdeCase, folder: Path) -> list[str]:
    """Leave the bytes as `input`, or the batches as an Arrow stream; see `Seam.keep`.

    Raises:
        UsageError: no bytes are known.
    """
    vector = case.vector()
    content = vector.data
    if case.operation == "encode":
        batches = batches_of(case.vector(), case.given_types)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batches[0].schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        content = sink.getvalue().to_pybytes()
    if content is None:
        raise UsageError(f"{case.id}: no bytes are known that could be kept")
    folder.mkdir(parents=True)
    (folder / "input").write_bytes(content)
    (folder / "request.json").write_text(_request(case) + "\n", encoding="utf-8")
    files = f"{folder / 'request.json'} {folder / 'input'}"
    return [f"cat {files} | ./serde > output    # as the door for programs asks"]


def _request(case: SerdeCase) -> str:
    operation = "serialize" if case.operation == "encode" else "deserialize"
    return serde_request(operation, case.vector().request)


def _hex(data: bytes) -> Sequence[str]:
    return [f"{at:6d}  {data[at : at + _LINE].hex(' ')}" for at in range(0, len(data), _LINE)]


def _values(column: Sequence[object]) -> str:
    shown = ", ".join(map(repr, column[:_VALUES_SHOWN]))
    more = len(column) - _VALUES_SHOWN
    return shown + (f", ... {more} more" if more > 0 else "")
