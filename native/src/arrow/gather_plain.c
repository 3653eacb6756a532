#include "arrow/gather_column.h"

#include <string.h>

int seam_gather_is_plain(const struct seam_gather_column *column, const struct seam_node *node) {
    return node->kind == SEAM_NODE_FLAT && column->kind == SEAM_NODE_FLAT &&
           node->view.layout == column->layout && node->view.validity == NULL &&
           column->validity.data == NULL &&
           (column->layout == SEAM_LAYOUT_VAR32 ||
            (column->layout == SEAM_LAYOUT_FIXED && column->width == node->view.width_bytes));
}

int seam_gather_reserve_rows(struct seam_gather_column *column, int64_t count, int64_t capacity,
                             struct seam_error *error) {
    int64_t rows = column->rows == 0 && capacity > count ? capacity : count;
    return seam_buffer_reserve(&column->values, (rows + 1) * column->width, error);
}

int64_t seam_gather_last_offset(const struct seam_gather_column *column) {
    if (column->rows == 0) {
        return 0;
    }
    const uint8_t *at = column->values.data + column->rows * column->width;
    int32_t narrow;
    int64_t value;
    if (column->width == 8) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

#define GATHER_AS(type)                                                                            \
    do {                                                                                           \
        type *out = (type *)(void *)target;                                                        \
        const type *in = (const type *)(const void *)source;                                       \
        for (int64_t i = 0; i < count; i++) {                                                      \
            out[i] = in[rows[i]];                                                                  \
        }                                                                                          \
    } while (0)

void seam_gather_fixed(uint8_t *target, const uint8_t *source, int64_t width, const int32_t *rows,
                       int64_t count) {
    switch (width) {
    case 1:
        GATHER_AS(uint8_t);
        break;
    case 2:
        GATHER_AS(uint16_t);
        break;
    case 4:
        GATHER_AS(uint32_t);
        break;
    case 8:
        GATHER_AS(uint64_t);
        break;
    case 16:
        for (int64_t i = 0; i < count; i++) {
            memcpy(target + i * 16, source + (int64_t)rows[i] * 16, 16);
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            memcpy(target + i * width, source + rows[i] * width, (size_t)width);
        }
    }
}

static int append_fixed(struct seam_gather_column *column, const struct seam_node *node,
                        const int32_t *rows, int64_t count, int64_t capacity,
                        struct seam_error *error) {
    SEAM_TRY(seam_gather_reserve_rows(column, count, capacity, error));
    int64_t width = column->width;
    seam_gather_fixed(column->values.data + column->values.size_bytes,
                      node->view.data + node->view.offset * width, width, rows, count);
    column->values.size_bytes += count * width;
    return SEAM_OK;
}

/* Where bytes must end if more room is not to be made for them. */
static int64_t limit_of(const struct seam_gather_column *column) {
    int64_t room = column->bytes.capacity_bytes - SEAM_GATHER_SLACK;
    return room < INT32_MAX ? room : INT32_MAX;
}

/* Room for bytes up to `end`, and for as many as the chunk before had. */
static int grow_bytes(struct seam_gather_column *column, const struct seam_node *node, int64_t at,
                      int64_t end, struct seam_error *error) {
    if (end > INT32_MAX) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "column '%s' would hold %lld bytes or elements",
                         node->name, (long long)end);
    }
    int64_t like_before = column->bytes_before + column->bytes_before / 8;
    int64_t wanted = end > like_before ? end : like_before;
    column->bytes.size_bytes = at;
    return seam_buffer_reserve(&column->bytes, wanted - at + SEAM_GATHER_SLACK, error);
}

/* Strings with 32-bit offsets, which are written as the bytes are copied. */
static int append_strings(struct seam_gather_column *column, const struct seam_node *node,
                          const int32_t *rows, int64_t count, int64_t capacity,
                          struct seam_error *error) {
    SEAM_TRY(seam_gather_reserve_rows(column, count, capacity, error));
    const int32_t *offsets = (const int32_t *)node->view.offsets + node->view.offset;
    const uint8_t *data = node->view.data;
    const uint8_t *last = data + offsets[node->view.length];
    int64_t at = seam_gather_last_offset(column);
    int32_t *ends = (int32_t *)(void *)column->values.data + column->rows;
    uint8_t *bytes = column->bytes.data;
    int64_t limit = limit_of(column);
    ends[0] = (int32_t)at;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *source = data + offsets[rows[i]];
        int64_t size = offsets[rows[i] + INT64_C(1)] - offsets[rows[i]];
        if (at + size > limit) {
            SEAM_TRY(grow_bytes(column, node, at, at + size, error));
            bytes = column->bytes.data;
            limit = limit_of(column);
        }
        seam_gather_copy_string(bytes + at, source, size,
                                last - source >= size + SEAM_GATHER_SLACK);
        at += size;
        ends[i + 1] = (int32_t)at;
    }
    column->bytes.size_bytes = at;
    column->values.size_bytes = (column->rows + count + 1) * column->width;
    return SEAM_OK;
}

int seam_gather_append_plain(struct seam_gather_column *column, const struct seam_node *node,
                             const int32_t *rows, int64_t count, int64_t capacity,
                             struct seam_error *error) {
    SEAM_TRY((column->layout == SEAM_LAYOUT_FIXED ? append_fixed : append_strings)(
        column, node, rows, count, capacity, error));
    column->rows += count;
    return SEAM_OK;
}

/* Bytes of a cache line, in which memory is fetched. */
#define LINE_BYTES 64

static void fetch(const void *from, int64_t size_bytes) {
    for (int64_t at = 0; at < size_bytes; at += LINE_BYTES) {
        __builtin_prefetch((const uint8_t *)from + at);
    }
}

void seam_gather_fetch(const struct seam_node *node, int64_t begin, int64_t count) {
    const struct seam_view *view = &node->view;
    int64_t first = view->offset + begin;
    if (node->kind != SEAM_NODE_FLAT || count == 0) {
        return;
    }
    if (view->layout == SEAM_LAYOUT_FIXED) {
        fetch(view->data + first * view->width_bytes, count * view->width_bytes);
    } else if (view->layout == SEAM_LAYOUT_VAR32) {
        const int32_t *offsets = (const int32_t *)view->offsets + first;
        fetch(offsets, (count + 1) * (int64_t)sizeof *offsets);
        fetch(view->data + offsets[0], offsets[count] - offsets[0]);
    }
}
