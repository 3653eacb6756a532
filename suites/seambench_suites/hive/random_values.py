"""Random types and values of Hive: as literals of SQL, and as texts for Hive to make sense of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_REAL = ("float", "double")

_NUMBERS = (
    *("0", "1", "-1", "+5", "127", "128", "-129", "32768", "-2147483649", "9223372036854775807"),
    *("9223372036854775808", " 1", "1 ", "1.9", "-1.9", ".5", "1e3", "abc", "0x10", "--1", "+"),
    *("-", "1.", "007", "1L", "", "\uff11", "1_0"),
)
_REALS = (
    *("1.5", "-0.0", "NaN", "nan", "Infinity", "-Infinity", "inf", "1e400", "1d", "1F", " 1.5 "),
    *("0x1p3", "1,5", "", ".5", "5.", "1e-400", "3.4028236e38", "+.5e+3", "1e", "e5", "0.1"),
)
_DECIMALS = (
    *("1.235", "-1.235", "1e2", "1E-9", "99999999.994", "99999999.995", " 1", "1 ", "", "abc"),
    *("+1.5", ".5", "5.", "1e", "0e5", "-0", "0.005", "-0.005", "123456789"),
)
_BOOLEANS = ("true", "FALSE", "TrUe", "t", "1", "0", "", "yes", " true", "falsee")
_DATES = (
    *("2020-02-29", "2020-1-5", "2020-02-31", "1970-01-01", "9999-12-30", "2020-13-01"),
    *("2020-00-10", " 2020-01-01", "2020-01-01 ", "2020-01-01 10:00:00", "20200101", "1900-03-01"),
    *("", "x", "2020-01", "2020-01-01x", "02020-01-01"),
)
_TIMESTAMPS = (
    *("2020-02-29 12:34:56", "2020-02-29 12:34:56.789", "2020-02-29 12:34:56.123456789"),
    *("2020-02-29", "2020-02-29T12:34:56", "2020-02-29 24:00:00", "2020-02-29 25:61:61"),
    *("2020-1-5 1:2:3", " 2020-02-29 12:34:56", "2020-02-29 12:34:56 ", "1969-12-31 23:59:59.5"),
    *("", "x", "2020-02-29 12:34", "2020-02-29 12:34:56.", "2020-02-29 12:34:56.1234567891"),
)
_STRINGS = ("a", "", "ü😀", "a b", " x ", "NULL", "null", "abcdef", "\\", "n", '"q"', "1")
_BINARIES = ("YQ==", "YQ", "a", "====", "AP8K", "x y", "_-8=", "", "YWI=", "YW I=")

AWKWARD = "\x01\x02\x03\x04|,:;\\ \t\"'Nn0é😀"
"""Characters that mean something somewhere, and some that take several bytes."""


@dataclass(frozen=True)
class HiveType:
    """A type: a word of Hive's, or a nested one of further types."""

    word: str  # `int`, `decimal(10,2)`, ..., or `array`, `map`, `struct`
    # of an element; of key and value; of fields, which are called `f0`, `f1`, ...
    inner: Sequence[HiveType] = ()

    def __str__(self) -> str:
        if self.word == "struct":
            fields = (f"f{number}:{type_}" for number, type_ in enumerate(self.inner))
            return f"struct<{','.join(fields)}>"
        return f"{self.word}<{','.join(map(str, self.inner))}>" if self.inner else self.word


def random_type(chance: random.Random, words: Sequence[str], depth: int = 2) -> HiveType:
    """A type: one of some words, or nested at most so deep; keys of maps are texts or numbers."""
    if depth and chance.random() < 0.25:
        word = chance.choice(["array", "map", "struct"])
        if word == "struct":
            count = chance.randint(1, 3)
            return HiveType(word, [random_type(chance, words, depth - 1) for _ in range(count)])
        key = [HiveType(chance.choice(["string", "int"]))] if word == "map" else []
        return HiveType(word, [*key, random_type(chance, words, depth - 1)])
    return HiveType(chance.choice(words))


