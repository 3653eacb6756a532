"""Table properties: `.hoodie/hoodie.properties` and what a reader must honour of it.

Source: Hudi 1.2.0; which key decides what is listed in docs/hudi.md.

How versions of a record are merged beyond their order are properties, too. Version 9 keeps there
what payload classes of older tables did: a column whose value marks a row as a delete (AWS DMS,
Debezium), and what value of a new version leaves the older one as it is. Source: Hudi 1.2.0,
HoodieTableConfig, PartialUpdateHandler.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.border import numpy_of
from seamkit.files.reader import check_names
from seamkit.files.storage import Storage

MergeMode = Literal["commit-time", "event-time", "custom"]

_PREFIX = "hoodie.record.merge.property."
_FIELD = f"{_PREFIX}hoodie.payload.delete.field"
_MARKER = f"{_PREFIX}hoodie.payload.delete.marker"
_UNAVAILABLE = f"{_PREFIX}hoodie.write.partial.update.unavailable.value"
_PARTIAL_MODE = "hoodie.table.partial.update.mode"


@dataclass(frozen=True)
class DeleteMarker:
    """A row of a log whose `column` reads `text` is a delete."""

    column: str
    text: str


@dataclass(frozen=True)
class FillRule:
    """Which values of a version leave those of an older one as they are."""

    # `defaults`: the default of the column, which is null in every schema that Spark writes;
    # `marked`: a text that equals `marker`
    gaps: Literal["defaults", "marked"]
    marker: str | None = None  # the text

    def present(self, column: pa.Array) -> npt.NDArray[np.bool_] | None:
        """Which values count; None for all of them."""
        if self.gaps == "defaults":
            if column.null_count == 0:
                return None
            return _words(column.is_valid())
        if self.marker is None or not pa.types.is_string(column.type):
            return None
        return _words(pc.fill_null(pc.not_equal(column, self.marker), True))


def _words(flags: pa.Array) -> npt.NDArray[np.bool_]:
    return numpy_of(flags)


@dataclass(frozen=True)
class MergeRules:
    """How two versions of a record become one.

    Attributes:
        mode: what orders them; `custom` is code of the user's.
        delete_marker: what marks a row of a log as a delete besides Hudi's own columns, or None.
        fill_rule: what values leave an older version's as they are, or None.
        runs_class: whether Hudi runs a payload class, by which a delete wins whatever its ordering
            value is, and which cannot compare values of all types.
    """

    mode: MergeMode
    delete_marker: DeleteMarker | None = None
    fill_rule: FillRule | None = None
    runs_class: bool = False


# Payload classes that come with Hudi and whose merging can be said without running them. Tables of
# version 9 have their rules as properties; in older ones 1.2.0 runs the class.
_PAYLOADS: Mapping[str, MergeRules] = {
    "AWSDmsAvroPayload": MergeRules("commit-time", delete_marker=DeleteMarker("Op", "D")),
    "OverwriteNonDefaultsWithLatestAvroPayload": MergeRules(
        "commit-time", fill_rule=FillRule("defaults")
    ),
    "PartialUpdateAvroPayload": MergeRules(
        "event-time", fill_rule=FillRule("defaults"), runs_class=True
    ),
}
_PAYLOAD_PACKAGE = "org.apache.hudi.common.model."
_PAYLOAD_STRATEGY = "00000000-0000-0000-0000-000000000000"


def read_merge_rules(
    raw: Mapping[str, str], version: int, mode: MergeMode, where: str
) -> MergeRules:
    """The rules of a table whose properties are `raw` and whose merge mode is known."""
    payload = raw.get("hoodie.compaction.payload.class", "")
    if mode == "custom" and version < 9 and payload.startswith(_PAYLOAD_PACKAGE):
        strategy = raw.get("hoodie.record.merge.strategy.id") or _PAYLOAD_STRATEGY
        known = _PAYLOADS.get(payload.removeprefix(_PAYLOAD_PACKAGE))
        if known is not None and strategy == _PAYLOAD_STRATEGY:
            return known
    return MergeRules(mode, _read_delete_marker(raw, where), _read_fill_rule(raw, version, where))


def _read_delete_marker(raw: Mapping[str, str], where: str) -> DeleteMarker | None:
    """The table's own delete marker, if it has one."""
    column, text = raw.get(_FIELD) or None, raw.get(_MARKER) or None
    if (column is None) != (text is None):
        raise InputError(f"{where}: {_FIELD} and {_MARKER} go together; one is missing")
    return None if column is None or text is None else DeleteMarker(column, text)


