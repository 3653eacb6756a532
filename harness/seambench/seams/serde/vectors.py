"""Test vectors of the serde seam: a request, its bytes, and the values that they stand for.

Golden files come in pairs. `NAME.bin` holds bytes of a real engine, `NAME.json` says what
they mean: `columns` (name, type, nullable) and either `pages` (SerializedPages: `rows`, `values` by
column, `layout`) with `codec`, `checksum` and `traits`, or `rows` (rows of Spark: `offset`,
`length`, `values`) with `framing` and `dontCare`. An object `options` adds options of the request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, UsageError
from seambase.pages.reader import frame, page_options
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import SerdeType, parse_schema
from seambase.wording import counted
from seambench.seams.serde.plain_pages import payload_of
from seambench.seams.serde.plain_rows import compact_row, framed, unsafe_row
from seambench.seams.serde.values import from_golden, value_difference

#: Traits of a page that a plain writer would write as well.
PLAIN_TRAITS = frozenset({"compressed", "checksummed"})


@dataclass(frozen=True)
class Expected:
    """One batch: a page, or all rows of a stream. `columns` holds plain values by column."""

    rows: int
    columns: Sequence[Sequence[Any]]

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]], width: int) -> Expected:
        """A batch of rows, which have so many columns."""
        columns = list(map(list, zip(*rows, strict=True))) or [[] for _ in range(width)]
        return cls(len(rows), columns)

    @property
    def by_row(self) -> list[tuple[Any, ...]]:
        """The values row by row."""
        return [tuple(column[row] for column in self.columns) for row in range(self.rows)]


@dataclass(frozen=True)
class Vector:
    """Bytes with their meaning."""

    request: SerdeRequest
    types: Sequence[SerdeType]
    batches: Sequence[Expected]  # what the bytes hold, batch by batch
    data: bytes | None  # the bytes; None where no engine or witness wrote any
    traits: frozenset[str] = frozenset()  # how a page differs from what a plain writer gives
    # (offset, length) of bytes that the writer left to chance
    dont_care: Sequence[tuple[int, int]] = ()
    row_ends: Sequence[int] = ()  # offsets at which a stream of rows may end, if it is one
    layouts: Sequence[Sequence[str]] = ()  # encodings of the columns of each page, if known

    @property
    def timestamps(self) -> str:
        """Unit of Presto's timestamps."""
        return str(self.request.options.get("timestamps", "millis"))

    @property
    def plain(self) -> bool:
        """Whether a plain writer gives just these bytes (compression aside)."""
        return self.data is not None and not self.traits - PLAIN_TRAITS


