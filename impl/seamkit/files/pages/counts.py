"""How many pages of Parquet files an index let be left unread, for reports."""

from __future__ import annotations

import threading

__all__ = ["PageCounts"]


class PageCounts:
    """Counts pages of column chunks of which the page index said what to read.

    Threads may share it.

    Attributes:
        pages: of such chunks, those of dictionaries aside.
        unread: those among them that were not read.
    """

    def __init__(self) -> None:
        self.pages = 0
        self.unread = 0
        self._lock = threading.Lock()

    def add(self, pages: int, read: int) -> None:
        """Count a column chunk."""
        with self._lock:
            self.pages += pages
            self.unread += pages - read
