"""The border to the C core: its return codes as exceptions, Arrow data by the C Data Interface.

Rows that wait to be used: in memory, or on local disk where they would take too much of it.

Files are Arrow IPC, a column each, without a name from the moment they are made: whatever ends the
process, nothing of them stays.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.encodings import made_anew, viewless
from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seamkit.core._seam import ffi, lib
from seamkit.core.tasks import each

#: By Arrow's types of numbers numpy's; older Arrows import pandas to answer `to_pandas_dtype`.
DTYPES = {pa.from_numpy_dtype(one): one for one in map(np.dtype, "bhilBHILefd")}


class NativeMemoryError(SeambenchError, MemoryError):
    """The tracked allocator reached its limit, or the system has no memory left."""


def new_error() -> object:
    """A fresh `struct seam_error *` for one call; Python owns it."""
    return ffi.new("struct seam_error *")


def check(code: int, error: object, *, source: str = "", by_caller: bool = False) -> None:
    """Raise what a core function's code and `struct seam_error *` stand for; return when it is 0.

    `source` is the file (and block) the bytes came from, put before the message. `by_caller`:
    whoever called us decides what the function is given, and when; what breaks the function's
    contract is then a UsageError, not a mistake of ours.
    """
    if code == lib.SEAM_OK:
        return
    message = ffi.string(error.message).decode("utf-8", "replace")  # type: ignore[attr-defined]
    offset = int(error.offset)  # type: ignore[attr-defined]
    if code == lib.SEAM_NO_MEMORY:
        raise NativeMemoryError(message)
    where = f"{source}: " if source else ""
    at = f" (at byte {offset})" if offset >= 0 else ""
    if code in (lib.SEAM_BAD_INPUT, lib.SEAM_TOO_LARGE):
        raise InputError(f"{where}{message}{at}")
    if code == lib.SEAM_UNSUPPORTED:
        raise RefusedError(f"{where}{message}{at}")
    if code == lib.SEAM_BAD_ARGUMENT and by_caller:
        raise UsageError(f"{where}{message}")
    expect(False, message)


def call(
    function: Callable[..., int],
    *arguments: Any,
    source: str = "",
    begin: int = 0,
    by_caller: bool = False,
) -> None:
    """Call a core function with a `struct seam_error *` behind its other arguments.

    `source` and `by_caller` are as `check` takes them, `begin` is where in the source the bytes lie
    that the function is given.
    """
    error = ffi.new("struct seam_error *")
    code = function(*arguments, error)
    if code:
        error.offset += begin if error.offset >= 0 else 0
        check(code, error, source=source, by_caller=by_caller)


def made(
    out: Any,
    make: Callable[..., int],
    free: Callable[..., None],
    *arguments: Any,
    source: str = "",
    by_caller: bool = False,
) -> Any:
    """A thing of the core's, to which `make` puts a pointer in `out`; it frees itself."""
    call(make, *arguments, out, source=source, by_caller=by_caller)
    return ffi.gc(out[0], free)


def expect(holds: bool, otherwise: str) -> None:
    """Stop a call into the core that would break its contract, whatever Python's `-O` leaves out.

    `holds` is what the core has to believe, such as that two buffers are of one length.
    """
    if not holds:
        raise AssertionError(f"a call into the core broke its contract: {otherwise}")


def address(pointer: Any) -> int:
    """The address of a cffi pointer, as pyarrow wants it."""
    return int(ffi.cast("uintptr_t", pointer))


def new_array() -> Any:
    """An empty `struct ArrowArray`; it is released with the handle unless it was moved on."""
    return ffi.gc(ffi.new("struct ArrowArray *"), lib.seam_array_release)


