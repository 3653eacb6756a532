#include "rows/row_build.h"

#include "seam/arrow_build.h"

static const struct seam_row_type CALENDAR_PARTS[] = {
    {.kind = SEAM_ROW_FIXED, .width_bytes = 4, .nullable = 1, .name = "months"},
    {.kind = SEAM_ROW_FIXED, .width_bytes = 4, .nullable = 1, .name = "days"},
    {.kind = SEAM_ROW_FIXED, .width_bytes = 8, .nullable = 1, .name = "micros"},
};
enum { N_CALENDAR_PARTS = 3 };

static const struct seam_row_type *parts_of(const struct seam_row_type *type, int32_t *count) {
    *count = type->kind == SEAM_ROW_CALENDAR ? (int32_t)N_CALENDAR_PARTS : type->n_children;
    return type->kind == SEAM_ROW_CALENDAR ? CALENDAR_PARTS : type->children;
}

static int64_t count_columns(const struct seam_row_type *type) {
    int32_t n_parts;
    const struct seam_row_type *parts = parts_of(type, &n_parts);
    int64_t count = 1;
    for (int32_t i = 0; i < n_parts; i++) {
        count += count_columns(&parts[i]);
    }
    return count;
}

/* Puts a column's children behind all columns laid out so far. */
static struct row_column *lay_out(struct row_builder *builder, struct row_column *column,
                                  const struct seam_row_type *type, struct row_column *next) {
    int32_t n_parts;
    const struct seam_row_type *parts = parts_of(type, &n_parts);
    *column = (struct row_column){.type = type,
                                  .builder = builder,
                                  .n_children = n_parts,
                                  .children = n_parts == 0 ? NULL : next};
    seam_buffer_init(&column->validity, builder->allocator);
    seam_buffer_init(&column->offsets, builder->allocator);
    seam_buffer_init(&column->data, builder->allocator);
    next += n_parts;
    for (int32_t i = 0; i < n_parts; i++) {
        next = lay_out(builder, &column->children[i], &parts[i], next);
    }
    return next;
}

static bool has_offsets(const struct seam_row_type *type) {
    return type->kind == SEAM_ROW_STRING || type->kind == SEAM_ROW_BINARY ||
           type->kind == SEAM_ROW_ARRAY || type->kind == SEAM_ROW_MAP;
}

/* Bytes of a value's data in Arrow; 0 where that is no fixed number of bytes. */
static int64_t arrow_width(const struct seam_row_type *type) {
    bool decimal = type->kind == SEAM_ROW_SHORT_DECIMAL || type->kind == SEAM_ROW_LONG_DECIMAL;
    return decimal ? 16 : type->kind == SEAM_ROW_FIXED ? type->width_bytes : 0;
}

static int set_capacity(struct row_builder *builder, struct seam_buffer *buffer, int64_t bytes,
                        struct seam_error *error) {
    void *block = buffer->data;
    int code = seam_realloc(builder->allocator, &block, (size_t)bytes, error);
    if (code == SEAM_OK) {
        buffer->data = block;
        buffer->capacity_bytes = bytes;
    }
    return code;
}

/* Room for `rows` in a column and in what is as long as it; and the first of its offsets. */
static int expect(struct row_builder *builder, struct row_column *column, int64_t rows,
                  struct seam_error *error) {
    const struct seam_row_type *type = column->type;
    int64_t bytes = type->kind == SEAM_ROW_BOOLEAN ? (rows + 7) / 8 : rows * arrow_width(type);
    bool fields = type->kind == SEAM_ROW_STRUCT || type->kind == SEAM_ROW_CALENDAR;
    int code = bytes == 0 ? SEAM_OK : set_capacity(builder, &column->data, bytes, error);
    if (code == SEAM_OK && has_offsets(type)) {
        code = set_capacity(builder, &column->offsets, 4 * (rows + 1), error);
        if (code == SEAM_OK) {
            row_store32(column->offsets.data, 0);
            column->offsets.size_bytes = 4;
        }
    }
    for (int32_t i = 0; i < column->n_children && code == SEAM_OK; i++) {
        code = expect(builder, &column->children[i], fields ? rows : 0, error);
    }
    return code;
}

