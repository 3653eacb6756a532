/* Columns as they come out of a page: buffers in Arrow's layout, not yet an Arrow array. */
#ifndef SEAM_PRESTO_COLUMN_H
#define SEAM_PRESTO_COLUMN_H

#include "presto/presto_values.h"

#include "seam/memory.h"

/* What all columns of a page draw on. */
struct presto_budget {
    struct seam_allocator *allocator;
    int64_t limit_bytes;
    int64_t used_bytes; /* taken so far, whether still alive or not */
};

enum presto_form {
    PRESTO_FLAT,
    PRESTO_IN_DICTIONARY, /* offsets hold the ids; child 0: the entries */
    PRESTO_IN_RUN,        /* one run; child 0: its one row */
};

/* All zero is an empty column. Buffers and children belong to the column. */
struct presto_column {
    const struct presto_type *type;
    enum presto_form form;
    int64_t length;
    int64_t null_count;
    uint8_t *validity; /* presto_bitmap_bytes(length), or NULL without nulls */
    uint8_t *data;
    int32_t *offsets; /* length + 1, or `length` ids of a dictionary */
    int32_t n_children;
    struct presto_column *children;
};

/* A block within the budget. SEAM_UNSUPPORTED when the limit would be passed. */
int presto_take(struct presto_budget *budget, int64_t size_bytes, void **out,
                struct seam_error *error);
int presto_make_children(struct presto_budget *budget, struct presto_column *column, int32_t n,
                         struct seam_error *error);
/* Gives everything back and leaves the column empty. */
void presto_column_reset(struct presto_column *column);

/* Bytes of the data buffer of `rows` rows of fixed width. */
int64_t presto_data_bytes(const struct presto_type *type, int64_t rows);

/* A column of nothing but nulls. */
int presto_all_null(struct presto_budget *budget, const struct presto_type *type, int64_t rows,
                    struct presto_column *out, struct seam_error *error);

/* Makes room for rows that the page left out: the column's rows become those of the set bits of
 * `present`, a validity bitmap of `rows` rows; the others become null. */
int presto_spread(struct presto_budget *budget, struct presto_column *column,
                  const uint8_t *present, int64_t rows, struct seam_error *error);

/* `column` without dictionaries and runs (none below either): a flat column whose row i is row
 * ids[i] of `column`, or row 0 where `ids` is NULL; every id must be a row. `column` is left as it
 * is. */
int presto_gather(struct presto_budget *budget, const struct presto_column *column,
                  const int32_t *ids, int64_t n, struct presto_column *out,
                  struct seam_error *error);

/* Moves a column into an Arrow array; afterwards it is empty, whether that succeeded or not. */
int presto_export(struct presto_budget *budget, struct presto_column *column,
                  struct ArrowArray *out, struct seam_error *error);

#endif
