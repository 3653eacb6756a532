/* CompactRows into columns: a block of rows at a time, a column over all of its rows. */
#include "rows/compact_row_internal.h"
#include "rows/row_read.h"

/* ---- one value of any nesting ---- */

/* What is left of a row. */
struct span {
    const uint8_t *at;
    const uint8_t *end;
};

static int read_value(struct row_reader *reader, struct row_column *column, struct span *span,
                      bool null);

static int cut(const struct row_reader *reader, const struct row_column *column,
               const struct span *span) {
    return row_bad(reader, column->type, span->at, "is cut off by the end of its row or array");
}

/* Takes `bytes` of the span, or returns NULL. */
static const uint8_t *take(struct span *span, int64_t bytes) {
    const uint8_t *taken = span->at;
    if (bytes < 0 || bytes > span->end - span->at) {
        return NULL;
    }
    span->at += bytes;
    return taken;
}

static int read_fixed(struct row_reader *reader, struct row_column *column, const uint8_t *at) {
    switch (column->type->kind) {
    case SEAM_ROW_VOID:
        return row_bad(reader, column->type, at, "is void, but holds a value");
    case SEAM_ROW_BOOLEAN:
        return row_read_boolean(reader, column, at);
    case SEAM_ROW_SHORT_DECIMAL:
        return row_read_short_decimal(reader, column, at);
    case SEAM_ROW_LONG_DECIMAL:
        return row_read_decimal(reader, column, at, (int64_t)seam_load64(at + 8), seam_load64(at));
    default:
        return row_append_fixed(column, at, column->type->width_bytes, reader->error);
    }
}

static int read_string(struct row_reader *reader, struct row_column *column, struct span *span) {
    const uint8_t *size = take(span, 4);
    const uint8_t *bytes = size == NULL ? NULL : take(span, (int32_t)seam_load32(size));
    if (bytes == NULL) {
        return cut(reader, column, span);
    }
    return row_read_bytes(reader, column, bytes, (int32_t)seam_load32(size));
}

/* Elements that lie where offsets say, in order. */
static int read_nested_elements(struct row_reader *reader, struct row_column *column,
                                struct span *span, const uint8_t *nulls, int64_t count) {
    const uint8_t *size = take(span, 4);
    const uint8_t *body = size == NULL ? NULL : take(span, (int32_t)seam_load32(size));
    struct span elements = {.at = body, .end = span->at};
    const uint8_t *offsets = body == NULL ? NULL : take(&elements, 4 * count);
    if (offsets == NULL) {
        return cut(reader, column, span);
    }
    for (int64_t i = 0; i < count; i++) {
        bool null = seam_bit(nulls, i);
        int64_t offset = (int32_t)seam_load32(offsets + 4 * i);
        if (!null && (offset < elements.at - body || offset > elements.end - body)) {
            return row_bad(reader, column->type, offsets + 4 * i,
                           "has an offset that leaves its array or overlaps what lies before it");
        }
        elements.at = null ? elements.at : body + offset;
        SEAM_TRY(read_value(reader, column, &elements, null));
    }
    return SEAM_OK;
}

static int read_array(struct row_reader *reader, struct row_column *column, struct span *span) {
    const struct seam_row_type *type = column->type;
    const uint8_t *size = take(span, 4);
    int64_t count = size == NULL ? -1 : (int32_t)seam_load32(size);
    const uint8_t *nulls = count < 0 ? NULL : take(span, compact_null_bytes(count));
    if (nulls == NULL || count * compact_width(type) > span->end - span->at) {
        return cut(reader, column, span);
    }
    if (compact_nested(type) && count > 0) {
        return read_nested_elements(reader, column, span, nulls, count);
    }
    for (int64_t i = 0; i < count; i++) {
        SEAM_TRY(read_value(reader, column, span, seam_bit(nulls, i)));
    }
    return SEAM_OK;
}

static int read_map(struct row_reader *reader, struct row_column *column, struct span *span) {
    const uint8_t *at = span->at;
    SEAM_TRY(read_array(reader, &column->children[0], span));
    SEAM_TRY(read_array(reader, &column->children[1], span));
    if (column->children[0].length != column->children[1].length) {
        return row_bad(reader, column->type, at, "is a map with fewer keys or values than others");
    }
    return SEAM_OK;
}

static int read_row(struct row_reader *reader, struct row_column *column, struct span *span) {
    const uint8_t *nulls = take(span, compact_null_bytes(column->n_children));
    if (nulls == NULL) {
        return cut(reader, column, span);
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(read_value(reader, &column->children[i], span, seam_bit(nulls, i)));
    }
    return SEAM_OK;
}

static int read_value(struct row_reader *reader, struct row_column *column, struct span *span,
                      bool null) {
    const uint8_t *at = span->at;
    if (!compact_varies(column->type)) {
        at = take(span, compact_width(column->type));
        if (at == NULL) {
            return cut(reader, column, span);
        }
        return null ? row_read_null(reader, column, at) : read_fixed(reader, column, at);
    }
    if (null) {
        return row_read_null(reader, column, at);
    }
    switch (column->type->kind) {
    case SEAM_ROW_ARRAY:
        SEAM_TRY(read_array(reader, &column->children[0], span));
        return row_append_list(column, reader->error);
    case SEAM_ROW_MAP:
        SEAM_TRY(read_map(reader, column, span));
        return row_append_list(column, reader->error);
    case SEAM_ROW_STRUCT:
        SEAM_TRY(read_row(reader, column, span));
        return row_append_struct(column, reader->error);
    default:
        return read_string(reader, column, span);
    }
}

/* ---- a column of a block ---- */

