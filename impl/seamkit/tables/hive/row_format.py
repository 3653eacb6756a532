"""What a Hive table is, as a small file in its folder says in place of a metastore.

`_hive_table.json` (its name begins as those of files do that Hive passes over) holds an object:

    {
      "format": "text",
      "columns": [{"name": "k", "type": "int"}, {"name": "v", "type": "map<string,int>"}],
      "partitions": [{"name": "day", "type": "date"}],
      "properties": {"field.delim": "|", "skip.header.line.count": "1"}
    }

Properties are those of the table and of its serde, as `CREATE TABLE` states them. Where the files
lie in another folder, into which nobody may write or which another program owns, `"location"` names
it: an address, an absolute path, or one from the descriptor's folder on.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.wording import counted
from seamkit.files.promotion import LOSSLESS
from seamkit.files.storage import Storage, json_object
from seamkit.tables.hive.types import HiveType, parse_type
from seamkit.tables.partition_folder import PartitionFolder

DESCRIPTOR = "_hive_table.json"

_MOST_BYTES = 16 << 20
_KEYS = {"format", "columns", "partitions", "properties", "location"}

JSON_OF_HIVE = "json of Hive's own"
"""The format of rows of JSON by Hive's own serde; the other one is HCatalog's."""
#: Formats, by the words of `STORED AS` and the names of serdes.
_FORMATS = {
    "text": "text",
    "textfile": "text",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe": "text",
    "csv": "csv",
    "org.apache.hadoop.hive.serde2.OpenCSVSerde": "csv",
    "json": "json",
    "jsonfile": "json",
    "org.apache.hive.hcatalog.data.JsonSerDe": "json",
    "org.apache.hadoop.hive.serde2.JsonSerDe": JSON_OF_HIVE,
    "sequence": "sequence",
    "sequencefile": "sequence",
    "parquet": "parquet",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe": "parquet",
    "parquet.hive.serde.ParquetHiveSerDe": "parquet",  # before Hive had one
    "orc": "orc",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde": "orc",
    "avro": "avro",
    "org.apache.hadoop.hive.serde2.avro.AvroSerDe": "avro",
}
_NAMES = {name.lower(): format_ for name, format_ in _FORMATS.items()}
#: Formats whose files name their columns, and types whose values a wider one has.
_OF_COLUMNS = ("parquet", "orc", "avro")
_NUMBERS = frozenset(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"))
#: How the classes are called that hand out a file as it is: of text, of Parquet, ORC and Avro.
_INPUT_FORMATS = frozenset(
    (
        *("", "TextInputFormat", "MapredParquetInputFormat", "DeprecatedParquetInputFormat"),
        *("OrcInputFormat", "AvroContainerInputFormat"),
    )
)


@dataclass(frozen=True)
class Description:
    """What a table is."""

    format: str  # `text`, `csv`, `json`, `JSON_OF_HIVE`, `sequence`, `parquet`, `orc` or `avro`
    columns: Mapping[str, HiveType]  # types of the columns that lie in files, by name, in order
    # types of the columns that lie in names of folders, the outermost first
    partitions: Mapping[str, HiveType] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)  # of the table and its serde
    location: str | None = None  # the folder of its files, where the descriptor lies in another one
    # types of the columns that rows of text have, by name, in order, where these are a partition's
    # own; they are the table's by their places
    in_rows: Mapping[str, HiveType] | None = None

    @property
    def schema(self) -> pa.Schema:
        """All columns; those of partitions come last, as Hive has them."""
        whole = {**self.columns, **self.partitions}
        return pa.schema([(name, kind.arrow) for name, kind in whole.items()])


def read_descriptor(storage: Storage) -> Description:
    """Read the descriptor of the table that lies in a folder."""
    where = storage.full(DESCRIPTOR)
    content = storage.read_if_there(DESCRIPTOR, most_bytes=_MOST_BYTES)
    if content is None:
        raise InputError(
            f"{where}: no such file, so nobody says what the folder's files hold: write it "
            "(docs/hive.md), or pass columns= and file_format= to HiveTable"
        )
    stated = json_object(content, where)
    if unknown := sorted(set(stated) - _KEYS):
        raise InputError(f"{where}: the descriptor has an unknown key {unknown[0]!r}")
    location = stated.get("location")
    if location is not None and (not isinstance(location, str) or not location):
        raise InputError(f"{where}: its location is {location!r}, no name of a folder")
    try:
        described = describe(
            where,
            stated.get("format"),
            _pairs(where, stated.get("columns")),
            _pairs(where, stated.get("partitions", [])),
            stated.get("properties", {}),
        )
    except UsageError as error:
        raise InputError(str(error)) from error
    return replace(described, location=location)


def _pairs(where: str, stated: Any) -> dict[str, str]:
    """Names and types, as an array of objects has them."""
    if not isinstance(stated, list):
        raise InputError(f"{where}: an array of columns with name and type is meant")
    pairs: dict[str, str] = {}
    known: set[str] = set()
    for one in stated:
        if not isinstance(one, dict) or set(one) != {"name", "type"}:
            raise InputError(f"{where}: {one!r} is no column with name and type")
        if not isinstance(one["name"], str) or one["name"].lower() in known:
            raise InputError(f"{where}: two columns have the name {one['name']!r}, or it is none")
        known.add(one["name"].lower())
        pairs[one["name"]] = one["type"]
    return pairs


def read_through(input_format: str, serde: str, where: str) -> str:
    """What files are that Hive reads through two classes, as `describe` takes it."""
    if input_format.endswith("SequenceFileInputFormat"):
        if serde and _NAMES.get(serde.lower()) != "text":
            raise RefusedError(f"{where}: sequence files whose rows {serde} reads, not supported")
        return "sequence"
    if input_format.rpartition(".")[2] not in _INPUT_FORMATS:
        raise RefusedError(
            f"{where}: its files are read through {input_format}, which is not supported"
        )
    return serde


def describe(
    where: str,
    format_: Any,
    columns: Mapping[str, str],
    partitions: Mapping[str, str],
    properties: Mapping[str, str],
) -> Description:
    """Check what is said of a table.

    `format_` is a format, a word of `STORED AS` or the class of a serde. Types are spelled as Hive
    does; names become lower case, as Hive has them. Properties are the table's and its serde's.
    """
    known = _known_format(where, format_)
    if not isinstance(properties, Mapping) or not all(
        isinstance(name, str) and isinstance(value, str) for name, value in properties.items()
    ):
        raise UsageError(f"{where}: properties are texts by name, not {properties!r}")
    if properties.get("transactional", "").lower() == "true":
        raise RefusedError(f"{where}: transactional tables are not supported")
    kinds = _in_files(known, where, columns)
    of_folders = _kinds(where, partitions)
    if twice := sorted(kinds.keys() & of_folders.keys()):
        raise UsageError(f"{where}: {twice[0]!r} is a column and a partition, too")
    if not kinds:
        raise UsageError(f"{where}: a table has one column at least")
    if nested := [name for name, kind in of_folders.items() if kind.children]:
        raise UsageError(f"{where}: the partition {nested[0]!r} is of a nested type")
    return Description(known, kinds, of_folders, dict(properties))


def describe_partition(table: Description, folder: PartitionFolder) -> Description:
    """What a table is in a partition that is stored in its own way, or has columns of its own.

    Hive reads rows of text by the partition's columns, and then goes by their places; columns of
    other files are found by the table's names.
    """
    own = table
    if folder.file_format is not None:
        known = _known_format(folder.location, folder.file_format)
        if "csv" in (known, table.format) and known != table.format:
            raise RefusedError(
                f"{folder.location}: a partition of {known} files in a table of {table.format} "
                "files; columns of CSV are texts, those of others are not"
            )
        own = replace(table, format=known, properties=dict(folder.properties))
    if folder.columns is None or own.format in _OF_COLUMNS:
        return own
    kinds = _in_files(own.format, folder.location, folder.columns)
    for (name, want), (called, have) in zip(table.columns.items(), kinds.items(), strict=False):
        is_wider = {have.word, want.word} <= _NUMBERS and LOSSLESS.promotes(have.arrow, want.arrow)
        if have != want and not is_wider:
            raise RefusedError(
                f"{folder.location}: rows have a column {called!r} of type {have.word} where the "
                f"table has {name!r} of type {want.word}, which is not supported"
            )
    return replace(own, in_rows=kinds)


def _known_format(where: str, stated: Any) -> str:
    if not isinstance(stated, str):
        raise UsageError(f"{where}: its format is {stated!r}, no text")
    known = _NAMES.get(stated.lower())
    if known is None:
        names = ", ".join(dict.fromkeys(one for one in _FORMATS.values() if one in _FORMATS))
        raise RefusedError(f"{where}: files in {stated!r} are not supported; known: {names}")
    return known


def _in_files(known: str, where: str, stated: Any) -> dict[str, HiveType]:
    """The columns of a format's files; OpenCSVSerde makes texts of all, whatever the table says."""
    kinds = _kinds(where, stated)
    return dict.fromkeys(kinds, parse_type("string", where)) if known == "csv" else kinds


