#include "rows/row_build.h"

#include "base/bits.h"

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

/* Room for `rows` in a column and in what is as long as it; and the first of its offsets. */
static int expect(struct row_column *column, int64_t rows, struct seam_error *error) {
    const struct seam_row_type *type = column->type;
    int64_t bytes = type->kind == SEAM_ROW_BOOLEAN ? (rows + 7) / 8 : rows * arrow_width(type);
    bool fields = type->kind == SEAM_ROW_STRUCT || type->kind == SEAM_ROW_CALENDAR;
    SEAM_TRY(bytes == 0 ? SEAM_OK : seam_buffer_resize(&column->data, bytes, error));
    if (has_offsets(type)) {
        SEAM_TRY(seam_buffer_resize(&column->offsets, 4 * (rows + 1), error));
        seam_store32(column->offsets.data, 0);
        column->offsets.size_bytes = 4;
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(expect(&column->children[i], fields ? rows : 0, error));
    }
    return SEAM_OK;
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
    SEAM_TRY(seam_alloc(allocator, (size_t)builder->n_columns * sizeof(struct row_column), &block,
                        error));
    builder->root = block;
    lay_out(builder, builder->root, root, builder->root + 1);
    int code = expect(builder->root, held < frames->count ? held : frames->count, error);
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
    return seam_buffer_resize(buffer, needed + extra + SEAM_ALIGNMENT, error);
}

/* ---- one value ---- */

/* Room for the bit of the next row; a fresh byte is cleared. */
static int room_for_bit(struct row_column *column, struct seam_buffer *bits,
                        struct seam_error *error) {
    bits->size_bytes = column->length >> 3;
    SEAM_TRY(row_room(column->builder, bits, 1, error));
    if ((column->length & 7) == 0) {
        bits->data[column->length >> 3] = 0;
    }
    return SEAM_OK;
}

static void put_bit(struct seam_buffer *bits, int64_t row, bool value) {
    bits->data[row >> 3] = (uint8_t)(bits->data[row >> 3] | value << (row & 7));
}

/* The first null: all rows so far were valid. */
static int begin_validity(struct row_column *column, struct seam_error *error) {
    int64_t bytes = (column->length + 7) / 8;
    SEAM_TRY(row_room(column->builder, &column->validity, bytes + 1, error));
    memset(column->validity.data, 0xFF, (size_t)bytes);
    /* Bits of rows to come are put into a cleared place. */
    if ((column->length & 7) != 0) {
        column->validity.data[bytes - 1] = (uint8_t)((1 << (column->length & 7)) - 1);
    }
    return SEAM_OK;
}

static int count_row(struct row_column *column, bool valid, struct seam_error *error) {
    if (!valid && column->validity.data == NULL) {
        SEAM_TRY(begin_validity(column, error));
    }
    if (column->validity.data != NULL) {
        SEAM_TRY(room_for_bit(column, &column->validity, error));
        put_bit(&column->validity, column->length, valid);
    }
    column->length += 1;
    column->null_count += !valid;
    return SEAM_OK;
}

int row_too_long(const struct row_column *column, const char *what, struct seam_error *error) {
    return seam_fail(error, SEAM_TOO_LARGE, -1,
                     "column '%s' would hold more than 2^31 - 1 %s: read fewer rows at a time",
                     column->type->name, what);
}

static int push_offset(struct row_column *column, int64_t offset, const char *what,
                       struct seam_error *error) {
    if (offset > INT32_MAX) {
        return row_too_long(column, what, error);
    }
    SEAM_TRY(row_room(column->builder, &column->offsets, 4, error));
    seam_store32(column->offsets.data + column->offsets.size_bytes, (uint32_t)offset);
    column->offsets.size_bytes += 4;
    return SEAM_OK;
}

static int push_data(struct row_column *column, const void *bytes, int64_t size_bytes,
                     struct seam_error *error) {
    SEAM_TRY(row_room(column->builder, &column->data, size_bytes, error));
    if (size_bytes > 0) {
        memcpy(column->data.data + column->data.size_bytes, bytes, (size_t)size_bytes);
        column->data.size_bytes += size_bytes;
    }
    return SEAM_OK;
}

