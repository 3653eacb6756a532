"""The harness: contracts of the seams, checks, measurements, records and the report.

Knows no implementation: those come in by name, through the registry.
"""

from importlib.metadata import version as _version

__version__ = _version("seambench")
