"""What is not there: its error says what to call in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from seambase import wording


def did_you_mean(name: str, known: Iterable[str], instead: Mapping[str, str]) -> str:
    """What to call in place of a name, as the end of a sentence; empty where nothing is like it."""
    if name in instead:
        return f": {instead[name]}"
    return wording.did_you_mean(name, sorted(known))


class Hinted:
    """Rows that can be counted; of an attribute that is not there it is said what to call instead.

    Attributes:
        instead: by names that other libraries have, what does the same here.
        called: what users know it by; the name of the class where that is empty.
    """

    instead: ClassVar[Mapping[str, str]] = {}
    called: ClassVar[str] = ""

    # Type checkers are not told: they would take any name, and a length, for what is there.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            hint = ""
            if not name.startswith("_"):
                public = (other for other in dir(kind) if not other.startswith("_"))
                hint = did_you_mean(name, public, kind.instead)
            raise AttributeError(
                f"{self._shown()!r} object has no attribute {name!r}{hint}", name=name, obj=self
            )

        def __len__(self) -> NoReturn:
            raise TypeError(f"a {self._shown()} has no len(): call count_rows(), which reads")

        def __getitem__(self, key: object) -> NoReturn:
            raise TypeError(f"a {self._shown()} is not indexed: {type(self).instead['[]']}")

        def __contains__(self, item: object) -> NoReturn:
            raise TypeError(f"a {self._shown()} is not looked into: ask schema.names")

        # NumPy and `pandas.DataFrame(...)` would take batches for values.
        def __array__(self, *_: object, **options: object) -> NoReturn:
            raise TypeError(f"a {self._shown()} is no array: call to_pandas() or to_polars()")

        def _shown(self) -> str:
            return self.called or type(self).__name__

    def __bool__(self) -> bool:
        return True
