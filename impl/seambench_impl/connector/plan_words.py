"""Ways to read units that plans may name besides the library's own; see `seamkit.ranges.words`."""

from __future__ import annotations

from seambench_impl.connector.hudi_java import read_unit_in_java

WORDS = (read_unit_in_java,)
"""Functions as `UnitScan.read_by` takes them."""
