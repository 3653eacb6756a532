#include "rows/unsafe_row_nested.h"

static int read_element(struct row_reader *reader, struct row_column *column,
                        struct unsafe_region *region, const uint8_t *at, bool null) {
    const struct seam_row_type *type = column->type;
    if (null) {
        return row_read_null(reader, column, at);
    }
    switch (type->kind) {
    case SEAM_ROW_VOID:
        return row_bad(reader, type, at, "is void, but holds a value");
    case SEAM_ROW_BOOLEAN:
        return row_read_boolean(reader, column, at);
    case SEAM_ROW_FIXED:
        return row_append_fixed(column, at, type->width_bytes, reader->error);
    case SEAM_ROW_SHORT_DECIMAL:
        return row_read_short_decimal(reader, column, at);
    default:
        return unsafe_read_tail(reader, column, region, at);
    }
}

static bool all_zero(const uint8_t *at, int64_t size_bytes) {
    uint64_t any = 0;
    for (int64_t i = 0; i < size_bytes; i += 8) {
        any |= seam_load64(at + i);
    }
    return any == 0;
}

static int read_array(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                      int64_t size_bytes) {
    const struct seam_row_type *type = column->type;
    int64_t count = size_bytes < 8 ? -1 : (int64_t)seam_load64(at);
    /* Compared before it is multiplied: it may be any number. Each element has a null bit. */
    bool fits = count >= 0 && count <= 8 * size_bytes;
    /* Which of both wrote an array of void, its size tells. */
    bool is_spark = !fits || 8 + unsafe_null_bytes(count) < size_bytes;
    int64_t width = unsafe_element_bytes(type, is_spark ? SEAM_UNSAFE_SPARK : SEAM_UNSAFE_VELOX);
    if (!fits || 8 + unsafe_null_bytes(count) + count * width > size_bytes) {
        return row_bad(reader, type, at, "is an element of an array that is longer than its bytes");
    }
    const uint8_t *nulls = at + 8;
    const uint8_t *element = nulls + unsafe_null_bytes(count);
    if (type->kind == SEAM_ROW_FIXED && all_zero(nulls, element - nulls)) {
        return row_append_many(column, element, count, reader->error);
    }
    struct unsafe_region region = {
        .base = at, .size_bytes = size_bytes, .used_bytes = element - at + count * width};
    for (int64_t i = 0; i < count; i++, element += width) {
        SEAM_TRY(read_element(reader, column, &region, element, seam_bit(nulls, i)));
    }
    return SEAM_OK;
}

static int read_map(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                    int64_t size_bytes) {
    struct row_column *keys = &column->children[0];
    struct row_column *values = &column->children[1];
    int64_t key_bytes = size_bytes < 8 ? -1 : (int64_t)seam_load64(at);
    if (key_bytes < 0 || key_bytes > size_bytes - 8) {
        return row_bad(reader, column->type, at, "is a map whose keys are longer than its bytes");
    }
    SEAM_TRY(read_array(reader, keys, at + 8, key_bytes));
    SEAM_TRY(read_array(reader, values, at + 8 + key_bytes, size_bytes - 8 - key_bytes));
    if (keys->length != values->length) {
        return row_bad(reader, column->type, at, "is a map with fewer keys or values than others");
    }
    return SEAM_OK;
}

static int read_row(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                    int64_t size_bytes) {
    int64_t head = unsafe_head_bytes(column->n_children);
    if (size_bytes < head) {
        return row_bad(reader, column->type, at, "is a struct too short for its fields");
    }
    struct unsafe_region region = {.base = at, .size_bytes = size_bytes, .used_bytes = head};
    const uint8_t *slot = at + unsafe_null_bytes(column->n_children);
    for (int32_t i = 0; i < column->n_children; i++, slot += 8) {
        SEAM_TRY(read_element(reader, &column->children[i], &region, slot, seam_bit(at, i)));
    }
    return SEAM_OK;
}

static int read_long_decimal(struct row_reader *reader, struct row_column *column,
                             const uint8_t *at, int64_t size_bytes) {
    int64_t high;
    uint64_t low;
    if (size_bytes < 1 || size_bytes > UNSAFE_PLACE_BYTES) {
        return row_bad(reader, column->type, at, "is a decimal of no or of more than 16 bytes");
    }
    row_decimal_load(at, size_bytes, &high, &low);
    return row_read_decimal(reader, column, at, high, low);
}

int unsafe_read_tail(struct row_reader *reader, struct row_column *column,
                     struct unsafe_region *region, const uint8_t *slot) {
    uint64_t where = seam_load64(slot);
    const char *wrong = unsafe_slot_wrong(where, region->size_bytes, region->used_bytes);
    if (wrong != NULL) {
        return row_bad(reader, column->type, slot, wrong);
    }
    const uint8_t *at = region->base + (where >> 32);
    int64_t size = (int64_t)(where & UINT32_MAX);
    if (size > 0) {
        region->used_bytes = at - region->base + size;
    }
    switch (column->type->kind) {
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        return row_read_bytes(reader, column, at, size);
    case SEAM_ROW_LONG_DECIMAL:
        return read_long_decimal(reader, column, at, size);
    case SEAM_ROW_CALENDAR:
        return size == UNSAFE_PLACE_BYTES
                   ? row_append_calendar(column, at, reader->error)
                   : row_bad(reader, column->type, slot, "is an interval of other than 16 bytes");
    case SEAM_ROW_ARRAY:
        SEAM_TRY(read_array(reader, &column->children[0], at, size));
        return row_append_list(column, reader->error);
    case SEAM_ROW_MAP:
        SEAM_TRY(read_map(reader, column, at, size));
        return row_append_list(column, reader->error);
    default:
        SEAM_TRY(read_row(reader, column, at, size));
        return row_append_struct(column, reader->error);
    }
}
