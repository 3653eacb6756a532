#include "arrow/gather_column.h"

#include "seam/arrow_build.h"

#include <string.h>

/* The node whose values are collected: behind dictionaries and runs. */
static const struct seam_node *values_of(const struct seam_node *node) {
    while (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS) {
        node = &node->children[node->kind == SEAM_NODE_RUNS ? 1 : 0];
    }
    return node;
}

static int has_offsets(const struct seam_gather_column *column) {
    return column->kind == SEAM_NODE_LIST || column->kind == SEAM_NODE_MAP ||
           (column->kind == SEAM_NODE_FLAT &&
            (column->layout == SEAM_LAYOUT_VAR32 || column->layout == SEAM_LAYOUT_VAR64));
}

int seam_gather_column_init(struct seam_gather_column *column, struct seam_allocator *allocator,
                            const struct seam_node *node, struct seam_error *error) {
    node = values_of(node);
    *column = (struct seam_gather_column){
        .kind = node->kind, .layout = node->view.layout, .allocator = allocator};
    seam_buffer_init(&column->validity, allocator);
    seam_buffer_init(&column->values, allocator);
    seam_buffer_init(&column->bytes, allocator);
    column->width = node->view.layout == SEAM_LAYOUT_FIXED ? node->view.width_bytes : 0;
    if (has_offsets(column)) {
        column->width = node->view.layout == SEAM_LAYOUT_VAR64 ? 8 : 4;
    }
    if (node->n_children == 0) {
        return SEAM_OK;
    }
    void *block;
    size_t size = (size_t)node->n_children * sizeof *column->children;
    SEAM_TRY(seam_alloc(allocator, size, &block, error));
    int code = SEAM_OK;
    column->children = block;
    for (int64_t i = 0; code == SEAM_OK && i < node->n_children; i++) {
        code = seam_gather_column_init(&column->children[i], allocator, &node->children[i], error);
        column->n_children = i + 1;
    }
    if (code != SEAM_OK) {
        seam_gather_column_reset(column);
    }
    return code;
}

void seam_gather_column_reset(struct seam_gather_column *column) {
    seam_buffer_reset(&column->validity);
    seam_buffer_reset(&column->values);
    seam_buffer_reset(&column->bytes);
    for (int64_t i = 0; i < column->n_children; i++) {
        seam_gather_column_reset(&column->children[i]);
    }
    seam_free(column->children);
    column->children = NULL;
    column->n_children = 0;
}

/* --- validity --- */

static void set_bit(uint8_t *bits, int64_t at, int value) {
    uint8_t mask = (uint8_t)(1 << (at & 7));
    bits[at >> 3] = (uint8_t)(value ? bits[at >> 3] | mask : bits[at >> 3] & ~mask);
}

/* Room for the bits of `count` more rows. Rows from before the bitmap was there are valid. */
static int grow_bits(struct seam_buffer *bits, int64_t rows, int64_t count, int64_t capacity,
                     struct seam_error *error) {
    int64_t had = bits->size_bytes;
    int64_t needed = (rows + count + 7) / 8;
    int64_t wanted = (capacity + 7) / 8 > needed ? (capacity + 7) / 8 : needed;
    if (wanted > had) {
        SEAM_TRY(seam_buffer_reserve(bits, wanted - had, error));
    }
    return seam_buffer_fill(bits, needed, 0xFF, error);
}

static int append_validity(struct seam_gather_column *column, const struct seam_node *node,
                           const int32_t *rows, int64_t count, int64_t capacity,
                           struct seam_error *error) {
    int64_t nulls = 0;
    if (node->view.validity == NULL && node->kind != SEAM_NODE_NULLS) {
        for (int64_t i = 0; i < count; i++) {
            nulls += rows[i] < 0;
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            nulls += rows[i] < 0 || !seam_node_valid(node, rows[i]);
        }
    }
    if ((nulls == 0 && column->validity.data == NULL) || column->kind == SEAM_NODE_NULLS) {
        return SEAM_OK;
    }
    SEAM_TRY(grow_bits(&column->validity, column->rows, count, capacity, error));
    column->null_count += nulls;
    for (int64_t i = 0; nulls > 0 && i < count; i++) {
        int valid = rows[i] >= 0 && seam_node_valid(node, rows[i]);
        set_bit(column->validity.data, column->rows + i, valid);
    }
    return SEAM_OK;
}

