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

`kinds` (`["arrow", "native", "arrow"]`) has each chunk go through batches of these kinds, which
changes nothing of it; every change of kind must be counted as one. `form = "text"` has dates,
timestamps and decimals as formatted texts.

`nulls` (`none`, `some`, `all`, `empty`) gives a case for each, of generated rows. Without `chunks`,
given rows make one chunk; generated ones make a chunk as large as the fetch size, one of one row
and the empty one at the end. `required_fields` and `nested_fields` are a golden file's. With
`[expect] refused = ["UsageError"]` the request must be refused instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambench.conformance.answered import engine_of
from seambench.contracts.column import BatchKind, ValueForm
from seambench.contracts.data_files import CaseFile, case_files, read_case_file
from seambench.contracts.seam import Case
from seambench.seams.column.golden import read_golden
from seambench.seams.column.oracle import expected_slots, parse_type
from seambench.seams.column.values import Nulls, column_values

_ALIASES = {
    "smallint": "short",
    "varchar": "string",
    "char": "string",
    "timestamp-micros": "timestamp",
    "timestamp-millis": "timestamp",
}


@dataclass(frozen=True)
class ColumnCase(Case):
    """A golden file of off-heap columns, the file of type strings, or one case of a TOML file.

    Attributes:
        file: where it is written down.
        root: folder with `cases/` and `golden/`.
        fetch_size: of a TOML file's fetch sizes, the one this case has.
        nulls: of a TOML file's densities of nulls, the one this case has.
    """

    file: Path
    root: Path
    fetch_size: int = 0
    nulls: Nulls = "none"

    @property
    def needs(self) -> Sequence[str]:
        """See `Case`."""
        if self.file.suffix == ".json":
            return needs_of(read_golden(self.file))
        read = _load(self.file)
        return needs_of(_asked(read))

    @property
    def refused(self) -> Sequence[str]:
        """See `Case`."""
        if self.file.suffix == ".json":
            return ()
        expect = _load(self.file).expect
        return () if expect is None else expect.refused

    @property
    def witness(self) -> str:
        """See `Case`."""
        if self.file.suffix == ".json":
            return "StarRocks, whose own classes wrote the bytes"
        return engine_of(self.root, self.id)

    def content(self) -> Any:
        """What a golden file holds; for a TOML file it is worked out."""
        if self.file.suffix == ".json":
            return read_golden(self.file)
        return _content(_load(self.file), self)


def kinds_of(type_string: str) -> Iterator[str]:
    """Kinds that a type string names, as capabilities call them."""
    text = re.sub(r"\([^)]*\)", "", type_string)
    text = re.sub(r"(?<=[<,])[^<>,:]*:", "", text)  # names of fields
    for word in re.findall(r"[A-Za-z][\w-]*", text):
        yield _ALIASES.get(word, word)


def needs_of(data: Mapping[str, Any] | Sequence[Any]) -> list[str]:
    """Capabilities that the content of a golden file needs."""
    if not isinstance(data, Mapping):
        return ["type-strings"]
    needs = [f"kinds.{kind}" for text in data["types"] for kind in kinds_of(text)]
    if set(data["required_fields"]) - set(data["fields"]):
        needs.append("missing-columns")
    if data.get("nested_fields") is not None:
        needs.append("pruning")
    if data.get("kinds"):
        needs.append("batches")
    if data.get("form") == "text":
        needs.append("text-form")
    return list(dict.fromkeys(needs))


@dataclass(frozen=True)
class _Expect:
    refused: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class _CaseFile(CaseFile):
    """The keys of a TOML file."""

    fields: Sequence[str]
    types: Sequence[str]
    rows: int | str = 0
    required_fields: Sequence[str] | None = None
    nested_fields: Sequence[str] | None = None
    fetch_sizes: Sequence[int] = (4096,)
    nulls: Sequence[Nulls] = ("none",)
    chunks: Sequence[int] | None = None
    kinds: Sequence[BatchKind] = ()
    form: ValueForm = "binary"
    expect: _Expect | None = None
    seed: str = ""


@cache
def _load(file: Path) -> _CaseFile:
    read = read_case_file(_CaseFile, file)
    if len(read.fields) != len(read.types):
        raise UsageError(f"{file}: there is a type for each field")
    if read.kinds and (read.kinds[0], read.kinds[-1]) != ("arrow", "arrow"):
        raise UsageError(f"{file}: the first and the last of its kinds are arrow")
    if any(a == b for a, b in pairwise(read.kinds)):
        raise UsageError(f"{file}: no two of its kinds that follow each other are the same")
    return read


def column_cases(
    root: Path, golden: Path | None, begins: Sequence[str] = ("",)
) -> list[ColumnCase]:
    """The cases below a root, or the golden files of a folder alone; see `Seam.cases`."""
    folder = golden or root / "golden" / "offheap"
    files = sorted(folder.glob("*.json"))
    if golden is not None:
        if not files:
            raise UsageError(f"{folder} holds no golden files (*.json)")
        return [_golden_case(file, root) for file in files]
    expanded = (_expand(name, file, root) for name, file in case_files(root, "column", begins))
    return [*(_golden_case(file, root) for file in files), *chain.from_iterable(expanded)]


def _golden_case(file: Path, root: Path) -> ColumnCase:
    id_ = f"column/{file.parent.name}/{file.stem}"
    rule = "every determined byte of the chain is the golden one"
    return ColumnCase(id_, "must", rule, file, root)


def _expand(name: str, file: Path, root: Path) -> Iterator[ColumnCase]:
    read = _load(file)
    for nulls in read.nulls:
        for size in read.fetch_sizes:
            id_ = f"{name}/{nulls}" if len(read.nulls) > 1 else name
            id_ = f"{id_}/fetch-{size}" if len(read.fetch_sizes) > 1 else id_
            yield ColumnCase(id_, read.level, read.requirement, file, root, size, nulls)


def _asked(read: _CaseFile) -> dict[str, Any]:
    """What a TOML file asks for, without rows and sizes, as a golden file says it."""
    required = read.fields if read.required_fields is None else read.required_fields
    asked = {"fields": read.fields, "types": read.types, "required_fields": required}
    if read.kinds:
        asked["kinds"] = read.kinds
    if read.form == "text":
        asked["form"] = read.form
    return asked if read.nested_fields is None else {**asked, "nested_fields": read.nested_fields}


def _content(read: _CaseFile, case: ColumnCase) -> dict[str, Any]:
    content = {**_asked(read), "fetch_size": case.fetch_size}
    if isinstance(read.rows, str):
        rows = json.loads(read.rows)
        sizes = read.chunks or [len(rows)]
    else:
        sizes = read.chunks or [max(case.fetch_size, 1), 1, 0]
        sizes = [0] if case.nulls == "empty" else sizes
        rows = _generated(read, case, sum(sizes))
    content["rows"] = rows
    if read.expect is not None:
        return content | {"sizes": list(sizes)}
    content["chunks"] = list(_chunks(read, content["required_fields"], rows, sizes))
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
        slots = expected_slots(
            *(read.fields, read.types, part, required, read.nested_fields or (), read.form)
        )
        yield {"num_rows": len(part), "slots": slots}
