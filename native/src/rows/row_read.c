#include "rows/row_read.h"

#include "base/utf8.h"

int row_bad(const struct row_reader *reader, const struct seam_row_type *type, const uint8_t *at,
            const char *what) {
    return seam_fail(reader->error, SEAM_BAD_INPUT, at - reader->data, "row %lld: column '%s' %s",
                     (long long)reader->row, type->name, what);
}

int row_bad_at(struct row_reader *reader, const struct row_block *block,
               const struct row_column *column, int64_t i, int64_t offset, const char *what) {
    reader->row = block->first + i;
    return row_bad(reader, column->type, block->row[i] + offset, what);
}

int row_read_null(struct row_reader *reader, struct row_column *column, const uint8_t *at) {
    if (!column->type->nullable) {
        return row_bad(reader, column->type, at, "is null, which its type does not allow");
    }
    return row_append_null(column, reader->error);
}

int row_read_bytes(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                   int64_t size_bytes) {
    int unused;
    if (column->type->kind == SEAM_ROW_STRING && !seam_utf8_valid(at, size_bytes, &unused)) {
        return row_bad(reader, column->type, at, "is not valid UTF-8");
    }
    return row_append_bytes(column, at, size_bytes, reader->error);
}

int row_read_decimal(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                     int64_t high, uint64_t low) {
    if (!row_decimal_fits(high, low, seam_power_of_ten(column->type->precision))) {
        return row_bad(reader, column->type, at, "has more digits than its type");
    }
    return row_append_decimal(column, high, low, reader->error);
}

int row_read_short_decimal(struct row_reader *reader, struct row_column *column,
                           const uint8_t *at) {
    uint64_t low = seam_load64(at);
    return row_read_decimal(reader, column, at, (int64_t)low >> 63, low);
}

int row_read_boolean(struct row_reader *reader, struct row_column *column, const uint8_t *at) {
    if (*at > 1) {
        return row_bad(reader, column->type, at, "is a boolean that is neither 0 nor 1");
    }
    return row_append_boolean(column, *at == 1, reader->error);
}

/* ---- a block ---- */

int row_read_frames(struct seam_allocator *allocator, const struct seam_row_type *root,
                    const struct seam_row_frames *frames, int64_t least_bytes, row_read_block *read,
                    struct ArrowArray *out, struct seam_error *error) {
    struct row_reader reader = {
        .data = frames->data, .end = frames->data + frames->size_bytes, .error = error};
    struct row_cursor cursor = {.row = 0};
    struct row_block block;
    SEAM_TRY(row_builder_init(&reader.builder, allocator, root, frames, least_bytes, error));
    int code = SEAM_OK;
    while (cursor.row < frames->count && code == SEAM_OK) {
        code = seam_row_block_next(frames, &cursor, &block, error);
        if (code == SEAM_OK) {
            row_builder_progress(&reader.builder, frames, &block);
            code = read(&reader, &block);
        }
    }
    if (code == SEAM_OK) {
        code = row_builder_finish(&reader.builder, out, error);
    }
    row_builder_reset(&reader.builder);
    return code;
}

bool row_find_nulls(const struct row_block *block, struct row_field *field) {
    int64_t byte = field->number >> 3;
    int shift = (int)(field->number & 7);
    uint8_t any = 0;
    for (int64_t i = 0; i < block->count; i++) {
        field->null[i] = block->row[i][byte] >> shift & 1;
        any |= field->null[i];
    }
    memset(field->null + block->count, 0, (size_t)(ROW_BLOCK - block->count));
    return any != 0;
}

int row_check_nulls(struct row_reader *reader, const struct row_block *block,
                    const struct row_field *field, const struct row_column *column) {
    for (int64_t i = 0; field->any_null && !column->type->nullable && i < block->count; i++) {
        if (field->null[i]) {
            return row_bad_at(reader, block, column, i, field->number >> 3,
                              "is null, which its type does not allow");
        }
    }
    return SEAM_OK;
}

/* ---- strings of a block ---- */

/* Strings of up to so many bytes are copied in one piece of just that size, which may pass both
 * ends: `to` has so much to spare, `from` where `end` says so. */
enum { PIECE_BYTES = 64 };

ROW_INLINE void copy_strings(uint8_t *to, const uint8_t *const *from, const int64_t *sizes,
                             int64_t count, const uint8_t *end, int64_t piece_bytes) {
    for (int64_t i = 0; i < count; i++) {
        int64_t size = sizes[i];
        if (piece_bytes > 0 && end - from[i] >= piece_bytes) {
            memcpy(to, from[i], (size_t)piece_bytes);
        } else {
            memcpy(to, from[i], (size_t)size);
        }
        to += size;
    }
}

static bool all_ascii(const uint8_t *bytes, int64_t size_bytes) {
    uint8_t any = 0;
    for (int64_t i = 0; i < size_bytes; i++) {
        any |= bytes[i];
    }
    return any < 0x80;
}

static int check_utf8(struct row_reader *reader, const struct row_column *column, int64_t count,
                      const uint8_t *const *from, const int64_t *sizes) {
    int64_t first_row = reader->row;
    for (int64_t i = 0; i < count; i++) {
        int unused;
        if (!seam_utf8_valid(from[i], sizes[i], &unused)) {
            reader->row = first_row + i;
            return row_bad(reader, column->type, from[i], "is not valid UTF-8");
        }
    }
    return SEAM_OK;
}

int row_block_strings(struct row_reader *reader, struct row_column *column, int64_t count,
                      const uint8_t *const *from, const int64_t *sizes) {
    int64_t total = 0;
    int64_t largest = 0;
    for (int64_t i = 0; i < count; i++) {
        total += sizes[i];
        largest = sizes[i] > largest ? sizes[i] : largest;
    }
    if (total > INT32_MAX - column->data.size_bytes) {
        return row_too_long(column, "bytes", reader->error);
    }
    struct row_builder *builder = &reader->builder;
    SEAM_TRY(row_room(builder, &column->data, total + PIECE_BYTES, reader->error));
    SEAM_TRY(row_room(builder, &column->offsets, 4 * count, reader->error));
    uint8_t *begin = column->data.data + column->data.size_bytes;
    uint8_t *offsets = column->offsets.data + column->offsets.size_bytes;
    uint32_t offset = (uint32_t)column->data.size_bytes;
    for (int64_t i = 0; i < count; i++) {
        offset += (uint32_t)sizes[i];
        seam_store32(offsets + 4 * i, offset);
    }
    if (largest <= 16) {
        copy_strings(begin, from, sizes, count, reader->end, 16);
    } else if (largest <= 32) {
        copy_strings(begin, from, sizes, count, reader->end, 32);
    } else if (largest <= PIECE_BYTES) {
        copy_strings(begin, from, sizes, count, reader->end, PIECE_BYTES);
    } else {
        copy_strings(begin, from, sizes, count, reader->end, 0);
    }
    column->data.size_bytes += total;
    column->offsets.size_bytes += 4 * count;
    if (column->type->kind == SEAM_ROW_STRING && !all_ascii(begin, total)) {
        return check_utf8(reader, column, count, from, sizes);
    }
    return SEAM_OK;
}
