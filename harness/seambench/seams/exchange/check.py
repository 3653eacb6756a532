"""Running one case of the exchange seam: every row where it belongs, once, or an error."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

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
from seambench.seams.serde.values import flat_type, plain_values

#: Seconds that a reader waits for something to come. One that waits so long got nothing.
_PATIENCE = 30.0
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
    """What happened, by part: batches, who saw the end (and more after it), who waited in vain."""

    case: ExchangeCase
    opened: OpenExchange
    parts: dict[int, list[pa.RecordBatch]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    late: set[int] = field(default_factory=set)
    stalled: set[int] = field(default_factory=set)
    write_errors: dict[int, Exception] = field(default_factory=dict)
    read_errors: dict[int, Exception] = field(default_factory=dict)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def write(self, number: int, driver: int) -> None:
        """What a driver of a sender does."""
        case, sender = self.case, self.opened.senders[number]
        writers = case.request.writers
        which = () if writers == 1 else (driver,)
        if case.fault == "receiver-cancels":
            self._cancelled.wait(_PATIENCE)
        try:
            for batch in itertools.islice(case.batches(number), driver, None, writers):
                sender.write(batch, *which)
            if case.fault == "sender-cancels" and number == 0:
                sender.cancel("the check gives up")
            else:
                sender.finish(*which)
        except Exception as error:
            self.write_errors[number] = error
            sender.cancel("another part of the exchange failed")
            # One that never connected tells no receiver; where nothing must go wrong, all is over.
            for receiver in self.opened.receivers if case.fault == "none" else ():
                receiver.cancel(f"sender {number} failed: {_said(error)}")

    def read(self, number: int, driver: int) -> None:
        """What a driver of a receiver does."""
        receiver = self.opened.receivers[number]
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
    if len(opened.senders) != request.senders or len(opened.receivers) != request.receivers:
        raise Mismatch(
            f"{counted(request.senders, 'sender')} and "
            f"{counted(request.receivers, 'receiver', 'were')} asked for, "
            f"{len(opened.senders)} and {len(opened.receivers)} came"
        )
    course = _Course(case, opened)
    writing = (course.write, request.senders, request.writers)
    reading = (course.read, request.receivers, request.drivers)
    everybody = [
        _threads().submit(functools.partial(work, number, driver))
        for work, sides, drivers in (writing, reading)
        for number in range(sides)
        for driver in range(drivers)
    ]
    wait(everybody)
    for done in everybody:
        done.result()
    _judge(case, course)
    if case.fault == "none":
        _check_counters(case, course, opened.senders)


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


def _came(case: ExchangeCase, course: _Course) -> dict[int, list[int]]:
    """The numbers of the rows of each part, which are as they were sent."""
    numbers: dict[int, list[int]] = {}
    sent = case.sent()
    given = [text for _, text in _numbered(sent)]
    for part, batches in sorted(course.parts.items()):
        numbers[part] = []
        for batch in batches:
            _check_types(sent.schema, part, batch)
            numbers[part] += _checked(part, batch, given)
    return numbers


def _check_rows(case: ExchangeCase, course: _Course) -> None:
    numbers = _came(case, course)
    _check_once(case, numbers, case.sent().num_rows)
    _check_parts(case, numbers)
    _check_spread(case, numbers)
    if case.request.order != "none":
        _check_order(case, numbers)


def _text(values: Any) -> str:
    """Plain values as text: every bit that counts, the sign of a zero too, and any NaN alike."""
    return repr(values)


def _numbered(batch: pa.RecordBatch) -> Iterator[tuple[Any, str]]:
    """The number of each row, its last value, and the others as text."""
    *columns, numbers = (plain_values(column) for column in batch.columns)
    rows = zip(*columns, strict=True) if columns else itertools.repeat((), len(numbers))
    return zip(numbers, map(_text, rows), strict=True)


def _check_types(want: pa.Schema, part: int, batch: pa.RecordBatch) -> None:
    if batch.schema.names != want.names:
        raise Mismatch(f"part {part}: columns {want.names} went in, {batch.schema.names} came")
    for column, wanted in zip(batch.schema, want, strict=True):
        if flat_type(column.type) != flat_type(wanted.type):
            raise Mismatch(f"column {column.name!r} must be {wanted.type}, it is {column.type}")


def _checked(part: int, batch: pa.RecordBatch, given: Sequence[str]) -> list[int]:
    """The numbers of rows, each of which must be as it was sent."""
    found = []
    for number, came in _numbered(batch):
        if not isinstance(number, int) or not 0 <= number < len(given):
            raise Mismatch(f"part {part}: a row came that nobody sent, its number is {number!r}")
        if came != given[number]:
            raise Mismatch(f"part {part}: row {number} was {given[number]}, {came} came")
        found.append(number)
    return found


def _check_once(
    case: ExchangeCase, numbers: Mapping[int, Sequence[int]], count: int, least: int = 1
) -> None:
    """Every row once in all; broadcast once at every receiver. Where something failed, at most."""
    request = case.request
    sides = (
        [range(r * request.drivers, (r + 1) * request.drivers) for r in range(request.receivers)]
        if request.partition == "broadcast"
        else [range(request.receivers * request.drivers)]
    )
    for side in sides:
        came = Counter(number for part in side for number in numbers.get(part, ()))
        for number in range(count):
            if came[number] > 1 or (came[number] < least and not _is_dropped(case, number)):
                what = "is lost" if came[number] == 0 else f"came {counted(came[number], 'time')}"
                raise Mismatch(f"row {number} of {count} {what} (parts {side.start} and on)")


def _is_dropped(case: ExchangeCase, row: int) -> bool:
    """Whether a row belongs to a bucket that nobody has."""
    return case.expect.parts is not None and case.expect.parts[row] == -1


def _check_counters(case: ExchangeCase, course: _Course, senders: Sequence[ExchangeSender]) -> None:
    """What senders say of their rows, if they do, and what is known of these."""
    counters = [one.counters() for one in senders if isinstance(one, Counted)]
    if len(counters) != len(senders):
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


def _check_parts(case: ExchangeCase, numbers: Mapping[int, Sequence[int]]) -> None:
    if (parts := case.expect.parts) is not None:
        for part, rows in numbers.items():
            for row in rows:
                if (want := parts[row]) != part:
                    raise Mismatch(f"row {row} belongs to part {want}, it came to part {part}")
    elif case.request.partition in ("hash", "bucket"):
        keys = [plain_values(case.key(name)) for name in case.request.keys]
        texts = [_text(key) for key in zip(*keys, strict=True)]
        seen: dict[str, int] = {}
        for part, rows in numbers.items():
            for row in rows:
                key = texts[row]
                if seen.setdefault(key, part) != part:
                    raise Mismatch(f"rows with key {key} came to parts {seen[key]} and {part}")


def _check_spread(case: ExchangeCase, numbers: Mapping[int, Sequence[int]]) -> None:
    """Where much is to be spread, every receiver has a part of it.

    With so many keys or batches for each it is no chance that one has none; see `_FOR_EACH`.
    """
    request = case.request
    if request.partition == "hash":
        keys = [plain_values(case.key(name)) for name in request.keys]
        spread = len({_text(key) for key in zip(*keys, strict=True)})
    elif request.partition == "random" and request.knobs.get(_EACH_LEAVES) == 0:
        # The turn is the next one's when a request has left, which otherwise takes many bytes.
        spread = sum(1 for sender in range(request.senders) for _ in case.batches(sender))
    else:
        return
    if spread < _FOR_EACH * request.receivers:
        return
    for receiver in range(request.receivers):
        parts = range(receiver * request.drivers, (receiver + 1) * request.drivers)
        if not any(numbers.get(part) for part in parts):
            raise Mismatch(f"no row came to receiver {receiver} of {request.receivers}")


def _check_order(case: ExchangeCase, numbers: Mapping[int, Sequence[int]]) -> None:
    request = case.request
    written = [
        [row for batch in case.batches(sender) for row in batch[ROW].to_pylist()]
        for sender in range(request.senders)
    ]
    place = {row: at for rows in written for at, row in enumerate(rows)}
    for part, rows in numbers.items():
        for sender in range(request.senders):
            places = [place[row] for row in rows if row % request.senders == sender]
            if places != sorted(places):
                raise Mismatch(f"part {part}: rows of sender {sender} changed their order")
        if request.order == "merge":
            plain = case.plain()
            keys = [plain_values(plain[key.column]) for key in request.sort]
            want = sorted_rows(plain, sorted(rows), request.sort)
            for at, (a, b) in enumerate(zip(want, rows, strict=True)):
                if a != b and _text([k[a] for k in keys]) != _text([k[b] for k in keys]):
                    raise Mismatch(f"part {part}: row {at} of the merged rows is out of order")
