#include "seam/sort_key.h"

#include <string.h>

void seam_sort_keys_init(struct seam_sort_keys *keys, struct seam_allocator *allocator) {
    seam_buffer_init(&keys->bytes, allocator);
    seam_buffer_init(&keys->offsets, allocator);
    keys->rows = 0;
}

void seam_sort_keys_reset(struct seam_sort_keys *keys) {
    seam_buffer_reset(&keys->bytes);
    seam_buffer_reset(&keys->offsets);
    keys->rows = 0;
}

int seam_sort_key_compare(const uint8_t *a, int64_t a_bytes, const uint8_t *b, int64_t b_bytes) {
    int64_t common = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = memcmp(a, b, (size_t)common);
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/* Whether the values of a column, behind any encoding, have an order. */
static int check_column(const struct seam_node *node, struct seam_error *error) {
    while (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS) {
        node = &node->children[node->kind == SEAM_NODE_RUNS];
    }
    if (node->kind != SEAM_NODE_FLAT && node->kind != SEAM_NODE_NULLS) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s' of Arrow format '%s' is no key of an order", node->name,
                         node->format);
    }
    return SEAM_OK;
}

/* Little-endian bytes, highest first. */
static uint8_t *put_reversed(uint8_t *out, const uint8_t *value, int32_t width) {
    for (int32_t i = 0; i < width; i++) {
        out[i] = value[width - 1 - i];
    }
    return out + width;
}

static uint8_t *put_float(uint8_t *out, const uint8_t *value, int32_t width) {
    uint64_t bits = 0;
    uint64_t sign = UINT64_C(1) << (width * 8 - 1);
    uint64_t infinity = width == 8 ? UINT64_C(0x7FF0000000000000) : UINT64_C(0x7F800000);
    memcpy(&bits, value, (size_t)width);
    if ((bits & ~sign) > infinity) {
        bits = sign - 1; /* every NaN is the same, the greatest */
    } else if (bits == sign) {
        bits = 0;
    }
    bits = (bits & sign) ? ~bits : bits | sign;
    return put_reversed(out, (const uint8_t *)&bits, width);
}

/* Bytes with an end: a 0 among them is followed by FF, the end is two zeros. */
static uint8_t *put_bytes(uint8_t *out, const uint8_t *value, int64_t size_bytes) {
    for (int64_t i = 0; i < size_bytes; i++) {
        *out++ = value[i];
        if (value[i] == 0) {
            *out++ = 0xFF;
        }
    }
    *out++ = 0;
    *out++ = 0;
    return out;
}

static uint8_t *put_value(uint8_t *out, const struct seam_view *view, int64_t row) {
    if (view->layout == SEAM_LAYOUT_BITS) {
        *out = (uint8_t)seam_bit(view->data, view->offset + row);
        return out + 1;
    }
    const uint8_t *value;
    if (view->layout != SEAM_LAYOUT_FIXED) {
        int64_t size_bytes = seam_view_bytes(view, row, &value);
        return put_bytes(out, value, size_bytes);
    }
    value = view->data + (view->offset + row) * view->width_bytes;
    switch (view->order) {
    case SEAM_ORDER_FLOAT:
        return put_float(out, value, view->width_bytes);
    case SEAM_ORDER_BYTES:
        memcpy(out, value, (size_t)view->width_bytes);
        return out + view->width_bytes;
    default: {
        uint8_t *end = put_reversed(out, value, view->width_bytes);
        *out ^= view->order == SEAM_ORDER_SIGNED ? 0x80 : 0;
        return end;
    }
    }
}

/* The flat column and row that a row of a dictionary or of runs stands for; NULL for a null. */
static const struct seam_node *resolve(const struct seam_node *node, int64_t *row) {
    while (node->kind != SEAM_NODE_FLAT) {
        if (node->kind == SEAM_NODE_RUNS) {
            *row = seam_node_run(node, *row);
            node = &node->children[1];
        } else if (seam_node_valid(node,
                                   *row)) { /* a dictionary: of nulls alone nothing is valid */
            *row = seam_node_index(node, *row);
            node = &node->children[0];
        } else {
            return NULL;
        }
    }
    return seam_node_valid(node, *row) ? node : NULL;
}

static int64_t bound_of(const struct seam_node *node, int64_t row) {
    const uint8_t *unused;
    return node == NULL                            ? 1
           : node->view.layout == SEAM_LAYOUT_BITS ? 2
           : node->view.layout == SEAM_LAYOUT_FIXED
               ? 1 + node->view.width_bytes
               : 3 + 2 * seam_view_bytes(&node->view, row, &unused);
}

static int put_key(struct seam_buffer *bytes, const struct seam_order_key *key,
                   const struct seam_node *column, int64_t row, struct seam_error *error) {
    const struct seam_node *node = resolve(column, &row);
    SEAM_TRY(seam_buffer_reserve(bytes, bound_of(node, row), error));
    uint8_t *begin = bytes->data + bytes->size_bytes;
    uint8_t *end = begin + 1;
    *begin = (uint8_t)((node == NULL) != (key->nulls_first != 0));
    if (node != NULL) {
        end = put_value(end, &node->view, row);
    }
    for (uint8_t *at = begin + 1; key->descending && at < end; at++) {
        *at = (uint8_t)~*at;
    }
    bytes->size_bytes = end - bytes->data;
    return SEAM_OK;
}

int seam_sort_keys_fill(struct seam_sort_keys *keys, const struct seam_order_key *order,
                        int32_t n_order, const struct seam_node *batch, struct seam_error *error) {
    int64_t rows = batch->view.length;
    for (int32_t i = 0; i < n_order; i++) {
        if (order[i].column < 0 || order[i].column >= batch->n_children) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "the batch has no column %d",
                             (int)order[i].column);
        }
        SEAM_TRY(check_column(&batch->children[order[i].column], error));
    }
    keys->bytes.size_bytes = keys->offsets.size_bytes = 0;
    SEAM_TRY(seam_buffer_reserve(&keys->offsets, (rows + 1) * 8, error));
    SEAM_TRY(seam_buffer_reserve(&keys->bytes, rows * n_order * 9 + 1, error));
    int64_t *offsets = (int64_t *)(void *)keys->offsets.data;
    for (int64_t row = 0; row < rows; row++) {
        offsets[row] = keys->bytes.size_bytes;
        for (int32_t i = 0; i < n_order; i++) {
            SEAM_TRY(
                put_key(&keys->bytes, &order[i], &batch->children[order[i].column], row, error));
        }
    }
    offsets[rows] = keys->bytes.size_bytes;
    keys->offsets.size_bytes = (rows + 1) * 8;
    keys->rows = rows;
    return SEAM_OK;
}