int row_append_null(struct row_column *column, struct seam_error *error) {
    static const uint8_t ZEROS[16] = {0};
    const struct seam_row_type *type = column->type;
    int code = SEAM_OK;
    if (type->kind == SEAM_ROW_BOOLEAN) {
        code = room_for_bit(column, &column->data, error);
    } else if (has_offsets(type)) {
        code = push_offset(
            column, (int32_t)seam_load32(column->offsets.data + column->offsets.size_bytes - 4),
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
    SEAM_TRY(room_for_bit(column, &column->data, error));
    put_bit(&column->data, column->length, value);
    return count_row(column, true, error);
}

int row_append_fixed(struct row_column *column, const void *value, int32_t width_bytes,
                     struct seam_error *error) {
    SEAM_TRY(push_data(column, value, width_bytes, error));
    return count_row(column, true, error);
}

int row_append_many(struct row_column *column, const uint8_t *values, int64_t count,
                    struct seam_error *error) {
    SEAM_TRY(push_data(column, values, count * column->type->width_bytes, error));
    if (column->validity.data == NULL) {
        column->length += count;
        return SEAM_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        SEAM_TRY(count_row(column, true, error));
    }
    return SEAM_OK;
}

int row_append_decimal(struct row_column *column, int64_t high, uint64_t low,
                       struct seam_error *error) {
    uint8_t bytes[16];
    seam_store64(bytes, low);
    seam_store64(bytes + 8, (uint64_t)high);
    return row_append_fixed(column, bytes, sizeof bytes, error);
}

int row_append_bytes(struct row_column *column, const uint8_t *bytes, int64_t size_bytes,
                     struct seam_error *error) {
    SEAM_TRY(push_offset(column, column->data.size_bytes + size_bytes, "bytes", error));
    SEAM_TRY(push_data(column, bytes, size_bytes, error));
    return count_row(column, true, error);
}

int row_append_calendar(struct row_column *column, const uint8_t *bytes, struct seam_error *error) {
    SEAM_TRY(row_append_fixed(&column->children[0], bytes, 4, error));
    SEAM_TRY(row_append_fixed(&column->children[1], bytes + 4, 4, error));
    SEAM_TRY(row_append_fixed(&column->children[2], bytes + 8, 8, error));
    return count_row(column, true, error);
}

int row_append_list(struct row_column *column, struct seam_error *error) {
    SEAM_TRY(push_offset(column, column->children[0].length, "elements", error));
    return count_row(column, true, error);
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
    if (nulls > 0 && column->validity.data == NULL) {
        SEAM_TRY(begin_validity(column, error));
    }
    if (column->validity.data != NULL) {
        int64_t bytes = (count + 7) / 8;
        column->validity.size_bytes = column->length >> 3;
        SEAM_TRY(row_room(column->builder, &column->validity, bytes, error));
        uint8_t *bits = column->validity.data + column->validity.size_bytes;
        if (null == NULL) {
            memset(bits, 0xFF, (size_t)bytes);
        } else {
            seam_pack(null, count, 1, bits);
        }
    }
    column->length += count;
    column->null_count += nulls;
    return SEAM_OK;
}

/* ---- into Arrow ---- */

static int finish(struct row_column *column, struct ArrowArray *out, struct seam_error *error);

static int finish_children(struct row_column *column, struct ArrowArray *children,
                           struct seam_error *error) {
    for (int32_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(finish(&column->children[i], &children[i], error));
    }
    return column->type->kind == SEAM_ROW_MAP
               ? seam_array_build_entries(column->builder->allocator, children, error)
               : SEAM_OK;
}

/* Gives much too large a guess back. */
static int trim(struct seam_buffer *buffer, struct seam_error *error) {
    int64_t spare = buffer->capacity_bytes - buffer->size_bytes;
    bool much = spare > (64 << 10) && spare > buffer->size_bytes / 16;
    return much ? seam_buffer_resize(buffer, buffer->size_bytes, error) : SEAM_OK;
}

static int finish_column(struct row_column *column, struct ArrowArray *children,
                         struct ArrowArray *out, struct seam_error *error) {
    int32_t kind = column->type->kind;
    int64_t n_buffers = 0;
    void *buffers[3] = {column->validity.data};
    bool list = kind == SEAM_ROW_ARRAY || kind == SEAM_ROW_MAP;
    SEAM_TRY(finish_children(column, children, error));
    if (kind == SEAM_ROW_STRING || kind == SEAM_ROW_BINARY) {
        SEAM_TRY(trim(&column->data, error));
    }
    if (kind != SEAM_ROW_VOID) {
        n_buffers = 1;
        if (has_offsets(column->type)) {
            buffers[n_buffers++] = column->offsets.data;
        }
        if (!list && column->n_children == 0 && kind != SEAM_ROW_STRUCT) {
            buffers[n_buffers++] = column->data.data;
        }
    }
    int64_t null_count = kind == SEAM_ROW_VOID ? column->length : column->null_count;
    SEAM_TRY(seam_array_build(column->builder->allocator, column->length, null_count, n_buffers,
                              buffers, kind == SEAM_ROW_MAP ? 1 : column->n_children, children, out,
                              error));
    column->validity.data = column->offsets.data = column->data.data = NULL;
    return SEAM_OK;
}

static int finish(struct row_column *column, struct ArrowArray *out, struct seam_error *error) {
    struct ArrowArray *children;
    int32_t n = column->n_children;
    SEAM_TRY(seam_arrays_new(column->builder->allocator, n, &children, error));
    return seam_arrays_end(children, n, finish_column(column, children, out, error));
}

int row_builder_finish(struct row_builder *builder, struct ArrowArray *out,
                       struct seam_error *error) {
    builder->root->length = builder->rows_total;
    return finish(builder->root, out, error);
}
