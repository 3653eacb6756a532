/* What appending to a stream, measuring and writing one share. */
#ifndef SEAM_PRESTO_STREAM_INTERNAL_H
#define SEAM_PRESTO_STREAM_INTERNAL_H

#include "presto/presto_values.h"

#include "seam/byte_stream.h"
#include "seam/node.h"
#include "seam/presto_stream.h"

/* One column at any level; they stand in the order of the program's types. */
struct stream_column {
    const struct presto_type *type;
    int64_t rows;
    int64_t end;                      /* the last offset: bytes, elements, entries, present rows */
    struct seam_byte_output values;   /* of rows that are not null */
    struct seam_byte_output *offsets; /* i32 a row: where it ends; NULL where widths are fixed */
    struct seam_byte_output *nulls;   /* bits, one a row; NULL before the first null */
};

struct seam_presto_stream {
    const struct seam_presto_program *program;
    int64_t rows;
    int32_t flags;
    int32_t n_types;
    bool broken; /* an append failed half-way */
    struct stream_column columns[];
};

struct seam_presto_source {
    const struct seam_presto_program *program;
    struct seam_node *batch;
};

static inline struct stream_column *stream_child(struct stream_column *column) {
    return column + 1;
}

static inline struct stream_column *stream_next(struct stream_column *column) {
    return column + column->type->span;
}

static inline const struct stream_column *stream_after(const struct stream_column *column) {
    return column + column->type->span;
}

static inline const struct stream_column *stream_nth(const struct seam_presto_stream *stream,
                                                     int32_t n) {
    const struct stream_column *column = stream->columns;
    for (int32_t i = 0; i < n; i++) {
        column = stream_after(column);
    }
    return column;
}

/* The nodes that hold a map's keys and values. */
static inline const struct seam_node *stream_entry(const struct seam_node *map, int which) {
    return &map->children[0].children[which];
}

/* Appends rows of a node, which fits the column's type. Allocates nothing but ranges. */
int presto_append_rows(struct stream_column *column, const struct seam_node *node,
                       const struct presto_rows *rows, int32_t flags, struct seam_error *error);

/* Appends the bytes of rows without nulls, `total_bytes` of all together. */
int presto_append_strings(struct stream_column *column, const struct seam_node *node,
                          const struct presto_rows *rows, int64_t total_bytes,
                          struct seam_error *error);

/* SEAM_BAD_ARGUMENT when a row of the selection is not one of `rows`. */
int presto_rows_check(const struct seam_presto_rows *selection, int64_t rows,
                      struct seam_error *error);

#endif