/* --- values --- */

static int any_missing(const int32_t *rows, int64_t count) {
    int32_t all = 0;
    for (int64_t i = 0; i < count; i++) {
        all |= rows[i];
    }
    return all < 0;
}

static int append_fixed(struct seam_gather_column *column, const struct seam_node *node,
                        const int32_t *rows, int64_t count, int64_t capacity,
                        struct seam_error *error) {
    SEAM_TRY(seam_gather_reserve_rows(column, count, capacity, error));
    int64_t width = column->width;
    uint8_t *target = column->values.data + column->values.size_bytes;
    const uint8_t *source = node->view.data + node->view.offset * width;
    if (any_missing(rows, count)) {
        for (int64_t i = 0; i < count; i++) {
            if (rows[i] < 0) {
                memset(target + i * width, 0, (size_t)width);
            } else {
                memcpy(target + i * width, source + rows[i] * width, (size_t)width);
            }
        }
    } else {
        seam_gather_fixed(target, source, width, rows, count);
    }
    column->values.size_bytes += count * width;
    return SEAM_OK;
}

static int append_bits(struct seam_gather_column *column, const struct seam_node *node,
                       const int32_t *rows, int64_t count, int64_t capacity,
                       struct seam_error *error) {
    SEAM_TRY(grow_bits(&column->values, column->rows, count, capacity, error));
    for (int64_t i = 0; i < count; i++) {
        int value = rows[i] >= 0 && seam_bit(node->view.data, node->view.offset + rows[i]);
        set_bit(column->values.data, column->rows + i, value);
    }
    return SEAM_OK;
}

static void put_offset(struct seam_gather_column *column, int64_t row, int64_t value) {
    if (column->width == 8) {
        ((int64_t *)(void *)column->values.data)[row] = value;
    } else {
        ((int32_t *)(void *)column->values.data)[row] = (int32_t)value;
    }
}

/* Writes the offsets of `count` more rows and tells where the last one ends. Nulls have no bytes.
 */
static int append_offsets(struct seam_gather_column *column, const struct seam_node *node,
                          const int32_t *rows, int64_t count, int64_t capacity, int64_t *end,
                          struct seam_error *error) {
    SEAM_TRY(seam_gather_reserve_rows(column, count, capacity, error));
    int64_t at = seam_gather_last_offset(column);
    if (column->rows == 0) {
        put_offset(column, 0, 0);
    }
    for (int64_t i = 0; i < count; i++) {
        if (rows[i] >= 0 && seam_node_valid(node, rows[i])) {
            at += seam_node_start(node, rows[i] + INT64_C(1)) - seam_node_start(node, rows[i]);
        }
        put_offset(column, column->rows + i + 1, at);
    }
    if (column->width == 4 && at > INT32_MAX) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "column '%s' would hold %lld bytes or elements",
                         node->name, (long long)at);
    }
    column->values.size_bytes = (column->rows + count + 1) * column->width;
    *end = at;
    return SEAM_OK;
}

/* What is made room for ahead, at most: a long string among the first must not cost much. */
#define MOST_EXPECTED_BYTES (256 * 1024)

/* Room for the bytes of all rows that are expected, if they are like the first ones: growing step
 * by step would copy them several times. */
static int64_t bytes_expected(const struct seam_gather_column *column, int64_t size_bytes,
                              int64_t count, int64_t capacity) {
    if (column->rows > 0 || count == 0 || capacity <= count) {
        return size_bytes;
    }
    int64_t expected = size_bytes / count * capacity;
    int64_t most = size_bytes > MOST_EXPECTED_BYTES ? size_bytes : MOST_EXPECTED_BYTES;
    return expected < size_bytes ? size_bytes : expected < most ? expected : most;
}