/* Columns of one width that follow each other are checked at once: `bytes` of each row. */
static int check_room(struct row_reader *reader, const struct row_block *block,
                      const struct row_column *column, int64_t bytes) {
    for (int64_t i = 0; i < block->count; i++) {
        if (bytes > block->length[i] - block->used[i]) {
            return row_bad_at(reader, block, column, i, block->used[i],
                              "is cut off by the end of its row");
        }
    }
    return SEAM_OK;
}

static int read_strings(struct row_reader *reader, struct row_block *block,
                        const struct row_field *field, struct row_column *column) {
    const uint8_t *from[ROW_BLOCK];
    int64_t sizes[ROW_BLOCK];
    for (int64_t i = 0; i < block->count; i++) {
        int64_t used = block->used[i] + field->ahead;
        const uint8_t *at = block->row[i] + used;
        int64_t left = block->length[i] - used - 4;
        from[i] = at;
        sizes[i] = 0;
        if (field->any_null && field->null[i]) {
            block->used[i] = used;
            continue;
        }
        int64_t size = left < 0 ? -1 : (int32_t)seam_load32(at);
        if (size < 0 || size > left) {
            return row_bad_at(reader, block, column, i, used,
                              "is cut off by the end of its row or array");
        }
        from[i] = at + 4;
        sizes[i] = size;
        block->used[i] = used + 4 + size;
    }
    reader->row = block->first;
    return row_block_strings(reader, column, block->count, from, sizes);
}

/* Booleans, long decimals, void and whatever is nested, one by one. */
static int read_singly(struct row_reader *reader, struct row_block *block,
                       const struct row_field *field, struct row_column *column) {
    int code = SEAM_OK;
    bool varies = compact_varies(column->type);
    for (int64_t i = 0; i < block->count && code == SEAM_OK; i++) {
        struct span span = {.at = block->row[i] + block->used[i] + field->ahead,
                            .end = block->row[i] + block->length[i]};
        reader->row = block->first + i;
        code = read_value(reader, column, &span, field->any_null && field->null[i]);
        if (varies) {
            block->used[i] = span.at - block->row[i];
        }
    }
    return code;
}

static int read_column(struct row_reader *reader, struct row_block *block,
                       const struct row_field *field, struct row_column *column) {
    const uint8_t *null = field->any_null ? field->null : NULL;
    SEAM_TRY(row_check_nulls(reader, block, field, column));
    int code = SEAM_OK;
    switch (column->type->kind) {
    case SEAM_ROW_FIXED:
        code = row_read_fixed(reader, block, field, column, true);
        break;
    case SEAM_ROW_SHORT_DECIMAL:
        code = row_read_short_decimals(reader, block, field, column, true);
        break;
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        code = read_strings(reader, block, field, column);
        break;
    default:
        return read_singly(reader, block, field, column);
    }
    return code == SEAM_OK ? row_block_validity(column, null, block->count, reader->error) : code;
}

/* Bytes of the columns of one width from `first` on, up to one that varies. */
static int64_t run_bytes(const struct row_column *root, int32_t first) {
    int64_t bytes = 0;
    for (int32_t c = first; c < root->n_children && !compact_varies(root->children[c].type); c++) {
        bytes += compact_width(root->children[c].type);
    }
    return bytes;
}

static int check_ends(const struct row_reader *reader, const struct row_block *block,
                      int64_t ahead) {
    for (int64_t i = 0; i < block->count; i++) {
        int64_t used = block->used[i] + ahead;
        if (used != block->length[i]) {
            return seam_fail(reader->error, SEAM_BAD_INPUT, block->row[i] + used - reader->data,
                             "row %lld has %lld bytes after its last field",
                             (long long)(block->first + i), (long long)(block->length[i] - used));
        }
    }
    return SEAM_OK;
}

static int check_heads(const struct row_reader *reader, struct row_block *block, int64_t head) {
    for (int64_t i = 0; i < block->count; i++) {
        if (block->length[i] < head) {
            return seam_fail(reader->error, SEAM_BAD_INPUT, block->row[i] - reader->data,
                             "row %lld has %lld bytes: its null bits take %lld",
                             (long long)(block->first + i), (long long)block->length[i],
                             (long long)head);
        }
        block->used[i] = head;
    }
    return SEAM_OK;
}

static int read_block(struct row_reader *reader, struct row_block *block) {
    struct row_column *root = reader->builder.root;
    struct row_field field = {.ahead = 0};
    bool run = false; /* within columns of one width whose bytes are known to be there */
    int code = check_heads(reader, block, compact_null_bytes(root->n_children));
    for (int32_t c = 0; c < root->n_children && code == SEAM_OK; c++) {
        struct row_column *column = &root->children[c];
        bool varies = compact_varies(column->type);
        field.number = c;
        field.any_null = row_find_nulls(block, &field);
        if (!varies && !run) {
            code = check_room(reader, block, column, run_bytes(root, c));
        }
        run = !varies;
        if (code == SEAM_OK) {
            code = read_column(reader, block, &field, column);
        }
        field.ahead = varies ? 0 : field.ahead + compact_width(column->type);
    }
    return code == SEAM_OK ? check_ends(reader, block, field.ahead) : code;
}

int seam_compact_row_read(struct seam_allocator *allocator, const struct seam_row_type *root,
                          const struct seam_row_frames *frames, struct ArrowArray *out,
                          struct seam_error *error) {
    SEAM_TRY(seam_row_type_check(root, error));
    SEAM_TRY(compact_check(root, error));
    return row_read_frames(allocator, root, frames, compact_null_bytes(root->n_children),
                           read_block, out, error);
}
