"""Exceptions that users meet. Each message is one sentence that names file, field and reason."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(://[^\s/@'\"]*:)[^\s/@'\"]+@")
_USER = re.compile(r"((?:https?|ftps?)://)[^\s/@:'\"]+@")
_QUERY = re.compile(r"(\w://[^\s?'\"]*\?)[^\s'\",;)]+")


def without_secrets(text: str) -> str:
    """A text whose addresses have lost passwords, tokens in place of a user, and queries."""
    if "://" not in text:
        return text
    return _QUERY.sub(r"\1...", _USER.sub(r"\1...@", _PASSWORD.sub(r"\1...@", text)))


class SeambenchError(Exception):
    """Base of everything Seambench raises on purpose. `exit_code` is the command line's.

    No message has a password or a key: see `without_secrets`.
    """

    exit_code = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*(without_secrets(a) if isinstance(a, str) else a for a in args))


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