static int append_strings(struct seam_gather_column *column, const struct seam_node *node,
                          const int32_t *rows, int64_t count, int64_t capacity,
                          struct seam_error *error) {
    int64_t begin = seam_gather_last_offset(column);
    int64_t end = 0;
    SEAM_TRY(append_offsets(column, node, rows, count, capacity, &end, error));
    int64_t room = bytes_expected(column, end - begin, count, capacity);
    SEAM_TRY(seam_buffer_reserve(&column->bytes, room + SEAM_GATHER_SLACK, error));
    const struct seam_view *view = &node->view;
    const uint8_t *last = seam_view_bytes_end(view);
    uint8_t *target = column->bytes.data + begin;
    for (int64_t i = 0; i < count; i++) {
        if (rows[i] < 0 || !seam_node_valid(node, rows[i])) {
            continue;
        }
        const uint8_t *source;
        int64_t size = seam_view_bytes(view, rows[i], &source);
        seam_gather_copy_string(target, source, size, last - source >= size + SEAM_GATHER_SLACK);
        target += size;
    }
    column->bytes.size_bytes = end;
    return SEAM_OK;
}

/* --- nesting --- */

/* Row numbers for a child, made for the time of one append. */
static int make_rows(struct seam_gather_column *column, int64_t count, int32_t **out,
                     struct seam_error *error) {
    void *block;
    int code = seam_alloc(column->allocator, (size_t)count * sizeof **out, &block, error);
    *out = code == SEAM_OK ? block : NULL;
    return code;
}

static int append_list(struct seam_gather_column *column, const struct seam_node *node,
                       const int32_t *rows, int64_t count, int64_t capacity,
                       struct seam_error *error) {
    int64_t begin = seam_gather_last_offset(column);
    int64_t end = 0;
    int32_t *elements = NULL;
    SEAM_TRY(append_offsets(column, node, rows, count, capacity, &end, error));
    if (node->children[0].view.length > INT32_MAX) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "column '%s' has more than 2^31 - 1 elements",
                         node->name);
    }
    SEAM_TRY(make_rows(column, end - begin, &elements, error));
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (rows[i] < 0 || !seam_node_valid(node, rows[i])) {
            continue;
        }
        int64_t stop = seam_node_start(node, rows[i] + INT64_C(1));
        for (int64_t at = seam_node_start(node, rows[i]); at < stop; at++) {
            elements[n++] = (int32_t)at;
        }
    }
    int code =
        seam_gather_column_append(&column->children[0], &node->children[0], elements, n, 0, error);
    seam_free(elements);
    return code;
}

/* Fields of a null row are null too, so that what lies under it does not count. */
static int append_struct(struct seam_gather_column *column, const struct seam_node *node,
                         const int32_t *rows, int64_t count, int64_t capacity,
                         struct seam_error *error) {
    int32_t *present = NULL;
    int code = SEAM_OK;
    if (node->view.validity != NULL) {
        code = make_rows(column, count, &present, error);
        for (int64_t i = 0; code == SEAM_OK && i < count; i++) {
            present[i] = rows[i] >= 0 && seam_node_valid(node, rows[i]) ? rows[i] : -1;
        }
        rows = present;
    }
    for (int64_t i = 0; code == SEAM_OK && i < column->n_children; i++) {
        code = seam_gather_column_append(&column->children[i], &node->children[i], rows, count,
                                         capacity, error);
    }
    seam_free(present);
    return code;
}

/* Rows of a dictionary or of runs, as rows of its values. */
static int append_encoded(struct seam_gather_column *column, const struct seam_node *node,
                          const int32_t *rows, int64_t count, int64_t capacity,
                          struct seam_error *error) {
    int runs = node->kind == SEAM_NODE_RUNS;
    int32_t *inner = NULL;
    int code = make_rows(column, count, &inner, error);
    for (int64_t i = 0; code == SEAM_OK && i < count; i++) {
        inner[i] = -1;
        if (rows[i] >= 0 && seam_node_valid(node, rows[i])) {
            int64_t at = runs ? seam_node_run(node, rows[i]) : seam_node_index(node, rows[i]);
            inner[i] = (int32_t)at;
        }
    }
    if (code == SEAM_OK) {
        code =
            seam_gather_column_append(column, &node->children[runs], inner, count, capacity, error);
    }
    seam_free(inner);
    return code;
}

