/* The engine's side of the seam: columns filled from a meta chain, then handed on as Arrow arrays.
 *
 * Rules of the fill, per top-level column (StarRocks' JniScanner): the engine's column must be
 * nullable; one word is read; a word of 0 means "the file lacks it": every row becomes NULL and no
 * other word is consumed; else null flags, then values or offsets and bytes follow.
 *
 * What can be checked depends on what the chain carries. Always: row counts, null flags other than
 * 0 and 1, addresses of 0 where data must be, offsets that do not start at 0 or that fall,
 * encodings that mean nothing (on export). Only with n_words: a chain that is too short or too
 * long. Only with extents: buffers of the wrong size, and by that columns of another width. Never:
 * a type of the same width, or an address that is not memory.
 */
#ifndef SEAM_ENGINE_H
#define SEAM_ENGINE_H

#include "seam/arrow.h"
#include "seam/column_type.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/table.h"

#include <stdint.h>

/* What the engine expects of a column. */
struct seam_engine_slot {
    struct seam_column_type type;
    int32_t nullable;
    const char *name; /* for messages; borrowed */
};

/* A position in a chain. Plain data: nothing to give back. */
struct seam_chain_reader {
    struct seam_chain chain;
    int64_t rows;
    int64_t position; /* of the next word */
};

/* A filled column: copies, in the layout of a vector. */
struct seam_engine_column {
    struct seam_column_type type;
    int64_t rows;
    int64_t null_count;
    uint8_t *nulls;
    uint8_t *data;
    int32_t *offsets;
    uint8_t *bytes;
    struct seam_allocator *allocator; /* borrowed */
};

/* Reads the number of rows. */
int seam_chain_reader_init(struct seam_chain_reader *reader, const struct seam_chain *chain,
                           struct seam_error *error);
/* To be called after the last column: SEAM_BAD_INPUT if the chain is known to go on. */
int seam_chain_reader_finish(const struct seam_chain_reader *reader, struct seam_error *error);

void seam_engine_column_init(struct seam_engine_column *column, struct seam_allocator *allocator);
/* Harmless when repeated. */
void seam_engine_column_reset(struct seam_engine_column *column);
/* Fills an empty column with the chain's next one. On failure `column` stays empty and the reader
 * is of no further use. SEAM_UNSUPPORTED: a type that is not held, a slot that is not nullable.
 * SEAM_BAD_INPUT: the chain breaks a rule above; the error's offset is that of the word in bytes.
 */
int seam_engine_fill(struct seam_engine_column *column, const struct seam_engine_slot *slot,
                     struct seam_chain_reader *reader, struct seam_error *error);
/* Moves a filled column into an Arrow array; buffers whose layout agrees are not copied. Arrow
 * types: bool, int8 to int64, float, double, date32, time32[ms], timestamp[us], decimal128, utf8,
 * binary. Afterwards `column` is empty, whether the export succeeded or not. SEAM_BAD_INPUT: a
 * value means nothing (a boolean of 7, text that is not UTF-8, a decimal beyond its precision,
 * ...). */
int seam_engine_export(struct seam_engine_column *column, struct ArrowArray *out,
                       struct seam_error *error);

#endif
