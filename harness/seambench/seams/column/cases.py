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
and the empty one at the end. Generated texts and binaries have `text_bytes` bytes and the outermost
lists and maps `list_items` entries, in turn, where a file says so. `required_fields` and
`nested_fields` are a golden file's. With `[expect] refused = ["UsageError"]` the request must be
refused instead.

Golden files are a table with its chunks, or the list of type strings. Others bring folders of their
own, so that what is missing or of the wrong type is named with its file. Keys beyond those needed
are let pass: a file may say more about itself.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.conformance.answered import engine_of
from seambench.contracts.column import BatchKind, ValueForm
from seambench.contracts.data_files import CaseFile, build, case_files, read_case_file
from seambench.contracts.seam import Case
from seambench.seams.column.oracle import TypeTree, expected_slots, parse_type

_ALIASES = {
    "smallint": "short",
    "varchar": "string",
    "char": "string",
    "timestamp-micros": "timestamp",
    "timestamp-millis": "timestamp",
}


@dataclass(frozen=True)
class ColumnCase(Case):
    """A golden file of off-heap columns, the file of type strings, or one case of a TOML file."""

    file: Path
    root: Path
    fetch_size: int = 0  # of a TOML file's fetch sizes, the one this case has
    nulls: Nulls = "none"  # of a TOML file's densities of nulls, the one this case has

    @property
    def needs(self) -> Sequence[str]:
        """See `Case`."""
        if self.file.suffix == ".json":
            return needs_of(read_golden(self.file))
        read = _load(self.file)
        return needs_of(_question(read))

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
    text_bytes: Sequence[int] = ()
    list_items: Sequence[int] = ()


@cache
def _load(file: Path) -> _CaseFile:
    read = read_case_file(_CaseFile, file)
    if len(read.fields) != len(read.types):
        raise UsageError(f"{file}: there is a type for each field")
    if read.kinds and (read.kinds[0], read.kinds[-1]) != ("arrow", "arrow"):
        raise UsageError(f"{file}: the first and the last of its kinds are arrow")
    if any(a == b for a, b in pairwise(read.kinds)):
        raise UsageError(f"{file}: no two of its kinds that follow each other are the same")
    if (read.text_bytes or read.list_items) and isinstance(read.rows, str):
        raise UsageError(f"{file}: rows that are given have the lengths that they have")
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


def _question(read: _CaseFile) -> dict[str, Any]:
    """What a TOML file asks for, without rows and sizes, as a golden file says it."""
    required = read.fields if read.required_fields is None else read.required_fields
    own = {"fields": read.fields, "types": read.types, "required_fields": required}
    if read.kinds:
        own["kinds"] = read.kinds
    if read.form == "text":
        own["form"] = read.form
    return own if read.nested_fields is None else {**own, "nested_fields": read.nested_fields}


def _content(read: _CaseFile, case: ColumnCase) -> dict[str, Any]:
    content = {**_question(read), "fetch_size": case.fetch_size}
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
    lengths = Lengths(tuple(read.text_bytes), tuple(read.list_items))
    columns = [
        column_values(parse_type(text), count, case.nulls, f"{read.seed}:{name}", lengths)
        for name, text in zip(read.fields, read.types, strict=True)
    ]
    return list(map(list, zip(*columns, strict=True))) if columns else [[]] * count


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


T = TypeVar("T")
_HEX = re.compile(r"(?:[0-9a-f]{2}|\?\?)*")


@dataclass(frozen=True)
class _Table:
    fields: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    required_fields: Sequence[str]
    fetch_size: int
    chunks: Sequence[Mapping[str, Any]]
    nested_fields: Sequence[str] | None = None


@dataclass(frozen=True)
class _Chunk:
    num_rows: int
    slots: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class _Slot:
    kind: Literal["nulls", "data", "offsets", "bytes", "unknown"]
    column: str
    hex: str | None = None


@dataclass(frozen=True)
class _TypeString:
    input: str
    grammar: bool
    ok: bool
    parsed: Mapping[str, Any] | None = None
    error: str | None = None
    token: str | None = None


