"""Calls that a test watches: what was asked for, while it is carried out all the same."""

from typing import Any, NamedTuple

import pytest


class Call(NamedTuple):
    """A call of a method: its name, the object and all else by position, the rest by name."""

    name: str
    args: tuple[Any, ...]
    named: dict[str, Any]


def calls_of(
    monkeypatch: pytest.MonkeyPatch, owner: Any, *names: str, found: list[Call] | None = None
) -> list[Call]:
    """A list that grows by each call of a class's methods, or of a module's names, from now on.

    One that is `found` already may grow on.
    """
    found = [] if found is None else found

    def watch(name: str) -> None:
        original = getattr(owner, name)

        def called(*args: Any, **named: Any) -> Any:
            found.append(Call(name, args, named))
            return original(*args, **named)

        monkeypatch.setattr(owner, name, called)

    for name in names:
        watch(name)
    return found
