/* Merging sorted inputs into one order: what a merging exchange does with its senders.
 *
 * Rows of equal keys come by the number of their input, and within one as they were. An input whose
 * rows are not sorted is refused. A merge belongs to one thread at a time. */
#ifndef SEAM_SORTED_MERGE_H
#define SEAM_SORTED_MERGE_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/sort_key.h"

#include <stdint.h>

struct seam_sorted_merge;

/* `order` is copied. Chunks have `chunk_rows` rows, the last one fewer. */
int seam_sorted_merge_new(struct seam_allocator *allocator, const struct seam_order_key *order,
                          int32_t n_order, int32_t inputs, int64_t chunk_rows,
                          struct seam_sorted_merge **out, struct seam_error *error);
void seam_sorted_merge_free(struct seam_sorted_merge *merge);
/* The lowest input whose next batch, or end, must be told before anything can go on; -1 for none.
 */
int32_t seam_sorted_merge_wants(const struct seam_sorted_merge *merge);
/* Gives an input that is wanted its next batch, which is borrowed until the input is wanted again.
 * SEAM_BAD_INPUT, with the row as offset: it is not sorted, or not after the batch or bound before.
 */
int seam_sorted_merge_add(struct seam_sorted_merge *merge, int32_t input,
                          const struct ArrowSchema *schema, const struct ArrowArray *batch,
                          struct seam_error *error);
/* Tells of an input that is wanted a row before which nothing comes from it any more: `key` has one
 * row, of the columns of the order alone, and is not kept. SEAM_BAD_INPUT: what came is greater. */
int seam_sorted_merge_bound(struct seam_sorted_merge *merge, int32_t input,
                            const struct ArrowSchema *schema, const struct ArrowArray *key,
                            struct seam_error *error);
/* Nothing more comes from an input that is wanted. */
int seam_sorted_merge_end(struct seam_sorted_merge *merge, int32_t input, struct seam_error *error);
/* Goes on until a chunk is full, an input is wanted or all have ended. `*got` is 1 where `out` is a
 * chunk, which belongs to the caller. After a failure the merge can only be freed. */
int seam_sorted_merge_next(struct seam_sorted_merge *merge, struct ArrowArray *out, int32_t *got,
                           struct seam_error *error);

#endif
