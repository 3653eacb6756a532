"""Tables by their names in a catalog, which pyiceberg asks; everything else is read here.

A catalog (SQL, REST, Hive, Glue, ...) is named and configured as pyiceberg has it: in
`.pyiceberg.yaml` or by variables of the environment. All that is taken from it is where the table's
newest metadata file lies.
"""

from __future__ import annotations

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.extras import needs

__all__ = ["SCHEME", "metadata_address"]

SCHEME = "iceberg://"


def metadata_address(address: str) -> str:
    """Where the newest metadata file of a table lies.

    Args:
        address: `iceberg://CATALOG/NAMESPACE.TABLE`; any other is returned as it is.

    Raises:
        UsageError: an address without its parts, or a catalog that is not configured.
        InputError: the catalog has no such table.
        UnavailableError: pyiceberg, or what it needs for the catalog, is not installed, or the
            catalog does not answer.
    """
    if not address.startswith(SCHEME):
        return address
    name, _, table = address.removeprefix(SCHEME).partition("/")
    if not name or "." not in table or "/" in table:
        raise UsageError(f"{address}: {SCHEME}CATALOG/NAMESPACE.TABLE is meant")
    with needs("iceberg", "a table of an Iceberg catalog"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    try:
        return str(load_catalog(name).load_table(table).metadata_location)
    except (NoSuchNamespaceError, NoSuchTableError) as error:
        raise InputError(f"{address}: the catalog has no such table ({error})") from error
    except ValueError as error:
        raise UsageError(f"{address}: {error}") from error
    except Exception as error:  # whatever the catalog's own library raises
        raise UnavailableError(f"{address}: the catalog does not answer ({error})") from error
