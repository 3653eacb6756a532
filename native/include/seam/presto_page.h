/* Presto's SerializedPage: written whole, without compression and checksum; read from its payload,
 * which is what follows the header, uncompressed.
 *
 * A page says nothing of types, so both directions need a program: the logical types of the
 * columns, compiled once and usable from any number of threads. Writing goes in two steps, so that
 * the caller can allocate exactly once: a writer is opened over one Arrow batch, measures one or
 * more selections of its rows, then writes them. Reading yields an Arrow array that owns all of its
 * memory; nothing in it points into the payload.
 *
 * Layouts are those of Presto 0.296 (its BlockEncodings) and, by flag, of Velox's serializer.
 */
#ifndef SEAM_PRESTO_PAGE_H
#define SEAM_PRESTO_PAGE_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

/* How values of a type lie in a page and in Arrow. */
enum seam_presto_kind {
    SEAM_PRESTO_UNKNOWN = 0,       /* bare nulls; Arrow null */
    SEAM_PRESTO_BOOLEAN = 1,       /* a byte each; Arrow bits */
    SEAM_PRESTO_FIXED = 2,         /* `size` bytes (1, 2, 4, 8, 16), the same on both sides */
    SEAM_PRESTO_DOUBLE = 3,        /* 8 bytes; Presto's own writes know only one NaN */
    SEAM_PRESTO_TIME = 4,          /* 8 bytes of milliseconds; Arrow time32[ms] */
    SEAM_PRESTO_SHORT_DECIMAL = 5, /* 8 bytes, `size` digits; Arrow decimal128 */
    SEAM_PRESTO_LONG_DECIMAL = 6,  /* 16 bytes, sign and magnitude; Arrow decimal128 */
    SEAM_PRESTO_NANOS = 7,         /* i64 seconds, u64 nanoseconds; Arrow timestamp[ns] */
    SEAM_PRESTO_BINARY = 8,        /* VARIABLE_WIDTH; Arrow binary */
    SEAM_PRESTO_TEXT = 9,          /* VARIABLE_WIDTH of UTF-8; Arrow utf8 */
    SEAM_PRESTO_SLICE = 10,        /* VARIABLE_WIDTH of `size` bytes each; Arrow w:size */
    SEAM_PRESTO_ARRAY = 11,        /* Arrow list */
    SEAM_PRESTO_MAP = 12,          /* Arrow map */
    SEAM_PRESTO_ROW = 13,          /* Arrow struct */
};

/* One type; children follow their parent, in order (a tree in preorder). */
struct seam_presto_type {
    int32_t kind;       /* enum seam_presto_kind */
    int32_t size;       /* bytes or digits, see the kinds; else 0 */
    int32_t hashed;     /* 1 = Presto's hash of the type is known: bigint, integer, text, bytes */
    int32_t n_children; /* 1 of an array, 2 of a map, the fields of a row; else 0 */
    const char *name;   /* for messages; may be NULL */
};

struct seam_presto_program;

/* Compiles the types of a page's columns: `n_types` in all, `n_columns` of them at the top. Names
 * are copied. SEAM_BAD_ARGUMENT: the tree breaks a rule above. SEAM_UNSUPPORTED: it is nested more
 * than SEAM_NODE_DEPTH - 2 levels deep. */
int seam_presto_program_new(struct seam_allocator *allocator, const struct seam_presto_type *types,
                            int32_t n_types, int32_t n_columns, struct seam_presto_program **out,
                            struct seam_error *error);
/* Every writer and reader that uses it must be done; NULL is ignored. */
void seam_presto_program_free(struct seam_presto_program *program);

enum seam_presto_flags {
    SEAM_PRESTO_VELOX = 1,            /* Velox's choices where engines differ */
    SEAM_PRESTO_FLATTEN = 2,          /* no dictionaries, no runs */
    SEAM_PRESTO_NULLS_FIRST = 4,      /* rows: flags before the fields, no offsets (Velox) */
    SEAM_PRESTO_BUILDER = 8,          /* write what Presto's block builders leave */
    SEAM_PRESTO_HASH_TABLES = 16,     /* write a hash table with every map */
    SEAM_PRESTO_KEEP_ENCODINGS = 32,  /* Velox: dictionaries even where they do not pay */
    SEAM_PRESTO_KEEP_NULL_BYTES = 64, /* strings: bytes of null rows are written as well */
    SEAM_PRESTO_ANY_BYTES = 128,      /* reading: text need not be UTF-8 */
};

/* What Arrow does not hold of a page, one byte for each column in it, nested ones and those inside
 * dictionaries and runs included, in the order of their names in the page. */
enum seam_presto_mark {
    SEAM_PRESTO_MARK_FLAGS = 1,      /* null flags are there though no row is null */
    SEAM_PRESTO_MARK_HASH = 2,       /* a map with its hash table */
    SEAM_PRESTO_MARK_DICTIONARY = 4, /* reading only: a DICTIONARY */
    SEAM_PRESTO_MARK_RUN = 8,        /* reading only: an RLE */
    SEAM_PRESTO_MARK_BARE = 16,      /* bare nulls in place of another encoding */
};

