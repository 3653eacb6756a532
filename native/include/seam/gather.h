/* Columns that grow by chosen rows of batches: what a channel of an exchange collects.
 *
 * Dictionaries and runs are resolved: what is collected has the values' own type. A gather belongs
 * to one thread at a time. */
#ifndef SEAM_GATHER_H
#define SEAM_GATHER_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/node.h"

#include <stdint.h>

struct seam_gather;

/* Empty columns for batches like `batch`, a struct node. Room is made at once for `capacity` rows,
 * and after the first chunk for as many as the one before had. */
int seam_gather_new(struct seam_allocator *allocator, const struct seam_node *batch,
                    int64_t capacity, struct seam_gather **out, struct seam_error *error);
void seam_gather_free(struct seam_gather *gather);

/* Appends the rows `rows[0 .. count)` of column `index` of `batch`, whose columns are like those it
 * was made for. Every column must get the same rows; then seam_gather_advance counts them. (Column
 * by column, so that whoever fills many gathers goes over one column for all of them while it is
 * near.) After a failure the gather can only be freed. SEAM_TOO_LARGE: more than 2^31 - 1 bytes of
 * strings or elements in one column. */
int seam_gather_append(struct seam_gather *gather, const struct seam_node *batch, int64_t index,
                       const int32_t *rows, int64_t count, struct seam_error *error);
/* A new order of all rows of a batch, by part. */
struct seam_gather_order {
    const uint32_t *parts;    /* of each row as it was */
    const int32_t *starts;    /* where each part begins, and the last one ends */
    const int32_t *rows;      /* for each place the row that goes there */
    const int32_t *positions; /* for each row its place */
    int64_t count;
};

/* As seam_gather_append of all rows in a new order, to a gather that has none yet. */
int seam_gather_reorder(struct seam_gather *gather, const struct seam_node *batch, int64_t index,
                        const struct seam_gather_order *order, struct seam_error *error);
/* Brings rows [begin, begin + count) of a column near, which gathers then append in turns. */
void seam_gather_prefetch(const struct seam_node *batch, int64_t index, int64_t begin,
                          int64_t count);
void seam_gather_advance(struct seam_gather *gather, int64_t count);
int64_t seam_gather_rows(const struct seam_gather *gather);
/* Bytes of values, offsets and null bitmaps that are there now. */
int64_t seam_gather_bytes(const struct seam_gather *gather);
/* Moves what is there into a struct array; the gather is empty then. After a failure it can only be
 * freed. */
int seam_gather_finish(struct seam_gather *gather, struct ArrowArray *out,
                       struct seam_error *error);

#endif