int row_builder_init(struct row_builder *builder, struct seam_allocator *allocator,
                     const struct seam_row_type *root, const struct seam_row_frames *frames,
                     int64_t row_bytes, struct seam_error *error) {
    void *block;
    int64_t held = row_bytes == 0 ? frames->count : frames->size_bytes / row_bytes;
    *builder = (struct row_builder){.allocator = allocator,
                                    .n_columns = count_columns(root),
                                    .rows_total = frames->count,
                                    .bytes_left = frames->size_bytes};
    int code = seam_alloc(allocator, (size_t)builder->n_columns * sizeof(struct row_column), &block,
                          error);
    if (code != SEAM_OK) {
        return code;
    }
    builder->root = block;
    lay_out(builder, builder->root, root, builder->root + 1);
    code = expect(builder, builder->root, held < frames->count ? held : frames->count, error);
    if (code != SEAM_OK) {
        row_builder_reset(builder);
    }
    return code;
}

void row_builder_reset(struct row_builder *builder) {
    for (int64_t i = 0; builder->root != NULL && i < builder->n_columns; i++) {
        seam_buffer_reset(&builder->root[i].validity);
        seam_buffer_reset(&builder->root[i].offsets);
        seam_buffer_reset(&builder->root[i].data);
    }
    seam_free(builder->root);
    builder->root = NULL;
}

void row_builder_progress(struct row_builder *builder, const struct seam_row_frames *frames,
                          const struct row_block *block) {
    int64_t last = block->count - 1;
    builder->rows_done = block->first + block->count;
    builder->bytes_left =
        frames->size_bytes - (block->row[last] + block->length[last] - frames->data);
}

int row_grow(struct row_builder *builder, struct seam_buffer *buffer, int64_t bytes,
             struct seam_error *error) {
    int64_t needed = buffer->size_bytes + bytes;
    int64_t done = builder->rows_done > 0 ? builder->rows_done : 1;
    double rest = (double)needed / (double)done * (double)(builder->rows_total - done) * 1.02;
    /* The rest can hardly take more than what is left of the input, and guesses from a few large
     * rows must not. An eighth more at least, so that a column is not copied again and again. */
    int64_t extra = rest < (double)builder->bytes_left ? (int64_t)rest : builder->bytes_left;
    extra = extra > needed / 8 ? extra : needed / 8;
    return set_capacity(builder, buffer, needed + extra + SEAM_ALIGNMENT, error);
}

/* ---- one value ---- */

/* Room for the bit of the next row; a fresh byte is cleared. */
static int room_for_bit(struct row_column *column, struct seam_buffer *bits,
                        struct seam_error *error) {
    bits->size_bytes = column->length >> 3;
    int code = row_room(column->builder, bits, 1, error);
    if (code == SEAM_OK && (column->length & 7) == 0) {
        bits->data[column->length >> 3] = 0;
    }
    return code;
}

static void put_bit(struct seam_buffer *bits, int64_t row, bool value) {
    bits->data[row >> 3] = (uint8_t)(bits->data[row >> 3] | value << (row & 7));
}

/* The first null: all rows so far were valid. */
static int begin_validity(struct row_column *column, struct seam_error *error) {
    int64_t bytes = (column->length + 7) / 8;
    int code = row_room(column->builder, &column->validity, bytes + 1, error);
    if (code == SEAM_OK) {
        memset(column->validity.data, 0xFF, (size_t)bytes);
        /* Bits of rows to come are put into a cleared place. */
        if ((column->length & 7) != 0) {
            column->validity.data[bytes - 1] = (uint8_t)((1 << (column->length & 7)) - 1);
        }
    }
    return code;
}

static int count_row(struct row_column *column, bool valid, struct seam_error *error) {
    int code = SEAM_OK;
    if (!valid && column->validity.data == NULL) {
        code = begin_validity(column, error);
    }
    if (code == SEAM_OK && column->validity.data != NULL) {
        code = room_for_bit(column, &column->validity, error);
        if (code == SEAM_OK) {
            put_bit(&column->validity, column->length, valid);
        }
    }
    if (code == SEAM_OK) {
        column->length += 1;
        column->null_count += !valid;
    }
    return code;
}

static int too_long(const struct row_column *column, const char *what, struct seam_error *error) {
    return seam_fail(error, SEAM_TOO_LARGE, -1,
                     "column '%s' would hold more than 2^31 - 1 %s: read fewer rows at a time",
                     column->type->name, what);
}

