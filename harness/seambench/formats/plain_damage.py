"""What edits can name in files that have neither places nor names to speak of."""

from __future__ import annotations

from collections.abc import Mapping

from seambase.errors import UsageError
from seambase.wording import counted


def position(data: bytes, name: str) -> int:
    """No place in such a file has a name of its own."""
    raise UsageError(
        f"{name!r} is no position: start or end, with +N or -N, in {counted(len(data), 'byte')}"
    )


def name_parts(name: str) -> Mapping[str, str]:
    """None: names of such files tell nothing."""
    del name
    return {}
