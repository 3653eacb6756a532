"""A planned scan as one JSON document: what to read, as read units, each of them executable.

    {
      "format": "seambench.plan", "version": 1,
      "table": ..., "schema": ..., "heading": ..., "notes": [...], "warnings": [...],
      "columns": [...], "condition": ..., "sql": ..., "options": {...}, "reader": ...,
      "shared": [...],
      "units": [{"path": "native", "name": ..., "files": [...], "changes": ..., ...}, ...]
    }

docs/plans.md tells what each key means. Everything is checked as it is read: an unknown version, an
unknown key, a word that is none, a value of another type than the one declared, a storage outside
the table's folder.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import ScanWarning
from seambase.where import Filter, parse_filter
from seambase.wording import counted
from seamkit.files.storage import Storage
from seamkit.ranges.codec import Decoder, Encoder
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.scan import Scan, checked_number
from seamkit.scan.sql_scan import SqlScan
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.unit_tasks import ReadRows
from seamkit.scan.units import ReadPlan, ReadUnit, Runs

_FORMAT, _VERSION = "seambench.plan", 1
_KEYS = (
    "format",
    "version",
    "table",
    "schema",
    "heading",
    "notes",
    "warnings",
    "columns",
    "condition",
    "sql",
    "options",
    "reader",
    "shared",
    "units",
)
_UNIT = tuple(field.name for field in dataclasses.fields(ReadUnit))
_OPTIONS = tuple(field.name for field in dataclasses.fields(ScanOptions))
_READER = ("path", "read", "only_merged")
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
#: Where a value stands: the place of what holds it, and its key or number there.
_Place = tuple[Any, Any] | None


def scan_to_json(scan: Scan, units: Sequence[int] | None = None) -> str:
    """Write a planned scan.

    Args:
        scan: of a table; any but those with a limit.
        units: numbers of the units to write; None for all.

    Raises:
        RefusedError: a scan that is no list of read units, or has what no word exists for, or
            names of files that are no UTF-8.
        UsageError: there is no unit of such a number.
    """
    return _written(scan, units)[0]


def scan_to_tasks(
    scan: Scan, groups: Sequence[Sequence[int]]
) -> tuple[list[str], Callable[[str], Scan]]:
    """Write a planned scan for tasks elsewhere; see `Scan.plans`."""
    written = [_written(scan, group) for group in groups]
    options = next((own for _, own in written if own), None)
    return [text for text, _ in written], functools.partial(scan_from_json, storage_options=options)


def _written(scan: Scan, units: Sequence[int] | None) -> tuple[str, Mapping[str, Any]]:
    """The document, and the options of storages, which it does not hold."""
    names, sql = list(scan.schema.names), None
    if isinstance(scan, SqlScan) and isinstance(scan.condition, Filter):
        sql, scan = scan.condition.sql, scan.below
    if not isinstance(scan, UnitScan):
        raise RefusedError(f"a {type(scan).__name__} is no list of read units: it has no JSON form")
    plan, other = scan.plan, scan.other_path
    encoder = Encoder(_whole(plan.table))
    document: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "table": _whole(plan.table),
        "schema": encoder.encode(plan.schema),
        "heading": plan.heading,
        "notes": list(plan.notes),
        "warnings": encoder.encode(list(plan.warnings)),
        "columns": names,
        "condition": encoder.encode(scan.condition),
        "sql": sql,
        "options": dataclasses.asdict(scan.options),
        "reader": None
        if other is None
        else dict(zip(_READER, (other[0], encoder.encode(other[1]), other[2]), strict=True)),
    }
    written = []
    for number in _numbers(units, len(plan.units)):
        unit = plan.units[number]
        own = {name: encoder.encode(getattr(unit, name)) for name in _UNIT}
        written.append({"path": scan.path_of(unit), **own})
    text = _text({**document, "shared": encoder.shared(), "units": written})
    if r"\ud" in text:  # half of a pair, or a pair
        try:
            read_json(text, "the plan")
        except InputError as error:
            raise RefusedError(
                f"{plan.table!a}: names that are no UTF-8 have no form in JSON ({error}): rename "
                "them, or link to them"
            ) from error
    return text, encoder.storage_options


def scan_from_json(
    text: str | bytes,
    storage_options: Mapping[str, Any] | None = None,
    *,
    units: Sequence[int] | None = None,
    table: str | None = None,
    where: str = "the plan",
) -> Scan:
    """Read a plan; its scan reads what was planned, whatever the table is by now.

    Args:
        text: the JSON.
        storage_options: arguments of the fsspec file system; a plan holds no keys and secrets.
        units: numbers of the units to read; None for all.
        table: where the table's folder lies as seen from here; None for where the plan says.
        where: the plan, for messages.

    Raises:
        InputError: it is no such plan, or contradicts itself.
        RefusedError: its version is not known.
        UsageError: there is no unit of such a number.
    """
    document = _document(text, where)
    planned_in = document["table"]
    if not isinstance(planned_in, str) or not planned_in:
        raise InputError(f"{where}: its table is {planned_in!r}")
    options = _options(document, where)
    roots = _Roots(planned_in, table or planned_in, storage_options, options, where)
    decoder = Decoder(where, document["shared"], roots.storage)
    listed = document["units"]
    numbers = _numbers(units, len(listed))
    planned = [_unit(decoder, listed[number], f"unit {number}", where) for number in numbers]
    plan = ReadPlan(
        table=roots.table,
        schema=decoder.decode(document["schema"], pa.Schema, "schema"),
        units=planned,
        heading=decoder.decode(document["heading"], str, "heading"),
        notes=decoder.decode(document["notes"], Sequence[str], "notes"),
        warnings=decoder.decode(document["warnings"], Sequence[ScanWarning], "warnings"),
    )
    for unit in planned:
        if isinstance(runs := unit.changes, Runs):
            _check_keys(runs, plan.schema, f"{where}: {unit.name}")
    scan = _scan(decoder, document, plan, options, where)
    for number, unit in zip(numbers, planned, strict=True):
        below = scan.below if isinstance(scan, SqlScan) else scan
        assert isinstance(below, UnitScan)
        if (stated := listed[number]["path"]) != below.path_of(unit):
            raise InputError(
                f"{where}: {unit.name} is to take the path {stated!r}, and its changes mean "
                f"{below.path_of(unit)!r}"
            )
    return scan


@dataclass(frozen=True)
class _Roots:
    """Where a plan's folders lie."""

    planned: str  # the table's folder, as the plan has it
    table: str  # the same folder, as seen from here
    options: Mapping[str, Any] | None  # of its storage
    # of the scan, to whose limit of memory and strictness readers of its files hold
    scan: ScanOptions
    where: str

    def storage(self, root: str) -> Storage:
        """The storage of a folder, which must be the table's or lie below it."""
        below = root.removeprefix(self.planned)
        parts = below.split("/")
        if below == root or parts[0] or ".." in parts or "\0" in root:
            raise InputError(f"{self.where}: the folder {root!r} lies outside of {self.planned!r}")
        own = Storage(self.table + below, self.options)
        return own.within(self.scan.memory_limit_bytes, strict=self.scan.strict)


