/* One column of a gather. */
#ifndef SEAM_GATHER_COLUMN_H
#define SEAM_GATHER_COLUMN_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/gather.h"
#include "seam/memory.h"
#include "seam/node.h"

#include <stdint.h>
#include <string.h>

struct seam_gather_column {
    enum seam_node_kind kind; /* never DICTIONARY or RUNS */
    enum seam_layout layout;
    int64_t width; /* bytes of a value, or of an offset */
    int64_t rows;
    int64_t null_count;
    struct seam_buffer validity; /* a bitmap, from the first null on */
    struct seam_buffer values;   /* values, or offsets */
    struct seam_buffer bytes;    /* of strings */
    int64_t bytes_before;        /* of the strings that were finished last */
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
/* Whether rows that all exist can be appended as they are: flat, fixed or with 32-bit offsets,
 * without nulls among them or before them. */
int seam_gather_is_plain(const struct seam_gather_column *column, const struct seam_node *node);
/* As seam_gather_column_append, where seam_gather_is_plain and no row is missing; `count` > 0. */
int seam_gather_append_plain(struct seam_gather_column *column, const struct seam_node *node,
                             const int32_t *rows, int64_t count, int64_t capacity,
                             struct seam_error *error);
/* All rows of a plain node in a new order, to a column that has none yet. */
int seam_gather_scatter(struct seam_gather_column *column, const struct seam_node *node,
                        const struct seam_gather_order *order, struct seam_error *error);
/* Room for `count` more values or offsets, for `capacity` of them if they are the first. */
int seam_gather_reserve_rows(struct seam_gather_column *column, int64_t count, int64_t capacity,
                             struct seam_error *error);
/* Where the bytes or elements end. */
int64_t seam_gather_last_offset(const struct seam_gather_column *column);
/* Copies values of rows that all exist. */
void seam_gather_fixed(uint8_t *target, const uint8_t *source, int64_t width, const int32_t *rows,
                       int64_t count);
/* Has rows [begin, begin + count) brought near: parts then take theirs in turns, each from all over
 * the block, where the first one would wait for memory row by row. */
void seam_gather_fetch(const struct seam_node *node, int64_t begin, int64_t count);
int64_t seam_gather_column_bytes(const struct seam_gather_column *column);
int seam_gather_column_finish(struct seam_gather_column *column, struct ArrowArray *out,
                              struct seam_error *error);

/* Bytes that strings may be read and written beyond their end, where there is room behind both:
 * words of a fixed size are copied faster than runs of any length, and without a branch that
 * depends on the length of short strings. */
#define SEAM_GATHER_SLACK 32

static inline void seam_gather_copy_string(uint8_t *target, const uint8_t *source, int64_t size,
                                           int roomy) {
    if (!roomy) {
        memcpy(target, source, (size_t)size);
        return;
    }
    memcpy(target, source, SEAM_GATHER_SLACK);
    for (int64_t at = SEAM_GATHER_SLACK; at < size; at += SEAM_GATHER_SLACK) {
        memcpy(target + at, source + at, SEAM_GATHER_SLACK);
    }
}

#endif
