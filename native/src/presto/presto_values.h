/* Values and null flags of one column between Arrow's layout and a page's. */
#ifndef SEAM_PRESTO_VALUES_H
#define SEAM_PRESTO_VALUES_H

#include "base/words.h"
#include "presto/presto_type.h"

#include "seam/view.h"

#include <string.h>

/* Some rows of a column: `count` row numbers, or NULL for begin, begin + 1, ... */
struct presto_rows {
    const int32_t *rows;
    int64_t begin;
    int64_t count;
    bool gaps; /* some numbers are below 0: nulls that the column itself does not hold */
};

static inline int64_t presto_row(const struct presto_rows *rows, int64_t i) {
    return rows->rows == NULL ? rows->begin + i : rows->rows[i];
}

static inline int64_t presto_flag_bytes(int64_t rows) {
    return (rows + 7) / 8;
}

/* Words of 64 bits, so that a bitmap of ours can always be read word by word. */
static inline int64_t presto_bitmap_bytes(int64_t rows) {
    return (rows + 63) / 64 * 8;
}

/* Up to 64 bits of a bitmap of which nothing behind the last bit may be read. */
uint64_t presto_load_bits(const uint8_t *bits, int64_t first, int64_t count);

/* Null flags of `rows` rows, the first row the highest bit of a byte and 1 = null, into a validity
 * bitmap of presto_bitmap_bytes(rows) whose unused bits become 0. Returns the number of valid rows.
 */
int64_t presto_flags_to_validity(const uint8_t *flags, int64_t rows, uint8_t *validity);
/* The way back, for rows from bit `first` on; unused bits become 0. */
void presto_validity_to_flags(const uint8_t *validity, int64_t first, int64_t rows, uint8_t *flags);

/* Values of `n` rows without nulls into Arrow's layout, from a byte's first bit on for booleans.
 * Returns the number of the first value that the type cannot have, or `n`. */
int64_t presto_decode(const struct presto_type *type, const uint8_t *wire, int64_t n,
                      uint8_t *arrow);
/* The same with nulls: `present` values for the set bits of `validity`, zeros for the others.
 * Returns the number, among the present, of the first bad value or an upper bound of it. */
int64_t presto_decode_sparse(const struct presto_type *type, const uint8_t *wire, int64_t present,
                             const uint8_t *validity, int64_t rows, uint8_t *arrow);

/* Values of rows that are all valid, out of an Arrow column, into a page. Returns false where a
 * value is beyond the digits of its type. With `one_nan` every NaN becomes Java's. */
bool presto_encode(const struct presto_type *type, const struct seam_view *view,
                   const struct presto_rows *rows, bool one_nan, uint8_t *wire);

/* Copies the values of some rows out of `data`, `width` bytes each. */
void presto_copy_values(int64_t width, const uint8_t *data, const struct presto_rows *rows,
                        uint8_t *wire);

/* Values of the valid ones among neighbouring rows, all at once, where type and machine allow it;
 * returns whether they do. */
bool presto_squeeze(const struct presto_type *type, const struct seam_view *view,
                    const struct presto_rows *rows, uint8_t *wire);

/* The rows that are not null, piece by piece. */
struct presto_pieces {
    const struct seam_view *view;
    struct presto_rows rows;
    bool whole;   /* no row is null: one piece */
    int64_t done; /* rows looked at */
    int32_t kept[1024];
};

static inline void presto_pieces_init(struct presto_pieces *pieces, const struct seam_view *view,
                                      const struct presto_rows *rows, bool any_null) {
    pieces->view = view;
    pieces->rows = *rows;
    pieces->whole = !any_null;
    pieces->done = 0;
}

/* False at the end. A piece is good until the next is asked for, and never empty. */
bool presto_pieces_next(struct presto_pieces *pieces, struct presto_rows *out);

#endif
