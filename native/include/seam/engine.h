/* The engine's side of the seam: columns read through a meta chain, then handed on as Arrow arrays.
 *
 * Rules of the fill, per column and in this order (StarRocks, JniScanner::_fill_column):
 *
 * 1. Top-level columns, fields of structs and values of maps must be nullable in the engine;
 *    elements of arrays and keys of maps need not be.
 * 2. One word is read. 0 means "the file lacks it": every row gets the default, which is NULL where
 *    the column is nullable and else 0 or empty, and nothing more is read.
 * 3. A nullable column takes the null flags that the word points at.
 * 4. Values, or offsets and bytes, or offsets and children follow. Children have as many rows as
 *    the last offset says. A map's child of kind unknown was not asked for: default, no word read.
 *    Dates, datetimes and decimals of a chain `as_text` are read from texts: yyyy-MM-dd, the same
 *    with HH:mm:ss behind a blank and a fraction or none, and digits with a point or none, of
 *    which the column's scale loses none. They become values of our own at once.
 * 5. Types that no off-heap column holds are refused by name.
 *
 * Unlike there, a flag that is set in a column which is not nullable is an error: it would turn
 * NULL into a value. So are null flags other than 0 and 1, offsets that do not start at 0 or that
 * fall, addresses of 0 where data must be, and, when handed on, values that mean nothing. With
 * n_words a chain that is too short or too long is found, with extents any buffer of the wrong
 * size, and by that columns of another width. Nobody can tell a type of the same width, or an
 * address that is not memory.
 */
#ifndef SEAM_ENGINE_H
#define SEAM_ENGINE_H

#include "seam/arrow.h"
#include "seam/column_type.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/node.h"
#include "seam/table.h"

#include <stdint.h>

/* Deepest nesting that is followed, the column itself counted. */
#define SEAM_ENGINE_DEPTH 64

/* Types of an engine that are no kind of off-heap column: only a word of 0 can fill them. */
enum seam_engine_kind {
    SEAM_ENGINE_LARGEINT = 100,
    SEAM_ENGINE_JSON = 101,
    SEAM_ENGINE_HLL = 102,
    SEAM_ENGINE_BITMAP = 103,
    SEAM_ENGINE_PERCENTILE = 104,
};

/* What the engine expects of a column. Precision and scale count for decimals only. Children: an
 * array's element; a map's key and value (kind unknown: not asked for); a struct's fields; a
 * variant's metadata and value, both binary. */
struct seam_engine_slot {
    int32_t kind; /* enum seam_column_kind or enum seam_engine_kind */
    int32_t precision;
    int32_t scale;
    int32_t nullable;
    int32_t n_children;
    const struct seam_engine_slot *children; /* borrowed, or NULL */
    const char *name;                        /* for messages; borrowed */
};

/* Buffers of a column; which there are follows from its kind. */
enum seam_engine_buffer {
    SEAM_ENGINE_NULLS,   /* a byte per row, 1 = null; NULL in columns that are not nullable. Not
                            owned, they are the chain's or stand in the block of the next buffer */
    SEAM_ENGINE_VALUES,  /* of fixed width */
    SEAM_ENGINE_OFFSETS, /* uint32, one more than rows */
    SEAM_ENGINE_BYTES,
    SEAM_ENGINE_BUFFERS,
};

/* A column of the engine, a tree. A chunk is a struct column without null flags. Each buffer is
 * either borrowed from who wrote the chain or a block of the allocator, as `owned` tells. */
struct seam_engine_column {
    int32_t kind;
    int32_t precision;
    int32_t scale;
    uint32_t owned; /* bit i: buffer i is ours */
    int64_t rows;
    int64_t null_count;
    void *buffers[SEAM_ENGINE_BUFFERS];
    int64_t n_children;
    struct seam_engine_column *children;
    struct seam_allocator *allocator; /* borrowed */
    /* Of a chunk: who takes its columns back; see seam_engine_release_by. */
    void (*release)(void *source, int64_t index);
    void *source; /* borrowed */
};

void seam_engine_column_init(struct seam_engine_column *column, struct seam_allocator *allocator);
/* Harmless when repeated. */
void seam_engine_column_reset(struct seam_engine_column *column);

/* Reads a whole chain: `column`, emptied, becomes a struct of a column per slot, whose buffers are
 * checked and still those of the chain (but for values that were texts); they must outlive it, or
 * seam_engine_own. On failure
 * `column` is empty. SEAM_UNSUPPORTED: a type that is not held, a slot that is not nullable.
 * SEAM_BAD_ARGUMENT: slots that are no types. SEAM_BAD_INPUT: the chain breaks a rule above; the
 * error's offset is that of the word in bytes. */
int seam_engine_open(struct seam_engine_column *column, const struct seam_engine_slot *slots,
                     int64_t n_slots, const struct seam_chain *chain, struct seam_error *error);
/* From now on each column of `table`, whose chain was opened, is released as soon as it is copied,
 * be it by seam_engine_own or seam_engine_export: its memory, still in the cache, serves the next.
 */
void seam_engine_release_behind(struct seam_engine_column *column, struct seam_table *table);
/* The same for a chain that somebody else wrote: `release` is called for each column as soon as it
 * is copied. */
void seam_engine_release_by(struct seam_engine_column *column,
                            void (*release)(void *source, int64_t index), void *source);
/* Copies what is borrowed, all the way down. On failure some of it still is. */
int seam_engine_own(struct seam_engine_column *column, struct seam_error *error);
/* Both: what StarRocks' fill does. On failure `column` is empty. */
int seam_engine_fill(struct seam_engine_column *column, const struct seam_engine_slot *slots,
                     int64_t n_slots, const struct seam_chain *chain, struct seam_error *error);
/* The same from a table in the same process, whose buffers are taken over instead of copied: on
 * success all its columns are released, on failure it is as it was. */
int seam_engine_move(struct seam_engine_column *column, const struct seam_engine_slot *slots,
                     int64_t n_slots, struct seam_table *table, struct seam_error *error);

/* Moves a column into an Arrow array. Buffers that are ours are handed on without copying where
 * the layouts agree (tinyint to bigint, float, double, decimal128, string, binary, all offsets),
 * turned in place where the width allows it (boolean, date, time, datetimes), and copied once
 * otherwise (decimal32 and decimal64 widen, null flags become a bitmap); those that are borrowed
 * are copied or turned into fresh blocks in one pass.
 *
 * Arrow types: bool, int8 to int64, float, double, date32, time32[ms], timestamp[us], decimal128,
 * utf8, binary, list, map, struct (also for a variant); null for a column of kind unknown and for
 * types that no off-heap column holds. Afterwards `column` is empty, whether the export succeeded
 * or not. SEAM_BAD_INPUT: a value means nothing (a boolean of 7, text that is not UTF-8, a decimal
 * beyond its precision, a map key that is NULL, ...). */
int seam_engine_export(struct seam_engine_column *column, struct ArrowArray *out,
                       struct seam_error *error);

/* Views on an opened column as those on Arrow's arrays (seam/node.h): types as above, decimals of
 * 16 bytes. Buffers on which both agree stay the chain's, the others become blocks of the column's,
 * which must outlive the tree; seam_node_close gives that back. SEAM_BAD_INPUT as above. */
int seam_engine_view(struct seam_engine_column *column, struct seam_node **out,
                     struct seam_error *error);

#endif