def _read_fill_rule(raw: Mapping[str, str], version: int, where: str) -> FillRule | None:
    """What a partial update leaves as it is, if the table says so; version 9 is the first."""
    stated = raw.get(_PARTIAL_MODE, "")
    if version < 9 or stated in ("", "NONE"):
        return None
    if stated == "IGNORE_DEFAULTS":
        return FillRule("defaults")
    if stated == "FILL_UNAVAILABLE":
        return FillRule("marked", raw.get(_UNAVAILABLE))
    raise RefusedError(f"{where}: {_PARTIAL_MODE}={stated} is not known")


KeyGenerator = Literal["plain", "complex", "timestamp", "custom"]

_SUPPORTED_VERSIONS = (3, 4, 5, 6, 8, 9)
#: Types of key generators; `TIMESTAMP` and `CUSTOM` make partition paths in another way.
_KEY_GENERATORS = (
    *("SIMPLE", "COMPLEX", "TIMESTAMP", "CUSTOM", "NON_PARTITION", "GLOBAL_DELETE"),
    *("SIMPLE_AVRO", "COMPLEX_AVRO", "TIMESTAMP_AVRO", "CUSTOM_AVRO", "NON_PARTITION_AVRO"),
)
_KEY_PACKAGES = ("org.apache.hudi.", "org.apache.spark.sql.hudi.", "com.uber.hoodie.")
PROPERTIES = ".hoodie/hoodie.properties"

TIMELINE = ".hoodie/timeline"
"""Where tables of the second layout have their timeline, unless they say otherwise."""

_MOST_BYTES = 16 << 20
DROPS = "hoodie.datasource.write.drop.partition.columns"
BOOTSTRAP_ROOT = "hoodie.bootstrap.base.path"
#: Meta columns that are empty, by writers after 1.2.0 (HoodieMetaFieldFlags).
EXCLUDED = "hoodie.table.meta.fields.exclude.list"
#: What Hudi has written into every table since a version.
_WRITTEN_SINCE: Mapping[int, Sequence[str]] = {
    3: (
        "hoodie.table.name",
        "hoodie.table.type",
        "hoodie.timeline.layout.version",
    ),
    4: ("hoodie.table.checksum",),
    6: ("hoodie.archivelog.folder",),
    8: (
        "hoodie.record.merge.mode",
        "hoodie.table.initial.version",
        "hoodie.timeline.history.path",
        "hoodie.timeline.path",
    ),
}
_PAYLOAD_MODES: Mapping[str, MergeMode] = {
    "DefaultHoodieRecordPayload": "event-time",
    "EventTimeAvroPayload": "event-time",
    "OverwriteWithLatestAvroPayload": "commit-time",
}
_NAMED_MODES: Mapping[str, MergeMode] = {
    "EVENT_TIME_ORDERING": "event-time",
    "COMMIT_TIME_ORDERING": "commit-time",
    "CUSTOM": "custom",
}


