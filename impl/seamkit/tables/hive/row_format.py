"""How rows are written as text, from a table's properties."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass

from seambase.errors import RefusedError, UsageError
from seamkit.tables.hive.descriptor import Description

#: Separators by depth where none is named: fields, items, keys, and what lies deeper.
_DEFAULT_SEPARATORS = bytes(range(1, 9))
_MOST_LINES = 1 << 20
_MOST_SEPARATORS = 24  # of the core
#: Properties that change what rows are, and what of them is meant.
_REFUSED = {
    "textinputformat.record.delimiter": "lines that end otherwise than in LF, CR LF or CR",
    "timestamp.formats": "timestamps in other forms",
    "hive.serialization.extend.nesting.levels": "more separators",
    "hive.serialization.extend.additional.nesting.levels": "more separators",
}
_WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-7")


@dataclass(frozen=True)
class RowFormat:
    """How rows are written.

    Attributes:
        is_csv: fields may stand in quotes, and all are texts (OpenCSVSerde); otherwise they are
            delimited (LazySimpleSerDe).
        separators: a byte a depth.
        escape: a byte, or None.
        quote: a byte, of CSV.
        null: the text of a null, or None where there is none.
        last_takes_rest: separators behind the last field belong to it.
        header_lines: lines at a file's beginning that are no rows.
        footer_lines: lines at its end.
        encoding: of the files, as Python calls it.
    """

    is_csv: bool = False
    separators: bytes = _DEFAULT_SEPARATORS
    escape: int | None = None
    quote: int = ord('"')
    null: bytes | None = b"\\N"
    last_takes_rest: bool = False
    header_lines: int = 0
    footer_lines: int = 0
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if not 1 <= len(self.separators) <= _MOST_SEPARATORS:
            raise ValueError(f"{len(self.separators)} separators")
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
    properties = description.properties
    for name, what in _REFUSED.items():
        if name in properties:
            raise RefusedError(f"{where}: {what} ({name}) are not supported")
    if properties.get("line.delim", "\n") not in ("\n", "10"):
        raise RefusedError(f"{where}: lines that end in {properties['line.delim']!r}")
    header = _count(properties, "skip.header.line.count", where)
    footer = _count(properties, "skip.footer.line.count", where)
    encoding = _encoding(properties.get("serialization.encoding", "UTF-8"), where)
    if description.format == "csv":
        return RowFormat(
            is_csv=True,
            separators=bytes([_char(properties, "separatorChar", ",", where)]),
            quote=_char(properties, "quoteChar", '"', where),
            escape=_csv_escape(properties, where),
            null=None,
            encoding=encoding,
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
