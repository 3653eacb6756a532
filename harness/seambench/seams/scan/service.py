"""A reader that is a service: it gets a request by POST, and answers with an Arrow IPC stream.

`GET` of the same address tells its facts, the JSON that lies beside other readers
(`seambench.conformance.doors.facts`). A refusal is status 422 with a sentence as its body; any
other status than 200 is a failure.
"""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable
from typing import IO, Any
from urllib.parse import urlsplit

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambase.wording import counted
from seambench.conformance.doors.facts import parse_facts
from seambench.contracts.outcomes import CrashError, TimedOutError
from seambench.contracts.scan import ScanRequest
from seambench.seams.scan.doors import DoorScanner, Read, StreamRead, scan_request

_REFUSED = 422
_MOST_SAID = 2000
_JSON = {"Content-Type": "application/json"}


class ServiceScanner(DoorScanner):
    """A scanner that answers at an address; a connection for each read."""

    path = "service"

    def __init__(self, scheme: str, rest: str, timeout: float = 600.0) -> None:
        """Ask the service what it says of itself.

        `rest` is the address without scheme and colon; each piece of an answer must have come in
        `timeout` seconds.
        """
        self.address, self._scheme, self._timeout = f"{scheme}:{rest}", scheme, timeout
        parts = urlsplit(self.address)
        try:
            self._place, self._path = (parts.hostname or "", parts.port), parts.path or "/"
        except ValueError as error:
            raise UsageError(f"{self.address}: {error}") from error
        if not self._place[0] or parts.query or parts.fragment or parts.username:
            raise UsageError(f"{self.address}: {scheme}://HOST:PORT/PATH is expected, nothing else")
        try:
            with contextlib.closing(self._ask("GET")) as answer:
                said = answer.output.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException, TimedOutError) as error:
            raise UnavailableError(f"{self.address}: no service answers: {error}") from error
        if answer.status != http.client.OK:
            raise UsageError(
                f"{self.address}: GET must tell its facts, {answer.status} came; docs/doors.md"
            )
        super().__init__(parse_facts(said, self.address, self.address))

    def start(self, request: ScanRequest) -> Read:
        """Send the request."""
        body = scan_request(request, self.facts).encode()
        try:
            answer = self._ask("POST", body)
        except (OSError, http.client.HTTPException) as error:
            raise CrashError(f"{self.name}: no answer came: {error!r}") from error
        if answer.status == http.client.OK:
            return StreamRead(self.name, "its answer", answer)
        with contextlib.closing(answer):
            said = answer.output.read(_MOST_SAID).decode("utf-8", "replace").strip()
        if answer.status == _REFUSED and said:
            raise RefusedError(f"{self.name}: {said}")
        raise CrashError(f"{self.name}: status {answer.status}: {said or 'no reason given'}")

    def _ask(self, method: str, body: bytes | None = None) -> _Answer:
        secure = self._scheme == "https"
        make: Callable[..., http.client.HTTPConnection] = (
            http.client.HTTPSConnection if secure else http.client.HTTPConnection
        )
        connection = make(*self._place, timeout=self._timeout)
        try:
            connection.request(method, self._path, body, _JSON if body else {})
            return _Answer(connection, f"{self.name if body else self.address}", self._timeout)
        except TimeoutError as error:
            connection.close()
            raise TimedOutError(f"{self.address}: no answer in {self._timeout:g} s") from error
        except BaseException:
            connection.close()
            raise


class _Answer:
    """What a service answers; a connection that breaks off is no end of it."""

    def __init__(self, connection: http.client.HTTPConnection, name: str, timeout: float) -> None:
        self._connection, self._name, self._timeout = connection, name, timeout
        self._response = connection.getresponse()
        self.status = self._response.status
        self._broken = ""

    @property
    def output(self) -> IO[bytes]:
        return self  # type: ignore[return-value]  # read and close are what is asked of it

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        if self._broken:
            return b""
        try:
            piece: Any = self._response.read(None if size < 0 else size)
        except TimeoutError as error:
            raise TimedOutError(f"{self._name}: nothing came in {self._timeout:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            self._broken = repr(error)
            return b""
        if len(piece) < size and self._response.length:
            missing = counted(self._response.length, "byte", "are")
            self._broken = f"{missing} missing of those announced"
        return bytes(piece)

    def says_more(self) -> bool:
        """Whether more comes behind what was read."""
        return bool(self.read(1))

    def end(self) -> None:
        """A connection that broke off is a crash."""
        if self._broken:
            raise CrashError(f"{self._name}: its answer broke off: {self._broken}")

    def close(self) -> None:
        """End the connection. Repeatable."""
        self._response.close()
        self._connection.close()
