"""Cases of the serde seam: golden files, sets derived from them, and case files for single rules.

A golden file is asked several things, each a case of its own: `serde/presto/bigint_1_rows/decode`.

A case file `cases/serde/presto/negative-long-decimal.toml` states one rule:

    level = "must"
    requirement = "bit 127 of a long decimal is its sign, the others its magnitude"
    source = "Presto 0.296, UnscaledDecimal128Arithmetic"
    witness = "engine"                 # or "specification", where no engine's bytes are at hand
    operations = ["decode", "encode"]  # decode alone unless told
    format = "presto"
    columns = [["d", "decimal(38,0)"]] # name, type; a third member false for "never null"

    [options]                          # of the request
    [[page]]                           # presto: pages end to end; the header is made
    rows = 1
    payload = "01 00 00 00 ..."        # hex; what follows # on a line is a remark

    [expect]
    batches = ['[["-1"]]']             # JSON as in golden files: values by column, for each batch

Other forms: `bytes` (hex) in place of pages; `golden = "presto/NAME"` with `[[edit]]`s of its
bytes; in `[expect]` `refused` (exceptions of `seambase.errors`) and `says` in place of `batches`,
with `given` batches where encoding is what must be refused, and `arrow` types of columns (`"us"`
timestamps, say) that are handed over in another type than the format's.

A set file applies golden values to another format or to other options, by specification:

    set = "unsaferow"                  # folder below golden/
    format = "compactrow"
    without = ["interval"]             # types that the format does not have
    only = ["*timestamp*"]             # names of files; all unless told
    operations = ["decode", "encode"]
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, Literal

from seambase.errors import UsageError
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import SerdeType, parse_schema
from seambench.conformance.strict import build
from seambench.seams.serde.damage import SMALL_BYTES
from seambench.seams.serde.pages import frame
from seambench.seams.serde.values import from_golden
from seambench.seams.serde.vectors import Expected, Vector, derived, load_golden

__all__ = ["OPERATIONS", "SerdeCase", "kinds_of", "serde_cases"]

Operation = Literal["decode", "encode", "re-encode", "truncate", "flip", "garble"]
OPERATIONS: Sequence[str] = ("decode", "encode", "re-encode", "truncate", "flip", "garble")


@dataclass(frozen=True)
class PageSpec:
    """A page of a case: its payload, and what its header says.

    Attributes:
        repeat: how often the payload stands in the page, end to end.
        header: fields that say something else than they should: `rows`, `marker`, `uncompressed`,
            `size`, `checksum`.
    """

    rows: int
    payload: str
    codec: str = "none"
    checksum: bool = False
    repeat: int = 1
    header: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ByteEdit:
    """A change to bytes: `overwrite` and `insert` put `hex` at `at`, `truncate` keeps `at` bytes.

    `at` counts from the end where it is negative.
    """

    op: Literal["overwrite", "insert", "truncate"]
    at: int
    hex: str = ""


@dataclass(frozen=True)
class SerdeExpect:
    """What must come of a case."""

    batches: Sequence[str] = ()
    refused: Sequence[str] = ()
    says: Sequence[str] = ()


@dataclass(frozen=True)
class _Rule:
    """The keys of a case file."""

    level: Literal["must", "should"]
    requirement: str
    source: str
    format: str
    columns: Sequence[Sequence[Any]]
    expect: SerdeExpect
    witness: Literal["engine", "specification"] = "engine"
    operations: Sequence[str] = ("decode",)
    options: Mapping[str, Any] = field(default_factory=dict)
    page: Sequence[PageSpec] = ()
    bytes: str = ""
    golden: str = ""
    edit: Sequence[ByteEdit] = ()
    given: Sequence[str] = ()
    arrow: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()


@dataclass(frozen=True)
class _Set:
    """The keys of a set file."""

    level: Literal["must", "should"]
    requirement: str
    source: str
    set: str
    format: str
    operations: Sequence[str]
    witness: Literal["engine", "specification"] = "specification"
    options: Mapping[str, Any] = field(default_factory=dict)
    without: Sequence[str] = ()
    only: Sequence[str] = ("*",)


@dataclass(frozen=True)
class SerdeCase:
    """One thing asked about one vector.

    Attributes:
        id: `serde/...`, its last part the operation.
        operation: what is asked.
        file: golden file or case file.
        root: folder with `cases/` and `golden/`, for case files that name golden ones.
        rule: the case file's content; None for a golden file.
        requirement: the rule in words.
    """

    id: str
    operation: str
    file: Path
    root: Path
    rule: _Rule | _Set | None = None
    requirement: str = "bytes of the engine decode to its values, and its values encode to them"

    seam = "serde"

    @property
    def expect(self) -> SerdeExpect:
        """What must come, beyond the values of the vector."""
        return self.rule.expect if isinstance(self.rule, _Rule) else SerdeExpect()

    @property
    def witness(self) -> str:
        """Who vouches for the bytes: an engine, or the specification alone."""
        return self.rule.witness if self.rule is not None else "engine"

    @property
    def extra_needs(self) -> Sequence[str]:
        """Capabilities that the case needs besides those that follow from its vector."""
        return self.rule.needs if isinstance(self.rule, _Rule) else ()

    @property
    def given_types(self) -> Mapping[str, str]:
        """Arrow types of columns that are handed over in another one than the format's."""
        return self.rule.arrow if isinstance(self.rule, _Rule) else {}

    def vector(self) -> Vector:
        """Request, bytes and values.

        Raises:
            UsageError: the file is broken.
            InputError: golden bytes are missing or others than told.
        """
        if self.rule is None:
            return _golden(self.file)
        if isinstance(self.rule, _Set):
            return derived(_golden(self.file), self.rule.format, self.rule.options)
        return _of_rule(self.rule, self.root)


