"""An exchange to begin with: it states what it will carry, and refuses everything."""

from __future__ import annotations

from collections.abc import Mapping

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.exchange import ExchangeRequest, OpenExchange


class Exchange:
    """Implements `seambench.contracts.exchange.Exchange`."""

    name = "NAME"
    version = "0.1"
    kind: Kind = "peer"
    #: Cases about anything else are not asked; `seambench list capabilities` has all words.
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *("partitions.hash", "partitions.single", "transports.pass-through"),
            *("formats.arrow", "types.int", "types.bigint", "types.string"),
        ),
        True,
    )

    def open(self, request: ExchangeRequest) -> OpenExchange:
        """Get both sides ready: an object with `senders`, `receivers` and `close()`.

        Raises:
            RefusedError: always, so far.
        """
        raise RefusedError(f"NAME carries nothing yet, so no {request.partition} partitioning")
