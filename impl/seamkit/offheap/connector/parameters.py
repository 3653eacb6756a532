"""What an engine tells a scanner: a mapping of texts, as StarRocks' BE builds it.

Names are joined by `,`, type strings by `#` (`create_hudi_jni_scanner` in
be/src/connector/hive_connector.cpp, main tree of June 2025). There is no escaping, so that a name
with a separator breaks the lists; here such lists are refused, in both directions.

Time zones as engines name them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.offheap.columns.types import ColumnType, parse
from seamkit.offheap.connector.selected import SEPARATORS

Parameters = Mapping[str, str]


@dataclass(frozen=True)
class Common:
    """The parameters that all scanners share.

    Attributes:
        required: columns asked for, in order (`required_fields`); None if it is not stated, and
            empty for a count.
        nested: dotted paths of the parts asked for (`nested_fields`).
        zone: of the clocks that show timestamps with a zone (`time_zone`); UTC by default, where
            Java takes the JVM's.
        predicate: a condition as the engine wrote it (`predicate`).
    """

    required: list[str] | None
    nested: list[str]
    zone: tzinfo
    predicate: str

    @classmethod
    def read(cls, parameters: Parameters, own: Sequence[str]) -> Common:
        """Read them, and check that nothing but a scanner's own names is stated besides."""
        known = ("required_fields", "nested_fields", "time_zone", "predicate", *own)
        for name in parameters:
            if name not in known:
                raise UsageError(f"unknown parameter '{name}'; known are {', '.join(known)}")
        required = parameters.get("required_fields")
        return cls(
            None if required is None else split_names(required, "required_fields"),
            split_names(parameters.get("nested_fields", ""), "nested_fields"),
            time_zone(parameters["time_zone"]) if parameters.get("time_zone") else UTC,
            parameters.get("predicate", ""),
        )


def needed(parameters: Parameters, name: str) -> str:
    """A parameter that must be there."""
    if not parameters.get(name):
        raise UsageError(f"the parameter '{name}' is missing")
    return parameters[name]


def number(parameters: Parameters, name: str, default: int) -> int:
    """A whole number."""
    text = parameters.get(name, str(default))
    try:
        return int(text)
    except ValueError as error:
        raise UsageError(f"the parameter '{name}' is a whole number, not '{text}'") from error


def split_names(text: str, what: str) -> list[str]:
    """The names of a list; an empty text has none."""
    names = text.split(",") if text else []
    if "" in names:
        raise UsageError(f"{what} '{text}': a name is empty")
    return names


def split_columns(names: str, types: str, what: str) -> dict[str, ColumnType]:
    """Columns from a list of names, joined by `,`, and one of type strings, joined by `#`."""
    columns = split_names(names, what)
    texts = types.split("#") if types else []
    if len(columns) != len(texts):
        raise UsageError(
            f"{what}: {counted(len(columns), 'name', 'have')} "
            f"{counted(len(texts), 'type')}; names hold no ',' and types no "
            "'#', which separate them"
        )
    if len(set(columns)) < len(columns):
        raise UsageError(f"{what}: the name of a column comes twice in '{names}'")
    return dict(zip(columns, map(parse, texts), strict=True))


def join_names(names: Sequence[str]) -> str:
    """A list of names or paths as a parameter."""
    for name in names:
        if not name or any(sign in name for sign in SEPARATORS if sign != "."):
            raise UsageError(f"'{name}' cannot be listed: a name is not empty and holds no , or #")
    return ",".join(names)


def join_types(types: Sequence[ColumnType]) -> str:
    """A list of types as a parameter."""
    texts = list(map(str, types))
    for text in texts:
        if "#" in text:
            raise UsageError(f"the type '{text}' cannot be listed: it holds a #")
    return "#".join(texts)


_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})", re.ASCII)
_MICRO = timedelta(microseconds=1)
#: 1970-01-01 00:00:00 without a zone, from which wall clocks count.
EPOCH = datetime(1970, 1, 1)


def time_zone(name: str) -> tzinfo:
    """The zone a name stands for: `Europe/Paris` and the like, `UTC`, or an offset `+08:00`.

    No such zone is `CST`, which some take for China's and some for Chicago's.
    """
    if name == "UTC":
        return UTC
    if match := _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if offset < timedelta(hours=24):
            return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise UsageError(
            f"there is no time zone '{name}'; name one as in 'Asia/Shanghai' or '+08:00'"
        ) from error


def wall_micros(moment: datetime, zone: tzinfo) -> int:
    """Microseconds from 1970-01-01 00:00:00 to what a clock in a zone shows.

    A moment without a zone is what it is.
    """
    if moment.tzinfo is not None:
        moment = moment.astimezone(zone).replace(tzinfo=None)
    return (moment - EPOCH) // _MICRO
