"""Instructions of each kernel."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .counting.counted import KERNELS
from .counting.counts import LACKING, instructions


class Counts:
    """How many instructions a kernel takes, by callgrind: the same whatever else runs."""

    version = "1"
    unit = "instructions"
    param_names = ("kernel",)
    params = (sorted(KERNELS),)

    def setup_cache(self) -> Mapping[str, int | str]:
        """All counts: one process, once a commit. `SEAMBENCH_KERNELS` names some to count alone."""
        names = self.params[0]
        chosen = os.environ.get("SEAMBENCH_KERNELS", ",".join(names)).split(",")
        counts: dict[str, int | str] = dict.fromkeys(names, f"{LACKING}not to be counted")
        try:
            counts |= instructions([name for name in names if name in chosen])
        except NotImplementedError as error:
            return dict.fromkeys(names, f"{LACKING}{error}")
        return counts

    setup_cache.timeout = 7200  # type: ignore[attr-defined]

    def setup(self, counts: Mapping[str, int | str], kernel: str) -> None:
        """Skip what the commit or the machine lacks."""
        count = counts[kernel]
        if isinstance(count, str) and count.startswith(LACKING):
            raise NotImplementedError(count)

    def track_instructions(self, counts: Mapping[str, int | str], kernel: str) -> int:
        """The count."""
        count = counts[kernel]
        if isinstance(count, str):
            raise RuntimeError(count)  # noqa: TRY004 - its text is what the kernel ended with
        return count
