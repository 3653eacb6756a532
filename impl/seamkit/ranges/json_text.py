"""JSON from outside: only numbers and texts that everything behind can hold."""

from __future__ import annotations

import json
from typing import Any

from seambase.errors import InputError

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
#: Where a value stands: the place of what holds it, and its key or number there.
_Place = tuple[Any, Any] | None


def read_json(text: str | bytes, where: str) -> Any:
    """What a document says.

    Args:
        text: the JSON.
        where: the document, for messages.
    """
    try:
        document = json.loads(text, parse_constant=_no_number, object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: it is no JSON ({error})") from error
    _check(document, where)
    return document


def _check(document: Any, where: str) -> None:
    left: list[tuple[Any, _Place]] = [(document, None)]
    while left:
        value, place = left.pop()
        if type(value) is dict:
            for key in value:
                if not _is_text(key):
                    raise InputError(f"{where}: {_path(place)} has the key {key!a}, no text")
            left += [(one, (place, key)) for key, one in value.items()]
        elif type(value) is list:
            left += [(one, (place, number)) for number, one in enumerate(value)]
        elif type(value) is str and not _is_text(value):
            raise InputError(f"{where}: {_path(place)} is {value[:40]!a}, no text")
        elif type(value) is int and not _LEAST <= value <= _MOST:
            raise InputError(
                f"{where}: {_path(place)} has {value.bit_length()} bits, more than the 64 there are"
            )


def _is_text(text: str) -> bool:
    """Whether it has a form in UTF-8, which halves of surrogates have not."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _path(place: _Place) -> str:
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
