"""Running one case of the exchange seam: every row where it belongs, once, or an error."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from seambase import errors
from seambase.wording import counted
from seambench.conformance.judge import NO_REFUSAL
from seambench.contracts.exchange import (
    Counted,
    Exchange,
    ExchangeReceiver,
    ExchangeSender,
    OpenExchange,
)
from seambench.contracts.outcomes import Mismatch
from seambench.seams.exchange.cases import ROW, ExchangeCase
from seambench.seams.exchange.remote_receivers import open_mixed
from seambench.seams.exchange.rows import sorted_rows
from seambench.seams.serde.values import exact_values, flat_type, plain_values

#: Seconds that a reader waits for something to come. One that waits so long got nothing.
_PATIENCE = 30.0
#: Seconds that senders have before anybody reads what must not be kept.
_UNREAD = 0.2
#: All writers and readers of a case must run at once; started are only as many as one has needed.
_MOST_THREADS = 4096
#: Keys, or batches at random, for each receiver: one of three has none 2 in 100,000 times.
_FOR_EACH = 10
_EACH_LEAVES = "max_transmit_batched_bytes"


def check_exchange(case: ExchangeCase, exchange: Exchange) -> None:
    """Send a case's rows, and find each where it belongs."""
    with contextlib.closing(_opened(case, exchange)) as opened:
        _run(case, opened)


def _opened(case: ExchangeCase, exchange: Exchange) -> OpenExchange:
    if case.shape.elsewhere:
        return open_mixed(exchange, case.request, case.shape.elsewhere)
    return exchange.open(case.request)


def attempt_exchange(case: ExchangeCase, exchange: Exchange) -> None:
    """Open and write what must be refused."""
    with contextlib.closing(exchange.open(case.request)) as opened:
        for batch in case.batches(0):
            opened.senders[0].write(batch)
        if case.request.buckets:  # whose rows may wait to be looked at
            opened.senders[0].finish()


@dataclass
class _Course:
    """What happened, by part: batches, who saw the end (and more after it), who waited in vain.

    `written` has the batches of each sender.
    """

    case: ExchangeCase
    senders: Sequence[ExchangeSender]
    receivers: Sequence[ExchangeReceiver]
    written: Sequence[Sequence[pa.RecordBatch]]
    parts: dict[int, list[pa.RecordBatch]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    late: set[int] = field(default_factory=set)
    stalled: set[int] = field(default_factory=set)
    write_errors: dict[int, Exception] = field(default_factory=dict)
    read_errors: dict[int, Exception] = field(default_factory=dict)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def write(self, number: int, driver: int) -> None:
        """What a driver of a sender does."""
        case, sender = self.case, self.senders[number]
        writers = case.request.writers
        which = () if writers == 1 else (driver,)
        if case.fault == "receiver-cancels":
            self._cancelled.wait(_PATIENCE)
        try:
            for batch in self.written[number][driver::writers]:
                sender.write(batch, *which)
            if case.fault == "sender-cancels" and number == 0:
                sender.cancel("the check gives up")
            else:
                sender.finish(*which)
        except Exception as error:
            self.write_errors[number] = error
            sender.cancel("another part of the exchange failed")
            # One that never connected tells no receiver; where nothing must go wrong, all is over.
            for receiver in self.receivers if case.fault == "none" else ():
                receiver.cancel(f"sender {number} failed: {_said(error)}")

    def read(self, number: int, driver: int) -> None:
        """What a driver of a receiver does."""
        receiver = self.receivers[number]
        part = number * self.case.request.drivers + driver
        batches = self.parts.setdefault(part, [])
        try:
            if self.case.fault == "receiver-cancels" and number == 0:
                receiver.cancel("the check needs no more")
                self._cancelled.set()
            while (batch := self._next(receiver, driver, part)) is not None:
                batches.append(batch)
            self.ended.add(part)
            if self._next(receiver, driver, part) is not None:
                self.late.add(part)
        except Exception as error:
            self.read_errors[part] = error

    def _next(self, receiver: ExchangeReceiver, driver: int, part: int) -> pa.RecordBatch | None:
        begin = time.monotonic()
        try:
            return receiver.read(driver, _PATIENCE)
        finally:
            if time.monotonic() - begin >= _PATIENCE:
                self.stalled.add(part)


def _run(case: ExchangeCase, opened: OpenExchange) -> None:
    request = case.request
    senders, receivers = opened.senders, opened.receivers
    if len(senders) != request.senders or len(receivers) != request.receivers:
        raise Mismatch(
            f"{counted(request.senders, 'sender')} and "
            f"{counted(request.receivers, 'receiver', 'were')} asked for, "
            f"{len(senders)} and {len(receivers)} came"
        )
    written = [list(case.batches(sender)) for sender in range(request.senders)]
    course = _Course(case, senders, receivers, written)
    writing = _started(course.write, request.senders, request.writers)
    # Who may keep nothing answers for nothing that has not been read.
    waits = request.buffer_bytes == 0 and case.fault == "none"
    waits = waits and not any(getattr(one, "is_taken_at_once", False) for one in receivers)
    unread = waits and not wait(writing, _UNREAD).not_done
    everybody = [*writing, *_started(course.read, request.receivers, request.drivers)]
    wait(everybody)
    for done in everybody:
        done.result()
    _judge(case, course)
    if unread:
        raise Mismatch("receivers may keep no bytes, yet all was said to be there before any read")
    if case.fault == "none":
        _check_counters(case, course)


def _started(work: Callable[[int, int], None], sides: int, drivers: int) -> list[Future[None]]:
    return [
        _threads().submit(functools.partial(work, number, driver))
        for number in range(sides)
        for driver in range(drivers)
    ]


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Threads for all cases of a process: to start a case's own takes longer than most cases do."""
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="exchange-check")


