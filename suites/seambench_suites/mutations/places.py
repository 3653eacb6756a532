"""Where in a file a change lies, in words that patterns can name."""

from __future__ import annotations

import re

from seambench_suites.mutations.changes import Mutation
from seambench_suites.mutations.parquet_places import parquet_place

__all__ = ["place"]

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def place(mutation: Mutation, content: bytes) -> str:
    """Of a flipped bit in JSON or Parquet where it lies, as ` in a.*.b value`; else nothing.

    Args:
        mutation: the change.
        content: the file before it; what begins with a brace is taken for JSON.
    """
    if mutation.operation != "flip":
        return ""
    if content.startswith(b"PAR1"):
        return f" in {parquet_place(content, mutation.at // 8)}"
    if content.lstrip().startswith(b"{"):
        return f" in {_path(content, mutation.at // 8)}"
    return ""


def _path(content: bytes, at: int) -> str:
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
