"""How a command ends: one exit code and one sentence for each kind of end.

0 right, 1 an unexpected error or output that nobody took, 2 wrong usage or a refused input, 130
interrupted. `PROGRAM_DEBUG=1`, in capitals, shows tracebacks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from seambase.command.terminal import plain_text
from seambase.errors import SeambenchError, UsageError

INTERRUPTED = 130
INTERRUPTED_TEXT = "interrupted; nothing half-written is left"
_FAILED = 1
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def ended(program: str, arguments: Sequence[str], command: Callable[[], int]) -> int:
    """Run a command by what was typed; its exit code, once all its output is written."""
    _open_what_is_closed()
    _write_any_name()
    # The command shows what goes on; the library's own line would come between.
    os.environ.setdefault("SEAMKIT_PROGRESS", "0")
    with _termination_as_interrupt(), warnings.catch_warnings():
        try:
            _require_text(arguments)
            from seambase.scan import TableWarning

            # Commands list what a scan's report warns of.
            warnings.simplefilter("ignore", TableWarning)
            code = command()
        except SystemExit as error:  # after help, the version or wrong usage
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except (Exception, KeyboardInterrupt) as error:
            code = _failed(program, error)
        return _flushed(program, code)


def _failed(program: str, error: BaseException) -> int:
    """Tell what a command ended with, and the exit code for it."""
    # The second is DuckDB's word for a Ctrl-C that comes while it runs.
    if isinstance(error, KeyboardInterrupt) or str(error) == "Query interrupted":
        return _tell(program, error, INTERRUPTED_TEXT, INTERRUPTED)
    if isinstance(error, SeambenchError):
        return _tell(program, error, str(error), error.exit_code)
    if isinstance(error, BrokenPipeError):
        return untaken()
    if isinstance(error, OSError) and error.strerror:
        is_printed = error.filename is None and _takes_no_more(error)
        named = "standard output" if is_printed else error.filename
        where = f"{named}: " if named else ""
        return _tell(program, error, f"{where}{error.strerror}", _FAILED)
    kind, text = type(error).__name__, str(error).strip().splitlines()
    reason = f"{kind}: {text[0]}" if text else kind
    shows = f"({_debug(program)}=1 shows where)"
    return _tell(program, error, f"unexpected: {reason} {shows}", _FAILED)


def _takes_no_more(error: OSError) -> bool:
    """Whether what is still to be printed cannot be: its file's errors come without a name."""
    # What found no room may be forgotten already, so the end of a line is tried then; after any
    # other error nothing is added to what was printed.
    try:
        if error.errno in _NO_ROOM:
            sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _debug(program: str) -> str:
    return f"{program.upper()}_DEBUG"


def _tell(program: str, error: BaseException, text: str, code: int) -> int:
    if os.environ.get(_debug(program), "") not in ("", "0"):
        traceback.print_exception(error)
    sys.stderr.write(f"{program}: {plain_text(text)}\n")
    return code


def _require_text(arguments: Sequence[str]) -> None:
    """Names that are no UTF-8 cannot be handed to Arrow, nor written into records."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{argument!r} is not UTF-8: rename it, or link to it") from error


def _open_what_is_closed() -> None:
    """Streams that were closed before we began: what is printed fails, what is told is lost."""
    # No other file takes their numbers then.
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _write_any_name() -> None:
    """Names of files may hold bytes that are no UTF-8: they are written as escapes."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """SIGTERM, and a terminal that closes, end a command as Ctrl-C does: nothing is left either."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    heard = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # `nohup` has it ignored
        heard.append(signal.SIGHUP)
    try:
        before = [signal.signal(one, interrupt) for one in heard]
    except ValueError:  # not the main thread, where no handler can be set
        yield
        return
    try:
        yield
    finally:
        for one, was in zip(heard, before, strict=True):
            signal.signal(one, was)


def _flushed(program: str, code: int) -> int:
    """The exit code, unless what was printed could not be written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return max(code, untaken())
    except OSError as error:
        _silence_stdout()
        return code or _tell(program, error, f"standard output: {error.strerror}", _FAILED)
    return code


def untaken() -> int:
    """Whoever read our output has left: the exit code alone says so, as a lost verdict is none."""
    _silence_stdout()
    return _FAILED


def _silence_stdout() -> None:
    """What is still buffered has nowhere to go; the interpreter's last flush must not complain."""
    sys.stdout = sys.__stdout__ or sys.stdout
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