def _kinds(where: str, stated: Any) -> dict[str, HiveType]:
    if not isinstance(stated, Mapping):
        raise UsageError(f"{where}: types by column are meant, not {stated!r}")
    kinds = {
        str(name).lower(): parse_type(text, f"{where}: column {name!r}")
        for name, text in stated.items()
    }
    if len(kinds) < len(stated):
        raise UsageError(f"{where}: two columns have one name in lower case")
    return kinds


#: Separators by depth where none is named: fields, items, keys, and what lies deeper.
_DEFAULT_SEPARATORS = bytes(range(1, 9))
_MOST_LINES = 1 << 20
_MOST_SEPARATORS = 24  # of the core
#: Properties that change what rows are, and what of them is meant.
_REFUSED_PROPERTIES = {
    "textinputformat.record.delimiter": "lines that end otherwise than in LF, CR LF or CR",
    "timestamp.formats": "timestamps in other forms",
    "hive.serialization.extend.nesting.levels": "more separators",
    "hive.serialization.extend.additional.nesting.levels": "more separators",
}
_WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-7")


@dataclass(frozen=True)
class RowFormat:
    """How rows are written."""

    # fields may stand in quotes, and all are texts (OpenCSVSerde); otherwise they are delimited
    # (LazySimpleSerDe)
    is_csv: bool = False
    separators: bytes = _DEFAULT_SEPARATORS  # a byte a depth
    escape: int | None = None  # a byte, or None
    quote: int = ord('"')  # a byte, of CSV
    null: bytes | None = b"\\N"  # the text of a null, or None where there is none
    last_takes_rest: bool = False  # separators behind the last field belong to it
    header_lines: int = 0  # lines at a file's beginning that are no rows
    footer_lines: int = 0  # lines at its end
    encoding: str = "utf-8"  # of the files, as Python calls it

    def __post_init__(self) -> None:
        if not 1 <= len(self.separators) <= _MOST_SEPARATORS:
            raise ValueError(f"{counted(len(self.separators), 'separator')}")
        for name in ("quote", "escape"):
            if (value := getattr(self, name)) is not None and not 0 <= value <= 0xFF:
                raise ValueError(f"{name} is {value}, no byte")
        for name in ("header_lines", "footer_lines"):
            if not 0 <= getattr(self, name) <= _MOST_LINES:
                raise ValueError(f"{name} is {getattr(self, name)}, no number of lines")
        if not _has_lines(self.encoding):
            raise ValueError(f"encoding {self.encoding!r}")


