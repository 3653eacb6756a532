"""Cases of the serde seam: golden files, sets derived from them, and case files for single rules.

A golden file is asked several things, each a case of its own: `serde/presto/bigint_1_rows/decode`.

A case file `cases/serde/presto/negative-long-decimal.toml` states one rule:

    level = "must"
    requirement = "bit 127 of a long decimal is its sign, the others its magnitude"
    source = "Presto 0.296, UnscaledDecimal128Arithmetic"
    witness = "engine"                 # or "specification", where no engine's bytes are at hand
    operations = ["decode", "encode"]  # decode alone by default
    format = "presto"
    columns = [["d", "decimal(38,0)"]] # name, type; a third member false for "never null"

    [options]                          # of the request
    [[page]]                           # presto: pages end to end; the header is made
    rows = 1
    payload = "01 00 00 00 ..."        # hex; what follows # on a line is a remark

    [expect]
    batches = ['[["-1"]]']             # JSON as in golden files: values by column, for each batch

Other forms: `bytes` (hex) in place of pages; neither, for what the plain writers make of the
values; `golden = "presto/NAME"` with `[[edit]]`s of its bytes; in `[expect]` `refused` (exceptions
of `seambase.errors`) and `says` in place of `batches`, with `given` batches where encoding is what
must be refused, and `arrow` types of columns (`"us"` timestamps, say) that are handed over in
another type than the format's.

A set file applies golden values to another format or to other options, by specification:

Operations `stream` and `reread` are asked by case files and set files alone. The `[[step]]`s of a
stream (`seambench.contracts.serde.StreamStep`: `do`, `batch`, `rows`, `range`) take rows of the
`given` batches; `dress` says of columns that they are handed over as `constant` or `dictionary`,
`layouts` in `[expect]` what encodings a page must have; `bytes` in its place are those that an
engine made of the steps. A set makes its own steps (`seambench.seams.serde.streams`).

Operation `operate` has an engine's operators turn columns into rows and these into columns again,
by the options `threshold_bytes` and `batch_rows` (`seambench.seams.serde.check`). `times` has
the columns and their values stand side by side so often, `row_times` the rows one below the other,
`text_times` the bytes of each text and binary end to end.

    set = "unsaferow"                  # folder below golden/
    format = "compactrow"
    without = ["interval"]             # types that the format does not have
    only = ["*timestamp*"]             # names of files; all by default
    operations = ["decode", "encode"]

Bytes as case files state them: hex with remarks, payloads of pages, changes to golden ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from seambase.errors import UsageError
from seambase.pages.reader import frame
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import SerdeType, parse_schema
from seambase.wording import counted
from seambench.contracts.data_files import (
    CaseFile,
    case_files,
    load_toml,
    may_begin,
    read_case_file,
)
from seambench.contracts.seam import Case
from seambench.contracts.serde import StreamStep
from seambench.seams.serde.damage import SMALL_BYTES
from seambench.seams.serde.values import from_golden, longer
from seambench.seams.serde.vectors import (
    Expected,
    Vector,
    load_golden,
    of_values,
)


@dataclass(frozen=True)
class PageSpec:
    """A page of a case: its payload, and what its header says."""

    rows: int
    payload: str
    codec: str = "none"
    checksum: bool = False
    repeat: int = 1  # how often the payload stands in the page, end to end
    # fields that say something else than they should: `rows`, `marker`, `uncompressed`, `size`,
    # `checksum`
    header: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ByteEdit:
    """A change to bytes: `overwrite` and `insert` put `hex` at `at`, `truncate` keeps `at` bytes.

    `at` counts from the end where it is negative.
    """

    op: Literal["overwrite", "insert", "truncate"]
    at: int
    hex: str = ""


def hex_bytes(text: str) -> bytes:
    """Bytes of hex with blanks and remarks."""
    return bytes.fromhex(" ".join(line.partition("#")[0] for line in text.splitlines()))


def framed_page(page: PageSpec) -> bytes:
    """A page with its header, which is then bent as the case says."""
    whole = frame(page.rows, hex_bytes(page.payload) * page.repeat, page.codec, page.checksum)
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


def edited(data: bytes, edit: ByteEdit) -> bytes:
    """Bytes after one edit."""
    at = edit.at if edit.at >= 0 else len(data) + edit.at
    if not 0 <= at <= len(data):
        raise UsageError(f"an edit at {edit.at}, but there are {counted(len(data), 'byte')}")
    if edit.op == "truncate":
        return data[:at]
    patch = bytes.fromhex(edit.hex)
    return data[:at] + patch + data[at + (len(patch) if edit.op == "overwrite" else 0) :]


OPERATIONS: Sequence[str] = ("decode", "encode", "re-encode", "truncate", "flip", "garble")
#: What is asked only where a file says so.
_ON_REQUEST: Sequence[str] = ("stream", "reread", "operate")
_WRITING: Sequence[str] = ("encode", "re-encode", "stream")
DAMAGE: Sequence[str] = ("truncate", "flip", "garble")
_GOLDEN_RULE = "bytes of the engine decode to its values, and its values encode to them"


@dataclass(frozen=True)
class SerdeExpect:
    """What must come of a case."""

    batches: Sequence[str] = ()
    refused: Sequence[str] = ()
    says: Sequence[str] = ()
    layouts: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, kw_only=True)
class _Rule(CaseFile):
    """The keys of a case file."""

    source: str
    format: str
    columns: Sequence[Sequence[Any]]
    expect: SerdeExpect = field(default_factory=SerdeExpect)
    witness: Literal["engine", "specification"] = "engine"
    operations: Sequence[str] = ("decode",)
    options: Mapping[str, Any] = field(default_factory=dict)
    page: Sequence[PageSpec] = ()
    bytes: str = ""
    golden: str = ""
    edit: Sequence[ByteEdit] = ()
    given: Sequence[str] = ()
    times: int = 1
    row_times: int = 1
    text_times: int = 1
    arrow: Mapping[str, str] = field(default_factory=dict)
    step: Sequence[StreamStep] = ()
    dress: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Set(CaseFile):
    """The keys of a set file."""

    source: str
    set: str
    format: str
    operations: Sequence[str]
    witness: Literal["engine", "specification"] = "specification"
    options: Mapping[str, Any] = field(default_factory=dict)
    without: Sequence[str] = ()
    only: Sequence[str] = ("*",)


@dataclass(frozen=True)
class SerdeCase(Case):
    """One thing asked about one vector; the last part of its id is the operation."""

    operation: str
    file: Path
    root: Path  # folder with `cases/` and `golden/`, for case files that name golden ones
    # the case file's content; None for a golden file
    rule: _Rule | _Set | None = field(default=None, hash=False)

    @property
    def needs(self) -> Sequence[str]:
        """See `Case`."""
        extra = self.rule.needs if self.rule is not None else ()
        return [*needs_of(self.operation, self.head()), *extra]

    @property
    def refused(self) -> Sequence[str]:
        """See `Case`."""
        return self.expect.refused

    @property
    def says(self) -> Sequence[str]:
        """See `Case`."""
        return self.expect.says

    @property
    def expect(self) -> SerdeExpect:
        """What must come, beyond the values of the vector."""
        return self.rule.expect if isinstance(self.rule, _Rule) else SerdeExpect()

    @property
    def witness(self) -> str:
        """Who vouches for the bytes: an engine, or the specification alone."""
        return self.rule.witness if self.rule is not None else "engine"

    @property
    def given_types(self) -> Mapping[str, str]:
        """Arrow types of columns that are handed over in another one than the format's."""
        return self.rule.arrow if isinstance(self.rule, _Rule) else {}

    @property
    def steps(self) -> Sequence[StreamStep]:
        """Steps of a stream; none of a set's, which go by its batches."""
        return self.rule.step if isinstance(self.rule, _Rule) else ()

    @property
    def dress(self) -> Mapping[str, str]:
        """Encodings by column in which a stream's batches are handed over."""
        return self.rule.dress if isinstance(self.rule, _Rule) else {}

    def expected(self) -> Sequence[Expected]:
        """The pages or groups of a stream, where the case file states them."""
        assert isinstance(self.rule, _Rule)
        return _expected(self.rule, self.rule.expect.batches, self.vector().types)

    def head(self) -> Vector:
        """What the vector is about, without values and bytes: who is not asked needs none."""
        if self.rule is None:
            return _head(self.file)
        if isinstance(self.rule, _Rule):
            return _head_of(self.rule)
        golden = _head(self.file)
        request = SerdeRequest(self.rule.format, golden.request.fields, self.rule.options)
        return Vector(request, golden.types, (), None)

    def prepare(self) -> None:
        """See `Case`."""
        self.vector()

    def vector(self) -> Vector:
        """Request, bytes and values."""
        return _vector(self)


