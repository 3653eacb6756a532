/* What the readers of both row formats share: how they complain, columns of a block of rows whose
 * values take the same bytes in every row, and columns of strings. */
#ifndef SEAM_ROW_READ_H
#define SEAM_ROW_READ_H

#include "rows/row_build.h"

struct row_reader {
    const uint8_t *data;
    const uint8_t *end;
    int64_t row; /* for messages */
    struct row_builder builder;
    struct seam_error *error;
};

/* SEAM_BAD_INPUT: `what` is wrong with a value of `type`, at `at`. */
int row_bad(const struct row_reader *reader, const struct seam_row_type *type, const uint8_t *at,
            const char *what);
/* The same of row i of a block, `offset` bytes from where that row begins. */
int row_bad_at(struct row_reader *reader, const struct row_block *block,
               const struct row_column *column, int64_t i, int64_t offset, const char *what);
/* A null as it was read, which the type may not allow. */
int row_read_null(struct row_reader *reader, struct row_column *column, const uint8_t *at);
/* A string or binary value. */
int row_read_bytes(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                   int64_t size_bytes);
/* A decimal of up to 18 digits, stored as eight bytes. */
int row_read_short_decimal(struct row_reader *reader, struct row_column *column, const uint8_t *at);
/* Appends a decimal that was found at `at`. */
int row_read_decimal(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                     int64_t high, uint64_t low);
/* A boolean: one byte, 0 or 1. */
int row_read_boolean(struct row_reader *reader, struct row_column *column, const uint8_t *at);

/* Reads rows with `read`, a block at a time, into a struct array; each has at least `least_bytes`.
 */
typedef int row_read_block(struct row_reader *reader, struct row_block *block);
int row_read_frames(struct seam_allocator *allocator, const struct seam_row_type *root,
                    const struct seam_row_frames *frames, int64_t least_bytes, row_read_block *read,
                    struct ArrowArray *out, struct seam_error *error);

/* ---- columns of a block ---- */

/* The column of a block that is read. Its value of a row lies `ahead` bytes from where the row
 * begins, or, where values `follow` those before them, from up to where the row has been read:
 * columns of one width count up `ahead` alone. `follow` is a constant of the format. */
struct row_field {
    int64_t number;
    int64_t ahead;
    bool any_null;
    uint8_t null[ROW_BLOCK]; /* counts when any_null; zeros behind the last row */
};

ROW_INLINE const uint8_t *row_at(const struct row_block *block, int64_t i, int64_t ahead,
                                 bool follow) {
    return block->row[i] + (follow ? block->used[i] : 0) + ahead;
}

/* Spreads the null bits of a field and returns whether one is set. */
bool row_find_nulls(const struct row_block *block, struct row_field *field);
/* Nulls that the type does not allow. */
int row_check_nulls(struct row_reader *reader, const struct row_block *block,
                    const struct row_field *field, const struct row_column *column);

ROW_INLINE void row_take_width(const struct row_block *block, const struct row_field *field,
                               int32_t width, bool follow, uint8_t *to) {
    int64_t count = block->count;
    int64_t ahead = field->ahead;
    if (field->any_null) {
        for (int64_t i = 0; i < count; i++) {
            uint64_t value = row_load_fixed(row_at(block, i, ahead, follow), width);
            row_store_fixed(to + i * width, value & ((uint64_t)field->null[i] - 1), width);
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = row_load_fixed(row_at(block, i, ahead, follow), width);
        row_store_fixed(to + i * width, value, width);
    }
}

/* Values of 1, 2, 4 or 8 bytes, nulls as zeros. Bytes are the caller's to check, validity too. */
ROW_INLINE int row_read_fixed(struct row_reader *reader, const struct row_block *block,
                              const struct row_field *field, struct row_column *column,
                              bool follow) {
    int32_t width = column->type->width_bytes;
    struct seam_buffer *data = &column->data;
    SEAM_TRY(row_room(&reader->builder, data, block->count * width, reader->error));
    uint8_t *to = data->data + data->size_bytes;
    switch (width) {
    case 1:
        row_take_width(block, field, 1, follow, to);
        break;
    case 2:
        row_take_width(block, field, 2, follow, to);
        break;
    case 4:
        row_take_width(block, field, 4, follow, to);
        break;
    default:
        row_take_width(block, field, 8, follow, to);
    }
    data->size_bytes += block->count * width;
    return SEAM_OK;
}

/* Decimals of up to 18 digits, as row_read_fixed. */
ROW_INLINE int row_read_short_decimals(struct row_reader *reader, const struct row_block *block,
                                       const struct row_field *field, struct row_column *column,
                                       bool follow) {
    struct seam_buffer *data = &column->data;
    uint64_t limit = (uint64_t)seam_power_of_ten(column->type->precision);
    int64_t ahead = field->ahead;
    bool wrong = false;
    SEAM_TRY(row_room(&reader->builder, data, block->count * 16, reader->error));
    uint8_t *to = data->data + data->size_bytes;
    for (int64_t i = 0; i < block->count; i++) {
        uint64_t value = seam_load64(row_at(block, i, ahead, follow));
        value &= field->any_null ? (uint64_t)field->null[i] - 1 : UINT64_MAX;
        wrong |= value + limit - 1 > 2 * limit - 2;
        seam_store64(to + 16 * i, value);
        seam_store64(to + 16 * i + 8, (uint64_t)((int64_t)value >> 63));
    }
    for (int64_t i = 0; wrong && i < block->count; i++) {
        if (seam_load64(to + 16 * i) + limit - 1 > 2 * limit - 2) {
            return row_bad_at(reader, block, column, i,
                              row_at(block, i, ahead, follow) - block->row[i],
                              "has more digits than its type");
        }
    }
    data->size_bytes += block->count * 16;
    return SEAM_OK;
}

/* Strings of a block of rows: sizes[i] bytes at from[i], which were checked to be there. A null has
 * size 0. Appends offsets and bytes, and checks UTF-8 where the type asks for it; validity is the
 * caller's. */
int row_block_strings(struct row_reader *reader, struct row_column *column, int64_t count,
                      const uint8_t *const *from, const int64_t *sizes);

#endif