def _options(document: Mapping[str, Any], where: str) -> ScanOptions:
    try:
        return ScanOptions(**_object(document["options"], _OPTIONS, f"{where}: options"))
    except UsageError as error:
        raise InputError(f"{where}: {error}") from error


def _scan(
    decoder: Decoder, document: Mapping[str, Any], plan: ReadPlan, options: ScanOptions, where: str
) -> Scan:
    columns = decoder.decode(document["columns"], Sequence[str], "columns")
    condition = decoder.decode(document["condition"], pc.Expression | None, "condition")
    sql = decoder.decode(document["sql"], str | None, "sql")
    unknown = [name for name in columns if name not in plan.schema.names]
    if unknown or len(set(columns)) < len(columns):
        raise InputError(f"{where}: its columns {columns} are not those of its schema")
    try:
        tested = None if sql is None else parse_filter(sql, plan.schema, "the plan's condition")
        more = [name for name in tested.columns if name not in columns] if tested else []
        scan = UnitScan(plan, [*columns, *more], condition, options)
    except UsageError as error:
        raise InputError(f"{where}: {error}") from error
    if document["reader"] is not None:
        stated = _object(document["reader"], _READER, f"{where}: reader")
        scan = scan.read_by(
            decoder.decode(stated["path"], str, "path"),
            decoder.decode(stated["read"], ReadRows, "read"),
            only_merged=decoder.decode(stated["only_merged"], bool, "only_merged"),
        )
    return scan if tested is None else SqlScan(scan, columns, tested)