def _judge(case: ExchangeCase, course: _Course) -> None:
    """What must hold of what happened."""
    for error in (*course.write_errors.values(), *course.read_errors.values()):
        # Both sides are ready by now: whoever is then not to be had is lost, not unavailable.
        if isinstance(error, NO_REFUSAL) and not isinstance(error, errors.UnavailableError):
            raise error
    if course.stalled and not course.write_errors:
        raise Mismatch(f"part {min(course.stalled)}: nothing came in {_PATIENCE:g} s")
    if course.late:
        raise Mismatch(f"part {min(course.late)}: rows came after the end")
    if case.fault != "none":
        _must_fail(case, course)
        return
    for number, error in sorted(course.write_errors.items()):
        raise Mismatch(f"sender {number} failed: {_said(error)}")
    for part, error in sorted(course.read_errors.items()):
        raise Mismatch(f"reading part {part} failed: {_said(error)}")
    _check_rows(case, course)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _must_fail(case: ExchangeCase, course: _Course) -> None:
    """Nobody may take a part of the rows for all; errors must be ours, and of somebody's making.

    Whoever used rows as they came must not have used any that nobody sent, or one twice.
    """
    for error in (*course.read_errors.values(), *course.write_errors.values()):
        if not isinstance(error, errors.SeambenchError):
            raise Mismatch(f"no error of the seam: {_said(error)}")
    if case.fault == "sender-cancels" and course.ended:
        part = min(course.ended)
        raise Mismatch(f"sender 0 cancelled, but part {part} ended as if all had come")
    if case.fault == "receiver-cancels":
        lost = sorted(set(range(case.request.senders)) - set(course.write_errors))
        if lost:
            raise Mismatch(f"receiver 0 cancelled, but sender {lost[0]} was told that all arrived")
    numbers, count = _came(case, course), case.sent().num_rows
    _check_once(case, numbers, count, least=0)
    if case.request.partition == "broadcast" and case.request.drivers == 1:
        for part in sorted(course.ended - {0}):  # the first receiver knows that it cancelled
            if (came := len(numbers[part])) < count:
                raise Mismatch(f"part {part} ended as if all had come, with {came} rows of {count}")


