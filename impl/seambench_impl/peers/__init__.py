"""Implementations by others, a module or folder a system, which import it when they are used.

`peer_scan`, `arrow_parts`, `inbox` and `jvm` are what several of them share.
"""

from pathlib import Path
from typing import ClassVar

#: What each can be had in, and what its documents say it can do.
CATALOGUE = Path(__file__).with_name("catalogue")
#: What conformance is known to find in each.
XFAILS = Path(__file__).with_name("xfails")


class Named:
    """A peer whose known failures, if there are any, stand in the file of its name.

    Attributes:
        part: what the file's name ends with where the peer is only a part of what bears its name.
    """

    name: str
    part: ClassVar[str] = ""
    #: What conformance is known to find in it.
    xfails: ClassVar[Path | None] = None

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            file = XFAILS / f"{cls.name}{cls.part}.toml"
            cls.xfails = file if file.exists() else None
