#include "ranks.h"

#include <string.h>

void seam_ranks_init(struct seam_ranks *ranks, struct seam_allocator *allocator) {
    ranks->n_words = 0;
    ranks->rows = 0;
    seam_buffer_init(&ranks->words, allocator);
    seam_sort_keys_init(&ranks->bytes, allocator);
}

void seam_ranks_reset(struct seam_ranks *ranks) {
    seam_buffer_reset(&ranks->words);
    seam_sort_keys_reset(&ranks->bytes);
    ranks->rows = 0;
}

/* Words that the values of a column take, or 0 if they are of no fixed width. */
static int32_t words_of(const struct seam_node *column) {
    const struct seam_view *view = &column->view;
    if (column->kind != SEAM_NODE_FLAT) {
        return 0;
    }
    if (view->layout == SEAM_LAYOUT_BITS) {
        return 1;
    }
    if (view->layout != SEAM_LAYOUT_FIXED || view->order == SEAM_ORDER_BYTES) {
        return 0;
    }
    return view->width_bytes <= 8 ? 1 : view->width_bytes == 16 ? 2 : 0;
}

static int refuse_nulls_in(const struct seam_node *column, int64_t rows, struct seam_error *error) {
    if (column->kind == SEAM_NODE_FLAT && column->view.validity == NULL) {
        return SEAM_OK;
    }
    for (int64_t row = 0; row < rows; row++) {
        if (!seam_node_valid(column, row)) {
            return seam_fail(error, SEAM_BAD_INPUT, -1,
                             "column '%s' of the key is null in row %lld", column->name,
                             (long long)row);
        }
    }
    return SEAM_OK;
}

static uint64_t float_rank(uint64_t bits, int32_t width) {
    uint64_t sign = UINT64_C(1) << (width * 8 - 1);
    uint64_t infinity = width == 8 ? UINT64_C(0x7FF0000000000000) : UINT64_C(0x7F800000);
    if ((bits & ~sign) > infinity) {
        bits = sign - 1; /* every NaN is the same, the greatest */
    } else if (bits == sign) {
        bits = 0;
    }
    return bits & sign ? ~bits & (sign | (sign - 1)) : bits | sign;
}

/* A column of up to eight bytes, its sign turned, into every `stride`-th word. */
#define PUT_NUMBERS(type, shift)                                                                   \
    do {                                                                                           \
        const type *values = (const type *)(const void *)view->data + view->offset;                \
        for (int64_t row = 0; row < rows; row++) {                                                 \
            out[row * stride] = (uint64_t)values[row] ^ (shift);                                   \
        }                                                                                          \
    } while (0)

static void put_narrow(const struct seam_view *view, int64_t rows, uint64_t *out, int64_t stride) {
    const uint64_t top = UINT64_C(1) << 63;
    int is_signed = view->order == SEAM_ORDER_SIGNED;
    if (view->layout == SEAM_LAYOUT_BITS) {
        for (int64_t row = 0; row < rows; row++) {
            out[row * stride] = seam_bit(view->data, view->offset + row);
        }
    } else if (view->order == SEAM_ORDER_FLOAT) {
        for (int64_t row = 0; row < rows; row++) {
            uint64_t bits = 0;
            memcpy(&bits, view->data + (view->offset + row) * view->width_bytes,
                   (size_t)view->width_bytes);
            out[row * stride] = float_rank(bits, view->width_bytes);
        }
    } else if (is_signed && view->width_bytes == 8) {
        PUT_NUMBERS(int64_t, top);
    } else if (is_signed && view->width_bytes == 4) {
        PUT_NUMBERS(int32_t, top);
    } else if (is_signed && view->width_bytes == 2) {
        PUT_NUMBERS(int16_t, top);
    } else if (is_signed) {
        PUT_NUMBERS(int8_t, top);
    } else {
        for (int64_t row = 0; row < rows; row++) {
            uint64_t value = 0;
            memcpy(&value, view->data + (view->offset + row) * view->width_bytes,
                   (size_t)view->width_bytes);
            out[row * stride] = value;
        }
    }
}

