/* Keys of an order, so that two of them are compared fast: as numbers where all columns are of
 * fixed width, as bytes (seam/sort_key.h) otherwise. */
#ifndef SEAM_RANKS_H
#define SEAM_RANKS_H

#include "seam/node.h"
#include "seam/sort_key.h"

struct seam_ranks {
    int32_t n_words; /* a row; 0: `bytes` count */
    struct seam_buffer words;
    struct seam_sort_keys bytes;
    int64_t rows;
};

void seam_ranks_init(struct seam_ranks *ranks, struct seam_allocator *allocator);
void seam_ranks_reset(struct seam_ranks *ranks);
/* Ranks of the rows of `batch` by some of its columns, in place of what was there. Nulls come
 * first; with `refuse_nulls` they are SEAM_BAD_INPUT. */
int seam_ranks_fill(struct seam_ranks *ranks, const struct seam_order_key *order, int32_t n_order,
                    int32_t refuse_nulls, const struct seam_node *batch, struct seam_error *error);
/* Keeps one row of `from` as the only one of `to`. */
int seam_ranks_keep(struct seam_ranks *to, const struct seam_ranks *from, int64_t row,
                    struct seam_error *error);

static inline const uint64_t *seam_rank_words(const struct seam_ranks *ranks, int64_t row) {
    return (const uint64_t *)(const void *)ranks->words.data + row * ranks->n_words;
}

/* Below 0, 0 or above 0. Both have been filled from columns of the same types. */
static inline int seam_rank_compare(const struct seam_ranks *a, int64_t i,
                                    const struct seam_ranks *b, int64_t j) {
    if (a->n_words > 0) {
        const uint64_t *x = seam_rank_words(a, i);
        const uint64_t *y = seam_rank_words(b, j);
        for (int32_t k = 0; k < a->n_words; k++) {
            if (x[k] != y[k]) {
                return x[k] < y[k] ? -1 : 1;
            }
        }
        return 0;
    }
    const uint8_t *x, *y;
    int64_t x_bytes = seam_sort_key(&a->bytes, i, &x);
    int64_t y_bytes = seam_sort_key(&b->bytes, j, &y);
    return seam_sort_key_compare(x, x_bytes, y, y_bytes);
}

#endif