def row_format(description: Description, where: str) -> RowFormat:
    """What a table's properties say of its rows; properties of no meaning here are passed over."""
    if description.format in _OF_COLUMNS:
        return RowFormat()  # its files have no rows of text, whatever is said of them
    properties = description.properties
    for name, what in _REFUSED_PROPERTIES.items():
        if name in properties:
            raise RefusedError(f"{where}: {what} ({name}) are not supported")
    if properties.get("line.delim", "\n") not in ("\n", "10"):
        raise RefusedError(f"{where}: lines that end in {properties['line.delim']!r}")
    header = _count(properties, "skip.header.line.count", where)
    footer = _count(properties, "skip.footer.line.count", where)
    # The other serdes of rows pass over it: theirs are UTF-8 whatever a table says.
    is_aware = description.format in ("text", "sequence")
    stated = properties.get("serialization.encoding", "UTF-8") if is_aware else "UTF-8"
    encoding = _encoding(stated, where)
    if description.format == "csv":
        return RowFormat(
            is_csv=True,
            separators=bytes([_char(properties, "separatorChar", ",", where)]),
            quote=_char(properties, "quoteChar", '"', where),
            escape=_csv_escape(properties, where),
            null=None,
            header_lines=header,
            footer_lines=footer,
        )
    return RowFormat(
        separators=_separators(properties, where),
        escape=_byte(properties["escape.delim"], ord("\\"))
        if "escape.delim" in properties
        else None,
        null=properties.get("serialization.null.format", "\\N").encode(),
        last_takes_rest=properties.get("serialization.last.column.takes.rest", "").lower()
        == "true",
        encoding=encoding,
        header_lines=header,
        footer_lines=footer,
    )


