"""Tests of the harness, in folders by subject; they are not part of the wheel.

Fakes and small programs that several of them need lie in `samples`.
"""

from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
"""Programs that stand for implementations in other languages."""
