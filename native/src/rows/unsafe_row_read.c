/* UnsafeRows into columns: a block of rows at a time, a column over all of its rows. */
#include "base/bits.h"
#include "rows/unsafe_row_nested.h"

static int check_rows(struct row_reader *reader, struct row_block *block, int64_t head) {
    for (int64_t i = 0; i < block->count; i++) {
        int64_t length = block->length[i];
        if (length < head || (length & 7) != 0 || length > INT32_MAX) {
            return seam_fail(reader->error, SEAM_BAD_INPUT, block->row[i] - reader->data,
                             "row %lld has %lld bytes: at least %lld and a multiple of 8 are meant",
                             (long long)(block->first + i), (long long)length, (long long)head);
        }
        block->used[i] = head;
    }
    return SEAM_OK;
}

static int read_booleans(struct row_reader *reader, const struct row_block *block,
                         const struct row_field *field, struct row_column *column) {
    uint8_t values[ROW_BLOCK];
    uint8_t any = 0;
    for (int64_t i = 0; i < block->count; i++) {
        bool null = field->any_null && field->null[i];
        values[i] = null ? 0 : block->row[i][field->ahead];
        any |= values[i];
    }
    for (int64_t i = 0; any > 1 && i < block->count; i++) {
        if (values[i] > 1) {
            return row_bad_at(reader, block, column, i, field->ahead,
                              "is a boolean that is neither 0 nor 1");
        }
    }
    int64_t bytes = (block->count + 7) / 8;
    column->data.size_bytes = column->length >> 3;
    SEAM_TRY(row_room(&reader->builder, &column->data, bytes, reader->error));
    seam_pack(values, block->count, 0, column->data.data + column->data.size_bytes);
    return SEAM_OK;
}

/* ---- columns in the tail ---- */

static int read_strings(struct row_reader *reader, struct row_block *block,
                        const struct row_field *field, struct row_column *column) {
    const uint8_t *from[ROW_BLOCK];
    int64_t sizes[ROW_BLOCK];
    int64_t before[ROW_BLOCK]; /* for messages */
    bool wrong = false;
    memcpy(before, block->used, (size_t)block->count * sizeof before[0]);
    for (int64_t i = 0; i < block->count; i++) {
        const uint8_t *row = block->row[i];
        uint64_t slot = seam_load64(row + field->ahead);
        slot &= field->any_null ? (uint64_t)field->null[i] - 1 : UINT64_MAX;
        int64_t offset = (int64_t)(slot >> 32);
        int64_t size = (int64_t)(slot & UINT32_MAX);
        int64_t used = block->used[i];
        wrong |= (offset + size > block->length[i]) | ((offset < used) & (size != 0));
        from[i] = row + offset;
        sizes[i] = size;
        block->used[i] = size != 0 ? offset + size : used;
    }
    for (int64_t i = 0; wrong && i < block->count; i++) {
        uint64_t slot = seam_load64(block->row[i] + field->ahead);
        const char *why = unsafe_slot_wrong(slot, block->length[i], before[i]);
        if (why != NULL && !(field->any_null && field->null[i])) {
            return row_bad_at(reader, block, column, i, field->ahead, why);
        }
    }
    reader->row = block->first;
    return row_block_strings(reader, column, block->count, from, sizes);
}

static int read_others(struct row_reader *reader, struct row_block *block,
                       const struct row_field *field, struct row_column *column) {
    int code = SEAM_OK;
    for (int64_t i = 0; i < block->count && code == SEAM_OK; i++) {
        struct unsafe_region region = {
            .base = block->row[i], .size_bytes = block->length[i], .used_bytes = block->used[i]};
        reader->row = block->first + i;
        if (field->any_null && field->null[i]) {
            code = row_append_null(column, reader->error);
        } else if (column->type->kind == SEAM_ROW_VOID) {
            code = row_bad_at(reader, block, column, i, field->ahead, "is void, but holds a value");
        } else {
            code = unsafe_read_tail(reader, column, &region, block->row[i] + field->ahead);
            block->used[i] = region.used_bytes;
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
    case SEAM_ROW_BOOLEAN:
        code = read_booleans(reader, block, field, column);
        break;
    case SEAM_ROW_FIXED:
        code = row_read_fixed(reader, block, field, column, false);
        break;
    case SEAM_ROW_SHORT_DECIMAL:
        code = row_read_short_decimals(reader, block, field, column, false);
        break;
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        code = read_strings(reader, block, field, column);
        break;
    default:
        return read_others(reader, block, field, column);
    }
    return code == SEAM_OK ? row_block_validity(column, null, block->count, reader->error) : code;
}

static int read_block(struct row_reader *reader, struct row_block *block) {
    struct row_column *root = reader->builder.root;
    struct row_field field = {.ahead = unsafe_null_bytes(root->n_children)};
    SEAM_TRY(check_rows(reader, block, unsafe_head_bytes(root->n_children)));
    uint64_t nulls = 0;
    for (int32_t c = 0; c < root->n_children; c++, field.ahead += 8) {
        if (c % 64 == 0) {
            nulls = 0;
            for (int64_t i = 0; i < block->count; i++) {
                nulls |= seam_load64(block->row[i] + c / 8);
            }
        }
        field.number = c;
        field.any_null = (nulls >> (c % 64) & 1) && row_find_nulls(block, &field);
        SEAM_TRY(read_column(reader, block, &field, &root->children[c]));
    }
    return SEAM_OK;
}

int seam_unsafe_row_read(struct seam_allocator *allocator, const struct seam_row_type *root,
                         const struct seam_row_frames *frames, struct ArrowArray *out,
                         struct seam_error *error) {
    SEAM_TRY(seam_row_type_check(root, error));
    return row_read_frames(allocator, root, frames, unsafe_head_bytes(root->n_children), read_block,
                           out, error);
}
