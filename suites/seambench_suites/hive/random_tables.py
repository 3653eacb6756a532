"""Random tables of Hive: declarations that a seed decides, of every kind of file.

Spark writes rows through Hive's classes; text, CSV and JSON files are put beside these by hand,
with much that is no value of its column. What Hive's classes read of it all is the right answer.
"""

from __future__ import annotations

import bz2
import gzip
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seambench.formats.hive.golden import TableSpec
from seambench_suites.hive.random_values import (
    AWKWARD,
    HiveType,
    json_text,
    literal,
    random_type,
    sql_text,
    token,
)

_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_CSV = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
_JSON = "org.apache.hive.hcatalog.data.JsonSerDe"
#: By the word of a descriptor: the serde, where one is named, and the word of `STORED AS`.
_STORED = {
    "text": (_LAZY, "TEXTFILE"),
    "sequence": (_LAZY, "SEQUENCEFILE"),
    "csv": (_CSV, "TEXTFILE"),
    "json": (_JSON, "TEXTFILE"),
    "parquet": (None, "PARQUET"),
    "orc": (None, "ORC"),
    "avro": (None, "AVRO"),
}

_BASIC = ("int", "bigint", "float", "double", "boolean", "string", "decimal(6,2)")
_MORE = (*_BASIC, "tinyint", "smallint", "date", "timestamp", "binary")
_TYPES: Mapping[str, Sequence[str]] = {
    "text": (*_MORE, "varchar(3)", "char(3)"),
    "sequence": (*_MORE, "varchar(3)", "char(3)"),
    "csv": _BASIC,
    "json": (*_BASIC, "varchar(3)"),
    "parquet": _MORE,
    "orc": _MORE,
    "avro": (*_BASIC, "date", "timestamp", "binary"),
}
_CODECS = ("Gzip", "BZip2", "Default", "Snappy", "Lz4")
_PLACES = ("p=a/q=1", "p=x y/q=-3", "p=b%3A%2Fc/q=007", "p=é/q=2")


def random_table(seed: int) -> TableSpec:
    """The table of a seed."""
    return _Folder(random.Random(seed)).table(seed)


