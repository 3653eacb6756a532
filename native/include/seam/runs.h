/* Merging sorted runs by key, as tables do that are trees of sorted files.
 *
 * Each run has a key once at most, in ascending order; a key may be in several runs. Rows of one
 * key are put in order by further columns, rows that tie by the number of their run. What comes out
 * says of which rows the result is made; columns themselves are put together elsewhere: in place
 * over the batches of one run, the base (seam/assemble.h), or row by row.
 *
 * Keys and orders are those of seam/sort_key.h: -0.0 and 0.0 are one key, as to the comparators
 * that Paimon generates, which ask for `>`, then for `<`; a merge of logs (seam/merge.h) has them
 * as two. NaN, which equals every number there, callers refuse.
 *
 * Batches come one by one: memory is bounded by runs times batch. A merge belongs to one thread at
 * a time. */
#ifndef SEAM_RUNS_H
#define SEAM_RUNS_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/sort_key.h"

#include <stdint.h>

struct seam_runs;

enum seam_runs_pick {
    SEAM_RUNS_LAST,  /* the last row of a key; if it is a retract the key has none */
    SEAM_RUNS_FIRST, /* the first row of a key; a retract behind it is SEAM_UNSUPPORTED */
    SEAM_RUNS_ALL,   /* all rows of a key */
};

struct seam_runs_options {
    int32_t n_runs;
    int32_t base;       /* number of the run whose batches are changed in place; -1 = none */
    int32_t n_keys;     /* columns 0 .. n_keys - 1 of every batch are the key */
    int32_t n_order;    /* those behind them order rows of one key, the weightiest first */
    int32_t descending; /* of the first so many columns of the order smaller values are later */
    int32_t ignores_retracts; /* retracts are passed over, as if they were not there */
    enum seam_runs_pick pick;
};

/* Rows that were merged. The arrays belong to the merge and last until its next call. */
struct seam_runs_rows {
    const int32_t *runs; /* the run of each row */
    const int32_t *rows; /* its number in the run's batch */
    /* ALL: 1 where a row is the first of its key. Otherwise: 1 where the row takes the place of a
     * row of the base, which `sources` refers to. */
    const uint8_t *marks;
    int64_t count;
};

/* Released with seam_runs_free. SEAM_BAD_ARGUMENT: no run, no key, a base with SEAM_RUNS_ALL. */
int seam_runs_new(struct seam_allocator *allocator, const struct seam_runs_options *options,
                  struct seam_runs **out, struct seam_error *error);
void seam_runs_free(struct seam_runs *runs);
/* The lowest run whose next batch, or end, must be told before anything can go on; -1 for none. */
int32_t seam_runs_wants(const struct seam_runs *runs);
/* Gives a run that is wanted its next batch: the key's columns and those of the order. It is
 * borrowed for this call alone, `kinds` and `sources` until the run is wanted again. `kinds` has a
 * byte a row, odd for retracts, or is NULL: no row is one. `sources` of the base gets a word a row
 * (enum seam_source): base, none, or how many rows with a mark of 1 came before the one that takes
 * its place, since this batch was given; NULL for other runs. SEAM_BAD_INPUT: a key is null, or the
 * rows are not in ascending order. SEAM_UNSUPPORTED: a column of a nested type. */
int seam_runs_add(struct seam_runs *runs, int32_t run, const struct ArrowSchema *schema,
                  const struct ArrowArray *batch, const int8_t *kinds, int32_t *sources,
                  struct seam_error *error);
/* Nothing more comes from a run that is wanted. */
int seam_runs_end(struct seam_runs *runs, int32_t run, struct seam_error *error);
/* Goes on until a run is wanted, about `most` rows came out, or all have ended. */
int seam_runs_next(struct seam_runs *runs, int64_t most, struct seam_runs_rows *out,
                   struct seam_error *error);

#endif
