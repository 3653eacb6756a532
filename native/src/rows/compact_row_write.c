/* Columns into CompactRows: a block of rows at a time, a column over all of its rows. */
#include "rows/compact_row_internal.h"
#include "rows/row_write.h"

/* ---- sizes ---- */

static void add_sizes(struct row_trouble *trouble, const struct row_lane *lane, int64_t *sizes) {
    const struct seam_row_type *type = lane->type;
    bool strings = type->kind == SEAM_ROW_STRING || type->kind == SEAM_ROW_BINARY;
    for (int64_t i = 0; i < lane->count; i++) {
        if (lane->any_null && lane->null[i]) {
            continue;
        }
        const uint8_t *unused;
        int64_t row = row_of(lane, lane->at, i);
        if (strings) {
            sizes[i] += 4 + seam_view_bytes(&lane->leaf->view, row, &unused);
        } else {
            sizes[i] += compact_value_bytes(trouble, type, lane->leaf, row);
            row_blame_row(trouble, lane, i);
        }
    }
}

/* The commonest case, without a branch in the loop. */
static void add_plain_string_sizes(const struct row_lane *lane, const int32_t *ends,
                                   int64_t *sizes) {
    for (int64_t i = 0; i < lane->count; i++) {
        sizes[i] += 4 + (int64_t)ends[i + 1] - ends[i];
    }
}

/* Bytes that every row of a type takes. */
static int64_t least_bytes(const struct seam_row_type *root) {
    int64_t bytes = compact_null_bytes(root->n_children);
    for (int32_t c = 0; c < root->n_children; c++) {
        bytes += compact_width(&root->children[c]);
    }
    return bytes;
}

int seam_compact_row_layout(const struct seam_row_input *input,
                            const struct seam_row_choice *choice, int64_t gap_bytes,
                            int64_t *starts, struct seam_error *error) {
    struct row_trouble trouble = {.what = NULL};
    int64_t least = least_bytes(input->root);
    int64_t position = gap_bytes;
    int code = seam_row_choice_check(input, choice, error);
    code = code == SEAM_OK ? compact_check(input->root, error) : code;
    starts[0] = position;
    for (int64_t first = 0; first < choice->count && code == SEAM_OK; first += ROW_BLOCK) {
        int64_t left = choice->count - first;
        int64_t count = left < ROW_BLOCK ? left : ROW_BLOCK;
        int64_t sizes[ROW_BLOCK];
        for (int64_t i = 0; i < count; i++) {
            sizes[i] = least;
        }
        for (int32_t c = 0; c < input->root->n_children; c++) {
            const struct seam_row_type *type = &input->root->children[c];
            struct row_lane lane;
            if (type->nullable && !compact_varies(type)) {
                continue;
            }
            row_lane_open(&lane, input, c, choice, first, count, &trouble);
            const int32_t *ends = row_plain_ends(&lane);
            if (ends != NULL) {
                add_plain_string_sizes(&lane, ends, sizes);
            } else if (compact_varies(type) && lane.leaf->kind != SEAM_NODE_NULLS) {
                add_sizes(&trouble, &lane, sizes);
            }
        }
        code = row_trouble_report(&trouble, error);
        if (code == SEAM_OK) {
            code = row_place(choice, first, count, sizes, gap_bytes, &position, starts, error);
        }
    }
    return code;
}

/* ---- values ---- */

/* A block of rows on its way. Columns of one width count up `ahead` alone; only what varies moves
 * each row's own position. */
struct block {
    struct row_trouble trouble;
    int64_t field;
    int64_t ahead;
    uint8_t *row[ROW_BLOCK];
    uint8_t *at[ROW_BLOCK];
};

/* Booleans, long decimals and void, one by one. */
static void put_singly(const struct row_lane *lane, struct block *block) {
    int64_t width = compact_width(lane->type);
    for (int64_t i = 0; i < lane->count; i++) {
        uint8_t *at = block->at[i] + block->ahead;
        if (lane->any_null && lane->null[i]) {
            memset(at, 0, (size_t)width);
        } else {
            compact_value_write(&block->trouble, lane->type, lane->leaf, row_of(lane, lane->at, i),
                                at);
            row_blame_row(&block->trouble, lane, i);
        }
    }
}

ROW_INLINE void put_strings(const struct row_lane *lane, const int64_t *at, bool any_null,
                            int words, struct block *block) {
    const struct seam_view view = lane->leaf->view;
    int64_t ahead = block->ahead;
    for (int64_t i = 0; i < lane->count; i++) {
        uint8_t *to = block->at[i] + ahead;
        if (any_null && lane->null[i]) {
            block->at[i] = to;
            continue;
        }
        const uint8_t *bytes;
        int64_t size = seam_view_bytes(&view, row_of(lane, at, i), &bytes);
        seam_store32(to, (uint32_t)size);
        row_copy(to + 4, bytes, size, words);
        block->at[i] = to + 4 + size;
    }
    block->ahead = 0;
}

static void put_nested(const struct row_lane *lane, struct block *block) {
    for (int64_t i = 0; i < lane->count; i++) {
        uint8_t *to = block->at[i] + block->ahead;
        if (!lane->any_null || !lane->null[i]) {
            to = compact_value_write(&block->trouble, lane->type, lane->leaf,
                                     row_of(lane, lane->at, i), to);
            row_blame_row(&block->trouble, lane, i);
        }
        block->at[i] = to;
    }
    block->ahead = 0;
}

static void put_column(const struct row_lane *lane, struct block *block) {
    const struct seam_row_type *type = lane->type;
    if (lane->any_null) {
        row_mark_nulls(lane, block->field, block->row);
    }
    if (lane->leaf->kind == SEAM_NODE_NULLS || compact_nested(type)) {
        compact_varies(type) ? put_nested(lane, block) : put_singly(lane, block);
    } else if (compact_varies(type) && row_plain_strings(lane)) {
        ROW_PUT_PLAIN_STRINGS(put_strings, lane, block);
    } else if (compact_varies(type)) {
        put_strings(lane, lane->at, lane->any_null, 0, block);
    } else if (type->kind == SEAM_ROW_FIXED) {
        row_put_fixed(lane, 0, block->at, block->ahead);
    } else if (type->kind == SEAM_ROW_SHORT_DECIMAL) {
        row_put_short_decimals(lane, block->at, block->ahead, &block->trouble);
    } else {
        put_singly(lane, block);
    }
    block->ahead += compact_width(type);
}

int seam_compact_row_write(const struct seam_row_input *input, const struct seam_row_choice *choice,
                           int64_t gap_bytes, const int64_t *starts, uint8_t *out,
                           struct seam_error *error) {
    struct block block = {.trouble = {.what = NULL}};
    int64_t n_fields = input->root->n_children;
    for (int64_t first = 0; first < choice->count; first += ROW_BLOCK) {
        int64_t left = choice->count - first;
        int64_t count = left < ROW_BLOCK ? left : ROW_BLOCK;
        block.ahead = compact_null_bytes(n_fields);
        row_begin(starts + first, count, gap_bytes, block.ahead, 1, out, block.row);
        memcpy(block.at, block.row, (size_t)count * sizeof block.at[0]);
        for (int32_t c = 0; c < n_fields; c++) {
            struct row_lane lane;
            block.field = c;
            row_lane_open(&lane, input, c, choice, first, count, &block.trouble);
            put_column(&lane, &block);
        }
        SEAM_TRY(row_trouble_report(&block.trouble, error));
    }
    return SEAM_OK;
}