def sql_text(text: str) -> str:
    """A text as a literal of SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r") + "'"


def literal(chance: random.Random, type_: HiveType, finite: bool = False) -> str:
    """A value as an expression of SQL of exactly this type.

    `finite`: no number is infinite or none, for files that have no word for these.
    """
    if chance.random() < 0.15:
        return f"CAST(NULL AS {type_})"
    inner = type_.inner
    if type_.word == "array":
        items = [literal(chance, inner[0], finite) for _ in range(chance.randint(0, 3))]
        return f"CAST(array({', '.join(items)}) AS {type_})"
    if type_.word == "map":
        keys = chance.sample(["1", "2", "3"], chance.randint(0, 2))
        pairs = [
            f"CAST('{key}' AS {inner[0]}), {literal(chance, inner[1], finite)}" for key in keys
        ]
        return f"CAST(map({', '.join(pairs)}) AS {type_})"
    if type_.word == "struct":
        fields = [
            f"'f{number}', {literal(chance, one, finite)}" for number, one in enumerate(inner)
        ]
        return f"CAST(named_struct({', '.join(fields)}) AS {type_})"
    if type_.word == "binary":
        return chance.choice(["X''", "X'00FF0A'", "X'61'", "X'5C4E'"])
    return f"CAST({sql_text(_plain(chance, type_.word, finite))} AS {type_})"


def _plain(chance: random.Random, word: str, finite: bool) -> str:
    """A text that Spark itself casts to a value of a type without loss."""
    if word in _WHOLE:
        return str(chance.choice([0, 1, -1, 127, -128, chance.randint(-128, 127)]))
    if word in _REAL:
        more = [] if finite else ["NaN", "Infinity", "-Infinity"]
        return chance.choice(["1.5", "-0.0", "1e-30", "0.1", *more])
    if word.startswith("decimal"):
        return chance.choice(["0", "-0.5", "1.25", "99.99", "-99.99", "0.01"])
    if word == "date":
        return chance.choice(["2020-02-29", "1970-01-01", "1969-12-31", "9999-12-30"])
    if word == "timestamp":
        return chance.choice(
            ["2020-02-29 12:34:56.789", "1970-01-01 00:00:00", "1969-12-31 23:59:59.5"]
        )
    if word == "boolean":
        return chance.choice(["true", "false"])
    texts: list[str] = [one for one in [*_STRINGS, *AWKWARD] if word == "string" or len(one) <= 3]
    return chance.choice(texts)


def token(chance: random.Random, type_: HiveType, separators: Sequence[str], null: str) -> str:
    """A value as LazySimpleSerDe might meet it, often one that is none of its type."""
    if chance.random() < 0.08:
        return null
    inner = type_.inner
    if type_.word == "array":
        items = [token(chance, inner[0], separators[1:], null) for _ in range(chance.randint(0, 3))]
        return separators[0].join(items)
    if type_.word == "map":
        pairs = [
            separators[1].join(token(chance, one, separators[2:], null) for one in inner)
            for _ in range(chance.randint(0, 3))
        ]
        return separators[0].join(pairs)
    if type_.word == "struct":
        fields = [token(chance, one, separators[1:], null) for one in inner]
        return separators[0].join(fields[: chance.randint(1, len(fields))])
    return chance.choice(_pool(type_.word))


def _pool(word: str) -> Sequence[str]:
    if word in _WHOLE:
        return _NUMBERS
    if word in _REAL:
        return _REALS
    named = {"boolean": _BOOLEANS, "date": _DATES, "timestamp": _TIMESTAMPS, "binary": _BINARIES}
    return named.get(word, _DECIMALS if word.startswith("decimal") else _STRINGS)


def json_text(chance: random.Random, type_: HiveType) -> str:
    """A value as a member of a row in JSON, of the kind that its column has."""
    if chance.random() < 0.1:
        return "null"
    inner = type_.inner
    if type_.word == "array":
        return (
            "[" + ", ".join(json_text(chance, inner[0]) for _ in range(chance.randint(0, 3))) + "]"
        )
    if type_.word == "map":
        keys = chance.sample(["1", "2", "3"], chance.randint(0, 2))
        return "{" + ",".join(f'"{key}": {json_text(chance, inner[1])}' for key in keys) + "}"
    if type_.word == "struct":
        fields = [f'"{chance.choice("fF")}{n}":{json_text(chance, t)}' for n, t in enumerate(inner)]
        return "{" + ",".join(fields[: chance.randint(0, len(fields))]) + "}"
    if type_.word in _WHOLE:
        return str(chance.choice([0, 1, -1, 127, -128, 11.9, "1e2"]))
    if type_.word in _REAL:
        return chance.choice(["1.5", "-0.0", "1", "1e-30", "0.1", "-1E+2"])
    if type_.word.startswith("decimal"):
        return chance.choice(["0", "1.235", "-99.99", "12", "1e2"])
    if type_.word == "boolean":
        return chance.choice(["true", "false"])
    return chance.choice(['"a"', '""', '"\\u00e9\\n"', '"ü😀"', '"\\"q\\""', "1", "1.50", "true"])