def _separators(properties: Mapping[str, str], where: str) -> bytes:
    items = properties.get("colelction.delim")  # spelled so in Hive up to version 2
    if "collection.delim" in properties and properties["collection.delim"] != items:
        raise RefusedError(
            f"{where}: collection.delim, which Hive 2 passes over and Hive 3 obeys; state "
            "colelction.delim, which both obey, or the same in both"
        )
    fields = properties.get("field.delim", properties.get("serialization.format"))
    named = [fields, items, properties.get("mapkey.delim")]
    separators = bytearray(_DEFAULT_SEPARATORS)
    for level, text in enumerate(named):
        separators[level] = _byte(text, separators[level])
    return bytes(separators)


def _byte(text: str | None, default: int) -> int:
    """A delimiter as Hive reads it: a number of a byte, signed, or the first character."""
    if not text:
        return default
    try:
        number = int(text) if text.isascii() and "_" not in text and text.strip() == text else 128
    except ValueError:
        number = 128
    if -128 <= number <= 127:
        return number & 0xFF
    return ord(text[0]) & 0xFF


def _char(properties: Mapping[str, str], name: str, default: str, where: str) -> int:
    text = properties.get(name) or default
    if not text[0].isascii():
        raise RefusedError(f"{where}: {name} is {text!r}, no ASCII character")
    return ord(text[0])


def _csv_escape(properties: Mapping[str, str], where: str) -> int:
    """Hive takes the quote, its default, to mean opencsv's own default."""
    escape = _char(properties, "escapeChar", '"', where)
    return ord("\\") if escape == ord('"') else escape


def _count(properties: Mapping[str, str], name: str, where: str) -> int:
    text = properties.get(name, "0")
    if not text.isascii() or not text.isdigit() or int(text) > _MOST_LINES:
        raise UsageError(f"{where}: {name} is {text!r}, no number of lines")
    return int(text)


def _encoding(name: str, where: str) -> str:
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise RefusedError(f"{where}: the encoding {name!r} is not known") from error
    if not _has_lines(found):
        raise RefusedError(f"{where}: the encoding {name!r}, whose line ends are no single bytes")
    return found


def _has_lines(encoding: str) -> bool:
    """Whether an encoding is one of texts, and its line ends and ASCII are single bytes."""
    try:
        return encoding not in _WIDE and b"\n,1".decode(encoding, "replace") == "\n,1"
    except (LookupError, ValueError):
        return False
