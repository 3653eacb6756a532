"""Iceberg's catalogs (SQL, REST, Hive, Glue, ...): where tables lie, and what there is.

They are asked by pyiceberg, as that is configured: in `.pyiceberg.yaml` or by variables of the
environment. What is taken of a table is where its newest metadata file lies, and how an S3 store is
reached: as the catalog is configured, or as its server says for this table, with credentials that
it hands out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.extras import needs

SCHEME = "iceberg://"
#: The folder of a table in which its metadata files lie, and how these end.
METADATA = "metadata"
ENDINGS = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")

_S3 = ("s3://", "s3a://", "s3n://")
# What Iceberg calls an argument of s3fs: of S3 alone, or of all of AWS.
_S3_ARGUMENTS = {
    "key": ("s3.access-key-id", "client.access-key-id"),
    "secret": ("s3.secret-access-key", "client.secret-access-key"),
    "token": ("s3.session-token", "client.session-token"),
    "endpoint_url": ("s3.endpoint",),
}
_S3_REGION = ("s3.region", "client.region")
_MOST_TEXT = 300
_MOST_NAMESPACES = 100_000


class IcebergNames:
    """Namespaces and tables of a catalog; each question is asked anew.

    Args:
        address: `iceberg://CATALOG`, as pyiceberg is configured.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._name = address.removeprefix(SCHEME).rstrip("/")
        if not self._name or "/" in self._name:
            hint = "; open_table opens a table of it" if "/" in self._name else ""
            raise UsageError(f"{address}: {SCHEME}CATALOG is meant{hint}")

    def databases(self) -> list[str]:
        """All namespaces, those within others behind a point."""
        with _catalog(self._address) as catalog:
            names, open_ = [], [()]
            while open_:
                for one in catalog.list_namespaces(open_.pop()):
                    names.append(".".join(one))
                    open_.append(one)
                if len(names) > _MOST_NAMESPACES:
                    raise InputError(f"{self._address}: more namespaces than can be listed")
        return sorted(names)

    def tables(self, database: str) -> list[str]:
        """Names of the tables of a namespace."""
        with _catalog(self._address, f"namespace {database}") as catalog:
            return sorted(str(name[-1]) for name in catalog.list_tables(database))

    def locate(self, name: str) -> str:
        """What `open_table` takes for a table."""
        return f"{SCHEME}{self._name}/{name}"


def metadata_address(address: str) -> tuple[str, Mapping[str, Any] | None]:
    """Where the newest metadata file of a table lies, and the storage options to read it with.

    The address is `iceberg://CATALOG/NAMESPACE.TABLE`. There are no options for a table that is not
    on S3, or of which its catalog tells none.
    """
    name, _, table = address.removeprefix(SCHEME).partition("/")
    if not name or "." not in table or "/" in table:
        hint = "" if table else "; open_catalog opens a whole catalog"
        raise UsageError(f"{address}: {SCHEME}CATALOG/NAMESPACE.TABLE is meant{hint}")
    with _catalog(address) as catalog:
        found = catalog.load_table(table)
        location = str(found.metadata_location)
        is_s3 = location.startswith(_S3)
        return location, _s3_options(found.io.properties) if is_s3 else None


@contextmanager
def _catalog(address: str, what: str = "table") -> Iterator[Any]:
    """The catalog that an address begins with. What it raises becomes an error of ours."""
    with needs("seamkit[iceberg]", "a table of an Iceberg catalog"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    name = address.removeprefix(SCHEME).partition("/")[0]
    try:
        try:
            catalog = load_catalog(name)
        except ValueError as error:
            raise UsageError(
                f"{address}: pyiceberg knows no catalog {name!r} that it can open, by its "
                f"file .pyiceberg.yaml or the environment ({_brief(error)})"
            ) from error
        yield catalog
    except (InputError, UsageError):
        raise
    except (NoSuchNamespaceError, NoSuchTableError) as error:
        raise InputError(f"{address}: the catalog has no such {what} ({_brief(error)})") from error
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
