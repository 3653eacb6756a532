"""Implementations by others, a module or folder a system, which import it when they are used.

`peer_scan`, `arrow_parts`, `inbox` and `jvm` are what several of them share.
"""

from pathlib import Path

#: What each can be had in, and what its documents say it can do.
CATALOGUE = Path(__file__).with_name("catalogue")
#: What conformance is known to find in each.
XFAILS = Path(__file__).with_name("xfails")
