"""Cases of the column seam: golden files, and TOML files from which the same follows.

A TOML file says what is asked for; what must come out follows by the layout's rules
(`seambench.seams.column.oracle`):

    level = "must"
    requirement = "a NULL struct is one NULL in every child, once"
    threads = ["StarRocks/starrocks#42285"]   # where the rule was found broken
    fields = ["s"]
    types = ["struct<a:int,b:string>"]
    fetch_sizes = [1, 4096]                   # one case each
    rows = '''[[[1, "x"]], [null]]'''         # JSON, as in a golden file; or how many to generate
    chunks = [1, 1, 0]                        # rows of each chunk; 0 is the end

`nulls` (`none`, `some`, `all`, `empty`) gives a case for each, of generated rows. Without `chunks`,
given rows make one chunk; generated ones make a chunk as large as the fetch size, one of one row
and the empty one at the end. `required_fields` and `nested_fields` are a golden file's. With
`[expect] refused = ["UsageError"]` the request must be refused instead.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from seambase.errors import UsageError
from seambench.conformance.strict import build
from seambench.seams.column.golden import read_golden
from seambench.seams.column.oracle import expected_slots, parse_type
from seambench.seams.column.values import Nulls, column_values

__all__ = ["ColumnCase", "column_cases"]


@dataclass(frozen=True)
class ColumnCase:
    """A golden file of off-heap columns, the file of type strings, or one case of a TOML file.

    Attributes:
        id: name of the case.
        file: where it is written down.
        fetch_size: of a TOML file's fetch sizes, the one this case has.
        nulls: of a TOML file's densities of nulls, the one this case has.
    """

    id: str
    file: Path
    fetch_size: int = 0
    nulls: Nulls = "none"

    seam = "column"

    def content(self) -> Any:
        """What a golden file holds; for a TOML file it is worked out.

        A request that must be refused has `refused` instead of `chunks`.

        Raises:
            UsageError: a golden file that lacks something.
        """
        if self.file.suffix == ".json":
            return read_golden(self.file)
        return _content(_load(self.file), self)


@dataclass(frozen=True)
class _Expect:
    refused: Sequence[str]


@dataclass(frozen=True)
class _CaseFile:
    """The keys of a TOML file."""

    level: Literal["must", "should"]
    requirement: str
    fields: Sequence[str]
    types: Sequence[str]
    rows: int | str = 0
    threads: Sequence[str] = ()
    required_fields: Sequence[str] | None = None
    nested_fields: Sequence[str] | None = None
    fetch_sizes: Sequence[int] = (4096,)
    nulls: Sequence[Nulls] = ("none",)
    chunks: Sequence[int] | None = None
    expect: _Expect | None = None
    seed: str = field(default="")


@cache
def _load(file: Path) -> _CaseFile:
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    if "expect" in data:
        data["expect"] = build(_Expect, data["expect"], file)
    read: _CaseFile = build(_CaseFile, data, file)
    if not read.requirement.strip() or len(read.fields) != len(read.types):
        raise UsageError(f"{file}: a case has a requirement, and a type for each field")
    return read


def column_cases(root: Path, golden: Path | None) -> list[ColumnCase]:
    """The cases below a root, or the golden files of a folder alone.

    Raises:
        UsageError: a folder without golden files, or a broken case.
    """
    folder = golden or root / "golden" / "offheap"
    files = sorted(folder.glob("*.json"))
    if not files:
        raise UsageError(f"{folder} holds no golden files (*.json)")
    cases = [ColumnCase(f"column/{folder.name}/{file.stem}", file) for file in files]
    if golden is None:
        for file in sorted((root / "cases" / "column").rglob("*.toml")):
            cases += _expand(file.relative_to(root / "cases").with_suffix("").as_posix(), file)
    return cases


def _expand(name: str, file: Path) -> Iterator[ColumnCase]:
    read = _load(file)
    for nulls in read.nulls:
        for size in read.fetch_sizes:
            id_ = f"{name}/{nulls}" if len(read.nulls) > 1 else name
            id_ = f"{id_}/fetch-{size}" if len(read.fetch_sizes) > 1 else id_
            yield ColumnCase(id_, file, size, nulls)


def _content(read: _CaseFile, case: ColumnCase) -> dict[str, Any]:
    required = read.fields if read.required_fields is None else read.required_fields
    content: dict[str, Any] = {
        "fields": read.fields,
        "types": read.types,
        "required_fields": required,
        "fetch_size": case.fetch_size,
    }
    if read.nested_fields is not None:
        content["nested_fields"] = read.nested_fields
    if isinstance(read.rows, str):
        rows = json.loads(read.rows)
        sizes = read.chunks or [len(rows)]
    else:
        sizes = read.chunks or [max(case.fetch_size, 1), 1, 0]
        sizes = [0] if case.nulls == "empty" else sizes
        rows = _generated(read, case, sum(sizes))
    content["rows"] = rows
    if read.expect is not None:
        return content | {"refused": read.expect.refused, "sizes": list(sizes)}
    content["chunks"] = list(_chunks(read, required, rows, sizes))
    return content


def _generated(read: _CaseFile, case: ColumnCase, count: int) -> list[list[Any]]:
    columns = [
        column_values(parse_type(text), count, case.nulls, f"{read.seed}:{name}")
        for name, text in zip(read.fields, read.types, strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[]] * count


def _chunks(
    read: _CaseFile, required: Sequence[str], rows: Sequence[Any], sizes: Sequence[int]
) -> Iterator[dict[str, Any]]:
    start = 0
    for size in sizes:
        part = rows[start : start + size]
        start += size
        slots = expected_slots(read.fields, read.types, part, required, read.nested_fields or ())
        yield {"num_rows": len(part), "slots": slots}
