"""Tables by their names in a catalog, which pyiceberg asks; everything else is read here.

A catalog (SQL, REST, Hive, Glue, ...) is named and configured as pyiceberg has it: in
`.pyiceberg.yaml` or by variables of the environment. What is taken from it is where the table's
newest metadata file lies, and how an S3 store is reached: as the catalog is configured, or as its
server says for this table, with credentials that it hands out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.extras import needs

__all__ = ["SCHEME", "metadata_address"]

_S3 = ("s3://", "s3a://", "s3n://")
# What Iceberg calls an argument of s3fs: of S3 alone, or of all of AWS.
_S3_ARGUMENTS = {
    "key": ("s3.access-key-id", "client.access-key-id"),
    "secret": ("s3.secret-access-key", "client.secret-access-key"),
    "token": ("s3.session-token", "client.session-token"),
    "endpoint_url": ("s3.endpoint",),
}
_S3_REGION = ("s3.region", "client.region")

SCHEME = "iceberg://"
_MOST_TEXT = 300


def metadata_address(address: str) -> tuple[str, Mapping[str, Any] | None]:
    """Where the newest metadata file of a table lies, and the storage options to read it with.

    Args:
        address: `iceberg://CATALOG/NAMESPACE.TABLE`; any other is returned as it is.

    Returns:
        No options for a table that is not on S3, or of which its catalog tells none.

    Raises:
        UsageError: an address without its parts, or a catalog that is not configured.
        InputError: the catalog has no such table.
        UnavailableError: pyiceberg, or what it needs for the catalog, is not installed, or the
            catalog does not answer.
    """
    if not address.startswith(SCHEME):
        return address, None
    name, _, table = address.removeprefix(SCHEME).partition("/")
    if not name or "." not in table or "/" in table:
        raise UsageError(f"{address}: {SCHEME}CATALOG/NAMESPACE.TABLE is meant")
    with needs("seamkit[iceberg]", "a table of an Iceberg catalog"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    try:
        found = load_catalog(name).load_table(table)
        location = str(found.metadata_location)
        is_s3 = location.startswith(_S3)
        return location, _s3_options(found.io.properties) if is_s3 else None
    except (NoSuchNamespaceError, NoSuchTableError) as error:
        raise InputError(f"{address}: the catalog has no such table ({_brief(error)})") from error
    except ValueError as error:
        raise UsageError(f"{address}: {_brief(error)}") from error
    except Exception as error:  # whatever the catalog's own library raises
        raise UnavailableError(
            f"{address}: the catalog does not answer ({_brief(error)})"
        ) from error


def _s3_options(properties: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Arguments of s3fs that stand for Iceberg's properties of S3."""
    options: dict[str, Any] = {}
    for argument, names in _S3_ARGUMENTS.items():
        value = next((properties[name] for name in names if properties.get(name)), None)
        if value is not None:
            options[argument] = value
    region = next((properties[name] for name in _S3_REGION if properties.get(name)), None)
    if region is not None:
        options["client_kwargs"] = {"region_name": region}
    return options or None


def _brief(error: Exception) -> str:
    """What a catalog said, on one line: servers answer with whole pages."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."
