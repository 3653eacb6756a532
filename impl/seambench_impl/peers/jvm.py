"""What peers that run in a JVM of this process share: their Java sources, and timed loops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa

from seambase.errors import SeambenchError
from seambase.serde import SerdeRequest
from seambench.contracts.common import Stage
from seambench.contracts.serde import Serde
from seamkit.jvm.machine import JavaClasses, java_failure

#: Loops that must not pay for the border between the languages.
SOURCES = Path(__file__).with_name("java")
_WARM_UP_SECONDS = 2.0
#: Rows that a timed loop goes over before it comes back: calls from here cost little against it.
_PASS_ROWS = 262_144


def run_warm(loop: Callable[[int], object], seconds: float) -> None:
    """Run a loop of Java in longer and longer turns, so that Java compiles it.

    It takes the number of passes of a turn; after so many seconds no further one begins.
    """
    passes, end = 1, time.perf_counter() + seconds
    while time.perf_counter() < end:
        loop(passes)
        # A turn of few short passes would be nearly all border.
        passes = min(2 * passes, 1024)


class TimedLoops:
    """Times loops inside the JVM over what was prepared for them.

    The first passes run before Java has compiled the loops: let `warm_up` come first.
    """

    def __init__(
        self, peer: JavaClasses, owner: str, loops: Mapping[str, Callable[[int], Iterable[float]]]
    ) -> None:
        """Take loops by what they do: each runs so many passes and returns their seconds."""
        self._peer, self._owner, self._loops = peer, owner, loops

    def time(self, what: str, passes: int) -> list[float]:
        """Seconds of each of `passes` passes over all of it, on this thread."""
        with self._peer.inside():
            try:
                return [float(seconds) for seconds in self._loops[what](passes)]
            except self._peer.jpype.JException as error:
                raise SeambenchError(f"{self._owner} failed: {java_failure(error)}") from error

    def warm_up(self) -> None:
        """Run every loop until Java has compiled it: some seconds for each."""
        for what in self._loops:
            run_warm(partial(self.time, what), _WARM_UP_SECONDS)

    def stages(
        self,
        names: Mapping[str, str],
        size_bytes: int,
        serde: Serde,
        request: SerdeRequest,
        batch: pa.RecordBatch,
    ) -> list[Stage]:
        """Steps by their names, and the loop of each; a pass moves so many bytes.

        The loops keep nothing that could be looked at: what the serde reads of what it writes is.
        """
        self.warm_up()
        passes = max(1, _PASS_ROWS // max(batch.num_rows, 1))

        def rows(_seconds: list[float]) -> pa.Table:
            return pa.Table.from_batches(
                serde.deserialize(request, serde.serialize(request, [batch]))
            )

        return [
            Stage(name, partial(self.time, what, passes), rows, size_bytes, passes)
            for name, what in names.items()
        ]