int seam_gather_column_append(struct seam_gather_column *column, const struct seam_node *node,
                              const int32_t *rows, int64_t count, int64_t capacity,
                              struct seam_error *error) {
    if (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS) {
        return append_encoded(column, node, rows, count, capacity, error);
    }
    if (node->kind != column->kind || node->view.layout != column->layout) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "column '%s' has Arrow format '%s', which is not what came before",
                         node->name, node->format);
    }
    if (seam_gather_is_plain(column, node) && count > 0 && !any_missing(rows, count)) {
        return seam_gather_append_plain(column, node, rows, count, capacity, error);
    }
    SEAM_TRY(append_validity(column, node, rows, count, capacity, error));
    if (column->kind == SEAM_NODE_STRUCT) {
        SEAM_TRY(append_struct(column, node, rows, count, capacity, error));
    } else if (has_offsets(column)) {
        SEAM_TRY((column->kind == SEAM_NODE_FLAT ? append_strings : append_list)(
            column, node, rows, count, capacity, error));
    } else if (column->kind == SEAM_NODE_FLAT) {
        SEAM_TRY((column->layout == SEAM_LAYOUT_BITS ? append_bits : append_fixed)(
            column, node, rows, count, capacity, error));
    }
    column->rows += count;
    return SEAM_OK;
}

int64_t seam_gather_column_bytes(const struct seam_gather_column *column) {
    int64_t bytes =
        column->validity.size_bytes + column->values.size_bytes + column->bytes.size_bytes;
    for (int64_t i = 0; i < column->n_children; i++) {
        bytes += seam_gather_column_bytes(&column->children[i]);
    }
    return bytes;
}

/* --- the end --- */

/* A column without rows still has its first offset, and buffers that are there. */
static int complete_buffers(struct seam_gather_column *column, struct seam_error *error) {
    int64_t needed = has_offsets(column) ? column->width : 0;
    if (column->values.data == NULL) {
        SEAM_TRY(seam_buffer_reserve(&column->values, needed + 1, error));
        memset(column->values.data, 0, (size_t)needed);
    }
    if (column->kind == SEAM_NODE_FLAT && has_offsets(column) && column->bytes.data == NULL) {
        SEAM_TRY(seam_buffer_reserve(&column->bytes, 1, error));
    }
    return SEAM_OK;
}

static void *release_buffer(struct seam_buffer *buffer) {
    void *block = buffer->data;
    seam_buffer_init(buffer, buffer->allocator);
    return block;
}

static int build(struct seam_gather_column *column, struct ArrowArray *children,
                 struct ArrowArray *out, struct seam_error *error) {
    void *buffers[3] = {column->validity.data, column->values.data, column->bytes.data};
    int64_t n_buffers = column->kind == SEAM_NODE_NULLS                         ? 0
                        : column->kind == SEAM_NODE_STRUCT                      ? 1
                        : column->kind == SEAM_NODE_FLAT && has_offsets(column) ? 3
                                                                                : 2;
    int64_t nulls = column->kind == SEAM_NODE_NULLS ? column->rows : column->null_count;
    return seam_array_build(column->allocator, column->rows, nulls, n_buffers, buffers,
                            column->n_children, children, out, error);
}

static int finish_children(struct seam_gather_column *column, struct ArrowArray *children,
                           struct ArrowArray *out, struct seam_error *error) {
    for (int64_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(seam_gather_column_finish(&column->children[i], &children[i], error));
    }
    return build(column, children, out, error);
}

int seam_gather_column_finish(struct seam_gather_column *column, struct ArrowArray *out,
                              struct seam_error *error) {
    if (column->kind != SEAM_NODE_STRUCT && column->kind != SEAM_NODE_NULLS) {
        SEAM_TRY(complete_buffers(column, error));
    }
    if (column->n_children == 0) {
        SEAM_TRY(build(column, NULL, out, error));
    } else {
        struct ArrowArray *children;
        int64_t n = column->n_children;
        SEAM_TRY(seam_arrays_new(column->allocator, n, &children, error));
        SEAM_TRY(seam_arrays_end(children, n, finish_children(column, children, out, error)));
    }
    /* The array has them now. */
    column->bytes_before = column->bytes.size_bytes;
    release_buffer(&column->validity);
    release_buffer(&column->values);
    release_buffer(&column->bytes);
    column->rows = 0;
    column->null_count = 0;
    return SEAM_OK;
}