@lru_cache(maxsize=4)  # for all that is asked of one case
def _vector(case: SerdeCase) -> Vector:
    if case.rule is None:
        return _golden(case.file)
    if isinstance(case.rule, _Set):
        golden = _golden(case.file, str(case.rule.options.get("timestamps", "")))
        return of_values(case.head().request, golden.types, golden.batches)
    return _of_rule(case.rule, case.root)


@cache
def _golden(file: Path, timestamps: str = "") -> Vector:
    return load_golden(file, timestamps)


@cache
def _head(file: Path) -> Vector:
    return load_golden(file, whole=False)


def serde_cases(
    root: Path, golden: Path | None = None, begins: Sequence[str] = ("",)
) -> list[SerdeCase]:
    """The cases below a root, or those of a folder of golden files alone; see `Seam.cases`."""
    if golden is not None:
        cases = list(_of_folder(golden, root, ("",)))
        if not cases:
            raise UsageError(f"{golden} holds no golden files (*.json)")
        return cases
    cases = [
        case
        for folder in sorted((root / "golden").glob("*"))
        if folder.name in ("presto", "unsaferow", "velox")
        for case in _of_folder(folder, root, begins)
    ]
    for name, file in case_files(root, "serde", begins):
        cases += _of_file(name, file, root, begins)
    return cases


