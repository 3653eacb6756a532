"""Numbers as people read them."""

from __future__ import annotations

_TIMES = "\N{MULTIPLICATION SIGN}"


def seconds(value: float) -> str:
    """A time with the unit that leaves three digits."""
    if value < 1e-3:
        return f"{short(value * 1e6)} µs"
    return f"{short(value * 1e3)} ms" if value < 1 else f"{short(value)} s"


def amount(value: float) -> str:
    """How many, with the unit that leaves three digits."""
    for unit in ("", " k", " M"):
        if value < 1000:
            return f"{short(value)}{unit}"
        value /= 1000
    return f"{short(value)} G"


def factor(value: float) -> str:
    """How many times as much."""
    return f"{short(value, 2)}{_TIMES}"


def percent(value: float) -> str:
    """How much more a factor above 1 is."""
    return f"{short(100 * (value - 1), 2)} %"


def size(value: float) -> str:
    """Bytes."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{short(value)} {unit}"
        value /= 1024
    return f"{short(value)} TiB"


def rate(value: float) -> str:
    """Bytes a second."""
    return f"{short(value / 1e9)} GB/s"


def short(value: float, digits: int = 3) -> str:
    """A number with so many digits that count, never in powers of ten."""
    if value >= 10**digits:
        return f"{value:,.0f}"
    text = f"{value:#.{digits}g}"
    return f"{float(text):f}".rstrip("0").rstrip(".") if "e" in text else text.rstrip(".")
