"""The one place where a return code of the C core becomes an exception."""

from __future__ import annotations

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seamkit.core._seam import ffi, lib


class NativeMemoryError(SeambenchError, MemoryError):
    """The tracked allocator reached its limit, or the system has no memory left."""


def new_error() -> object:
    """A fresh `struct seam_error *` for one call; Python owns it."""
    return ffi.new("struct seam_error *")


def check(code: int, error: object, *, source: str = "", by_caller: bool = False) -> None:
    """Raise what a core function's code and `struct seam_error *` stand for; return when it is 0.

    `source` is the file (and block) the bytes came from, put before the message. `by_caller`:
    whoever called us decides what the function is given, and when; what breaks the function's
    contract is then a UsageError, not a mistake of ours.
    """
    if code == lib.SEAM_OK:
        return
    message = ffi.string(error.message).decode("utf-8", "replace")  # type: ignore[attr-defined]
    offset = int(error.offset)  # type: ignore[attr-defined]
    if code == lib.SEAM_NO_MEMORY:
        raise NativeMemoryError(message)
    where = f"{source}: " if source else ""
    at = f" (at byte {offset})" if offset >= 0 else ""
    if code in (lib.SEAM_BAD_INPUT, lib.SEAM_TOO_LARGE):
        raise InputError(f"{where}{message}{at}")
    if code == lib.SEAM_UNSUPPORTED:
        raise RefusedError(f"{where}{message}{at}")
    if code == lib.SEAM_BAD_ARGUMENT and by_caller:
        raise UsageError(f"{where}{message}")
    expect(False, message)


def expect(holds: bool, otherwise: str) -> None:
    """Stop a call into the core that would break its contract, whatever Python's `-O` leaves out.

    `holds` is what the core has to believe, such as that two buffers are of one length.
    """
    if not holds:
        raise AssertionError(f"a call into the core broke its contract: {otherwise}")