def parse_properties(text: str) -> dict[str, str]:
    r"""Read Java's properties format.

    Comments, `=`, `:` or blanks as separators, continued lines, and the escapes of `\t \n \r \f
    \uXXXX` and of any other character (java.util.Properties).
    """
    result: dict[str, str] = {}
    for line in _logical_lines(text):
        match = re.match(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", line, re.DOTALL)
        assert match is not None  # every part may be empty
        key, value = match[1], match[2]
        result[_unescape(key) if "\\" in key else key] = (
            _unescape(value) if "\\" in value else value
        )
    return result


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    pending = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        lines.append(pending + line)
        pending = ""
    return [*lines, pending] if pending else lines


def _unescape(text: str) -> str:
    named = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return named.get(match[2], match[2])

    units = re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", replace, text, flags=re.DOTALL)
    # Java escapes each half of a character beyond the first 65,536 by itself.
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@dataclass(frozen=True)
class TableConfig:
    """What a reader must know of a table.

    Attributes:
        version: table version (3, 4, 5, 6, 8 or 9).
        merge_on_read: False for a copy-on-write table, which never has logs.
        timeline_layout: 1 (`.hoodie/`) or 2 (`.hoodie/timeline/`).
        timeline_folder: folder of the active timeline, below the table.
        history_folder: folder of archived instants (layout 2), below the table.
        record_keys: names of the record key fields, in order; none where a class of the user's
            makes keys, which need not tell the fields apart.
        ordering_fields: names of the ordering fields, in order; empty if there are none.
        partition_fields: names of the partition fields; empty for a table without partitions.
        key_generator: who made keys and paths, as far as it matters to a reader.
        time_partition_fields: partition fields of which a key generator made times, or may have:
            Hudi 0.15.0 does not write down which ones of a custom key generator are times.
        drops_partition_columns: whether partition fields stand in the path alone.
        virtual_keys: whether rows lack the record key, which is made of the key fields then.
        merge: how two versions of a record become one.
        raw: every property as it stands in the file.
        metadata_table: whether this is the table of files that Hudi keeps beside another's data.
    """

    name: str
    version: int
    merge_on_read: bool
    timeline_layout: int
    timeline_folder: str
    history_folder: str
    record_keys: tuple[str, ...]
    ordering_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    key_generator: KeyGenerator
    time_partition_fields: tuple[str, ...]
    drops_partition_columns: bool
    virtual_keys: bool
    merge: MergeRules
    raw: Mapping[str, str]
    metadata_table: bool = False

    @property
    def ordered_by(self) -> tuple[str, ...]:
        """The columns whose values say which version is the later; none where the last write is."""
        return self.ordering_fields if self.merge.mode == "event-time" else ()

    @property
    def may_name_key(self) -> bool:
        """Whether the text of a key of one field may have the field's name in front, or not.

        The complex key generator writes it in all tables of version 9, and in others unless its
        writer was Hudi 0.14.1 to 1.0.2 or was told not to, of which the table says nothing. Rows
        with and without it are different records, be their value the same (HUDI-7001).
        """
        return self.key_generator == "complex" and len(self.record_keys) == 1

    @property
    def delete_prefix(self) -> str:
        """What the complex key generator writes before the text of a virtual key's only field."""
        named = self.may_name_key and self.virtual_keys
        return f"{self.record_keys[0]}:" if named else ""

    @property
    def logs_name_writers(self) -> bool:
        """Whether the name of each log bears the instant of its writer, not of its base file.

        An upgrade to version 8 leaves files that were named before.
        """
        initial = self.raw.get("hoodie.table.initial.version")
        return self.timeline_layout == 2 and initial not in ("5", "6", "7")


def load_config(storage: Storage, *, metadata_table: bool = False) -> TableConfig:
    """Read the properties, from the backup file if the first is missing.

    Features of a metadata table are known and not looked at.
    """
    raw, where = _read_whole(storage)
    version = _number(raw, "hoodie.table.version", where)
    if not metadata_table:
        _refuse_features(raw, where)
    default = "2" if version >= 8 else "1"
    layout = _number(raw, "hoodie.timeline.layout.version", where, default)
    if layout != (2 if version >= 8 else 1):
        raise RefusedError(f"{where}: timeline layout {layout} in a table of version {version}")
    key_generator = _key_generator(raw)
    partition_fields = _partition_fields(raw)
    timeline = ".hoodie"
    if layout == 2:
        timeline = f".hoodie/{raw.get('hoodie.timeline.path', 'timeline')}"
    return TableConfig(
        name=raw.get("hoodie.table.name", ""),
        version=version,
        merge_on_read=raw.get("hoodie.table.type") == "MERGE_ON_READ",
        timeline_layout=layout,
        timeline_folder=timeline,
        history_folder=f"{timeline}/{raw.get('hoodie.timeline.history.path', 'history')}",
        record_keys=_record_keys(raw),
        ordering_fields=_ordering_fields(raw),
        partition_fields=tuple(name for name, _ in partition_fields),
        key_generator=key_generator,
        time_partition_fields=tuple(
            name
            for name, kind in partition_fields
            if key_generator == "timestamp"
            or kind == "timestamp"
            or (key_generator == "custom" and not kind)
        ),
        drops_partition_columns=raw.get(DROPS, "").lower() == "true",
        virtual_keys=raw.get("hoodie.populate.meta.fields", "true").lower() == "false"
        or "_hoodie_record_key" in _names(raw, EXCLUDED),
        merge=read_merge_rules(raw, version, _merge_mode(raw, version, where), where),
        raw=raw,
        metadata_table=metadata_table,
    )


def _read_whole(storage: Storage) -> tuple[Mapping[str, str], str]:
    """The properties and the file that has them: the backup where the first is missing or cut."""
    # Hudi writes the backup before it writes the properties anew, and removes it after that.
    reasons: list[str] = []
    for path in (PROPERTIES, f"{PROPERTIES}.backup"):
        content = storage.read_if_there(path, most_bytes=_MOST_BYTES)
        if content is not None:
            where = storage.full(path)
            text = content.decode("utf-8", "replace")
            raw = parse_properties(text)
            lack = _lack(text, raw, where)
            if lack is None:
                return raw, where
            reasons.append(f"{where}: {lack}")
    if not reasons:
        raise InputError(
            f"{storage.root}: not a Hudi table (there is no .hoodie/hoodie.properties)"
        )
    raise InputError("; ".join(reasons))


def _lack(text: str, raw: Mapping[str, str], where: str) -> str | None:
    """Why properties are not what Hudi has written, or None if nothing speaks against it."""
    if not text.endswith(("\n", "\r")):
        return "the file ends within a line, so it was cut"
    if "\0" in text or "\ufffd" in text:
        return "the file is no text (it holds a NUL or breaks UTF-8)"
    if "hoodie.table.version" not in raw:
        return "there is no hoodie.table.version, so the file was cut or is none of Hudi's"
    version = _number(raw, "hoodie.table.version", where)
    if version not in _SUPPORTED_VERSIONS:
        known = ", ".join(str(v) for v in _SUPPORTED_VERSIONS)
        raise RefusedError(f"{where}: table version {version} is not supported ({known} are)")
    for least, keys in _WRITTEN_SINCE.items():
        for key in keys if version >= least else ():
            if not raw.get(key):
                return f"{key} is missing, which a table of version {version} has"
    stated = raw.get("hoodie.table.checksum", "")  # none up to version 3
    if stated and stated != str(_checksum(raw)):
        return f"hoodie.table.checksum is {stated:.20}, which does not fit the table's name"
    return None


def _checksum(raw: Mapping[str, str]) -> int:
    """CRC32 of `database.table`, as HoodieTableConfig.generateChecksum has it."""
    name = f"{raw.get('hoodie.database.name', '')}.{raw['hoodie.table.name']}"
    return zlib.crc32(name.encode("utf-8", "replace"))


def _number(raw: Mapping[str, str], key: str, where: str, default: str | None = None) -> int:
    text = raw.get(key, default)
    if text is None or not re.fullmatch("[0-9]{1,9}", text):
        raise InputError(f"{where}: property {key} is {text!r:.80}, not a number")
    return int(text)


def _names(raw: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in raw.get(key, "").split(",") if name.strip())


def _partition_fields(raw: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and kinds: a custom key generator's are written `name:simple`, `name:timestamp`."""
    parts = [name.partition(":") for name in _names(raw, "hoodie.table.partition.fields")]
    return [(name, kind.lower()) for name, _, kind in parts]


def _key_generator(raw: Mapping[str, str]) -> KeyGenerator:
    """From its type, or from the name of its class."""
    kind = raw.get("hoodie.table.keygenerator.type", "").lower()
    name = raw.get("hoodie.table.keygenerator.class", "").rsplit(".", 1)[-1].lower()
    if kind.startswith("timestamp") or name.startswith("timestampbased"):
        return "timestamp"
    known: Sequence[KeyGenerator] = ("custom", "complex")
    return next((one for one in known if kind.startswith(one) or name.startswith(one)), "plain")


def _record_keys(raw: Mapping[str, str]) -> tuple[str, ...]:
    """Those of a class of the user's are not known: it may take `A` and `a` for one key."""
    name = raw.get("hoodie.table.keygenerator.class", "")
    kind = raw.get("hoodie.table.keygenerator.type", "")
    is_own = name.startswith(_KEY_PACKAGES) if name else kind.upper() != "USER_PROVIDED"
    return _names(raw, "hoodie.table.recordkey.fields") if is_own else ()


def _ordering_fields(raw: Mapping[str, str]) -> tuple[str, ...]:
    key = "hoodie.table.ordering.fields"
    return _names(raw, key if key in raw else "hoodie.table.precombine.field")


def _refuse_features(raw: Mapping[str, str], where: str) -> None:
    """Refuse by name what would be read wrongly."""
    kind = raw.get("hoodie.table.type", "COPY_ON_WRITE")
    if kind not in ("MERGE_ON_READ", "COPY_ON_WRITE"):
        raise InputError(f"{where}: hoodie.table.type is {kind!r}")
    key = "hoodie.table.keygenerator.type"
    check_names([raw.get(key, "").upper()], _KEY_GENERATORS, where, key)
    base = raw.get("hoodie.table.base.file.format", "PARQUET").upper()
    if base not in ("PARQUET", "ORC", "LANCE"):
        raise RefusedError(
            f"{where}: base files in {base} are not supported; PARQUET, ORC and LANCE are"
        )


def _merge_mode(raw: Mapping[str, str], version: int, where: str) -> MergeMode:
    """Versions 8 and 9 name their mode; below, the payload class tells it, or an ordering field."""
    if version >= 8:
        name = raw["hoodie.record.merge.mode"]
        if name not in _NAMED_MODES:
            raise RefusedError(f"{where}: hoodie.record.merge.mode {name!r} is not known")
        return _NAMED_MODES[name]
    payload = raw.get("hoodie.compaction.payload.class")
    if payload is None:
        return "event-time" if _ordering_fields(raw) else "commit-time"
    named = payload.replace("com.uber.hoodie", "org.apache.hudi").removeprefix(_PAYLOAD_PACKAGE)
    return _PAYLOAD_MODES.get(named, "custom")


def stated_buckets(config: TableConfig, buckets: int | None) -> int | None:
    """How many buckets a table's simple index has, as its reader or its properties say."""
    if buckets is not None:
        if isinstance(buckets, bool) or not isinstance(buckets, int) or buckets < 1:
            raise UsageError(f"buckets is {buckets!r}: a number from 1 on is meant")
        return buckets
    raw = config.raw
    text = raw.get("hoodie.bucket.index.num.buckets", "")
    hashed = raw.get("hoodie.bucket.index.hash.field", ",".join(config.record_keys))
    is_simple = (
        raw.get("hoodie.index.type", "").upper() == "BUCKET"
        and raw.get("hoodie.index.bucket.engine", "SIMPLE").upper() == "SIMPLE"
        and tuple(name.strip() for name in hashed.split(",")) == config.record_keys
    )
    return int(text) if is_simple and re.fullmatch("[1-9][0-9]{0,7}", text) else None