static int push_offset(struct row_column *column, int64_t offset, const char *what,
                       struct seam_error *error) {
    if (offset > INT32_MAX) {
        return too_long(column, what, error);
    }
    int code = row_room(column->builder, &column->offsets, 4, error);
    if (code == SEAM_OK) {
        row_store32(column->offsets.data + column->offsets.size_bytes, (uint32_t)offset);
        column->offsets.size_bytes += 4;
    }
    return code;
}

static int push_data(struct row_column *column, const void *bytes, int64_t size_bytes,
                     struct seam_error *error) {
    int code = row_room(column->builder, &column->data, size_bytes, error);
    if (code == SEAM_OK && size_bytes > 0) {
        memcpy(column->data.data + column->data.size_bytes, bytes, (size_t)size_bytes);
        column->data.size_bytes += size_bytes;
    }
    return code;
}

int row_append_null(struct row_column *column, struct seam_error *error) {
    static const uint8_t ZEROS[16] = {0};
    const struct seam_row_type *type = column->type;
    int code = SEAM_OK;
    if (type->kind == SEAM_ROW_BOOLEAN) {
        code = room_for_bit(column, &column->data, error);
    } else if (has_offsets(type)) {
        code = push_offset(
            column, (int32_t)row_load32(column->offsets.data + column->offsets.size_bytes - 4),
            "bytes", error);
    } else {
        code = push_data(column, ZEROS, arrow_width(type), error);
    }
    bool fields = type->kind == SEAM_ROW_STRUCT || type->kind == SEAM_ROW_CALENDAR;
    for (int32_t i = 0; fields && i < column->n_children && code == SEAM_OK; i++) {
        code = row_append_null(&column->children[i], error);
    }
    if (type->kind == SEAM_ROW_VOID) {
        column->length += code == SEAM_OK;
        return code;
    }
    return code == SEAM_OK ? count_row(column, false, error) : code;
}

int row_append_boolean(struct row_column *column, bool value, struct seam_error *error) {
    int code = room_for_bit(column, &column->data, error);
    if (code == SEAM_OK) {
        put_bit(&column->data, column->length, value);
        code = count_row(column, true, error);
    }
    return code;
}

int row_append_fixed(struct row_column *column, const void *value, int32_t width_bytes,
                     struct seam_error *error) {
    int code = push_data(column, value, width_bytes, error);
    return code == SEAM_OK ? count_row(column, true, error) : code;
}

int row_append_many(struct row_column *column, const uint8_t *values, int64_t count,
                    struct seam_error *error) {
    int code = push_data(column, values, count * column->type->width_bytes, error);
    if (code == SEAM_OK && column->validity.data == NULL) {
        column->length += count;
        return SEAM_OK;
    }
    for (int64_t i = 0; i < count && code == SEAM_OK; i++) {
        code = count_row(column, true, error);
    }
    return code;
}

int row_append_decimal(struct row_column *column, int64_t high, uint64_t low,
                       struct seam_error *error) {
    uint8_t bytes[16];
    row_store64(bytes, low);
    row_store64(bytes + 8, (uint64_t)high);
    return row_append_fixed(column, bytes, sizeof bytes, error);
}

int row_append_bytes(struct row_column *column, const uint8_t *bytes, int64_t size_bytes,
                     struct seam_error *error) {
    int code = push_offset(column, column->data.size_bytes + size_bytes, "bytes", error);
    if (code == SEAM_OK) {
        code = push_data(column, bytes, size_bytes, error);
    }
    return code == SEAM_OK ? count_row(column, true, error) : code;
}

int row_append_calendar(struct row_column *column, const uint8_t *bytes, struct seam_error *error) {
    int code = row_append_fixed(&column->children[0], bytes, 4, error);
    code = code == SEAM_OK ? row_append_fixed(&column->children[1], bytes + 4, 4, error) : code;
    code = code == SEAM_OK ? row_append_fixed(&column->children[2], bytes + 8, 8, error) : code;
    return code == SEAM_OK ? count_row(column, true, error) : code;
}

int row_append_list(struct row_column *column, struct seam_error *error) {
    int code = push_offset(column, column->children[0].length, "elements", error);
    return code == SEAM_OK ? count_row(column, true, error) : code;
}

int row_append_struct(struct row_column *column, struct seam_error *error) {
    return count_row(column, true, error);
}

/* ---- a block of rows ---- */

