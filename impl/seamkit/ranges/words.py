"""The words of plans: which classes and functions a plan is made of, and what they are called.

Each table format states the functions that its units hold, and the classes that stand in them where
an annotation asks for a protocol or a function. All other classes are found: those that annotations
of these name, at every depth.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

from seamkit.ranges.hints import arguments, parameters, parts
from seamkit.scan.units import ReadContext, ReadPlan
from seamkit.tables.opening import table_formats

_GROUP = "seamkit.plan_words"
_TABLES = "seamkit.tables."


@functools.cache
def known_words() -> Mapping[str, Callable[..., Any]]:
    """Classes and functions by their words.

    A word is the format and the name in Python. Packages may list functions by entry points of the
    group `seamkit.plan_words`.
    """
    words: dict[str, Callable[..., Any]] = {"ReadPlan": ReadPlan}
    for one in table_formats():
        package = one.table.partition(":")[0].rpartition(".")[0]
        for stated in one.words:
            module, _, name = stated.partition(":")
            found: Any = importlib.import_module(f"{package}.{module}")
            for part in name.split("."):
                found = getattr(found, part)
            words[_word(found)] = found
    left = list(words.values())
    while left:
        new = {_word(kind): kind for kind in _classes_of(left.pop())}
        left += [kind for word, kind in new.items() if word not in words]
        words = new | words
    for point in entry_points(group=_GROUP):
        words |= {f"{point.name}.{one.__qualname__}": one for one in point.load()}
    return words


def _word(one: Callable[..., Any]) -> str:
    _, is_format, rest = one.__module__.partition(_TABLES)
    return f"{rest.partition('.')[0]}.{one.__qualname__}" if is_format else one.__qualname__


def _classes_of(one: Callable[..., Any]) -> Iterator[type]:
    """The classes of ours that annotations of a class or function name."""
    hints = arguments(one) if isinstance(one, type) else parameters(one)
    for hint in hints.values():
        yield from _classes_in(hint)


def _classes_in(hint: Any) -> Iterator[type]:
    origin, inner = parts(hint)
    if origin is not None and origin is not Callable:
        for one in inner:
            yield from _classes_in(one)
    elif isinstance(hint, type) and hint.__module__.startswith(("seamkit.", "seambase.")):
        # A context is lent to functions when a unit is read, and never written.
        is_protocol = getattr(hint, "_is_protocol", False)
        yield from () if is_protocol or hint is ReadContext else (hint,)
