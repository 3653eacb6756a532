"""Where in a text of JSON a byte lies: names down to it."""

from __future__ import annotations

import re

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def json_place(content: bytes, at: int) -> str:
    """Names down to the byte, `*` for items of arrays; whether it is of a `key` or a `value`."""
    names: list[str] = []
    in_objects: list[bool] = []
    is_key = True
    for found in _TOKEN.finditer(content):
        token = found[0]
        if token not in (b"{", b"[", b"}", b"]", b",", b":"):
            is_name = is_key and in_objects[-1:] == [True]
            if is_name:
                names[-1] = token.strip(b'"').decode("utf-8", "replace")
            if found.start() <= at < found.end():
                return ".".join(names) + (" key" if is_name else " value")
        if found.end() > at:
            break
        if token in (b"{", b"["):
            names.append("*")
            in_objects.append(token == b"{")
        elif token in (b"}", b"]"):
            names, in_objects = names[:-1], in_objects[:-1]
        is_key = token in (b"{", b",") or (is_key and token != b":")
    return ".".join(names) + " mark"
