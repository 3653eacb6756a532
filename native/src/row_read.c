#include "row_read.h"

#include "utf8.h"

int row_bad(const struct row_reader *reader, const struct seam_row_type *type, const uint8_t *at,
            const char *what) {
    return seam_fail(reader->error, SEAM_BAD_INPUT, at - reader->data, "row %lld: column '%s' %s",
                     (long long)reader->row, type->name, what);
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
    if (!row_decimal_fits(high, low, row_decimal_limit(column->type->precision))) {
        return row_bad(reader, column->type, at, "has more digits than its type");
    }
    return row_append_decimal(column, high, low, reader->error);
}

int row_read_short_decimal(struct row_reader *reader, struct row_column *column,
                           const uint8_t *at) {
    uint64_t low = row_load64(at);
    return row_read_decimal(reader, column, at, (int64_t)low >> 63, low);
}

int row_read_boolean(struct row_reader *reader, struct row_column *column, const uint8_t *at) {
    if (*at > 1) {
        return row_bad(reader, column->type, at, "is a boolean that is neither 0 nor 1");
    }
    return row_append_boolean(column, *at == 1, reader->error);
}

/* ---- strings of a block ---- */

enum { COPY_STEP = 16, COPY_INLINE = 128 };

/* Copies in steps that may pass both ends, where `from` has so many bytes to spare; `to` has. */
ROW_INLINE void copy_string(uint8_t *to, const uint8_t *from, int64_t size_bytes,
                            const uint8_t *end) {
    if (size_bytes > COPY_INLINE || end - from < size_bytes + COPY_STEP) {
        memcpy(to, from, (size_t)size_bytes);
        return;
    }
    for (int64_t i = 0; i < size_bytes; i += COPY_STEP) {
        memcpy(to + i, from + i, COPY_STEP);
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
    for (int64_t i = 0; i < count; i++) {
        total += sizes[i];
    }
    if (total > INT32_MAX - column->data.size_bytes) {
        return seam_fail(reader->error, SEAM_TOO_LARGE, -1,
                         "column '%s' would hold more than 2^31 - 1 bytes: read fewer rows at a "
                         "time",
                         column->type->name);
    }
    struct row_builder *builder = &reader->builder;
    int code = row_room(builder, &column->data, total + COPY_STEP, reader->error);
    if (code == SEAM_OK) {
        code = row_room(builder, &column->offsets, 4 * count, reader->error);
    }
    if (code != SEAM_OK) {
        return code;
    }
    uint8_t *begin = column->data.data + column->data.size_bytes;
    uint8_t *to = begin;
    uint8_t *offsets = column->offsets.data + column->offsets.size_bytes;
    uint32_t offset = (uint32_t)column->data.size_bytes;
    const uint8_t *end = reader->end;
    for (int64_t i = 0; i < count; i++) {
        int64_t size = sizes[i];
        copy_string(to, from[i], size, end);
        to += size;
        offset += (uint32_t)size;
        row_store32(offsets + 4 * i, offset);
    }
    column->data.size_bytes += total;
    column->offsets.size_bytes += 4 * count;
    if (column->type->kind == SEAM_ROW_STRING && !all_ascii(begin, total)) {
        return check_utf8(reader, column, count, from, sizes);
    }
    return SEAM_OK;
}
