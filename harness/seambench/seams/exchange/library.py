"""The library door of the exchange seam: senders and receivers of a shared library.

A library has the functions below; docs/doors.md says what they do.

    int seambench_exchange_listen(const char *request_json, void **receiver, char *address,
                                  size_t address_size, char *error, size_t error_size);
    int seambench_exchange_read(void *receiver, int64_t driver, int64_t timeout_ms,
                                struct ArrowArray *rows, struct ArrowSchema *schema,
                                char *error, size_t error_size);
    int seambench_exchange_connect(const char *request_json, void **sender,
                                   char *error, size_t error_size);
    int seambench_exchange_write(void *sender, int64_t driver, struct ArrowArray *rows,
                                 struct ArrowSchema *schema, char *error, size_t error_size);
    int seambench_exchange_finish(void *sender, int64_t driver, char *error, size_t error_size);
    void seambench_exchange_cancel(void *side, const char *reason);
    void seambench_exchange_close(void *side);
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambench.conformance.doors.library import Library, trusted
from seambench.contracts.exchange import ExchangeRequest
from seambench.contracts.outcomes import ProtocolError
from seambench.seams.exchange.door_messages import Outside
from seambench.seams.exchange.plain import FailedError

_WORDS = ("listen", "read", "connect", "write", "finish", "cancel", "close")
_ADDRESS_BYTES = 1024


class _ArrowArray(ctypes.Structure):
    """The struct of the Arrow C data interface that holds rows."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset")),
        *((name, ctypes.c_int64) for name in ("n_buffers", "n_children")),
        *((name, ctypes.c_void_p) for name in ("buffers", "children", "dictionary")),
        *((name, ctypes.c_void_p) for name in ("release", "private_data")),
    )


class _ArrowSchema(ctypes.Structure):
    """The struct of the Arrow C data interface that holds a type."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("format", "name", "metadata")),
        *((name, ctypes.c_int64) for name in ("flags", "n_children")),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary")),
        *((name, ctypes.c_void_p) for name in ("release", "private_data")),
    )


class LibraryExchange(Outside, Library):
    """An exchange of which a shared library is a side, or both: what its capabilities say."""

    def __init__(self, library: str) -> None:
        """Load the library; see `Library`."""
        super().__init__(library, tuple(f"seambench_exchange_{word}" for word in _WORDS))
        self._state_wires()
        text, size, number = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64
        side, to_side = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
        rows = (ctypes.POINTER(_ArrowArray), ctypes.POINTER(_ArrowSchema))
        arguments: dict[str, tuple[object, ...]] = {
            "listen": (text, to_side, text, size),
            "read": (side, number, number, *rows),
            "connect": (text, to_side),
            "write": (side, number, *rows),
            "finish": (side, number),
        }
        for word, types in arguments.items():
            self.declare(f"seambench_exchange_{word}", *types)
        for word, types in {"cancel": (side, text), "close": (side,)}.items():
            function = self.functions[f"seambench_exchange_{word}"]
            function.restype, function.argtypes = None, types

    def listen(self, request: ExchangeRequest, address: str) -> _LibraryReceiver:
        """Get a receiver ready; see `contracts.exchange.Distributed`."""
        self._require(request)
        side, where = ctypes.c_void_p(), ctypes.create_string_buffer(_ADDRESS_BYTES)
        line = self._line(request, "receiver", None, [address])
        at = (ctypes.byref(side), where, _ADDRESS_BYTES)
        self.ask("listen", RefusedError, line.strip(), *at)
        bound = where.value.decode("utf-8", "replace")
        receiver = _LibraryReceiver(self, side, bound)
        if not bound:
            receiver.close()
            raise ProtocolError(f"{self.name}: it does not say where it listens")
        return receiver

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> _LibrarySender:
        """Get a sender ready; see `contracts.exchange.Distributed`."""
        self._require(request)
        side = ctypes.c_void_p()
        line = self._line(request, "sender", sender, addresses)
        self.ask("connect", RefusedError, line.strip(), ctypes.byref(side))
        return _LibrarySender(self, side)

    def _require(self, request: ExchangeRequest) -> None:
        both = self._stated.get("sender") and self._stated.get("receiver")
        if request.transport != "sockets" and not both:
            raise RefusedError(
                f"{self.name}: one side alone exchanges over sockets, not {request.transport}"
            )
        super()._require(request)

    def ask(self, word: str, refusal: type[Exception], *arguments: object) -> None:
        """Call a function that may fail."""
        try:
            self.call(f"seambench_exchange_{word}", *arguments)
        except RefusedError as error:
            raise refusal(str(error)) from error

    def tell(self, word: str, side: ctypes.c_void_p, *arguments: object) -> None:
        """Call a function that cannot fail."""
        self.functions[f"seambench_exchange_{word}"](side, *arguments)


class _LibrarySide:
    """One side of a library's exchange, until it is closed."""

    def __init__(self, library: LibraryExchange, side: ctypes.c_void_p) -> None:
        self._library, self._side = library, side

    def cancel(self, reason: str) -> None:
        """Give up: the other sides get `reason`."""
        if self._side:
            self._library.tell("cancel", self._side, reason.encode())

    def close(self) -> None:
        """Release everything. Repeatable."""
        side, self._side = self._side, ctypes.c_void_p()
        if side:
            self._library.tell("close", side)


class _LibrarySender(_LibrarySide):
    def write(self, batch: pa.RecordBatch, driver: int = 0) -> None:
        """Hand rows over; the library waits while receivers cannot take more."""
        rows, schema = _ArrowArray(), _ArrowSchema()
        batch._export_to_c(ctypes.addressof(rows), ctypes.addressof(schema))
        both = (ctypes.byref(rows), ctypes.byref(schema))
        self._library.ask("write", FailedError, self._side, driver, *both)

    def finish(self, driver: int = 0) -> None:
        """Nothing more follows of a driver; after the last, everything has arrived."""
        self._library.ask("finish", FailedError, self._side, driver)


class _LibraryReceiver(_LibrarySide):
    def __init__(self, library: LibraryExchange, side: ctypes.c_void_p, address: str) -> None:
        super().__init__(library, side)
        self.address = address

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch for a driver; None when all senders have ended."""
        rows, schema = _ArrowArray(), _ArrowSchema()
        both = (ctypes.byref(rows), ctypes.byref(schema))
        wait = -1 if timeout is None else int(timeout * 1000)
        self._library.ask("read", FailedError, self._side, driver, wait, *both)
        if not rows.release:
            return None
        at = (ctypes.addressof(rows), ctypes.addressof(schema))
        try:
            batch = pa.RecordBatch._import_from_c(*at)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(f"{self._library.name}: its rows are no batch: {error}") from error
        return trusted(batch, self._library.name)
