"""States of a table by what a user names them: a number, or a time at which one was the newest."""

from __future__ import annotations

import datetime as dt

from seambase.errors import UsageError

__all__ = ["Moment", "micros", "parsed_moment"]

Moment = int | str | dt.datetime
"""A number (or a text of its digits), or a time: ISO 8601, UTC unless it says otherwise."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def parsed_moment(value: Moment, name: str, meant: str) -> int | dt.datetime:
    """The number that a moment is, or the time.

    Args:
        value: of the argument.
        name: of the argument, for messages.
        meant: what it may be, likewise.

    Raises:
        UsageError: it is neither.
    """
    if isinstance(value, str):
        if value.isascii() and value.isdigit():
            return int(value)
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError as error:
            raise UsageError(f"{name} is {value!r}: {meant} is meant") from error
    if isinstance(value, bool) or not isinstance(value, int | dt.datetime):
        raise UsageError(f"{name} is {value!r}: {meant} is meant")
    return value if isinstance(value, int) or value.tzinfo else value.replace(tzinfo=dt.UTC)


def micros(time: dt.datetime) -> int:
    """Microseconds from 1970 to a time."""
    return (time - _EPOCH) // dt.timedelta(microseconds=1)