def _of_folder(folder: Path, root: Path, begins: Sequence[str]) -> Iterator[SerdeCase]:
    """Every golden file of a folder with everything that is asked of it."""
    name = f"serde/{folder.resolve().name}"
    for file in sorted(folder.glob("*.json")):
        if not may_begin(f"{name}/{file.stem}", begins):
            continue
        data = file.with_suffix(".bin")
        large = data.exists() and data.stat().st_size > SMALL_BYTES
        for operation in (op for op in OPERATIONS if not large or op != "flip"):
            id_ = f"{name}/{file.stem}/{operation}"
            yield SerdeCase(id_, "must", _GOLDEN_RULE, operation, file, root)


def _of_file(name: str, file: Path, root: Path, begins: Sequence[str]) -> list[SerdeCase]:
    rule = _load(file)
    if isinstance(rule, _Set):
        vectors = [
            (f"{name}/{golden.stem}", golden)
            for golden in sorted((root / "golden" / rule.set).glob("*.json"))
            if may_begin(f"{name}/{golden.stem}", begins)
            and any(fnmatch(golden.stem, pattern) for pattern in rule.only)
            and not _mentions(golden, rule.without)
        ]
    else:
        vectors = [(name, file)]
    return [
        SerdeCase(f"{id_}/{operation}", rule.level, rule.requirement, operation, vector, root, rule)
        for id_, vector in vectors
        for operation in rule.operations
    ]


def _load(file: Path) -> _Rule | _Set:
    """A case file, or a set file, which says what set it is about."""
    is_set = "set" in load_toml(file)
    rule: _Rule | _Set = read_case_file(_Set, file) if is_set else read_case_file(_Rule, file)
    _lint(rule, file)
    return rule


def _mentions(golden: Path, kinds: Sequence[str]) -> bool:
    """Whether a golden file has a column with one of the types."""
    return any(not kinds_of(type_).isdisjoint(kinds) for type_ in _head(golden).types)


def kinds_of(type_: SerdeType) -> frozenset[str]:
    """Words of a type and of all its parts."""
    return frozenset({type_.kind}).union(*(kinds_of(child) for child in type_.children))


def needs_of(operation: str, vector: Vector) -> list[str]:
    """Capabilities that an operation on a vector needs."""
    needs = ["serialize"] if operation in _WRITING else []
    needs += ["deserialize"] if operation not in ("encode", "stream") else []
    needs += [operation] if operation in _ON_REQUEST else []
    needs += ["re-encode"] if operation == "re-encode" else []
    needs += ["strict"] if operation in DAMAGE else []
    return [*needs, *common_needs(vector)]


