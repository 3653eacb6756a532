/* Columns that grow while rows are read, and become one Arrow struct array. */
#ifndef SEAM_ROW_BUILD_H
#define SEAM_ROW_BUILD_H

#include "rows/row_internal.h"
#include "seam/arrow.h"

struct row_builder;

/* One column of the tree. A calendar interval is a struct of its three parts here. */
struct row_column {
    const struct seam_row_type *type;
    struct row_builder *builder;
    int64_t length;
    int64_t null_count;
    struct seam_buffer validity; /* empty until the first null; its size does not count */
    struct seam_buffer offsets;  /* int32, of strings, arrays and maps: length + 1 of them */
    struct seam_buffer data;     /* of booleans the size does not count */
    int32_t n_children;
    struct row_column *children;
};

struct row_builder {
    struct seam_allocator *allocator;
    struct row_column *root; /* first of one block of columns */
    int64_t n_columns;
    /* How far reading has come: buffers grow by what the rest will want if it is like this. */
    int64_t rows_done;
    int64_t rows_total;
    int64_t bytes_left; /* of input */
};

/* Columns of `root`, empty. `rows` of them are expected, each of at least `row_bytes` of the
 * `size_bytes` there are: no more is set aside beforehand than the input can hold. */
int row_builder_init(struct row_builder *builder, struct seam_allocator *allocator,
                     const struct seam_row_type *root, const struct seam_row_frames *frames,
                     int64_t row_bytes, struct seam_error *error);
void row_builder_reset(struct row_builder *builder);
/* Hands the columns over as one struct array of `rows_total` rows. */
int row_builder_finish(struct row_builder *builder, struct ArrowArray *out,
                       struct seam_error *error);

/* Takes note of the block that is about to be read. */
void row_builder_progress(struct row_builder *builder, const struct seam_row_frames *frames,
                          const struct row_block *block);

/* Room for `bytes` more than a buffer holds; counts nothing. */
int row_grow(struct row_builder *builder, struct seam_buffer *buffer, int64_t bytes,
             struct seam_error *error);

ROW_INLINE int row_room(struct row_builder *builder, struct seam_buffer *buffer, int64_t bytes,
                        struct seam_error *error) {
    return buffer->size_bytes + bytes <= buffer->capacity_bytes
               ? SEAM_OK
               : row_grow(builder, buffer, bytes, error);
}

/* SEAM_TOO_LARGE: more bytes or elements than offsets count. */
int row_too_long(const struct row_column *column, const char *what, struct seam_error *error);

/* ---- one value at a time; parents count their children ---- */

/* A null, whether or not the type allows one: below a null, or where that was checked. */
int row_append_null(struct row_column *column, struct seam_error *error);
int row_append_boolean(struct row_column *column, bool value, struct seam_error *error);
/* `width_bytes` bytes of a value, which may lie at any address. */
int row_append_fixed(struct row_column *column, const void *value, int32_t width_bytes,
                     struct seam_error *error);
/* Elements without nulls. */
int row_append_many(struct row_column *column, const uint8_t *values, int64_t count,
                    struct seam_error *error);
int row_append_decimal(struct row_column *column, int64_t high, uint64_t low,
                       struct seam_error *error);
int row_append_bytes(struct row_column *column, const uint8_t *bytes, int64_t size_bytes,
                     struct seam_error *error);
/* 16 bytes: months, days, microseconds. */
int row_append_calendar(struct row_column *column, const uint8_t *bytes, struct seam_error *error);
/* An array or map whose elements were appended to the children. */
int row_append_list(struct row_column *column, struct seam_error *error);
/* A struct whose fields were appended. */
int row_append_struct(struct row_column *column, struct seam_error *error);

/* ---- a block of rows ---- */

/* Appends the validity of `count` rows; `null` NULL: none is. The column's length, a multiple of 8,
 * counts up. */
int row_block_validity(struct row_column *column, const uint8_t *null, int64_t count,
                       struct seam_error *error);

#endif
