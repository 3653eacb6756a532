/* Arrow arrays made of blocks of the tracked allocator: the only place with release callbacks.
 *
 * An array that is built here owns its buffers. Whoever holds it calls `release` once, from any
 * thread; the blocks then go back to their allocator.
 */
#ifndef SEAM_ARROW_BUILD_H
#define SEAM_ARROW_BUILD_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

/* Makes `*out` an array that takes over `buffers` (blocks of `allocator`, or NULL: an absent
 * validity bitmap) and `children`. `null_count` may be -1 for unknown. On failure nothing is taken
 * over: buffers and children still belong to the caller. */
int seam_array_build(struct seam_allocator *allocator, int64_t length, int64_t null_count,
                     int64_t n_buffers, void **buffers, int64_t n_children,
                     struct ArrowArray *children, struct ArrowArray *out, struct seam_error *error);

/* Makes `array`, just built here, the indexes of a dictionary: takes over `*dictionary`. On failure
 * both stay as they were. */
int seam_array_set_dictionary(struct seam_allocator *allocator, struct ArrowArray *array,
                              struct ArrowArray *dictionary, struct seam_error *error);

/* Makes a map's keys and values, `pair`, its entries: a struct of both in place of the first. On
 * failure both stay as they were. */
int seam_array_build_entries(struct seam_allocator *allocator, struct ArrowArray *pair,
                             struct seam_error *error);

/* A list of `n` arrays that are not there yet, for the children of another. */
int seam_arrays_new(struct seam_allocator *allocator, int64_t n, struct ArrowArray **out,
                    struct seam_error *error);
/* Frees such a list and returns `code`: unless that is SEAM_OK, and another array has taken them
 * over, the arrays are released. */
int seam_arrays_end(struct ArrowArray *arrays, int64_t n, int code);

/* Release what is not released already. */
void seam_array_release(struct ArrowArray *array);
void seam_schema_release(struct ArrowSchema *schema);
void seam_stream_release(struct ArrowArrayStream *stream);

#endif
