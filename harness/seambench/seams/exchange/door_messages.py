"""What programs and libraries behind the doors of the exchange seam share.

What is said to them, and what they must say, is in docs/doors.md. Where one is one side only,
`seambench.seams.exchange.plain` is the other, or the implementation that it is paired with
(`seambench.seams.exchange.pairs`), whose wire it then speaks.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from seambase.errors import RefusedError, UsageError
from seambench.conformance.doors.facts import REQUEST_VERSION
from seambench.contracts.exchange import Distributed, ExchangeRequest
from seambench.seams.exchange.pairs import OpenPair
from seambench.seams.exchange.plain import FRAMES, WINDOW, PlainExchange


class Outside:
    """An exchange of which somebody behind a door is a side, or both: what the capabilities say."""

    name: str
    capabilities: Mapping[str, bool]
    _stated: Mapping[str, bool]
    _wire: str

    def _state_wires(self) -> None:
        """Frames are what is spoken where no wire is stated."""
        self._stated = self.capabilities
        if not any(word.startswith("wires.") for word in self._stated):
            self._stated = {**self._stated, f"wires.{FRAMES}": True}
        self._speak(FRAMES)

    def _speak(self, wire: str) -> None:
        """Offer what a wire carries: frames have Arrow streams, whatever else is known."""
        self._wire = wire
        self.capabilities = {
            word: stated
            for word, stated in self._stated.items()
            if wire != FRAMES or not word.startswith("formats.") or word == "formats.arrow"
        }

    def speaking(self, wire: str) -> Self:
        """The same program or library, whose sides speak one wire."""
        bound = copy.copy(self)
        bound._speak(wire)
        return bound

    def open(self, request: ExchangeRequest) -> OpenPair:
        """Get both sides ready; the plain ends are the other where it is one only."""
        roles = [role for role in ("sender", "receiver") if self.capabilities.get(role)]
        if not roles:
            raise UsageError(f"{self.name} states neither `sender` nor `receiver`")
        plain: Any = PlainExchange()
        sender: Any = self if "sender" in roles else plain
        receiver: Any = self if "receiver" in roles else plain
        receivers: list[Distributed] = [receiver] * request.receivers
        return OpenPair(sender, receivers, request)

    def _require(self, request: ExchangeRequest) -> None:
        if self._wire == FRAMES and request.format != "arrow":
            raise RefusedError(f"{self.name}: frames carry arrow, not {request.format}")

    def _line(
        self, request: ExchangeRequest, role: str, number: int | None, addresses: Sequence[str]
    ) -> bytes:
        """The request as one line of JSON."""
        content: dict[str, Any] = {
            "version": REQUEST_VERSION,
            "seam": "exchange",
            "role": role,
            "number": number,
            "senders": request.senders,
            "drivers": request.drivers,
            "addresses": list(addresses),
            "partition": request.partition,
            "function": request.function,
            "keys": list(request.keys),
            "order": request.order,
            "sort": [
                {"column": k.column, "descending": k.descending, "nulls_first": k.nulls_first}
                for k in request.sort
            ],
            "chunk_rows": request.chunk_rows,
            "buffer_bytes": request.buffer_bytes,
            "window": WINDOW,
            "writers": request.writers if request.writers > 1 else None,
            "computed": dict(request.computed) or None,
            "output_columns": list(request.output_columns) or None,
            "buckets": list(request.buckets) or None,
            "bucket_drivers": list(request.bucket_drivers) or None,
            "unused_buckets": request.unused_buckets if request.buckets else None,
            "knobs": dict(request.knobs) or None,
        }
        if self._wire != FRAMES:
            content |= {
                "wire": self._wire,
                "format": request.format,
                "options": dict(request.options) or None,
                "schema": base64.b64encode(request.carried().serialize()).decode(),
            }
        kept = {name: value for name, value in content.items() if value is not None}
        return json.dumps(kept).encode() + b"\n"
