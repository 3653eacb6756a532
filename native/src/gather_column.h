/* One column of a gather. */
#ifndef SEAM_GATHER_COLUMN_H
#define SEAM_GATHER_COLUMN_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/node.h"

#include <stdint.h>

struct seam_gather_column {
    enum seam_node_kind kind; /* never DICTIONARY or RUNS */
    enum seam_layout layout;
    int64_t width; /* bytes of a value, or of an offset */
    int64_t rows;
    int64_t null_count;
    struct seam_buffer validity; /* a bitmap, from the first null on */
    struct seam_buffer values;   /* values, or offsets */
    struct seam_buffer bytes;    /* of strings */
    int64_t n_children;
    struct seam_gather_column *children;
    struct seam_allocator *allocator; /* borrowed */
};

int seam_gather_column_init(struct seam_gather_column *column, struct seam_allocator *allocator,
                            const struct seam_node *node, struct seam_error *error);
void seam_gather_column_reset(struct seam_gather_column *column);
/* `capacity`: rows to make room for when these are the first. */
int seam_gather_column_append(struct seam_gather_column *column, const struct seam_node *node,
                              const int32_t *rows, int64_t count, int64_t capacity,
                              struct seam_error *error);
int64_t seam_gather_column_bytes(const struct seam_gather_column *column);
int seam_gather_column_finish(struct seam_gather_column *column, struct ArrowArray *out,
                              struct seam_error *error);

#endif