@cache
def _golden(file: Path) -> Vector:
    """A golden file; several cases ask about one."""
    return load_golden(file)


def serde_cases(root: Path, golden: Path | None = None) -> list[SerdeCase]:
    """All cases of the serde seam, or those of another folder of golden files alone.

    Raises:
        UsageError: a broken case file, or a folder without golden files.
    """
    if golden is not None:
        return list(_of_folder(golden, root))
    cases = [
        case
        for folder in sorted((root / "golden").glob("*"))
        if folder.name in ("presto", "unsaferow")
        for case in _of_folder(folder, root)
    ]
    for file in sorted((root / "cases" / "serde").rglob("*.toml")):
        cases += _of_file(file, root)
    return cases


def _of_folder(folder: Path, root: Path) -> Iterator[SerdeCase]:
    """Every golden file of a folder with everything that is asked of it."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise UsageError(f"{folder} holds no golden files (*.json)")
    for file in files:
        data = file.with_suffix(".bin")
        large = data.exists() and data.stat().st_size > SMALL_BYTES
        for operation in (op for op in OPERATIONS if not large or op != "flip"):
            id_ = f"serde/{folder.resolve().name}/{file.stem}/{operation}"
            yield SerdeCase(id_, operation, file, root)


def _of_file(file: Path, root: Path) -> list[SerdeCase]:
    """Cases of one case file or set file."""
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    base = file.relative_to(root / "cases").with_suffix("").as_posix()
    if "set" in data:
        spec = build(_Set, data, file)
        _lint(spec, file)
        return [
            SerdeCase(
                f"{base}/{golden.stem}/{operation}", operation, golden, root, spec, spec.requirement
            )
            for golden in sorted((root / "golden" / spec.set).glob("*.json"))
            if any(fnmatch(golden.stem, pattern) for pattern in spec.only)
            and not _mentions(golden, spec.without)
            for operation in spec.operations
        ]
    data["expect"] = build(SerdeExpect, data.get("expect", {}), file)
    data["page"] = [build(PageSpec, page, file) for page in data.get("page", [])]
    data["edit"] = [build(ByteEdit, edit, file) for edit in data.get("edit", [])]
    rule = build(_Rule, data, file)
    _lint(rule, file)
    return [
        SerdeCase(f"{base}/{operation}", operation, file, root, rule, rule.requirement)
        for operation in rule.operations
    ]


def _mentions(golden: Path, kinds: Sequence[str]) -> bool:
    """Whether a golden file has a column with one of the types."""
    content = json.loads(golden.read_text(encoding="utf-8"))
    fields = [SerdeField(c["name"], c["type"]) for c in content["columns"]]
    request = SerdeRequest("presto" if "pages" in content else "unsaferow", fields)
    return any(not kinds_of(type_).isdisjoint(kinds) for type_ in parse_schema(request))


def kinds_of(type_: SerdeType) -> frozenset[str]:
    """Words of a type and of all its parts."""
    return frozenset({type_.kind}).union(*(kinds_of(child) for child in type_.children))


def _lint(rule: _Rule | _Set, file: Path) -> None:
    """Refuse a case that cannot mean anything."""
    if strange := set(rule.operations) - set(OPERATIONS):
        raise UsageError(f"{file}: there is no operation {min(strange)!r}")
    if not rule.requirement.strip() or not rule.source.strip():
        raise UsageError(f"{file}: the requirement or its source is empty")
    if isinstance(rule, _Set):
        return
    if bool(rule.expect.batches) == bool(rule.expect.refused):
        raise UsageError(f"{file}: expect either batches or refused")
    if sum(map(bool, (rule.page, rule.bytes, rule.golden))) > 1:
        raise UsageError(f"{file}: the bytes come from pages, bytes or a golden file, not from two")
    if rule.expect.refused and "encode" in rule.operations and not rule.given:
        raise UsageError(f"{file}: nothing is given that could be encoded")


def _of_rule(rule: _Rule, root: Path) -> Vector:
    """The vector of a case file."""
    fields = [SerdeField(*column) for column in rule.columns]
    request = SerdeRequest(rule.format, fields, dict(rule.options))
    types = parse_schema(request)
    timestamps = str(rule.options.get("timestamps", "millis"))
    batches = [
        _expected(json.loads(text), types, timestamps) for text in rule.expect.batches or rule.given
    ]
    return Vector(request, types, batches, _bytes(rule, root))


def _expected(content: Any, types: Sequence[SerdeType], timestamps: str) -> Expected:
    """A batch as JSON: values by column, or a bare number of rows."""
    if isinstance(content, int):
        return Expected(content, [[] for _ in types])
    pairs = zip(content, types, strict=True)
    columns = [[from_golden(v, type_, timestamps) for v in values] for values, type_ in pairs]
    return Expected(len(columns[0]), columns)


def _bytes(rule: _Rule, root: Path) -> bytes | None:
    """The bytes of a case file."""
    if rule.page:
        return b"".join(_framed(page) for page in rule.page)
    if rule.golden:
        data = _golden(root / "golden" / f"{rule.golden}.json").data
    elif rule.bytes:
        data = _hex(rule.bytes)
    else:
        return None
    assert data is not None
    for edit in rule.edit:
        data = _edited(data, edit)
    return data


def _hex(text: str) -> bytes:
    """Bytes of hex with blanks and remarks."""
    return bytes.fromhex(" ".join(line.partition("#")[0] for line in text.splitlines()))


def _framed(page: PageSpec) -> bytes:
    """A page with its header, which is then bent as told."""
    whole = frame(page.rows, _hex(page.payload) * page.repeat, page.codec, page.checksum)
    for name, (at, width) in _HEADER.items():
        if name in page.header:
            value = page.header[name].to_bytes(width, "little", signed=page.header[name] < 0)
            whole = whole[:at] + value + whole[at + width :]
    if strange := set(page.header) - set(_HEADER):
        raise UsageError(f"a page's header has no field {min(strange)!r}")
    return whole


_HEADER: Mapping[str, tuple[int, int]] = {
    "rows": (0, 4),
    "marker": (4, 1),
    "uncompressed": (5, 4),
    "size": (9, 4),
    "checksum": (13, 8),
}


def _edited(data: bytes, edit: ByteEdit) -> bytes:
    """Bytes after one edit."""
    at = edit.at if edit.at >= 0 else len(data) + edit.at
    if not 0 <= at <= len(data):
        raise UsageError(f"an edit at {edit.at}, but there are {len(data)} bytes")
    if edit.op == "truncate":
        return data[:at]
    patch = bytes.fromhex(edit.hex)
    return data[:at] + patch + data[at + (len(patch) if edit.op == "overwrite" else 0) :]