/* Rows as int32, marker byte, bytes before compression and as they follow as int32, checksum as
 * int64. */
#define SEAM_PRESTO_HEADER_BYTES 21
/* Bytes at the end of a dictionary that say where it came from. */
#define SEAM_PRESTO_SOURCE_BYTES 24
/* Row counts on the wire are int32. */
#define SEAM_PRESTO_MAX_ROWS INT32_MAX

struct seam_presto_write_options {
    int32_t flags;          /* enum seam_presto_flags */
    const uint8_t *marks;   /* of every column in the page to come, or NULL */
    int64_t n_marks;        /* must then be exactly the number of those columns */
    const uint8_t *sources; /* SEAM_PRESTO_SOURCE_BYTES for each dictionary to come, in order */
    int64_t n_sources;      /* dictionaries beyond these get the last; with none, zeros */
};

/* A selection of rows of the batch, in the order in which they are written. */
struct seam_presto_rows {
    const int32_t *rows; /* `count` row numbers, or NULL: begin, begin + 1, ... */
    int64_t begin;
    int64_t count;
};

struct seam_presto_writer;

/* Opens a writer over a record batch (a struct array), whose buffers it borrows, as it does
 * `program` and `options`' pointers. Dictionaries and run-end encodings may stand in for any
 * column at any level. The layout of each column is checked against its type, not its logical
 * type: that is the caller's. SEAM_BAD_ARGUMENT names the column that does not fit. */
int seam_presto_writer_new(struct seam_allocator *allocator,
                           const struct seam_presto_program *program,
                           const struct ArrowSchema *schema, const struct ArrowArray *batch,
                           const struct seam_presto_write_options *options,
                           struct seam_presto_writer **out, struct seam_error *error);
void seam_presto_writer_free(struct seam_presto_writer *writer);
/* Works out one page for each of `n` selections, which stay borrowed, and the bytes of each page,
 * header included, into `sizes_bytes`. May be called once. SEAM_BAD_ARGUMENT: a row that the batch
 * does not have; SEAM_BAD_INPUT: a value that the format cannot hold (a null map key);
 * SEAM_TOO_LARGE: a page beyond 2^31 - 1 bytes or rows; SEAM_UNSUPPORTED: hash tables over keys of
 * other types than those whose hashes are known. */
int seam_presto_writer_measure(struct seam_presto_writer *writer,
                               const struct seam_presto_rows *selections, int64_t n,
                               int64_t *sizes_bytes, struct seam_error *error);
/* Writes the pages one after the other to `out`, which has room for exactly the sum of their sizes.
 * Headers say: neither compressed nor checked. SEAM_BAD_INPUT: a decimal beyond its digits. */
int seam_presto_writer_write(struct seam_presto_writer *writer, uint8_t *out,
                             struct seam_error *error);

struct seam_presto_read_options {
    int32_t flags;       /* VELOX, FLATTEN, NULLS_FIRST, ANY_BYTES */
    int32_t depth_limit; /* most levels of columns within columns */
    int64_t
        size_limit; /* most bytes that the array's buffers may take, and most rows of a column */
    int64_t base_bytes; /* added to the offsets in errors: where the payload stands in its page */
};

/* Where a page's marks and dictionary sources go; the caller calls seam_buffer_init before and
 * seam_buffer_reset after. */
struct seam_presto_trace {
    struct seam_buffer marks;
    struct seam_buffer sources;
    int32_t any; /* all marks, or-ed */
};

/* Reads a whole payload of `rows` rows into a struct array with one child per column: int32 offsets
 * throughout, a dictionary for each DICTIONARY (int32 indexes) and a run-end encoded array (int32
 * ends) for each RLE, as the marks say. Everything is checked: SEAM_BAD_INPUT carries the offset
 * and names the column; SEAM_UNSUPPORTED: a limit was reached, or a type nobody can check. */
int seam_presto_read(struct seam_allocator *allocator, const struct seam_presto_program *program,
                     const uint8_t *payload, int64_t size_bytes, int64_t rows,
                     const struct seam_presto_read_options *options,
                     struct seam_presto_trace *trace, struct ArrowArray *out,
                     struct seam_error *error);

/* Reads one column that stands alone, without page header and count of columns, as Velox's
 * serializeSingleColumn writes constants of plans; or a single map or row, a column of one row
 * here, as Presto's SingleMapBlockEncoding and SingleRowBlockEncoding write it. `program` is of one
 * column; the bytes may go on behind it: `*used_bytes` are its own. All else as seam_presto_read.
 */
int seam_presto_read_column(struct seam_allocator *allocator,
                            const struct seam_presto_program *program, const uint8_t *bytes,
                            int64_t size_bytes, const struct seam_presto_read_options *options,
                            struct seam_presto_trace *trace, int64_t *used_bytes,
                            struct ArrowArray *out, struct seam_error *error);

#endif