static void put_wide(const struct seam_view *view, int64_t rows, uint64_t *out, int64_t stride) {
    for (int64_t row = 0; row < rows; row++) {
        uint64_t halves[2];
        memcpy(halves, view->data + (view->offset + row) * 16, 16);
        out[row * stride] =
            view->order == SEAM_ORDER_SIGNED ? halves[1] ^ (UINT64_C(1) << 63) : halves[1];
        out[row * stride + 1] = halves[0];
    }
}

/* A column's words; with `flagged` one in front of them says whether the row has a value. */
static void put_column(const struct seam_node *column, const struct seam_order_key *key,
                       int32_t flagged, int64_t rows, uint64_t *out, int64_t stride) {
    int32_t n = words_of(column);
    uint64_t *values = out + flagged;
    if (n == 2) {
        put_wide(&column->view, rows, values, stride);
    } else {
        put_narrow(&column->view, rows, values, stride);
    }
    for (int64_t row = 0; key->descending && row < rows; row++) {
        for (int32_t k = 0; k < n; k++) {
            values[row * stride + k] = ~values[row * stride + k];
        }
    }
    for (int64_t row = 0; flagged && row < rows; row++) {
        int valid = seam_node_valid(column, row);
        out[row * stride] = (uint64_t)valid;
        for (int32_t k = 0; !valid && k < n; k++) {
            values[row * stride + k] = 0; /* what stands below a null is no value */
        }
    }
}

int seam_ranks_fill(struct seam_ranks *ranks, const struct seam_order_key *order, int32_t n_order,
                    int32_t refuse_nulls, const struct seam_node *batch, struct seam_error *error) {
    int64_t rows = batch->view.length;
    int32_t n_words = 0, flagged = !refuse_nulls, fixed = 1;
    for (int32_t i = 0; i < n_order; i++) {
        if (order[i].column < 0 || order[i].column >= batch->n_children) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "the batch has no column %d",
                             (int)order[i].column);
        }
        const struct seam_node *column = &batch->children[order[i].column];
        SEAM_TRY(refuse_nulls ? refuse_nulls_in(column, rows, error) : SEAM_OK);
        int32_t own = words_of(column);
        fixed = fixed && own > 0;
        n_words += own + flagged;
    }
    ranks->rows = rows;
    ranks->n_words = fixed ? n_words : 0;
    if (!fixed) {
        return seam_sort_keys_fill(&ranks->bytes, order, n_order, batch, error);
    }
    ranks->words.size_bytes = 0;
    int64_t size_bytes = rows * n_words * 8;
    SEAM_TRY(seam_buffer_reserve(&ranks->words, size_bytes, error));
    uint64_t *out = (uint64_t *)(void *)ranks->words.data;
    for (int32_t i = 0; i < n_order; i++) {
        const struct seam_node *column = &batch->children[order[i].column];
        put_column(column, &order[i], flagged, rows, out, n_words);
        out += words_of(column) + flagged;
    }
    ranks->words.size_bytes = size_bytes;
    return SEAM_OK;
}

int seam_ranks_keep(struct seam_ranks *to, const struct seam_ranks *from, int64_t row,
                    struct seam_error *error) {
    to->rows = 1;
    to->n_words = from->n_words;
    to->words.size_bytes = to->bytes.bytes.size_bytes = to->bytes.offsets.size_bytes = 0;
    if (from->n_words > 0) {
        int64_t size_bytes = (int64_t)from->n_words * 8;
        SEAM_TRY(seam_buffer_reserve(&to->words, size_bytes, error));
        memcpy(to->words.data, seam_rank_words(from, row), (size_t)size_bytes);
        to->words.size_bytes = size_bytes;
        return SEAM_OK;
    }
    const uint8_t *key;
    int64_t size_bytes = seam_sort_key(&from->bytes, row, &key);
    SEAM_TRY(seam_buffer_reserve(&to->bytes.bytes, size_bytes + 1, error));
    SEAM_TRY(seam_buffer_reserve(&to->bytes.offsets, 16, error));
    memcpy(to->bytes.bytes.data, key, (size_t)size_bytes);
    to->bytes.bytes.size_bytes = size_bytes;
    int64_t *offsets = (int64_t *)(void *)to->bytes.offsets.data;
    offsets[0] = 0;
    offsets[1] = size_bytes;
    to->bytes.offsets.size_bytes = 16;
    to->bytes.rows = 1;
    return SEAM_OK;
}
