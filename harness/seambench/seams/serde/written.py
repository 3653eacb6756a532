"""What is wrong with bytes that somebody wrote: by the witness, and by bytes that are known."""

from __future__ import annotations

from collections.abc import Sequence

from seambase import errors
from seambase.errors import InputError
from seambase.foreign_arrow import sound_stream
from seambase.pages.reader import CHECKSUMMED, COMPRESSED, Page, page_options, read_pages
from seambase.wording import counted
from seambench.conformance.plain import first_unlike
from seambench.seams.serde.blocks import block_values
from seambench.seams.serde.vectors import Expected, Vector, decode_problem

# Share below which every library of a codec finds compression worth it.
_CLEARLY = 0.7
_RATIOS = {"presto": 0.9, "velox": 0.8}


def encode_problem(vector: Vector, written: bytes) -> str | None:
    """What is wrong with bytes that somebody wrote for a vector; None if nothing is."""
    if vector.request.format == "presto":
        return _page_problem(vector, written)
    if vector.request.format == "arrow":
        try:
            return decode_problem(vector, sound_stream(written, "what was written"))
        except InputError as error:
            return str(error)
    if vector.data is None:
        return None
    masked = bytearray(written)
    wanted = bytearray(vector.data)
    for offset, length in vector.dont_care:
        masked[offset : offset + length] = bytes(len(masked[offset : offset + length]))
        wanted[offset : offset + length] = bytes(length)
    if masked != wanted:
        return f"other bytes were written: {first_difference(bytes(wanted), bytes(masked))}"
    return None


def written_again(vector: Vector, written: bytes) -> str | None:
    """What tells bytes from those of an engine that hold the same; None if nothing does.

    Rows are compared byte for byte; of pages the encodings, flags and values of every column, and
    whether they are compressed and checked. Codecs and what lies behind the last flag may differ.
    """
    if vector.request.format != "presto":
        return encode_problem(vector, written)
    assert vector.data is not None
    options, types = page_options(vector.request), list(vector.types)
    try:
        pages = read_pages(written, options, types)
    except errors.SeambenchError as error:
        return f"no valid pages were written: {error}"
    known = read_pages(vector.data, options, types)
    if len(pages) != len(known):
        return f"{counted(len(known), 'page')} expected, {len(pages)} were written"
    for number, (page, want) in enumerate(zip(pages, known, strict=True)):
        # Source ids differ in every process, so columns are compared, which leaves them out.
        if page.rows != want.rows or page.columns != want.columns:
            difference = first_difference(want.payload, page.payload)
            return f"page {number} is written differently: {difference}"
        if marker_differs(page, want):
            return f"page {number}: marker {want.marker} expected, it is {page.marker}"
    return None


def marker_differs(page: Page, want: Page) -> bool:
    """Whether a page is compressed or checked where the other is not, and no codec explains it.

    Libraries of one codec pack a payload in different sizes, so that one may find worth keeping
    what another does not; but not where it becomes much smaller.
    """
    differs = page.marker ^ want.marker
    packed = page if page.marker & COMPRESSED else want
    return differs != 0 and not (
        differs == COMPRESSED and packed.size > _CLEARLY * packed.uncompressed_size
    )


def _page_problem(vector: Vector, written: bytes) -> str | None:
    """Pages are read by the witness; values must be right, and plain payloads the known ones."""
    options = page_options(vector.request)
    try:
        pages = read_pages(written, options, list(vector.types))
    except errors.SeambenchError as error:
        return f"no valid pages were written: {error}"
    if len(pages) != len(vector.batches):
        return f"{counted(len(vector.batches), 'page')} expected, {len(pages)} were written"
    golden: Sequence[Page | None] = [None] * len(pages)
    if vector.data is not None and vector.plain:
        golden = read_pages(vector.data, options, list(vector.types))
    for number, (page, want, known) in enumerate(zip(pages, vector.batches, golden, strict=True)):
        problem = _header_problem(vector, page) or _block_problem(vector, page, want)
        if problem is None and known is not None and page.payload != known.payload:
            problem = f"another payload: {first_difference(known.payload, page.payload)}"
        if problem:
            return f"page {number}: {problem}"
    return None


def _header_problem(vector: Vector, page: Page) -> str | None:
    """Checksum and compression must be as asked for."""
    options = vector.request.options
    if bool(page.marker & CHECKSUMMED) != bool(options.get("checksum")):
        return "the checksum is not as asked for"
    compressed = bool(page.marker & COMPRESSED)
    if compressed and options.get("codec", "none") == "none":
        return "it is compressed, which was not asked for"
    ratio = options.get("min_compression_ratio", _RATIOS[str(options.get("dialect", "presto"))])
    if compressed and page.size > ratio * page.uncompressed_size:
        return (
            f"compressed to {page.size} of "
            f"{counted(page.uncompressed_size, 'byte')}, which does not pay"
        )
    return None


def _block_problem(vector: Vector, page: Page, want: Expected) -> str | None:
    """What tells the values of a written page from those handed over."""
    if page.rows != want.rows:
        return f"{counted(want.rows, 'row')} expected, {page.rows} were written"
    for field, type_, block, column in zip(
        vector.request.fields, vector.types, page.columns, want.columns, strict=True
    ):
        values = block_values(block, type_, vector.timestamps)
        if (row := first_unlike(column, values)) is not None:
            given, came = column[row], values[row]
            return f"column {field.name!r}, row {row}: {given!r} was given, {came!r} was written"
    return None


def first_difference(want: bytes, have: bytes) -> str:
    """Where two byte strings part."""
    for at, (a, b) in enumerate(zip(want, have, strict=False)):
        if a != b:
            lengths = (
                ""
                if len(want) == len(have)
                else f" ({counted(len(want), 'byte')} against {len(have):,})"
            )
            return f"byte {at} must be {a:02x}, it is {b:02x}{lengths}"
    return f"{counted(len(want), 'byte')} expected, {len(have):,} came"
