"""The library door of the exchange seam: senders and receivers in C, good and bad."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from seambase.errors import RefusedError
from seambench.contracts.exchange import ExchangeRequest
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.registry import resolve
from seambench.seams.exchange.cases import ExchangeCase
from seambench.seams.exchange.check import check_exchange
from seambench.seams.exchange.library import LibraryExchange
from seambench.seams.exchange.plain import FailedError
from seambench_tests import SAMPLES
from seambench_tests.samples.compiled import compiled
from seambench_tests.samples.taking_part import small_case

_STATED = (
    *("sender", "receiver", "partitions.single", "transports.pass-through", "formats.arrow"),
    *("orders.sender", "cancel", "types.int", "types.string"),
)
_REQUEST = ExchangeRequest(pa.schema([("k", pa.int32())]), "single")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library in C, compiled."""
    target = tmp_path_factory.mktemp("library") / "exchange.so"
    return compiled(SAMPLES / "exchange_library.c", target, _STATED)


@pytest.fixture
def case(tmp_path: Path) -> Callable[..., ExchangeCase]:
    """Makes a small case in which something goes wrong on purpose, or by the name of a column."""

    def make(fault: str = "none", field: str = "k") -> ExchangeCase:
        asked = {"transports": ["pass-through"], "output_columns": [field, "s"]}
        return small_case(tmp_path, fault, field, **asked)

    return make


@pytest.mark.parametrize("fault", ["none", "sender-cancels", "receiver-cancels"])
def test_a_good_library_passes(
    library: Path, case: Callable[..., ExchangeCase], fault: str
) -> None:
    """Rows cross in the structs of the C data interface; who gives up ends the exchange."""
    check_exchange(case(fault), resolve("exchange", f"lib:{library}"))


@pytest.mark.parametrize(
    ("wrong", "fault", "says"),
    [("lose", "none", "is lost"), ("deaf", "sender-cancels", "ended as if all")],
)
def test_a_wrong_library_is_found(
    library: Path, case: Callable[..., ExchangeCase], wrong: str, fault: str, says: str
) -> None:
    """A batch that is dropped, and a loss taken for an end."""
    with pytest.raises(Mismatch, match=says):
        check_exchange(case(fault, wrong), LibraryExchange(str(library)))


def test_what_a_library_refuses_is_said(library: Path) -> None:
    """Its own refusals, and another format over frames, in a sentence."""
    made = LibraryExchange(str(library))
    with pytest.raises(RefusedError, match="clib: one receiver is all there is"):
        made.open(replace(_REQUEST, partition="broadcast"))
    with pytest.raises(RefusedError, match="clib: nobody listens there"):
        made.connect(_REQUEST, 0, ["unix:/nowhere"])
    with pytest.raises(RefusedError, match="carry arrow, not presto"):
        made.open(replace(_REQUEST, format="presto"))


def test_nothing_that_comes_is_an_error(library: Path) -> None:
    """A reader that waits in vain is told so after its time."""
    receiver = LibraryExchange(str(library)).listen(_REQUEST, "unix:/here")
    with pytest.raises(FailedError, match="nothing came"):
        receiver.read(timeout=0.01)
    receiver.close()
    receiver.close()
