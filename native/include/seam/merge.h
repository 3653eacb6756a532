/* Merging changes into the rows of a file: events are folded by key, then met by the base rows.
 *
 * An event is one change in the order in which it was written: a row of the log's data, or a
 * delete. Keys are typed columns, never text. Events meet each other first, the base row last
 * (docs/merge.md). What table formats do differently are parameters: whether ordering values or the
 * order of events decide, flags of single events, and whether an event is used up.
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

/* What there is to know of an event besides its columns, bits. */
enum seam_event_flag {
    /* It has no ordering value that counts, and beats whatever came before it. */
    SEAM_EVENT_UNORDERED = 1,
    /* Where an event without an ordering value stands already, it changes nothing; other events
     * take the place of such a one. */
    SEAM_EVENT_YIELDING = 2,
};

/* The events of one file. */
struct seam_events {
    const struct ArrowSchema *keys_schema; /* struct of the key columns */
    const struct ArrowArray *keys;         /* one row an event */
    const int32_t *rows;                   /* event -> row of the log's data, -1 = a delete */
    /* NULL: commit-time ordering, the last event wins. Otherwise a struct of the ordering columns,
     * one row an event, compared column by column. */
    const struct ArrowSchema *ordering_schema;
    const struct ArrowArray *ordering;
    const uint8_t *flags; /* enum seam_event_flag, one byte an event; NULL = none */
    /* Rows of the log's data if versions of a record fill each other's gaps (partial updates), so
     * that a version that lost is still needed; 0 otherwise. */
    int64_t filling_rows;
    /* 0: an event is used up by the first base row with its key, and further rows with that key
     * stay as they are; otherwise it meets every base row with its key. */
    int32_t meets_every_row;
};

/* Folds the events. The result is released with seam_merge_free. SEAM_UNSUPPORTED when a null
 * ordering value meets one that is not: there is no order between them. */
int seam_merge_new(struct seam_allocator *allocator, const struct seam_events *events,
                   struct seam_merge **out, struct seam_error *error);
void seam_merge_free(struct seam_merge *merge);

/* The same folded events once more, for another read of the base: what base rows use up there is
 * used up there alone. `merge` has met no base row, and outlives the fork; several threads may fork
 * it at a time. The result is released with seam_merge_free. */
int seam_merge_fork(struct seam_allocator *allocator, const struct seam_merge *merge,
                    struct seam_merge **out, struct seam_error *error);

/* Distinct record keys among the events. */
int64_t seam_merge_keys(const struct seam_merge *merge);

/* Decides for each row of a base batch where its values come from: `sources` gets one word a row
 * (enum seam_source). `ordering` is NULL under commit-time ordering, or when the caller
 * knows that no base row has a greater ordering value than any event. `losers` may be NULL;
 * otherwise it gets for each row that stays although it met a row of the log's data that row, and
 * -1 for the others. */
int seam_merge_probe(struct seam_merge *merge, const struct ArrowSchema *keys_schema,
                     const struct ArrowArray *keys, const struct ArrowSchema *ordering_schema,
                     const struct ArrowArray *ordering, int32_t *sources, int32_t *losers,
                     struct seam_error *error);

/* With `filling_rows`: for each row of the log's data the row that fills its gaps, -1 = none. The
 * array belongs to the merge. NULL otherwise. */
const int32_t *seam_merge_below(const struct seam_merge *merge);

/* Rows of the log's data that met no base row, in the order in which their keys first appeared.
 * `rows` has room for seam_merge_keys words; returns how many were written. */
int64_t seam_merge_rest(const struct seam_merge *merge, int32_t *rows);

#endif
