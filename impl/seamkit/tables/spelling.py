"""Names in metadata that has no checksum: one that is a letter away from a known one is damage.

An unknown name is passed over, as a later writer's may be; so a flipped bit of a known one would
take away what it says without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from seambase.errors import InputError


def check_names(names: Iterable[str], known: Collection[str], where: str, what: str) -> None:
    """Refuse names that are one letter away from one that is read.

    Args:
        names: as the metadata spells them.
        known: those that are read.
        where: the file, for messages.
        what: the kind of name, likewise.
    """
    for name in names:
        if name in known:
            continue
        for other in sorted(known):
            if len(other) == len(name) and sum(map(str.__ne__, name, other)) == 1:
                raise InputError(f"{where}: the {what} {name!r} is one letter away from {other!r}")
