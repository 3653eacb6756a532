/* Merging one file slice: log events are folded by record key, then met by the base rows.
 *
 * An event is one record of a log in scan order: a row of the log's data, or a delete. Keys are
 * typed columns, never text. The rules are those of Hudi 1.2.0 (docs/merge.md):
 * log events meet each other first, the base row last.
 *
 * A merge borrows the arrays it was made from; they must outlive it. One thread at a time may use
 * it (a slice is one task).
 */
#ifndef SEAM_MERGE_H
#define SEAM_MERGE_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

struct seam_merge;

enum seam_source {
    SEAM_SOURCE_BASE = -1, /* the base row stays */
    SEAM_SOURCE_NONE = -2, /* the row is gone */
    /* 0 and above: the row of the log's data that replaces it */
};

/* The events of a slice. */
struct seam_events {
    const struct ArrowSchema *keys_schema; /* struct of the key columns */
    const struct ArrowArray *keys;         /* one row an event */
    const int32_t *rows;                   /* event -> row of the log's data, -1 = a delete */
    /* NULL: commit-time ordering, the last event wins. Otherwise a struct of the ordering columns,
     * one row an event, compared column by column. */
    const struct ArrowSchema *ordering_schema;
    const struct ArrowArray *ordering;
    /* One byte an event, or NULL: 1 marks a delete whose ordering value is the default, or of
     * another type than the column, and which therefore beats whatever came before it. */
    const uint8_t *unordered;
};

/* Folds the events. The result is released with seam_merge_free. */
int seam_merge_new(struct seam_allocator *allocator, const struct seam_events *events,
                   struct seam_merge **out, struct seam_error *error);
void seam_merge_free(struct seam_merge *merge);

/* Distinct record keys among the events. */
int64_t seam_merge_keys(const struct seam_merge *merge);

/* Decides for each row of a base batch where its values come from: `sources` gets one word a row
 * (enum seam_source). An event is used up by the first base row with its key; further base rows
 * with that key stay as they are. `ordering` is NULL under commit-time ordering, or when the caller
 * knows that no base row has a greater ordering value than any event. */
int seam_merge_probe(struct seam_merge *merge, const struct ArrowSchema *keys_schema,
                     const struct ArrowArray *keys, const struct ArrowSchema *ordering_schema,
                     const struct ArrowArray *ordering, int32_t *sources, struct seam_error *error);

/* Rows of the log's data that met no base row, in the order in which their keys first appeared.
 * `rows` has room for seam_merge_keys words; returns how many were written. */
int64_t seam_merge_rest(const struct seam_merge *merge, int32_t *rows);

#endif