def numpy_of(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array of numbers, not copied, or of booleans; under nulls is anything.

    `Array.to_numpy` does the same and imports pandas where it is installed, which takes a second.
    """
    n, begin = len(array), array.offset
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(array.buffers()[1] or b"", np.uint8)
        bits, begin = bits[begin // 8 : (begin + n + 7) // 8], begin % 8
        return np.unpackbits(bits, bitorder="little")[begin : begin + n].view(np.bool_)
    found = np.frombuffer(array.buffers()[1] or b"", DTYPES[array.type])[begin : begin + n]
    return found if len(found) == n else np.zeros(n, found.dtype)  # an offset of no rows


def array_of(values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """An array of numbers or booleans; it shares the memory of numbers that lie close together.

    `pyarrow.array` does the same and imports pandas where it is installed, as in `numpy_of`. Values
    have one dimension; without `valid` all are there.
    """
    is_bool = values.dtype == np.bool_
    kind = pa.bool_() if is_bool else pa.from_numpy_dtype(values.dtype)
    words = np.packbits(values, bitorder="little") if is_bool else np.ascontiguousarray(values)
    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(words)])


def repeated(value: pa.Scalar, rows: int) -> pa.Array:
    """A value so often; `pyarrow.repeat` does the same, in older Arrows of no extension type."""
    kind = value.type
    if not isinstance(kind, pa.BaseExtensionType):
        return pa.repeat(value, rows)
    stored = value.value if value.is_valid else pa.scalar(None, kind.storage_type)
    return pa.ExtensionArray.from_storage(kind, pa.repeat(stored, rows))


def exported_schema(schema: pa.Schema) -> Any:
    """A schema as `struct ArrowSchema *`, released with the handle."""
    exported = ffi.gc(ffi.new("struct ArrowSchema *"), lib.seam_schema_release)
    schema._export_to_c(address(exported))
    return exported


class ExportedBatch:
    """A record batch or array as C structures: `schema` and `array` point at them.

    The structures share its buffers and keep them alive; they are released with this
    object.
    """

    def __init__(self, batch: pa.RecordBatch | pa.Array) -> None:
        self.schema: Any = ffi.gc(ffi.new("struct ArrowSchema *"), lib.seam_schema_release)
        self.array: Any = new_array()
        batch._export_to_c(address(self.array), address(self.schema))


def batch_of(
    columns: Sequence[pa.Array], fields: pa.Schema | Sequence[str], rows: int
) -> pa.RecordBatch:
    """A batch of a schema, or of names, that knows its number of rows even without columns."""
    if columns:
        how = {"schema": fields} if isinstance(fields, pa.Schema) else {"names": list(fields)}
        return pa.RecordBatch.from_arrays(list(columns), **how)
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows; `Schema.empty_table` knows no types of extensions."""
    return batch_of([pa.nulls(0, field.type) for field in schema], schema, 0)


def without_views(array: pa.Array) -> pa.Array:
    """The array, a copy of it where string or binary views are in it, which the core does not read.

    At every depth, but for dictionaries and runs of views within nested types: the core refuses
    those by name.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        entries = array.dictionary
        plain = without_views(entries)
        if plain is entries:
            return array
        return pa.DictionaryArray.from_arrays(array.indices, plain, ordered=kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        values = array.values
        plain = without_views(values)
        if plain is values:
            return array
        runs = pa.run_end_encoded(kind.run_end_type, plain.type)
        parts = [array.run_ends, plain]
        return pa.Array.from_buffers(runs, len(array), [None], 0, array.offset, parts)
    wanted = _viewless(kind)
    return array if wanted == kind else array.cast(wanted)


@lru_cache(maxsize=256)
def _viewless(kind: pa.DataType) -> pa.DataType:
    return made_anew(kind, viewless)


def batch_without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, its columns as `without_views` gives them."""
    columns = batch.columns
    plain = list(map(without_views, columns))
    if all(one is other for one, other in zip(plain, columns, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(plain, names=batch.schema.names)


def concat_batches(
    batches: Sequence[pa.RecordBatch], schema: pa.Schema, *, threads: int = 1
) -> pa.RecordBatch:
    """One batch out of many, `threads` columns at once; the same batch, not copied, out of one."""
    if len(batches) == 1 and batches[0].schema.equals(schema):
        return batches[0]
    pieces = [[batch.column(i) for batch in batches] for i in range(len(schema))]
    columns = each(lambda both: _concat(*both), list(zip(pieces, schema, strict=True)), threads)
    return batch_of(columns, schema, sum(batch.num_rows for batch in batches))


def _concat(pieces: Sequence[pa.Array], field: pa.Field) -> pa.Array:
    if not pieces:
        return pa.nulls(0, field.type)
    try:
        return pa.concat_arrays([piece.cast(field.type) for piece in pieces])
    except pa.ArrowInvalid as error:
        raise RefusedError(
            f"column '{field.name}': the changed rows of one unit cannot be held together "
            f"({error}); read fewer columns, or compact the table"
        ) from error


class HeldRows:
    """Batches of one schema, added one after the other and taken out as one.

    `most_bytes` may stay in memory until they are taken out; None for all.
    """

    def __init__(self, schema: pa.Schema, most_bytes: int | None = None) -> None:
        self._schema = schema
        self._most_bytes = most_bytes
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files: list[_ColumnFile] = []
        self.num_rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self._batches.append(batch)
        self._bytes += batch.get_total_buffer_size()
        self.num_rows += batch.num_rows
        if self._most_bytes is not None and self._bytes > self._most_bytes:
            self._spill()

    @property
    def on_disk(self) -> bool:
        """Whether rows have gone to the disk."""
        return bool(self._files)

    def take_out(self, *, threads: int = 1) -> pa.RecordBatch:
        """All rows in order, as one batch. What went to the disk is mapped, not read.

        Of what is in memory `threads` columns are put together at once.
        """
        if not self._files:
            return concat_batches(self._batches, self._schema, threads=threads)
        self._spill()
        columns = []
        for file, field in zip(self._files, self._schema, strict=True):
            whole = _ColumnFile(field)
            whole.append([_concat(file.pieces(), field)])
            columns += whole.pieces()
        self._files = []
        return batch_of(columns, self._schema, self.num_rows)

    def _spill(self) -> None:
        if not self._schema.names:  # rows of no columns take no room
            return
        self._files = self._files or [_ColumnFile(field) for field in self._schema]
        for i, file in enumerate(self._files):
            file.append([batch.column(i) for batch in self._batches])
        self._batches, self._bytes = [], 0


class _ColumnFile:
    """Pieces of one column in a file of its own; the file is gone when the last piece is."""

    def __init__(self, field: pa.Field) -> None:
        self._schema = pa.schema([field])
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="seambench-")  # noqa: SIM115 - outlives this call
        self._writer = pa.ipc.new_stream(self._file, self._schema)

    def append(self, pieces: Sequence[pa.Array]) -> None:
        kind = self._schema.field(0).type
        try:
            for piece in pieces:
                batch = pa.RecordBatch.from_arrays([piece.cast(kind)], schema=self._schema)
                self._writer.write_batch(batch)
        except OSError as error:
            raise SeambenchError(
                f"rows of a log cannot be put aside in {tempfile.gettempdir()} ({error}); make "
                "room there, name another folder with TMPDIR, or allow more memory"
            ) from error

    def pieces(self) -> list[pa.Array]:
        """What was appended, mapped into memory; nothing can be appended any more."""
        self._writer.close()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()  # the mapping keeps the file alive
        reader = pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(mapped)))
        return [batch.column(0) for batch in reader]
