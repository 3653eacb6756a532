"""Where things are kept that can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Folder of what can be made again: `$XDG_CACHE_HOME/seambench`, else `~/.cache/seambench`."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "seambench"
