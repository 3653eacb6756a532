/* Columns into UnsafeRows: a block of rows at a time, a column over all of its rows. */
#include "unsafe_row_internal.h"

/* ---- sizes ---- */

ROW_INLINE void add_string_sizes(const struct row_lane *lane, const int64_t *at, int64_t *sizes) {
    const struct seam_view *view = &lane->leaf->view;
    for (int64_t i = 0; i < lane->count; i++) {
        const uint8_t *unused;
        int64_t size = seam_view_bytes(view, row_of(lane, at, i), &unused);
        sizes[i] += lane->any_null && lane->null[i] ? 0 : row_align8(size);
    }
}

/* The commonest case, without a branch in the loop. */
static void add_plain_string_sizes(const struct row_lane *lane, int64_t *sizes) {
    const int32_t *ends =
        (const int32_t *)lane->leaf->view.offsets + lane->leaf->view.offset + lane->begin;
    for (int64_t i = 0; i < lane->count; i++) {
        sizes[i] += row_align8((int64_t)ends[i + 1] - ends[i]);
    }
}

static void add_sizes(struct unsafe_writer *writer, const struct row_lane *lane, int64_t *sizes) {
    const struct seam_row_type *type = lane->type;
    if (!unsafe_in_tail(type) || lane->leaf->kind == SEAM_NODE_NULLS) {
        for (int64_t i = 0; lane->any_null && i < lane->count; i++) {
            sizes[i] += unsafe_kept_bytes(writer, type);
        }
    } else if (type->kind != SEAM_ROW_STRING && type->kind != SEAM_ROW_BINARY) {
        for (int64_t i = 0; i < lane->count; i++) {
            if (lane->any_null && lane->null[i]) {
                sizes[i] += unsafe_kept_bytes(writer, type);
                continue;
            }
            int64_t row = row_of(lane, lane->at, i);
            sizes[i] += row_align8(unsafe_tail_bytes(writer, type, lane->leaf, row, true));
            row_blame_row(&writer->trouble, lane, i);
        }
    } else if (lane->at != NULL) {
        add_string_sizes(lane, lane->at, sizes);
    } else if (lane->any_null || lane->leaf->view.layout != SEAM_LAYOUT_VAR32) {
        add_string_sizes(lane, NULL, sizes);
    } else {
        add_plain_string_sizes(lane, sizes);
    }
}

/* Whether every row takes the same bytes for a column, null or not. */
static bool same_size(const struct unsafe_writer *writer, const struct seam_row_type *type) {
    return type->nullable && !unsafe_in_tail(type) && unsafe_kept_bytes(writer, type) == 0;
}

int seam_unsafe_row_layout(const struct seam_row_input *input, enum seam_unsafe_writer dialect,
                           const struct seam_row_choice *choice, int64_t gap_bytes, int64_t *starts,
                           struct seam_error *error) {
    struct unsafe_writer writer = {.dialect = dialect};
    int64_t position = gap_bytes;
    int code = seam_row_choice_check(input, choice, error);
    starts[0] = position;
    for (int64_t first = 0; first < choice->count && code == SEAM_OK; first += ROW_BLOCK) {
        int64_t left = choice->count - first;
        int64_t count = left < ROW_BLOCK ? left : ROW_BLOCK;
        int64_t sizes[ROW_BLOCK];
        for (int64_t i = 0; i < count; i++) {
            sizes[i] = unsafe_head_bytes(input->root->n_children);
        }
        for (int32_t c = 0; c < input->root->n_children; c++) {
            struct row_lane lane;
            if (!same_size(&writer, &input->root->children[c])) {
                row_lane_open(&lane, input, c, choice, first, count, &writer.trouble);
                add_sizes(&writer, &lane, sizes);
            }
        }
        code = row_trouble_report(&writer.trouble, error);
        if (code == SEAM_OK) {
            code = row_place(choice, first, count, sizes, gap_bytes, &position, starts, error);
        }
    }
    return code;
}

/* ---- values ---- */

/* A block of rows on its way. */
struct block {
    struct unsafe_writer *writer;
    int64_t slot; /* of the column that is written, from the start of a row */
    int64_t field;
    uint8_t *row[ROW_BLOCK];
    int64_t tail[ROW_BLOCK]; /* where the next value goes, from the start of each row */
};

