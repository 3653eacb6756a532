"""Fields of Parquet footers that say something else, as valid Thrift and in as many bytes.

A flipped bit of a footer is mostly no Thrift at all; here one number says another number, or is
gone, and lengths that metadata tell of the file stay right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from seambench.formats.forms.footer import (
    Binary,
    Footer,
    Listed,
    Number,
    Reader,
    Struct,
    struct_to_end,
)

_Path = tuple[tuple[str, int], ...]
_CREATED_BY, _UNKNOWN_FIELD = 6, 100
_LEAST_NAME = 12  # bytes of the writer's name that stay
_TRUE, _FALSE = 1, 2
#: The least and greatest numbers of each kind of the compact protocol.
_KINDS = {3: (0, 127), 4: (-(1 << 15), (1 << 15) - 1), 5: (-(1 << 31), (1 << 31) - 1)}
_ANY = (-(1 << 62), 1 << 62)
_TRIES = 50


@dataclass(frozen=True)
class FieldChange:
    """A footer with one other field."""

    file: str  # path below the table
    path: str  # numbers of the fields that lead to it, `*` for an item of a list
    change: str  # what it said and says
    content: bytes = field(repr=False)  # the whole file with it
    operation: str = "field"

    def __str__(self) -> str:
        return f"field {self.change} {self.file}"

    def apply(self, whole: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        """The file that changes."""
        del whole
        return {self.file: self.content}


def random_field(whole: Mapping[str, bytes], random: Random) -> FieldChange | None:
    """A change of a field of a Parquet file, kinds of fields alike; None if there is none."""
    names = [name for name, content in whole.items() if _is_parquet(content)]
    for _ in range(_TRIES if names else 0):
        name = random.choice(names)
        footer = Footer(whole[name])
        places = defaultdict(list)
        for path in _paths(footer.tree, ()):
            places[_words(path)].append(path)
        words = random.choice(sorted(places))
        change = _changed(footer, random.choice(places[words]), places[words], random)
        content = _as_long(footer, len(whole[name])) if change else None
        if change and content:
            return FieldChange(name, words, change, content)
    return None


def _is_parquet(content: bytes) -> bool:
    return content[:4] == b"PAR1" == content[-4:]


def _paths(value: Any, above: _Path) -> Iterator[_Path]:
    """Ways to each number, and to each field of a struct within."""
    if isinstance(value, Struct):
        for number, inner in value.items():
            path = (*above, ("field", number))
            if above and not isinstance(inner, Number):
                yield path
            yield from _paths(inner, path)
    elif isinstance(value, Listed):
        for number, inner in enumerate(value.items):
            yield from _paths(inner, (*above, ("item", number)))
    elif isinstance(value, Number):
        yield above


def _words(path: _Path) -> str:
    return ".".join("*" if kind == "item" else str(number) for kind, number in path)


def _at(footer: Footer, path: _Path) -> Any:
    found: Any = footer.tree
    for kind, number in path:
        found = found.items[number] if kind == "item" else found[number]
    return found


def _changed(footer: Footer, path: _Path, alike: list[_Path], random: Random) -> str:
    """Change a field; what it said and says, empty if that is the same."""
    value = _at(footer, path)
    kind, last = path[-1]
    if not isinstance(value, Number) or (kind == "field" and random.random() < 0.2):
        if kind == "field":
            del _at(footer, path[:-1])[last]
        return "is gone" if kind == "field" else ""
    old = value.value
    if value.kind in (_TRUE, _FALSE):
        value.value = 1 - old
        return f"{old} to {value.value}"
    others = [_at(footer, other).value for other in random.sample(alike, min(3, len(alike)))]
    near = [
        0,
        1,
        2,
        -1,
        old + 1,
        old - 1,
        2 * old,
        old ^ 1 << random.randrange(8),
        1 << 31,
        1 << 40,
    ]
    least, most = _KINDS.get(value.kind, _ANY)
    value.value = min(max(random.choice([*near, *others]), least), most)
    return "" if value.value == old else f"{old} to {value.value}"


def _as_long(footer: Footer, size: int) -> bytes | None:
    """The file in so many bytes: an unknown field fills it, or the writer's name loses some."""
    content = footer.file()
    name = footer.tree.get(_CREATED_BY)
    if len(content) > size and isinstance(name, Binary):
        name.value = name.value[: max(_LEAST_NAME, len(name.value) + size - len(content))]
        content = footer.file()
    if len(content) < size:
        footer.tree[_UNKNOWN_FIELD] = Binary(b"")
        room = size - len(footer.file())
        footer.tree[_UNKNOWN_FIELD] = Binary(bytes(max(0, room)))
        content = footer.file()
        if len(content) > size:  # its length takes a byte more
            footer.tree[_UNKNOWN_FIELD] = Binary(bytes(max(0, room - 1)))
            content = footer.file()
    return content if len(content) == size else None


_TAIL_BYTES = 8
_COMPRESSED_SIZE = 3
_ROW_GROUPS, _COLUMNS, _CHUNK = 4, 1, 3
_CHUNK_BYTES, _DATA, _DICTIONARY = 7, 9, 11


def parquet_place(content: bytes, at: int) -> str:
    """Words for a byte of an intact file: `page`, `header FIELDS`, `footer FIELDS`, `tail`, `rest`.

    Between pages and footer, the `rest`, lie page indexes and Bloom filters. FIELDS are the numbers
    of fields, as parquet.thrift has them, that lead to the byte, with `*` for an item of a list.
    """
    if at >= len(content) - _TAIL_BYTES:
        return "tail"
    footer = len(content) - _TAIL_BYTES - int.from_bytes(content[-8:-4], "little")
    if at >= footer:
        return f"footer {_path(content, footer, at)}"
    for begin, pages, end in _pages(content):
        if begin <= at < end:
            return "page" if at >= pages else f"header {_path(content, begin, at)}"
    return "rest"


def _pages(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Of every page where its header begins, its bytes begin, and it ends."""
    # Not by pyarrow, which refuses footers that others read: maps whose keys may be null.
    for group in Footer(content).tree[_ROW_GROUPS].items:
        for column in group[_COLUMNS].items:
            chunk = column[_CHUNK]
            at = chunk.whole(_DICTIONARY) or chunk.whole(_DATA)
            last = at + chunk.whole(_CHUNK_BYTES)
            while at < last:
                header, begin = struct_to_end(content, at)
                end = begin + header.whole(_COMPRESSED_SIZE)
                yield at, begin, end
                at = end


def _path(content: bytes, begin: int, at: int) -> str:
    """Numbers of the fields down to a byte of a struct, the innermost that holds it last."""
    places = _Places(content, begin)
    places.struct()
    within = [(end - begin, path) for begin, end, path in places.spans if begin <= at < end]
    return min(within, default=(0, "end"))[1]


class _Places(Reader):
    """Notes where each field of a struct lies, and each item of a list."""

    def __init__(self, content: bytes, at: int) -> None:
        super().__init__(content, at)
        self.spans: list[tuple[int, int, str]] = []
        self._path: tuple[str, ...] = ()

    def member(self, begin: int, name: str, kind: int, *, listed: bool) -> Any:
        above, self._path = self._path, (*self._path, name)
        value = super().member(begin, name, kind, listed=listed)
        self.spans.append((begin, self.at, ".".join(self._path)))
        self._path = above
        return value
