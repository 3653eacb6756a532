"""Exceptions that users meet. Each message is one sentence that names file, field and reason."""

from __future__ import annotations

__all__ = ["InputError", "RefusedError", "SeambenchError", "UnavailableError", "UsageError"]


class SeambenchError(Exception):
    """Base of everything Seambench raises on purpose. `exit_code` is the command line's."""

    exit_code = 1


class UsageError(SeambenchError):
    """The request itself is wrong: an unknown column, a bad expression, a wrong option."""

    exit_code = 2


class InputError(SeambenchError):
    """Foreign bytes break their format: a missing, truncated or damaged file."""

    exit_code = 2


class RefusedError(SeambenchError):
    """Known and legal, but not supported here: refused by name rather than read wrongly."""

    exit_code = 2


class UnavailableError(SeambenchError):
    """This machine lacks what is needed (Java, jars, a package); the message says what to do."""

    exit_code = 2