def load_golden(file: Path, timestamps: str = "", *, whole: bool = True) -> Vector:
    """A pair of golden files, by the `.json` of the two; without values and bytes if not `whole`.

    `timestamps` is the unit of Presto's, where it is to be another than that of the bytes.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        has_pages = "pages" in content
        options = _page_options(content) if has_pages else _row_options(content)
        format_ = "presto" if has_pages else content.get("format", "unsaferow")
        request = SerdeRequest(format_, _fields(content), options)
        traits = frozenset(content.get("traits", ()))
        head = Vector(request, parse_schema(request), (), None, traits)
        if not whole:
            return head
        if has_pages:
            return _golden_pages(content, head, file, timestamps)
        return _golden_rows(content, head, file)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{file}: not a golden file of pages or rows: {error!r}") from error


def _bytes_of(content: Mapping[str, Any], file: Path) -> bytes:
    """The other file of a pair."""
    other = file.with_name(str(content.get("file", f"{file.stem}.bin")))
    try:
        data = other.read_bytes()
    except OSError as error:
        raise InputError(f"{other}: not readable ({error})") from error
    digest = content.get("sha256")
    if digest is not None and hashlib.sha256(data).hexdigest() != digest:
        raise InputError(f"{other}: its digest is not the one that {file.name} tells")
    return data


def _fields(content: Mapping[str, Any]) -> list[SerdeField]:
    return [
        SerdeField(column["name"], column["type"], column.get("nullable", True))
        for column in content["columns"]
    ]


def _page_options(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "dialect": "presto",
        "codec": content.get("codec", "none"),
        "checksum": content.get("checksum", False),
        "encodings": "preserve",
        **content.get("options", {}),
    }


def _golden_pages(content: Mapping[str, Any], head: Vector, file: Path, timestamps: str) -> Vector:
    timestamps = timestamps or head.timestamps
    batches = []
    has_layouts = all("layout" in page for page in content["pages"])
    for page in content["pages"]:
        pairs = zip(page["values"], head.types, strict=True)
        columns = [[from_golden(v, type_, timestamps) for v in values] for values, type_ in pairs]
        batches.append(Expected(page["rows"], columns))
    return replace(
        head,
        batches=batches,
        data=_bytes_of(content, file),
        layouts=[page["layout"] for page in content["pages"]] if has_layouts else (),
    )


def _row_options(content: Mapping[str, Any]) -> dict[str, Any]:
    rows = content["rows"]
    options: dict[str, Any] = {"writer": "spark", "framing": content["framing"]}
    if content["framing"] == "packed":
        options["offsets"] = [row["offset"] for row in rows]
        options["lengths"] = [row["length"] for row in rows]
    return {**options, **content.get("options", {})}


def _golden_rows(content: Mapping[str, Any], head: Vector, file: Path) -> Vector:
    rows = content["rows"]
    columns = [
        [from_golden(row["values"][at], type_) for row in rows]
        for at, type_ in enumerate(head.types)
    ]
    ends = [row["offset"] + row["length"] for row in rows]
    return replace(
        head,
        batches=[Expected(len(rows), columns)],
        data=_bytes_of(content, file),
        dont_care=[(offset, length) for offset, length in content.get("dontCare", ())],
        row_ends=[0, *ends] if content["framing"] == "be32" else (),
    )


def of_values(
    request: SerdeRequest, types: Sequence[SerdeType], batches: Sequence[Expected]
) -> Vector:
    """Values with the bytes of the plain writers, where the format has one."""
    if request.format == "arrow":
        return Vector(request, types, batches, None)
    if request.format == "presto":
        return Vector(request, types, batches, plain_pages(request, types, batches))
    whole = Expected.of_rows([row for batch in batches for row in batch.by_row], len(types))
    written = plain_rows(request, types, whole)
    framing = str(request.options.get("framing", "be32"))
    ends = list(accumulate((4 + len(row) for row in written), initial=0))
    lengths = {"lengths": [len(row) for row in written]} if framing == "packed" else {}
    request = replace(request, options={**request.options, **lengths})
    data = framed(written, framing)
    return Vector(request, types, [whole], data, row_ends=ends if framing == "be32" else ())


def plain_pages(
    request: SerdeRequest, types: Sequence[SerdeType], batches: Sequence[Expected]
) -> bytes:
    """Batches as the plain writer of pages has them, without compression."""
    settings, checksum = page_options(request), bool(request.options.get("checksum", False))
    return b"".join(
        frame(batch.rows, payload_of(batch.columns, types, settings), checksum=checksum)
        for batch in batches
    )


def plain_rows(request: SerdeRequest, types: Sequence[SerdeType], batch: Expected) -> list[bytes]:
    """A batch as the plain writer of its format of rows has it."""
    if request.format == "compactrow":
        return [compact_row(row, types) for row in batch.by_row]
    writer = str(request.options.get("writer", "spark"))
    return [unsafe_row(row, types, writer) for row in batch.by_row]


def decode_problem(vector: Vector, batches: Sequence[pa.RecordBatch]) -> str | None:
    """What tells decoded batches from what they should be; None if nothing does."""
    if len(batches) != len(vector.batches):
        return f"{counted(len(vector.batches), 'batch')} expected, {len(batches):,} came"
    names = [field.name for field in vector.request.fields]
    for number, (want, batch) in enumerate(zip(vector.batches, batches, strict=True)):
        if batch.schema.names != names:
            return f"batch {number}: columns {names} expected, {batch.schema.names} came"
        if batch.num_rows != want.rows:
            return f"batch {number}: {counted(want.rows, 'row')} expected, {batch.num_rows} came"
        try:
            batch.validate(full=True)
        except pa.ArrowInvalid as error:
            return f"batch {number} is no valid batch: {error}"
        for at, (column, type_) in enumerate(zip(want.columns, vector.types, strict=True)):
            if problem := value_difference(column, batch, at, type_, vector.timestamps):
                return f"batch {number}: {problem}"
    return None
