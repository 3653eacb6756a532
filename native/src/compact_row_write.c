/* Columns into CompactRows: a block of rows at a time, a column over all of its rows. */
#include "compact_row_internal.h"

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
static void add_plain_string_sizes(const struct row_lane *lane, int64_t *sizes) {
    const int32_t *ends =
        (const int32_t *)lane->leaf->view.offsets + lane->leaf->view.offset + lane->begin;
    for (int64_t i = 0; i < lane->count; i++) {
        sizes[i] += 4 + (int64_t)ends[i + 1] - ends[i];
    }
}

static bool is_plain_string(const struct row_lane *lane) {
    return lane->leaf->kind == SEAM_NODE_FLAT && lane->leaf->view.layout == SEAM_LAYOUT_VAR32 &&
           lane->at == NULL && !lane->any_null;
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
            if (is_plain_string(&lane)) {
                add_plain_string_sizes(&lane, sizes);
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
    int64_t ahead = block->ahead;
    int64_t count = lane->count;
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = lane->any_null ? row_load_or_zero(lane, data, at, i, width)
                                        : row_load_fixed(data + row_of(lane, at, i) * width, width);
        row_store_fixed(block->at[i] + ahead, value, width);
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

ROW_INLINE void put_short_decimals(const struct row_lane *lane, const int64_t *at,
                                   struct block *block) {
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
        row_store64(block->at[i] + block->ahead, low);
    }
    if (wrong != 0) {
        row_blame(&block->trouble, SEAM_BAD_INPUT, lane->type, "has more digits than its type");
    }
}

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
        row_store32(to, (uint32_t)size);
        row_copy(to + 4, bytes, size, words);
        block->at[i] = to + 4 + size;
    }
    block->ahead = 0;
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
        mark_nulls(lane, block);
    }
    if (lane->leaf->kind == SEAM_NODE_NULLS || compact_nested(type)) {
        compact_varies(type) ? put_nested(lane, block) : put_singly(lane, block);
    } else if (compact_varies(type) && is_plain_string(lane)) {
        put_plain_strings(lane, block);
    } else if (compact_varies(type)) {
        put_strings(lane, lane->at, lane->any_null, 0, block);
    } else if (type->kind == SEAM_ROW_FIXED) {
        lane->at == NULL ? put_fixed(lane, NULL, block) : put_fixed(lane, lane->at, block);
    } else if (type->kind == SEAM_ROW_SHORT_DECIMAL) {
        put_short_decimals(lane, lane->at, block);
        if (block->trouble.what != NULL) {
            put_singly(lane, block); /* says in which row */
        }
    } else {
        put_singly(lane, block);
    }
    block->ahead += compact_width(type);
}

static void begin_rows(struct block *block, int64_t n_fields, const int64_t *starts, int64_t count,
                       int64_t gap_bytes, uint8_t *out) {
    int64_t null_bytes = compact_null_bytes(n_fields);
    block->ahead = null_bytes;
    for (int64_t i = 0; i < count; i++) {
        uint8_t *row = out + starts[i];
        if (gap_bytes == SEAM_ROW_LENGTH_BYTES) {
            int64_t length = starts[i + 1] - gap_bytes - starts[i];
            row_store32(row - SEAM_ROW_LENGTH_BYTES, __builtin_bswap32((uint32_t)length));
        }
        block->row[i] = row;
        block->at[i] = row;
        for (int64_t byte = 0; byte < null_bytes; byte++) {
            row[byte] = 0;
        }
    }
}

int seam_compact_row_write(const struct seam_row_input *input, const struct seam_row_choice *choice,
                           int64_t gap_bytes, const int64_t *starts, uint8_t *out,
                           struct seam_error *error) {
    struct block block = {.trouble = {.what = NULL}};
    int64_t n_fields = input->root->n_children;
    int code = SEAM_OK;
    for (int64_t first = 0; first < choice->count && code == SEAM_OK; first += ROW_BLOCK) {
        int64_t left = choice->count - first;
        int64_t count = left < ROW_BLOCK ? left : ROW_BLOCK;
        begin_rows(&block, n_fields, starts + first, count, gap_bytes, out);
        for (int32_t c = 0; c < n_fields; c++) {
            struct row_lane lane;
            block.field = c;
            row_lane_open(&lane, input, c, choice, first, count, &block.trouble);
            put_column(&lane, &block);
        }
        code = row_trouble_report(&block.trouble, error);
    }
    return code;
}
