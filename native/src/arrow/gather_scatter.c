#include "arrow/gather_column.h"

#include <string.h>

/* Rows are read in order and written to as many places as there are parts, whose lines stay near;
 * reading them part by part would go over the whole batch for each. */

#define SCATTER_AS(type)                                                                           \
    do {                                                                                           \
        type *out = (type *)(void *)target;                                                        \
        const type *in = (const type *)(const void *)source;                                       \
        for (int64_t i = 0; i < count; i++) {                                                      \
            out[positions[i]] = in[i];                                                             \
        }                                                                                          \
    } while (0)

static void scatter_fixed(uint8_t *target, const uint8_t *source, int64_t width,
                          const int32_t *positions, int64_t count) {
    switch (width) {
    case 1:
        SCATTER_AS(uint8_t);
        break;
    case 2:
        SCATTER_AS(uint16_t);
        break;
    case 4:
        SCATTER_AS(uint32_t);
        break;
    case 8:
        SCATTER_AS(uint64_t);
        break;
    case 16:
        for (int64_t i = 0; i < count; i++) {
            memcpy(target + (int64_t)positions[i] * 16, source + i * 16, 16);
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            memcpy(target + positions[i] * width, source + i * width, (size_t)width);
        }
    }
}

/* Offsets of the strings in their new order. They fit: their bytes did. */
static void scatter_offsets(int32_t *ends, const int32_t *offsets,
                            const struct seam_gather_order *order) {
    ends[0] = 0;
    for (int64_t i = 0; i < order->count; i++) {
        ends[order->positions[i] + INT64_C(1)] = offsets[i + 1] - offsets[i];
    }
    int32_t at = 0;
    for (int64_t i = 1; i <= order->count; i++) {
        at += ends[i];
        ends[i] = at;
    }
}

static void scatter_strings(uint8_t *bytes, const int32_t *ends, const int32_t *offsets,
                            const uint8_t *data, const struct seam_gather_order *order) {
    const uint8_t *last = data + offsets[order->count];
    for (int64_t i = 0; i < order->count; i++) {
        const uint8_t *source = data + offsets[i];
        int64_t size = offsets[i + 1] - offsets[i];
        int64_t at = ends[order->positions[i]];
        int64_t stop = ends[order->starts[order->parts[i] + 1]];
        /* Behind a part's end others may have been written; within it what follows comes later. */
        int roomy =
            last - source >= size + SEAM_GATHER_SLACK && stop - at >= size + SEAM_GATHER_SLACK;
        seam_gather_copy_string(bytes + at, source, size, roomy);
    }
}

int seam_gather_scatter(struct seam_gather_column *column, const struct seam_node *node,
                        const struct seam_gather_order *order, struct seam_error *error) {
    const struct seam_view *view = &node->view;
    int64_t count = order->count;
    SEAM_TRY(seam_gather_reserve_rows(column, count, count, error));
    if (column->layout == SEAM_LAYOUT_FIXED) {
        scatter_fixed(column->values.data, view->data + view->offset * column->width, column->width,
                      order->positions, count);
        column->values.size_bytes = count * column->width;
    } else {
        const int32_t *offsets = (const int32_t *)view->offsets + view->offset;
        int64_t size_bytes = offsets[count] - offsets[0];
        SEAM_TRY(seam_buffer_reserve(&column->bytes, size_bytes + SEAM_GATHER_SLACK, error));
        int32_t *ends = (int32_t *)(void *)column->values.data;
        scatter_offsets(ends, offsets, order);
        scatter_strings(column->bytes.data, ends, offsets, view->data, order);
        column->values.size_bytes = (count + 1) * column->width;
        column->bytes.size_bytes = size_bytes;
    }
    column->rows = count;
    return SEAM_OK;
}