def read_golden(file: Path) -> Any:
    """The content of a golden file: keys of a table, or a list with a dict for each type string."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{file}: not readable as JSON ({error})") from error
    if not data or not isinstance(data, (dict, list)):
        raise UsageError(
            f"{file}: a golden file is a table or a list of type strings, and not empty"
        )
    if isinstance(data, list):
        for number, entry in enumerate(data, 1):
            _part(_TypeString, entry, f"{file}, entry {number}")
    else:
        _check_table(_part(_Table, data, str(file)), file)
    return data


def _part(cls: type[T], data: Any, where: str) -> T:
    """What is needed of a JSON object."""
    if not isinstance(data, dict):
        raise UsageError(f"{where}: an object is expected, not {data!r}")
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    return build(cls, {name: data[name] for name in data if name in names}, where)


def _check_table(table: _Table, file: Path) -> None:
    if len(table.fields) != len(table.types):
        raise UsageError(
            f"{file}: {counted(len(table.fields), 'field')} with "
            f"{counted(len(table.types), 'type')}"
        )
    for number, row in enumerate(table.rows, 1):
        if len(row) != len(table.fields):
            raise UsageError(
                f"{file}: row {number} has {counted(len(row), 'value')} for "
                f"{counted(len(table.fields), 'field')}"
            )
    if not table.chunks:
        raise UsageError(f"{file}: without chunks it tests nothing")
    rows = 0
    for number, entry in enumerate(table.chunks, 1):
        where = f"{file}, chunk {number}"
        chunk = _part(_Chunk, entry, where)
        rows += chunk.num_rows
        for at, slot in enumerate(chunk.slots, 1):
            _check_slot(_part(_Slot, slot, f"{where}, slot {at}"), f"{where}, slot {at}")
    if rows > len(table.rows):
        raise UsageError(
            f"{file}: the chunks have {counted(rows, 'row')}, the file {len(table.rows)}"
        )


def _check_slot(slot: _Slot, where: str) -> None:
    if slot.kind != "unknown" and not _HEX.fullmatch("-" if slot.hex is None else slot.hex):
        raise UsageError(f"{where}: hex is not pairs of 0-9, a-f or ??: {slot.hex!r}")


#: How many of the values are NULL: none, about every fourth (on every level), all; `empty` stands
#: for no rows at all.
Nulls = Literal["none", "some", "all", "empty"]

_SIGNS = ["a", "Z", " ", "\x00", "é", "ß", "Ж", "中", "文", "€", "\uffff", "😀", "\U0001d518"]
_EDGES: dict[str, Sequence[Any]] = {
    "boolean": [False, True],
    "tinyint": [0, -1, -(2**7), 2**7 - 1],
    "short": [0, -1, -(2**15), 2**15 - 1],
    "int": [0, -1, -(2**31), 2**31 - 1],
    "bigint": ["0", "-1", str(-(2**63)), str(2**63 - 1)],
    "float": ["0.0", "-0.0", "NaN", "Infinity", "-Infinity", "1e-45", "3.4028234663852886e+38"],
    "double": ["0.0", "-0.0", "NaN", "Infinity", "-Infinity", "5e-324", "1.7976931348623157e+308"],
    "date": ["1970-01-01", "0001-01-01", "9999-12-31", "1582-10-10", "2000-02-29", "1969-12-31"],
    "time": [0, -1, 86399999, 86400000, -(2**31), 2**31 - 1],
    "timestamp": [
        "1970-01-01 00:00:00.000000",
        "1969-12-31 23:59:59.999999",
        "0001-01-01 00:00:00.000000",
        "9999-12-31 23:59:59.999999",
        "2020-02-29 12:00:00.123456",
    ],
    "string": ["", "a", "é", "中", "😀", "a\u0301", "0123456789" * 30],
    "binary": ["", "00", "ff00fe", "c328"],
}
_WIDE = {"smallint": "short", "timestamp-micros": "timestamp", "timestamp-millis": "timestamp"}


@dataclass(frozen=True)
class Lengths:
    """Bytes of texts and binaries, entries of the outermost lists and maps; by chance where none.

    Row after row has the next of them.
    """

    text_bytes: tuple[int, ...] = ()
    list_items: tuple[int, ...] = ()


def column_values(
    tree: TypeTree, count: int, nulls: Nulls, seed: str, lengths: Lengths = Lengths()
) -> list[Any]:
    """Values for one column, as golden tables spell them; the first are the kind's extremes.

    They are a function of type, nulls (how many are None, likewise of the parts of nested values),
    lengths and seed.
    """
    values, more = _drawn(tree, nulls, seed, lengths)
    values += itertools.islice(more, max(0, count - len(values)))
    return values[:count]


@functools.lru_cache(maxsize=256)
def _drawn(
    tree: TypeTree, nulls: Nulls, seed: str, lengths: Lengths
) -> tuple[list[Any], Iterator[Any]]:
    """Values drawn so far, and those that follow: cases differ in how many of them they take."""
    dice = random.Random(f"{seed}:{tree}:{nulls}")
    return [], (_value(tree, nulls, dice, at, lengths) for at in itertools.count())


def _value(tree: TypeTree, nulls: Nulls, dice: random.Random, at: int, lengths: Lengths) -> Any:
    if nulls == "all" or (nulls == "some" and dice.random() < 0.25):
        return None
    if tree.kind == "struct":
        return [_value(child, nulls, dice, at, lengths) for child in tree.children]
    if tree.kind == "variant":  # both parts are always there
        return [_value(child, "none", dice, at, lengths) for child in tree.children]
    if tree.kind in ("array", "map"):
        items, below = lengths.list_items, Lengths(lengths.text_bytes)
        rows = [
            [_value(child, nulls, dice, at * 4 + i, below) for child in tree.children]
            for i in range(items[at % len(items)] if items else dice.choice([0, 1, 1, 2, 3]))
        ]
        return rows if tree.kind == "map" else [element for [element] in rows]
    kind = _WIDE.get(tree.kind, tree.kind)
    if kind == "decimal":
        return _decimal(tree, dice, at)
    if lengths.text_bytes and kind in _LONG:
        return _LONG[kind](dice, lengths.text_bytes[at % len(lengths.text_bytes)])
    edges = _EDGES[kind]
    return edges[at] if at < len(edges) else _RANDOM[kind](dice)


def _decimal(tree: TypeTree, dice: random.Random, at: int) -> str:
    """Up to the digits that the width surely has room for."""
    digits = 18 if tree.width == 8 else 38
    numbers = [0, 1, -1, 10**digits - 1, 1 - 10**digits]
    number = numbers[at] if at < len(numbers) else dice.randrange(-(10**digits), 10**digits)
    text = str(abs(number)).rjust(tree.scale + 1, "0")
    point = len(text) - tree.scale
    sign = "-" if number < 0 else ""
    return f"{sign}{text[:point]}.{text[point:]}" if tree.scale else f"{sign}{text}"


def _text(dice: random.Random, length: int) -> str:
    """So many bytes of UTF-8: signs of one to four, filled up by digits."""
    signs = "".join(dice.choices(_SIGNS, k=length // 4))
    return signs + "".join(dice.choices("0123456789", k=length - len(signs.encode())))


_LONG: dict[str, Callable[[random.Random, int], str]] = {
    "string": _text,
    "binary": lambda dice, length: dice.randbytes(length).hex(),
}


def _date(dice: random.Random) -> str:
    return f"{dice.randint(1, 9999):04}-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}"


def _timestamp(dice: random.Random) -> str:
    clock = f"{dice.randint(0, 23):02}:{dice.randint(0, 59):02}:{dice.randint(0, 59):02}"
    return f"{_date(dice)} {clock}.{dice.randrange(10**6):06}"


def _whole(bits: int) -> Callable[[random.Random], int]:
    return lambda dice: dice.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))


_RANDOM: dict[str, Callable[[random.Random], Any]] = {
    "boolean": lambda dice: dice.random() < 0.5,
    "tinyint": _whole(8),
    "short": _whole(16),
    "int": _whole(32),
    "bigint": lambda dice: str(_whole(64)(dice)),
    "float": lambda dice: repr(dice.randrange(-(2**24), 2**24) / 2 ** dice.randrange(40)),
    "double": lambda dice: repr(dice.gauss(0, 1) * 10.0 ** dice.randrange(-300, 300)),
    "date": _date,
    "time": _whole(32),
    "timestamp": _timestamp,
    "string": lambda dice: "".join(dice.choices(_SIGNS, k=dice.randrange(12))),
    "binary": lambda dice: dice.randbytes(dice.randrange(12)).hex(),
}