_Numbers = Mapping[int, np.ndarray]
"""By part, the numbers of its rows."""


def _came(case: ExchangeCase, course: _Course) -> _Numbers:
    """The numbers of the rows of each part, which are as they were sent."""
    sent = case.sent()
    given = [exact_values(column) for column in sent.columns[:-1]]
    numbers, schemas = dict[int, np.ndarray](), list[pa.Schema]()
    for part, batches in sorted(course.parts.items()):
        found = list[int]()
        for batch in batches:
            if batch.schema not in schemas:
                _check_types(sent.schema, part, batch)
                schemas.append(batch.schema)
            found += _checked(part, batch, sent, given)
        numbers[part] = np.array(found, np.int64)
    return numbers


def _check_rows(case: ExchangeCase, course: _Course) -> None:
    numbers = _came(case, course)
    _check_once(case, numbers, case.sent().num_rows)
    keys = _keys(case) if case.request.partition in ("hash", "bucket") else []
    _check_parts(case, numbers, keys)
    _check_spread(case, course, numbers, len(set(keys)))
    if case.request.order != "none":
        _check_order(case, course, numbers)


def _keys(case: ExchangeCase) -> list[str]:
    """The keys of each row as text, any NaN alike and the zeros not."""
    columns = [exact_values(case.key(name)) for name in case.request.keys]
    return [repr(key) for key in zip(*columns, strict=True)]


def _check_types(want: pa.Schema, part: int, batch: pa.RecordBatch) -> None:
    if batch.schema.names != want.names:
        raise Mismatch(f"part {part}: columns {want.names} went in, {batch.schema.names} came")
    for column, wanted in zip(batch.schema, want, strict=True):
        if flat_type(column.type) != flat_type(wanted.type):
            raise Mismatch(f"column {column.name!r} must be {wanted.type}, it is {column.type}")


def _checked(
    part: int, batch: pa.RecordBatch, sent: pa.RecordBatch, given: Sequence[Sequence[Any]]
) -> list[int]:
    """The numbers of rows, each of which must be as it was sent."""
    *columns, numbered = batch.columns
    numbers = exact_values(numbered)
    for number in numbers:
        if number is None or not 0 <= number < sent.num_rows:
            raise Mismatch(f"part {part}: a row came that nobody sent, its number is {number!r}")
    for column, values in zip(columns, given, strict=True):
        came, want = exact_values(column), [values[number] for number in numbers]
        if came != want:
            at = next(at for at, value in enumerate(came) if value != want[at])
            was, row = _row(sent, numbers[at]), _row(batch, at)
            raise Mismatch(f"part {part}: row {numbers[at]} was {was}, {row} came")
    return numbers


def _row(batch: pa.RecordBatch, at: int) -> str:
    """A row for a message, without its number."""
    return repr(tuple(plain_values(column.slice(at, 1))[0] for column in batch.columns[:-1]))


def _check_once(case: ExchangeCase, numbers: _Numbers, count: int, least: int = 1) -> None:
    """Every row once in all; broadcast once at every receiver. Where something failed, at most."""
    request = case.request
    sides = (
        [range(r * request.drivers, (r + 1) * request.drivers) for r in range(request.receivers)]
        if request.partition == "broadcast"
        else [range(request.receivers * request.drivers)]
    )
    for side in sides:
        rows = [numbers[part] for part in side if part in numbers]
        came = np.bincount(np.concatenate(rows), minlength=count) if rows else np.zeros(count)
        for number in np.flatnonzero((came > 1) | (came < least)).tolist():
            if came[number] > 1 or not _is_dropped(case, number):
                what = "is lost" if came[number] == 0 else f"came {counted(came[number], 'time')}"
                raise Mismatch(f"row {number} of {count} {what} (parts {side.start} and on)")


def _is_dropped(case: ExchangeCase, row: int) -> bool:
    """Whether a row belongs to a bucket that nobody has."""
    return case.expect.parts is not None and case.expect.parts[row] == -1


