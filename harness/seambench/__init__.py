"""The harness: contracts of the seams, checks, measurements, records and the report.

Knows no implementation: those come in by name, through the registry.
"""

from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version

try:
    __version__ = _version("seambench")
except _NotInstalled:  # a job on PYTHONPATH alone
    __version__ = "0+checkout"