def _unit(decoder: Decoder, stated: Any, what: str, where: str) -> ReadUnit:
    own = dict(_object(stated, ("path", *_UNIT), f"{where}: {what}"))
    del own["path"]
    unit: ReadUnit = decoder.decode({"$": "ReadUnit", **own}, ReadUnit, what)
    return unit


def _check_keys(runs: Runs, schema: pa.Schema, where: str) -> None:
    for key in runs.keys:
        if key not in schema.names and key not in runs.system.names:
            raise InputError(f"{where}: its key {key!r} is no column")


def _document(text: str | bytes, where: str) -> Mapping[str, Any]:
    """The document, of a known version and with the keys that one has."""
    document = read_json(text, where)
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{where}: it is no plan: its format is not {_FORMAT!r}")
    if document.get("version") != _VERSION or isinstance(document.get("version"), bool):
        raise RefusedError(
            f"{where}: plans of version {document.get('version')!r} are not known, those of "
            f"version {_VERSION} are"
        )
    _object(document, _KEYS, where)
    if not isinstance(document["shared"], list) or not isinstance(document["units"], list):
        raise InputError(f"{where}: 'shared' and 'units' are lists")
    return document


def _object(stated: Any, keys: Sequence[str], what: str) -> Mapping[str, Any]:
    """Require an object with just these keys."""
    if not isinstance(stated, dict):
        raise InputError(f"{what}: an object is meant")
    for name in stated:
        if name not in keys:
            raise InputError(f"{what}: the key {name!r} is unknown")
    for name in keys:
        if name not in stated:
            raise InputError(f"{what}: the key {name!r} is missing")
    return stated


def _numbers(units: Sequence[int] | None, count: int) -> list[int]:
    """Those of the units that are meant, of so many."""
    if units is None:
        return [*range(count)]
    if not isinstance(units, Iterable):
        raise UsageError(f"units is {units!r}: a list of numbers is meant, such as [0, 1]")
    return [checked_number("unit", number, count, "plan") for number in units]


def _whole(table: str) -> str:
    return table if "://" in table or table.startswith("file:") else str(Path(table).absolute())


def _text(document: Mapping[str, Any]) -> str:
    """JSON with a line for each key, each shared object and each unit."""
    lines = []
    for name, value in document.items():
        if name in ("shared", "units"):
            listed = ",\n  ".join(json.dumps(one, allow_nan=False) for one in value)
            lines.append(f'"{name}": [\n  {listed}\n ]' if value else f'"{name}": []')
        else:
            lines.append(f'"{name}": {json.dumps(value, allow_nan=False)}')
    return "{" + ",\n ".join(lines) + "}\n"


def read_json(text: str | bytes, where: str) -> Any:
    """What a document says: only numbers and texts that everything behind can hold."""
    try:
        document = json.loads(text, parse_constant=_no_number, object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: it is no JSON ({error})") from error
    _check_values(document, where)
    return document


def _check_values(document: Any, where: str) -> None:
    left: list[tuple[Any, _Place]] = [(document, None)]
    while left:
        value, place = left.pop()
        if type(value) is dict:
            for key in value:
                if not _is_text(key):
                    raise InputError(f"{where}: {_at(place)} has the key {key!a}, no text")
            left += [(one, (place, key)) for key, one in value.items()]
        elif type(value) is list:
            left += [(one, (place, number)) for number, one in enumerate(value)]
        elif type(value) is str and not _is_text(value):
            raise InputError(f"{where}: {_at(place)} is {value[:40]!a}, no text")
        elif type(value) is int and not _LEAST <= value <= _MOST:
            raise InputError(
                f"{where}: {_at(place)} has "
                f"{counted(value.bit_length(), 'bit')}, more than the 64 there are"
            )


def _is_text(text: str) -> bool:
    """Whether it has a form in UTF-8, which halves of surrogates have not."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _at(place: _Place) -> str:
    """The keys that lead to a value, the outermost first."""
    keys: list[str] = []
    while place is not None:
        place, key = place
        keys.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    return "".join(reversed(keys)).removeprefix(".") or "the document"


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON's")


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice in one object")
    return found