int row_block_validity(struct row_column *column, const uint8_t *null, int64_t count,
                       struct seam_error *error) {
    int64_t nulls = 0;
    for (int64_t i = 0; null != NULL && i < count; i++) {
        nulls += null[i];
    }
    int code = SEAM_OK;
    if (nulls > 0 && column->validity.data == NULL) {
        code = begin_validity(column, error);
    }
    if (code == SEAM_OK && column->validity.data != NULL) {
        int64_t bytes = (count + 7) / 8;
        column->validity.size_bytes = column->length >> 3;
        code = row_room(column->builder, &column->validity, bytes, error);
        for (int64_t i = 0; i < bytes && code == SEAM_OK; i++) {
            column->validity.data[(column->length >> 3) + i] =
                null == NULL ? 0xFF : (uint8_t)~row_pack8(null + 8 * i);
        }
    }
    column->length += count;
    column->null_count += nulls;
    return code;
}

/* ---- into Arrow ---- */

static int finish(struct row_column *column, struct ArrowArray *out, struct seam_error *error);

/* A map's entries: its keys and values under one struct. */
static int finish_entries(struct row_builder *builder, struct ArrowArray *pair, int64_t length,
                          struct seam_error *error) {
    void *no_validity[] = {NULL};
    struct ArrowArray entries;
    int code =
        seam_array_build(builder->allocator, length, 0, 1, no_validity, 2, pair, &entries, error);
    if (code == SEAM_OK) {
        pair[0] = entries;
        pair[1].release = NULL;
    }
    return code;
}

static int finish_children(struct row_column *column, struct ArrowArray *children,
                           int64_t *n_children, struct seam_error *error) {
    int code = SEAM_OK;
    for (int32_t i = 0; i < column->n_children && code == SEAM_OK; i++) {
        code = finish(&column->children[i], &children[i], error);
    }
    *n_children = column->n_children;
    if (code == SEAM_OK && column->type->kind == SEAM_ROW_MAP) {
        code = finish_entries(column->builder, children, column->children[0].length, error);
        *n_children = 1;
    }
    return code;
}

/* Gives much too large a guess back. */
static int trim(struct row_builder *builder, struct seam_buffer *buffer, struct seam_error *error) {
    int64_t spare = buffer->capacity_bytes - buffer->size_bytes;
    bool much = spare > (64 << 10) && spare > buffer->size_bytes / 16;
    return much ? set_capacity(builder, buffer, buffer->size_bytes, error) : SEAM_OK;
}

static int finish_column(struct row_column *column, struct ArrowArray *children,
                         struct ArrowArray *out, struct seam_error *error) {
    int64_t n_children, n_buffers = 0;
    void *buffers[3] = {column->validity.data};
    bool list = column->type->kind == SEAM_ROW_ARRAY || column->type->kind == SEAM_ROW_MAP;
    int code = finish_children(column, children, &n_children, error);
    if (code == SEAM_OK &&
        (column->type->kind == SEAM_ROW_STRING || column->type->kind == SEAM_ROW_BINARY)) {
        code = trim(column->builder, &column->data, error);
    }
    if (column->type->kind != SEAM_ROW_VOID) {
        n_buffers = 1;
        if (has_offsets(column->type)) {
            buffers[n_buffers++] = column->offsets.data;
        }
        if (!list && column->n_children == 0 && column->type->kind != SEAM_ROW_STRUCT) {
            buffers[n_buffers++] = column->data.data;
        }
    }
    int64_t null_count = column->type->kind == SEAM_ROW_VOID ? column->length : column->null_count;
    if (code == SEAM_OK) {
        code = seam_array_build(column->builder->allocator, column->length, null_count, n_buffers,
                                buffers, n_children, children, out, error);
    }
    if (code == SEAM_OK) {
        column->validity.data = column->offsets.data = column->data.data = NULL;
    }
    return code;
}

static int finish(struct row_column *column, struct ArrowArray *out, struct seam_error *error) {
    void *block;
    size_t size = (size_t)column->n_children * sizeof(struct ArrowArray);
    int code = seam_alloc(column->builder->allocator, size, &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    struct ArrowArray *children = block;
    memset(children, 0, size);
    code = finish_column(column, children, out, error);
    for (int32_t i = 0; code != SEAM_OK && i < column->n_children; i++) {
        seam_array_release(&children[i]);
    }
    seam_free(children);
    return code;
}

int row_builder_finish(struct row_builder *builder, struct ArrowArray *out,
                       struct seam_error *error) {
    builder->root->length = builder->rows_total;
    return finish(builder->root, out, error);
}