class _Folder:
    """A table as it comes to be."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        kinds = ["text"] * 5 + ["csv", "csv", "json", "sequence", "parquet", "orc", "avro"]
        self._kind = chance.choice(kinds)
        words = _TYPES[self._kind]
        depth = 0 if self._kind == "csv" else 2
        self._columns = {"k": HiveType("int")}
        for number in range(chance.randint(1, 5)):
            self._columns[f"c{number}"] = random_type(chance, words, depth)
        self._by_part = chance.random() < 0.3
        self._properties = self._drawn_properties()

    def table(self, seed: int) -> TableSpec:
        """All of its steps."""
        chance = self._chance
        steps: list[Any] = [self._create("golden", self._columns)]
        doings: list[Callable[[], list[Any]]] = [self._insert]
        if self._kind in ("text", "csv", "json"):
            doings += [self._file, self._file]
        if self._kind in ("text", "sequence"):
            doings.append(self._compressed)
        if self._kind in ("parquet", "orc", "avro", "json") and not self._by_part:
            doings.append(self._older)
        for _ in range(chance.randint(2, 4)):
            steps += chance.choice(doings)()
        if self._by_part:
            steps.append("MSCK REPAIR TABLE golden")
        descriptor: dict[str, Any] = {
            "format": self._kind,
            "columns": [{"name": n, "type": str(t)} for n, t in self._columns.items()],
        }
        if self._by_part:
            descriptor["partitions"] = [
                {"name": "p", "type": "string"},
                {"name": "q", "type": "int"},
            ]
        if self._properties:
            descriptor["properties"] = dict(self._properties)
        return TableSpec(f"random-{seed}", "random", {}, steps, descriptor=descriptor)

    def _drawn_properties(self) -> Mapping[str, str]:
        chance = self._chance
        drawn: dict[str, Sequence[str | None]] = {}
        if self._kind in ("text", "sequence"):
            drawn = {
                "field.delim": (None, None, "|", ",", "\t", "44"),
                "colelction.delim": (None, None, ":", "3"),
                "mapkey.delim": (None, None, ";", "="),
                "escape.delim": (None, None, "\\"),
                "serialization.null.format": (None, None, "NULL", ""),
                "serialization.last.column.takes.rest": (None, None, None, "true"),
            }
        if self._kind == "csv":
            drawn = {
                "separatorChar": (None, None, "\t", ";"),
                "quoteChar": (None, None, "'"),
                "escapeChar": (None, None, "!"),
            }
        chosen = {name: chance.choice(values) for name, values in drawn.items()}
        return {name: value for name, value in chosen.items() if value is not None}

    def _create(self, name: str, columns: Mapping[str, HiveType]) -> str:
        serde, stored = _STORED[self._kind]
        fields = ", ".join(f"`{column}` {type_}" for column, type_ in columns.items())
        by = "PARTITIONED BY (`p` string, `q` int) " if self._by_part else ""
        row = f"ROW FORMAT SERDE '{serde}' " if serde else ""
        if self._properties:
            stated = (f"{sql_text(n)} = {sql_text(v)}" for n, v in self._properties.items())
            row += f"WITH SERDEPROPERTIES ({', '.join(stated)}) "
        return (
            f"CREATE EXTERNAL TABLE {name} ({fields}) {by}{row}STORED AS {stored} "
            "LOCATION '{path}'"
        )

    def _rows(self, columns: Mapping[str, HiveType]) -> str:
        """A query of some rows."""
        rows = [
            ", ".join(literal(self._chance, one, self._kind == "json") for one in columns.values())
            for _ in range(self._chance.randint(1, 4))
        ]
        return " UNION ALL ".join(f"SELECT {row}" for row in rows)

    def _insert(self) -> list[Any]:
        by = ""
        if self._by_part:
            by = self._chance.choice(["(p='a', q=1)", "(p='b:/c', q=7)", "(p='%é ', q=-3)"])
            by = f"PARTITION {by} "
        return [f"INSERT INTO golden {by}{self._rows(self._columns)}"]

    def _compressed(self) -> list[Any]:
        """Rows in files that Hadoop's codecs compress."""
        codec = f"org.apache.hadoop.io.compress.{self._chance.choice(_CODECS)}Codec"
        kind = self._chance.choice(["RECORD", "BLOCK"])
        return [
            f"SET mapred.output.compression.type={kind}",
            f"SET mapreduce.output.fileoutputformat.compress.type={kind}",
            "SET hive.exec.compress.output=true",
            f"SET mapreduce.output.fileoutputformat.compress.codec={codec}",
            f"SET mapred.output.compression.codec={codec}",
            *self._insert(),
            "SET hive.exec.compress.output=false",
        ]

    def _older(self) -> list[Any]:
        """Rows of a table with other columns, or the same in another order, in the same folder."""
        chance = self._chance
        names = [name for name in self._columns if chance.random() < 0.7] or ["k"]
        chance.shuffle(names)
        columns = {name: self._columns[name] for name in names}
        if chance.random() < 0.5:
            columns["gone"] = HiveType("string")
        return [
            self._create("older", columns),
            f"INSERT INTO older {self._rows(columns)}",
            "DROP TABLE older",
        ]

    def _file(self) -> list[Any]:
        """A file put there by hand, compressed or not."""
        chance = self._chance
        line = {"text": self._line, "csv": self._csv_line, "json": self._json_line}[self._kind]
        ends = ["\n"] if self._kind == "json" else ["\n", "\n", "\n", "\r\n", "\r"]
        end = chance.choice(ends)
        text = end.join(line() for _ in range(chance.randint(1, 12)))
        text += chance.choice([end, end, ""])
        name = f"{chance.choice(_PLACES)}/" if self._by_part else ""
        name += f"f{chance.randrange(10**6)}"
        how = chance.choice(["", "", "", ".gz", ".bz2", ".deflate"])
        if not how:
            return [{"path": name, "text": text}]
        packed = {
            ".gz": lambda content: gzip.compress(content, mtime=0),
            ".bz2": bz2.compress,
            ".deflate": zlib.compress,
        }[how](text.encode())
        return [{"path": name + how, "hex": packed.hex()}]

    def _line(self) -> str:
        """Fields of text, at times too few, too many, or with a stray character."""
        chance = self._chance
        separators = self._separators()
        null = self._properties.get("serialization.null.format", "\\N")
        fields = [token(chance, t, separators[1:], null) for t in self._columns.values()]
        if chance.random() < 0.1:
            fields = fields[: chance.randint(0, len(fields))]
        if chance.random() < 0.1:
            fields.append("more")
        return self._strayed(separators[0].join(fields), 0.15)

    def _separators(self) -> list[str]:
        separators = [chr(number) for number in range(1, 9)]
        named = ("field.delim", "colelction.delim", "mapkey.delim")
        for place, name in enumerate(named):
            value = self._properties.get(name)
            if value is not None:
                separators[place] = chr(int(value)) if value.isdigit() else value
        return separators

    def _csv_line(self) -> str:
        """Fields of CSV, quoted or not."""
        chance = self._chance
        separator = self._properties.get("separatorChar", ",")
        quote = self._properties.get("quoteChar", '"')
        escape = self._properties.get("escapeChar", "\\")
        fields = []
        for _ in range(chance.randint(0, len(self._columns) + 1)):
            text = "".join(
                chance.choice(["a", "b", " ", "é", "1", separator, quote, escape, quote * 2])
                for _ in range(chance.randint(0, 5))
            )
            fields.append(chance.choice([text, text, f"{quote}{text}{quote}"]))
        return separator.join(fields)

    def _json_line(self) -> str:
        """A row of JSON: some of the columns, in any order, and others."""
        chance = self._chance
        names = [name for name in self._columns if chance.random() < 0.85]
        chance.shuffle(names)
        members = [
            f'"{chance.choice([name, name.upper()])}": {json_text(chance, self._columns[name])}'
            for name in names
        ]
        if chance.random() < 0.2:
            members.append('"other": {"x": [1, {"y": null}]}')
        return "{" + chance.choice([",", " , "]).join(members) + "}"

    def _strayed(self, text: str, how_often: float) -> str:
        """A text, at times with a character put in that means something somewhere."""
        if self._chance.random() >= how_often:
            return text
        place = self._chance.randint(0, len(text))
        return text[:place] + self._chance.choice(AWKWARD) + text[place:]