def _check_counters(case: ExchangeCase, course: _Course) -> None:
    """What senders say of their rows, if they do, and what is known of these."""
    counters = [one.counters() for one in course.senders if isinstance(one, Counted)]
    if len(counters) != len(course.senders):
        return

    def total(name: str) -> int:
        return sum(one.get(name, 0) for one in counters)

    dropped = list(case.expect.parts or ()).count(-1)
    if total("rows_of_unused_buckets") != dropped:
        noted = total("rows_of_unused_buckets")
        raise Mismatch(
            f"{counted(dropped, 'row', 'belong')} to buckets that nobody has, {noted} were counted"
        )
    if case.request.pass_through:
        here = (case.shape.receivers - case.shape.elsewhere) * case.shape.drivers
        rows = {part: sum(map(len, batches)) for part, batches in course.parts.items()}
        for where, name, parts in (
            ("this process", "bytes_pass_through", [part for part in rows if part < here]),
            ("another process", "bytes_sent", [part for part in rows if part >= here]),
        ):
            came = sum(rows[part] for part in parts)
            if bool(came) != bool(total(name)):
                raise Mismatch(
                    f"{counted(came, 'row')} came to {where}, but {name} is {total(name)}"
                )


def _check_parts(case: ExchangeCase, numbers: _Numbers, keys: Sequence[str]) -> None:
    """Each row where it must be, or with all others of its key."""
    if (parts := case.expect.parts) is not None:
        wanted = np.array(parts, np.int64)
        for part, rows in numbers.items():
            for row in rows[wanted[rows] != part]:
                raise Mismatch(f"row {row} belongs to part {wanted[row]}, it came to part {part}")
        return
    seen: dict[str, int] = {}
    for part, rows in numbers.items() if keys else ():
        for key in {keys[row] for row in rows}:
            if seen.setdefault(key, part) != part:
                raise Mismatch(f"rows with key {key} came to parts {seen[key]} and {part}")


def _check_spread(case: ExchangeCase, course: _Course, numbers: _Numbers, keys: int) -> None:
    """Where much is to be spread, everybody has a part of it: with a hash every driver, too.

    With so many keys or batches for each it is no chance that one has none; see `_FOR_EACH`.
    """
    request = case.request
    if request.partition == "hash":
        spread, counts = keys, {request.receivers, request.receivers * request.drivers}
    elif request.partition == "random" and request.knobs.get(_EACH_LEAVES) == 0:
        # The turn is the next one's when a request has left, which otherwise takes many bytes.
        spread, counts = sum(map(len, course.written)), {request.receivers}
    else:
        return
    for count in counts:
        each = request.receivers * request.drivers // count
        for at in range(count) if spread >= _FOR_EACH * count else ():
            if not any(len(numbers.get(part, ())) for part in range(at * each, (at + 1) * each)):
                who = "receiver" if count == request.receivers else "driver"
                raise Mismatch(f"no row came to {who} {at} of {count}")


def _check_order(case: ExchangeCase, course: _Course, numbers: _Numbers) -> None:
    """Each sender's rows as it wrote them; merged, also those of all by the keys."""
    request, plain = case.request, case.plain()
    place = np.zeros(plain.num_rows, np.int64)
    for batches in course.written:
        rows = np.array([row for batch in batches for row in batch[ROW].to_pylist()], np.int64)
        place[rows] = np.arange(len(rows))
    keys = [exact_values(plain[key.column]) for key in request.sort]
    for part, rows in numbers.items():
        for sender in range(request.senders):
            places = place[rows[rows % request.senders == sender]]
            if (places[1:] < places[:-1]).any():
                raise Mismatch(f"part {part}: rows of sender {sender} changed their order")
        if request.order == "merge":
            want = sorted_rows(plain, sorted(rows.tolist()), request.sort)
            for at, (a, b) in enumerate(zip(want, rows, strict=True)):
                if a != b and any(key[a] != key[b] for key in keys):
                    raise Mismatch(f"part {part}: row {at} of the merged rows is out of order")
