/* Keys of an order as bytes: what memcmp says of two keys is what the order says of their rows.
 *
 * Each column gives one byte for whether it is null, then its value: numbers from the highest byte
 * on, the sign turned; floats with -0 as 0 and NaN above every number; strings byte by byte with an
 * end of their own, so that no key is the beginning of another. Descending columns are inverted. */
#ifndef SEAM_SORT_KEY_H
#define SEAM_SORT_KEY_H

#include "seam/error.h"
#include "seam/memory.h"
#include "seam/node.h"

#include <stdint.h>

struct seam_order_key {
    int32_t column;
    int32_t descending;
    int32_t nulls_first; /* whatever the direction */
};

/* Keys of all rows of a batch; those of row r are bytes[offsets[r] .. offsets[r + 1]). */
struct seam_sort_keys {
    struct seam_buffer bytes;
    struct seam_buffer offsets; /* int64 */
    int64_t rows;
};

void seam_sort_keys_init(struct seam_sort_keys *keys, struct seam_allocator *allocator);
void seam_sort_keys_reset(struct seam_sort_keys *keys);
/* Fills `keys`, whatever it held before. SEAM_BAD_ARGUMENT: a column that is not there;
 * SEAM_UNSUPPORTED: one of a nested type. */
int seam_sort_keys_fill(struct seam_sort_keys *keys, const struct seam_order_key *order,
                        int32_t n_order, const struct seam_node *batch, struct seam_error *error);

static inline int64_t seam_sort_key(const struct seam_sort_keys *keys, int64_t row,
                                    const uint8_t **bytes) {
    const int64_t *offsets = (const int64_t *)(const void *)keys->offsets.data;
    *bytes = keys->bytes.data + offsets[row];
    return offsets[row + 1] - offsets[row];
}

/* Below 0, 0 or above 0. */
int seam_sort_key_compare(const uint8_t *a, int64_t a_bytes, const uint8_t *b, int64_t b_bytes);

#endif