static void mark_nulls(const struct row_lane *lane, struct block *block) {
    int64_t byte = block->field >> 3;
    int shift = (int)(block->field & 7);
    for (int64_t i = 0; i < lane->count; i++) {
        uint8_t *bits = block->row[i] + byte;
        *bits = (uint8_t)(*bits | lane->null[i] << shift);
    }
}

ROW_INLINE void put_width(const struct row_lane *lane, const int64_t *at, int32_t width,
                          struct block *block) {
    const struct seam_view *view = &lane->leaf->view;
    const uint8_t *data = view->data + view->offset * width;
    int64_t slot = block->slot;
    int64_t count = lane->count;
    for (int64_t i = 0; lane->any_null && i < count; i++) {
        row_store64(block->row[i] + slot, row_load_or_zero(lane, data, at, i, width));
    }
    if (lane->any_null) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        row_store64(block->row[i] + slot,
                    row_load_fixed(data + row_of(lane, at, i) * width, width));
    }
}

ROW_INLINE void put_fixed(const struct row_lane *lane, const int64_t *at, struct block *block) {
    switch (lane->type->width_bytes) {
    case 1:
        put_width(lane, at, 1, block);
        break;
    case 2:
        put_width(lane, at, 2, block);
        break;
    case 4:
        put_width(lane, at, 4, block);
        break;
    default:
        put_width(lane, at, 8, block);
    }
}

static void put_booleans(const struct row_lane *lane, struct block *block) {
    const struct seam_view *view = &lane->leaf->view;
    for (int64_t i = 0; i < lane->count; i++) {
        bool null = lane->any_null && lane->null[i];
        int64_t row = row_of(lane, lane->at, i);
        row_store64(block->row[i] + block->slot,
                    null ? 0 : seam_bit(view->data, view->offset + row));
    }
}

/* Decimals of up to 18 digits fit a word; `limit` does too. */
ROW_INLINE void put_decimals(const struct row_lane *lane, const int64_t *at, struct block *block) {
    const struct seam_view *view = &lane->leaf->view;
    const uint8_t *data = view->data + view->offset * 16;
    uint64_t limit = (uint64_t)row_decimal_limit(lane->type->precision);
    uint64_t wrong = 0;
    for (int64_t i = 0; i < lane->count; i++) {
        uint64_t low = 0;
        uint64_t high = 0;
        if (!lane->any_null || !lane->null[i]) {
            low = row_load64(data + row_of(lane, at, i) * 16);
            high = row_load64(data + row_of(lane, at, i) * 16 + 8);
        }
        uint64_t sign = (uint64_t)((int64_t)low >> 63);
        wrong |= (high ^ sign) | (uint64_t)(low + limit - 1 > 2 * limit - 2);
        row_store64(block->row[i] + block->slot, low);
    }
    for (int64_t i = 0; wrong != 0 && i < lane->count; i++) {
        if (!lane->any_null || !lane->null[i]) {
            unsafe_slot_value(block->writer, lane->type, lane->leaf, row_of(lane, at, i));
            row_blame_row(&block->writer->trouble, lane, i);
        }
    }
}

ROW_INLINE void put_strings(const struct row_lane *lane, const int64_t *at, bool any_null,
                            int words, struct block *block) {
    const struct seam_view view = lane->leaf->view;
    const uint8_t *end = row_bytes_end(&view);
    int64_t slot = block->slot;
    for (int64_t i = 0; i < lane->count; i++) {
        uint8_t *row = block->row[i];
        if (any_null && lane->null[i]) {
            row_store64(row + slot, 0);
            continue;
        }
        const uint8_t *bytes;
        int64_t tail = block->tail[i];
        int64_t size = seam_view_bytes(&view, row_of(lane, at, i), &bytes);
        row_store64(row + slot, unsafe_slot(tail, size));
        if (words > 0 && size > 0 && end - bytes >= 8 * words) {
            row_copy_padded_words(row + tail, bytes, size, words);
        } else {
            row_copy_padded(row + tail, bytes, size, end);
        }
        block->tail[i] = tail + row_align8(size);
    }
}