def common_needs(vector: Vector) -> list[str]:
    """Capabilities that a vector needs whatever is done with it."""
    request, options = vector.request, vector.request.options
    needs = [f"formats.{request.format}"]
    if options.get("codec", "none") != "none":
        needs.append(f"codecs.{options['codec']}")
    needs += ["checksum"] if options.get("checksum") else []
    needs += ["nulls-first"] if options.get("nulls_first") else []
    for option, usual in (("dialect", "presto"), ("timestamps", "millis"), ("writer", "spark")):
        if options.get(option, usual) != usual:
            needs.append(f"{option}{'' if option == 'timestamps' else 's'}.{options[option]}")
    needs += [f"framings.{options['framing']}"] if "framing" in options else []
    needs += ["limits"] if {"size_limit", "depth_limit"} & set(options) else []
    needs += ["batch-rows"] if "batch_rows" in options else []
    needs += ["thresholds"] if "threshold_bytes" in options else []
    needs += [f"encodings.{trait}" for trait in ("rle", "dictionary") if trait in vector.traits]
    kinds = frozenset().union(*(kinds_of(type_) for type_ in vector.types))
    needs += [f"types.{kind}" for kind in sorted(kinds)]
    return list(dict.fromkeys(needs))


def _lint(rule: _Rule | _Set, file: Path) -> None:
    """Refuse a case that cannot mean anything."""
    if strange := set(rule.operations) - {*OPERATIONS, *_ON_REQUEST}:
        raise UsageError(f"{file}: there is no operation {min(strange)!r}")
    if not rule.source.strip():
        raise UsageError(f"{file}: the source of the requirement is empty")
    if isinstance(rule, _Set):
        return
    known = bool(rule.step) and bool(rule.bytes or rule.golden)
    known = known or (bool(rule.given) and list(rule.operations) == ["operate"])
    if [bool(rule.expect.batches), bool(rule.expect.refused), known].count(True) != 1:
        raise UsageError(f"{file}: expect either batches or refused, or bytes of a stream")
    if sum(map(bool, (rule.page, rule.bytes, rule.golden))) > 1:
        raise UsageError(f"{file}: the bytes come from pages, bytes or a golden file, not from two")
    times = (rule.times, rule.row_times, rule.text_times)
    if min(times) < 1 or (max(times) > 1 and (rule.page or rule.bytes or rule.golden)):
        raise UsageError(f"{file}: values stand there at least once, and bytes just once")
    if rule.expect.refused and "encode" in rule.operations and not rule.given:
        raise UsageError(f"{file}: nothing is given that could be encoded")
    if bool(rule.step) != ("stream" in rule.operations) or (rule.step and not rule.given):
        raise UsageError(
            f"{file}: a stream has steps and given batches, and nothing else has steps"
        )


def _head_of(rule: _Rule) -> Vector:
    fields = [SerdeField(*column) for column in _side_by_side(rule)]
    request = SerdeRequest(rule.format, fields, dict(rule.options))
    return Vector(request, parse_schema(request), (), None)


def _of_rule(rule: _Rule, root: Path) -> Vector:
    head = _head_of(rule)
    texts = rule.given if rule.step else rule.expect.batches or rule.given
    batches = _expected(rule, texts, head.types)
    data = _bytes(rule, root)
    if data is None and rule.expect.batches and not rule.step:
        return of_values(head.request, head.types, batches)
    return replace(head, batches=batches, data=data)


def _side_by_side(rule: _Rule) -> list[Sequence[Any]]:
    """The columns, as often as the file says; names tell which time it is."""
    if rule.times == 1:
        return list(rule.columns)
    return [(f"{name}_{at}", *rest) for at in range(rule.times) for name, *rest in rule.columns]


def _expected(rule: _Rule, texts: Sequence[str], types: Sequence[SerdeType]) -> list[Expected]:
    """Batches as JSON: values by column, or a bare number of rows."""
    timestamps = str(rule.options.get("timestamps", "millis"))
    batches = []
    for content in map(json.loads, texts):
        if isinstance(content, int):
            batches.append(Expected(content, [[] for _ in types]))
            continue
        pairs = zip(content * rule.times, types, strict=True)
        columns = [[from_golden(v, type_, timestamps) for v in values] for values, type_ in pairs]
        columns = [longer(column, rule.text_times) * rule.row_times for column in columns]
        batches.append(Expected(len(columns[0]), columns))
    return batches


def _bytes(rule: _Rule, root: Path) -> bytes | None:
    if rule.page:
        return b"".join(framed_page(page) for page in rule.page)
    if rule.golden:
        data = _golden(root / "golden" / f"{rule.golden}.json").data
    elif rule.bytes:
        data = hex_bytes(rule.bytes)
    else:
        return None
    assert data is not None
    for edit in rule.edit:
        data = edited(data, edit)
    return data
