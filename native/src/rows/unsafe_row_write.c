/* Columns into UnsafeRows: a block of rows at a time, a column over all of its rows. */
#include "rows/row_write.h"
#include "rows/unsafe_row_internal.h"

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
static void add_plain_string_sizes(const struct row_lane *lane, const int32_t *ends,
                                   int64_t *sizes) {
    for (int64_t i = 0; i < lane->count; i++) {
        sizes[i] += row_align8((int64_t)ends[i + 1] - ends[i]);
    }
}

static void add_sizes(struct unsafe_writer *writer, const struct row_lane *lane, int64_t *sizes) {
    const struct seam_row_type *type = lane->type;
    const int32_t *ends = row_plain_ends(lane);
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
    } else if (ends != NULL) {
        add_plain_string_sizes(lane, ends, sizes);
    } else if (lane->at == NULL) {
        add_string_sizes(lane, NULL, sizes);
    } else {
        add_string_sizes(lane, lane->at, sizes);
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

static void put_booleans(const struct row_lane *lane, struct block *block) {
    const struct seam_view *view = &lane->leaf->view;
    for (int64_t i = 0; i < lane->count; i++) {
        bool null = lane->any_null && lane->null[i];
        int64_t row = row_of(lane, lane->at, i);
        seam_store64(block->row[i] + block->slot,
                     null ? 0 : seam_bit(view->data, view->offset + row));
    }
}

ROW_INLINE void put_strings(const struct row_lane *lane, const int64_t *at, bool any_null,
                            int words, struct block *block) {
    const struct seam_view view = lane->leaf->view;
    const uint8_t *end = seam_view_bytes_end(&view);
    int64_t slot = block->slot;
    for (int64_t i = 0; i < lane->count; i++) {
        uint8_t *row = block->row[i];
        if (any_null && lane->null[i]) {
            seam_store64(row + slot, 0);
            continue;
        }
        const uint8_t *bytes;
        int64_t tail = block->tail[i];
        int64_t size = seam_view_bytes(&view, row_of(lane, at, i), &bytes);
        seam_store64(row + slot, unsafe_slot(tail, size));
        if (words > 0 && size > 0 && end - bytes >= 8 * words) {
            row_copy_padded_words(row + tail, bytes, size, words);
        } else {
            row_copy_padded(row + tail, bytes, size, end);
        }
        block->tail[i] = tail + row_align8(size);
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
            seam_store64(slot, kept == 0 ? 0 : unsafe_kept_slot(type, block->tail[i]));
            memset(at, 0, (size_t)kept);
            block->tail[i] += kept;
            continue;
        }
        int64_t row = row_of(lane, lane->at, i);
        int64_t whole = row_align8(unsafe_tail_bytes(writer, type, lane->leaf, row, true));
        int64_t size = unsafe_tail_write(writer, type, lane->leaf, row, true, at);
        row_blame_row(&writer->trouble, lane, i);
        seam_store64(slot, unsafe_slot(block->tail[i], size));
        block->tail[i] += whole;
    }
}

static void put_column(const struct row_lane *lane, struct block *block) {
    if (lane->any_null) {
        row_mark_nulls(lane, block->field, block->row);
    }
    switch (lane->leaf->kind == SEAM_NODE_NULLS ? SEAM_ROW_ARRAY : lane->type->kind) {
    case SEAM_ROW_BOOLEAN:
        put_booleans(lane, block);
        break;
    case SEAM_ROW_FIXED:
        row_put_fixed(lane, 8, block->row, block->slot);
        break;
    case SEAM_ROW_SHORT_DECIMAL:
        row_put_short_decimals(lane, block->row, block->slot, &block->writer->trouble);
        break;
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        if (row_plain_strings(lane)) {
            ROW_PUT_PLAIN_STRINGS(put_strings, lane, block);
        } else {
            put_strings(lane, lane->at, lane->any_null, 0, block);
        }
        break;
    default:
        put_others(lane, block);
    }
}

int seam_unsafe_row_write(const struct seam_row_input *input, enum seam_unsafe_writer dialect,
                          const struct seam_row_choice *choice, int64_t gap_bytes,
                          const int64_t *starts, uint8_t *out, struct seam_error *error) {
    struct unsafe_writer writer = {.dialect = dialect};
    struct block block = {.writer = &writer};
    int64_t n_fields = input->root->n_children;
    for (int64_t first = 0; first < choice->count; first += ROW_BLOCK) {
        int64_t left = choice->count - first;
        int64_t count = left < ROW_BLOCK ? left : ROW_BLOCK;
        block.slot = unsafe_null_bytes(n_fields);
        row_begin(starts + first, count, gap_bytes, block.slot, 8, out, block.row);
        for (int64_t i = 0; i < count; i++) {
            block.tail[i] = unsafe_head_bytes(n_fields);
        }
        for (int32_t c = 0; c < n_fields; c++, block.slot += 8) {
            struct row_lane lane;
            block.field = c;
            row_lane_open(&lane, input, c, choice, first, count, &writer.trouble);
            put_column(&lane, &block);
        }
        SEAM_TRY(row_trouble_report(&writer.trouble, error));
    }
    return SEAM_OK;
}
