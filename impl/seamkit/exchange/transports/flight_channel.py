"""The sending side of Arrow Flight; see `seamkit.exchange.transports.flight`."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Unpack

import pyarrow as pa

from seambase.errors import InputError, UnavailableError
from seamkit.exchange.logic.channel import OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, Request
from seamkit.exchange.transports.base import (
    HELLO,
    SECONDS_TO_GREET,
    ChannelOptions,
    OpenRequests,
    RequestChannel,
    announcement,
    join,
)
from seamkit.exchange.transports.flight_payloads import (
    FLIGHT_BYTES_AT_MOST,
    SCHEMA,
    SECONDS_TO_CLOSE,
    flight,
    location,
    pack,
)
from seamkit.exchange.transports.tls import read_pem
from seamkit.exchange.transports.wire import (
    decode_answer,
    encode_request,
)


class FlightChannel(RequestChannel):
    """A `Channel` over one DoExchange stream; see `RequestChannel`."""

    most_bytes_at_most = FLIGHT_BYTES_AT_MOST
    broken_by = (pa.ArrowException, OSError)

    def __init__(self, address: str, exchange: int, **options: Unpack[ChannelOptions]) -> None:
        self._flight = flight()
        super().__init__(address, exchange, **options)
        self._heard = 0.0
        self._over = threading.Event()
        self._client: Any = None
        self._writer: Any = None
        self._reader: Any = None
        # gRPC ends the process over two calls on the way out, or one after its end.
        self._writing = threading.Lock()
        self._ended = False
        self._threads: list[threading.Thread] = []

    def open(
        self, on_answer: OnAnswer, on_failure: OnFailure, be_number: int | None = None
    ) -> None:
        """Connect, greet and begin the stream."""
        client = self._connect()
        try:
            self._greet(client)
            descriptor = self._flight.FlightDescriptor.for_command(HELLO)
            self._writer, self._reader = client.do_exchange(descriptor)
            self._writer.begin(SCHEMA)
            if be_number is not None:
                self.write(announcement(be_number))
        except (pa.ArrowException, OSError, InputError) as error:
            client.close()
            raise UnavailableError(f"{self._address} cannot be reached: {error}") from error
        self._client = client
        self._open = OpenRequests(on_failure)
        self._heard = time.monotonic()
        self._threads = [
            threading.Thread(target=self._listen, args=(self._open, on_answer), daemon=True),
            threading.Thread(target=self._watch, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def write(self, request: Request) -> None:
        """Waits while the stream takes no more."""
        message, payloads = encode_request(self._exchange, request, inline=False)
        batch = pack(payloads)
        with self._writing:
            if self._ended:
                raise OSError("the channel was closed")
            self._writer.write_with_metadata(batch, message)

    def close(self) -> None:
        """End the stream; it is broken off if the server does not end it as well."""
        if self._open is None:
            return
        if self._writing.acquire(timeout=SECONDS_TO_CLOSE):
            if not self._ended:
                self._ended = True
                with contextlib.suppress(pa.ArrowException, OSError):
                    self._writer.done_writing()
            self._writing.release()
        if not self._over.wait(SECONDS_TO_CLOSE):
            self._reader.cancel()
        for thread in self._threads:
            join(thread)

    def _connect(self) -> Any:
        options: dict[str, Any] = {}
        if self._tls is not None:
            self._tls.context()  # which says what is wrong with the files
            options = {
                "tls_root_certs": read_pem(self._tls.roots),
                "cert_chain": read_pem(self._tls.certificate),
                "private_key": read_pem(self._tls.key),
                "override_hostname": self._tls.server_name,
            }
        return self._flight.FlightClient(
            location(self._where, self._tls is not None),
            generic_options=[
                ("grpc.enable_http_proxy", 0),
                ("grpc.enable_retries", 0),
                ("grpc.use_local_subchannel_pool", 1),
            ],
            **options,
        )

    def _greet(self, client: Any) -> None:
        action = self._flight.Action("hello", HELLO)
        limits = self._flight.FlightCallOptions(timeout=SECONDS_TO_GREET)
        heard = [result.body.to_pybytes() for result in client.do_action(action, limits)]
        if heard != [HELLO]:
            raise InputError(f"it does not speak this protocol: {heard[:1]!r}")

    def _listen(self, waiting: OpenRequests, on_answer: OnAnswer) -> None:
        """Read answers until the stream ends."""
        reason = "closed the stream"
        try:
            for _, message in self._reader:
                self._heard = time.monotonic()
                answer = _answer(message)
                if answer.sequence >= 0:
                    self.take(answer, on_answer)
                elif answer.error is not None:
                    reason = answer.error
                    break
        except (pa.ArrowException, OSError, InputError) as error:
            reason = str(error)
        if time.monotonic() - self._heard >= self._silence_seconds:
            reason = f"showed no life for {self._silence_seconds} s"
        waiting.fail(f"{self._address}: {reason}")
        with contextlib.suppress(pa.ArrowException, OSError):
            self._reader.cancel()
        with self._writing, contextlib.suppress(pa.ArrowException, OSError):
            self._ended = True
            self._writer.close()
        self._client.close()
        self._over.set()

    def _watch(self) -> None:
        """Break the stream off when nothing is heard for too long."""
        while not self._over.wait(self._silence_seconds / 4):
            if time.monotonic() - self._heard >= self._silence_seconds:
                self._reader.cancel()
                return


def _answer(message: pa.Buffer | None) -> Answer:
    if message is None:
        raise InputError("a batch came, where answers are meant")
    return decode_answer(message.to_pybytes())
