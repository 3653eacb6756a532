"""What edits can name in files that have neither places nor names to speak of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seambase.errors import UsageError
from seambase.wording import counted


class PlainDamage:
    """Kinds of files alone; see `seambench.contracts.formats.Damage`."""

    def __init__(self, files: Mapping[str, Callable[[Path], Sequence[Path]]]) -> None:
        self.FILES = files

    def position(self, data: bytes, name: str) -> int:
        """No place in such a file has a name of its own."""
        raise UsageError(
            f"{name!r} is no position: start or end, with +N or -N, in {counted(len(data), 'byte')}"
        )

    def name_parts(self, name: str) -> Mapping[str, str]:
        """None: names of such files tell nothing."""
        del name
        return {}
