"""What stands in this checkout's documents."""

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[4]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def document(name: str) -> str:
    """The text of a document, by its path in the checkout."""
    return (CHECKOUT / name).read_text(encoding="utf-8")


def python_blocks(name: str) -> list[str]:
    """The fenced blocks of Python in a document, in its order."""
    return _BLOCK.findall(document(name))