/* Strings one after the other, none null. */
static void put_plain_strings(const struct row_lane *lane, struct block *block) {
    switch (row_words(row_largest_bytes(lane))) {
    case 1:
        put_strings(lane, NULL, false, 1, block);
        break;
    case 2:
        put_strings(lane, NULL, false, 2, block);
        break;
    case 4:
        put_strings(lane, NULL, false, 4, block);
        break;
    case 8:
        put_strings(lane, NULL, false, 8, block);
        break;
    default:
        put_strings(lane, NULL, false, 0, block);
    }
}

static void put_others(const struct row_lane *lane, struct block *block) {
    struct unsafe_writer *writer = block->writer;
    const struct seam_row_type *type = lane->type;
    int64_t kept = unsafe_kept_bytes(writer, type);
    for (int64_t i = 0; i < lane->count; i++) {
        uint8_t *slot = block->row[i] + block->slot;
        uint8_t *at = block->row[i] + block->tail[i];
        if (lane->any_null && lane->null[i]) {
            row_store64(slot, kept == 0 ? 0 : unsafe_kept_slot(type, block->tail[i]));
            memset(at, 0, (size_t)kept);
            block->tail[i] += kept;
            continue;
        }
        int64_t row = row_of(lane, lane->at, i);
        int64_t whole = row_align8(unsafe_tail_bytes(writer, type, lane->leaf, row, true));
        int64_t size = unsafe_tail_write(writer, type, lane->leaf, row, true, at);
        row_blame_row(&writer->trouble, lane, i);
        row_store64(slot, unsafe_slot(block->tail[i], size));
        block->tail[i] += whole;
    }
}

static void put_column(const struct row_lane *lane, struct block *block) {
    if (lane->any_null) {
        mark_nulls(lane, block);
    }
    switch (lane->leaf->kind == SEAM_NODE_NULLS ? SEAM_ROW_ARRAY : lane->type->kind) {
    case SEAM_ROW_BOOLEAN:
        put_booleans(lane, block);
        break;
    case SEAM_ROW_FIXED:
        lane->at == NULL ? put_fixed(lane, NULL, block) : put_fixed(lane, lane->at, block);
        break;
    case SEAM_ROW_SHORT_DECIMAL:
        lane->at == NULL ? put_decimals(lane, NULL, block) : put_decimals(lane, lane->at, block);
        break;
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        if (lane->at == NULL && !lane->any_null) {
            put_plain_strings(lane, block);
        } else {
            put_strings(lane, lane->at, lane->any_null, 0, block);
        }
        break;
    default:
        put_others(lane, block);
    }
}

static void begin_rows(struct block *block, int64_t n_fields, const int64_t *starts, int64_t count,
                       int64_t gap_bytes, uint8_t *out) {
    int64_t nulls = unsafe_null_bytes(n_fields);
    for (int64_t i = 0; i < count; i++) {
        uint8_t *row = out + starts[i];
        if (gap_bytes == SEAM_ROW_LENGTH_BYTES) {
            int64_t length = starts[i + 1] - gap_bytes - starts[i];
            row_store32(row - SEAM_ROW_LENGTH_BYTES, __builtin_bswap32((uint32_t)length));
        }
        block->row[i] = row;
        block->tail[i] = nulls + 8 * n_fields;
        for (int64_t word = 0; word < nulls; word += 8) {
            row_store64(row + word, 0);
        }
    }
}

int seam_unsafe_row_write(const struct seam_row_input *input, enum seam_unsafe_writer dialect,
                          const struct seam_row_choice *choice, int64_t gap_bytes,
                          const int64_t *starts, uint8_t *out, struct seam_error *error) {
    struct unsafe_writer writer = {.dialect = dialect};
    struct block block = {.writer = &writer};
    int64_t n_fields = input->root->n_children;
    int code = SEAM_OK;
    for (int64_t first = 0; first < choice->count && code == SEAM_OK; first += ROW_BLOCK) {
        int64_t left = choice->count - first;
        int64_t count = left < ROW_BLOCK ? left : ROW_BLOCK;
        begin_rows(&block, n_fields, starts + first, count, gap_bytes, out);
        block.slot = unsafe_null_bytes(n_fields);
        for (int32_t c = 0; c < n_fields; c++, block.slot += 8) {
            struct row_lane lane;
            block.field = c;
            row_lane_open(&lane, input, c, choice, first, count, &writer.trouble);
            put_column(&lane, &block);
        }
        code = row_trouble_report(&writer.trouble, error);
    }
    return code;
}
