#include "presto/presto_write.h"

static void put_name(struct presto_output *output, enum presto_encoding encoding) {
    const struct presto_name *name = &PRESTO_NAMES[encoding];
    presto_put_i32(output, name->size_bytes);
    memcpy(output->at, name->text, (size_t)name->size_bytes);
    output->at += name->size_bytes;
}

static void put_flags(struct presto_output *output, const struct presto_plan *plan) {
    const struct presto_rows *rows = &plan->rows;
    const int64_t size = presto_flag_bytes(rows->count);
    *output->at++ = plan->flags;
    if (!plan->flags) {
        return;
    }
    uint8_t *flags = output->at;
    output->at += size;
    if (plan->present == rows->count) {
        memset(flags, 0, (size_t)size);
    } else if (rows->rows == NULL && plan->present > 0) {
        const struct seam_view *view = &plan->node->view;
        presto_validity_to_flags(view->validity, view->offset + rows->begin, rows->count, flags);
    } else {
        memset(flags, 0, (size_t)size);
        for (int64_t i = 0; i < rows->count; i++) {
            bool null = !presto_row_valid(plan->node, presto_row(rows, i));
            flags[i >> 3] |= (uint8_t)(null << (7 - (i & 7)));
        }
    }
}

/* --- flat columns --- */

static int put_values(struct presto_output *output, const struct presto_plan *plan,
                      const struct presto_rows *rows) {
    const bool one_nan = presto_flag(output->writer, SEAM_PRESTO_BUILDER);
    if (!presto_encode(plan->type, &plan->node->view, rows, one_nan, output->at)) {
        return seam_fail(output->error, SEAM_BAD_INPUT, -1,
                         "column '%s' holds a value that its type cannot have", plan->type->name);
    }
    output->at += rows->count * plan->type->wire_bytes;
    return SEAM_OK;
}

static int put_fixed(struct presto_output *output, const struct presto_plan *plan) {
    struct presto_pieces pieces;
    struct presto_rows piece;
    presto_put_i32(output, plan->rows.count);
    put_flags(output, plan);
    if (plan->present == 0) {
        return SEAM_OK;
    }
    const bool one_nan =
        plan->type->kind == SEAM_PRESTO_DOUBLE && presto_flag(output->writer, SEAM_PRESTO_BUILDER);
    if (presto_any_null(plan) && !one_nan &&
        presto_squeeze(plan->type, &plan->node->view, &plan->rows, output->at)) {
        output->at += plan->present * plan->type->wire_bytes;
        return SEAM_OK;
    }
    presto_pieces_init(&pieces, &plan->node->view, &plan->rows, presto_any_null(plan));
    while (presto_pieces_next(&pieces, &piece)) {
        SEAM_TRY(put_values(output, plan, &piece));
    }
    return SEAM_OK;
}

/* Ends of strings that lie one after the other: Arrow's offsets, from the first one on. */
static void put_plain_ends(const struct seam_view *view, const struct presto_rows *rows,
                           uint8_t *ends) {
    int64_t at = view->offset + rows->begin;
    if (view->layout == SEAM_LAYOUT_VAR32) {
        const int32_t *offsets = (const int32_t *)view->offsets + at;
        for (int64_t i = 0; i < rows->count; i++) {
            seam_store32(ends + i * 4, offsets[i + 1] - offsets[0]);
        }
    } else {
        const int64_t *offsets = (const int64_t *)view->offsets + at;
        for (int64_t i = 0; i < rows->count; i++) {
            seam_store32(ends + i * 4, offsets[i + 1] - offsets[0]);
        }
    }
}

/* Where the bytes of strings come from and go to, row by row. */
struct strings {
    const struct seam_view *view;
    const uint8_t *source_end; /* no byte behind it may be read */
    uint8_t *ends;
    const uint8_t *begin; /* of all bytes: ends count from here */
    uint8_t *at;
    const uint8_t *limit; /* no byte behind it may be written */
};

static void strings_init(struct strings *strings, const struct presto_plan *plan, uint8_t *ends,
                         uint8_t *bytes) {
    const struct seam_view *view = &plan->node->view;
    *strings = (struct strings){.view = view,
                                .source_end = seam_view_bytes_end(view),
                                .ends = ends,
                                .begin = bytes,
                                .at = bytes,
                                .limit = bytes + plan->bytes};
}

/* One string. Up to `chunks` times 16 bytes are moved whatever its size, where there is room: the
 * next string overwrites what is too much, and no branch depends on the size. */
static inline void put_string(struct strings *strings, const uint8_t *from, int64_t size,
                              const int64_t chunks) {
    const int64_t moved = chunks * 16;
    if (chunks > 0 && size <= moved && strings->source_end - from >= moved &&
        strings->limit - strings->at >= moved) {
        memcpy(strings->at, from, (size_t)moved);
    } else if (size > 0) {
        memcpy(strings->at, from, (size_t)size);
    }
    strings->at += size;
    seam_store32(strings->ends, strings->at - strings->begin);
    strings->ends += 4;
}

/* Both ends of a string at once. */
static inline int64_t span_of(const int32_t *offsets, int32_t row, int64_t *size) {
    int32_t ends[2];
    memcpy(ends, offsets + row, sizeof ends);
    *size = ends[1] - ends[0];
    return ends[0];
}

/* Rows ahead of which bytes are asked for, where a column is too large for the caches near. */
enum { AHEAD = 24, NEAR_BYTES = 1 << 18 };

static inline void put_listed(struct strings *strings, const int32_t *restrict rows, int64_t count,
                              const int64_t chunks, const bool far) {
    const struct seam_view *view = strings->view;
    const int32_t *restrict offsets = (const int32_t *)view->offsets + view->offset;
    const uint8_t *data = view->data;
    const int64_t moved = chunks * 16;
    uint8_t *at = strings->at;
    uint8_t *restrict ends = strings->ends;
    for (int64_t i = 0; i < count; i++) {
        int64_t size;
        const uint8_t *from = data + span_of(offsets, rows[i], &size);
        if (far && i + AHEAD < count) { /* far apart in a partitioned batch: four times as fast */
            const uint8_t *ahead = data + offsets[rows[i + AHEAD]];
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 63);
        }
        if (size <= moved && strings->source_end - from >= moved && strings->limit - at >= moved) {
            memcpy(at, from, (size_t)moved);
        } else if (size > 0) {
            memcpy(at, from, (size_t)size);
        }
        at += size;
        seam_store32(ends + i * 4, at - strings->begin);
    }
    strings->at = at;
    strings->ends = ends + count * 4;
}

/* Rows without nulls, of 32-bit offsets. */
static void put_some_strings(struct strings *strings, const int32_t *rows, int64_t count,
                             int64_t longest) {
    const bool far = strings->source_end - strings->view->data > NEAR_BYTES;
    if (longest <= 16 && !far) {
        put_listed(strings, rows, count, 1, false);
    } else if (longest <= 16) {
        put_listed(strings, rows, count, 1, true);
    } else if (longest <= 32) {
        put_listed(strings, rows, count, 2, true);
    } else {
        put_listed(strings, rows, count, 4, true);
    }
}

/* Neighbours from row `from` to row `to`: their bytes at once, their ends less what was left out.
 */
static void put_run(struct strings *strings, const int32_t *offsets, int64_t from, int64_t to,
                    int64_t shift) {
    const int64_t size = offsets[to] - offsets[from];
    for (int64_t row = from; row < to; row++) {
        seam_store32(strings->ends + (row - from) * 4, offsets[row + 1] - shift);
    }
    strings->ends += (to - from) * 4;
    if (size > 0) {
        memcpy(strings->at, strings->view->data + offsets[from], (size_t)size);
        strings->at += size;
    }
}

/* Neighbours of which null rows own bytes that are left out. */
static void put_runs(struct strings *strings, const struct presto_rows *rows) {
    const struct seam_view *view = strings->view;
    const int32_t *offsets = (const int32_t *)view->offsets + view->offset + rows->begin;
    int64_t shift = offsets[0];
    int64_t from = 0;
    for (int64_t i = 0; i < rows->count; i += 64) {
        int64_t count = rows->count - i < 64 ? rows->count - i : 64;
        uint64_t nulls = ~presto_load_bits(view->validity, view->offset + rows->begin + i, count);
        nulls &= count == 64 ? nulls : (UINT64_C(1) << count) - 1;
        for (; nulls != 0; nulls &= nulls - 1) {
            const int64_t row = i + __builtin_ctzll(nulls);
            put_run(strings, offsets, from, row, shift);
            shift += offsets[row + 1] - offsets[row];
            seam_store32(strings->ends, offsets[row + 1] - shift);
            strings->ends += 4;
            from = row + 1;
        }
    }
    put_run(strings, offsets, from, rows->count, shift);
}

/* Strings that are all of one size, such as codes of one letter. */
static void put_uniform(const struct presto_plan *plan, uint8_t *ends, uint8_t *bytes) {
    const struct seam_view *view = &plan->node->view;
    const uint8_t *data = view->data + ((const int32_t *)view->offsets)[view->offset];
    const int64_t count = plan->rows.count;
    for (int64_t i = 0; i < count; i++) {
        seam_store32(ends + i * 4, (i + 1) * plan->longest);
    }
    presto_copy_values(plan->longest, data, &plan->rows, bytes);
}

static void put_strings(const struct seam_presto_writer *writer, const struct presto_plan *plan,
                        uint8_t *ends, uint8_t *bytes) {
    struct strings strings;
    const struct presto_rows *rows = &plan->rows;
    if (plan->uniform) {
        put_uniform(plan, ends, bytes);
        return;
    }
    strings_init(&strings, plan, ends, bytes);
    if (rows->rows != NULL && !presto_any_null(plan) && strings.view->layout == SEAM_LAYOUT_VAR32) {
        put_some_strings(&strings, rows->rows, rows->count, plan->longest);
        return;
    }
    const bool keep = presto_flag(writer, SEAM_PRESTO_KEEP_NULL_BYTES);
    if (rows->rows == NULL && !keep && strings.view->layout == SEAM_LAYOUT_VAR32) {
        put_runs(&strings, rows);
        return;
    }
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = presto_row(rows, i);
        const uint8_t *from = NULL;
        int64_t size = 0;
        if (row >= 0 && (keep || seam_view_valid(strings.view, row))) {
            size = seam_view_bytes(strings.view, row, &from);
        }
        put_string(&strings, from, size, 0);
    }
}

/* Values of one size, which a page keeps like strings. */
static void put_slices(const struct presto_plan *plan, uint8_t *ends, uint8_t *bytes) {
    const struct seam_view *view = &plan->node->view;
    const int64_t size = plan->type->arrow_bytes;
    uint8_t *at = bytes;
    for (int64_t i = 0; i < plan->rows.count; i++) {
        const int64_t row = presto_row(&plan->rows, i);
        if (presto_row_valid(plan->node, row)) {
            memcpy(at, view->data + (view->offset + row) * size, (size_t)size);
            at += size;
        }
        seam_store32(ends + i * 4, at - bytes);
    }
}

/* What stands around the strings; returns where their ends go. */
static uint8_t *open_variable(struct presto_output *output, const struct presto_plan *plan) {
    presto_put_i32(output, plan->rows.count);
    uint8_t *ends = output->at;
    output->at += plan->rows.count * 4;
    put_flags(output, plan);
    presto_put_i32(output, plan->bytes);
    return ends;
}

static void put_variable(struct presto_output *output, const struct presto_plan *plan) {
    const struct presto_rows *rows = &plan->rows;
    uint8_t *ends = open_variable(output, plan);
    uint8_t *bytes = output->at;
    output->at += plan->bytes;
    if (rows->count == 0) {
        return;
    }
    if (plan->node == NULL) {
        memset(ends, 0, (size_t)rows->count * 4);
    } else if (plan->type->kind == SEAM_PRESTO_SLICE) {
        put_slices(plan, ends, bytes);
    } else if (plan->plain_bytes) {
        const uint8_t *from;
        put_plain_ends(&plan->node->view, rows, ends);
        seam_view_bytes(&plan->node->view, rows->begin, &from);
        if (plan->bytes > 0) {
            memcpy(bytes, from, (size_t)plan->bytes);
        }
    } else {
        put_strings(output->writer, plan, ends, bytes);
    }
}

/* --- nested columns --- */

/* Offsets in entries; null rows span nothing. */
static void put_spans(struct presto_output *output, const struct presto_plan *plan) {
    int64_t end = 0;
    presto_put_i32(output, plan->rows.count);
    presto_put_i32(output, 0);
    for (int64_t i = 0; i < plan->rows.count; i++) {
        int64_t row = presto_row(&plan->rows, i);
        if (presto_row_valid(plan->node, row)) {
            end += seam_node_start(plan->node, row + 1) - seam_node_start(plan->node, row);
        }
        presto_put_i32(output, end);
    }
}

static int put_list(struct presto_output *output, const struct presto_plan *plan) {
    for (int32_t i = 0; i < plan->n_children; i++) {
        SEAM_TRY(presto_put_column(output, &plan->children[i]));
    }
    if (plan->encoding == PRESTO_MAP) {
        int64_t slots = plan->children[0].rows.count * 2;
        presto_put_i32(output, plan->hash_table ? slots : -1);
        if (plan->hash_table) {
            presto_fill_hash_table(plan, output->at);
            output->at += slots * 4;
        }
    }
    put_spans(output, plan);
    put_flags(output, plan);
    return SEAM_OK;
}

static int put_row(struct presto_output *output, const struct presto_plan *plan) {
    const bool nulls_first = presto_flag(output->writer, SEAM_PRESTO_NULLS_FIRST);
    if (nulls_first) {
        presto_put_i32(output, plan->rows.count);
        put_flags(output, plan);
    }
    presto_put_i32(output, plan->n_children);
    for (int32_t i = 0; i < plan->n_children; i++) {
        SEAM_TRY(presto_put_column(output, &plan->children[i]));
    }
    if (nulls_first) {
        return SEAM_OK;
    }
    int64_t end = 0;
    presto_put_i32(output, plan->rows.count);
    presto_put_i32(output, 0);
    for (int64_t i = 0; i < plan->rows.count; i++) {
        end += presto_row_valid(plan->node, presto_row(&plan->rows, i));
        presto_put_i32(output, end);
    }
    put_flags(output, plan);
    return SEAM_OK;
}

/* --- encodings around others --- */

static int put_dictionary(struct presto_output *output, const struct presto_plan *plan) {
    presto_put_i32(output, plan->rows.count);
    SEAM_TRY(presto_put_column(output, &plan->children[0]));
    for (int64_t i = 0; i < plan->rows.count; i++) {
        int64_t row = presto_row(&plan->rows, i);
        int64_t id = plan->null_id;
        if (presto_row_valid(plan->node, row)) {
            id = seam_node_index(plan->node, row);
            id = plan->ids == NULL ? id : plan->ids[id];
        }
        presto_put_i32(output, id);
    }
    if (plan->source == NULL) {
        memset(output->at, 0, SEAM_PRESTO_SOURCE_BYTES);
    } else {
        memcpy(output->at, plan->source, SEAM_PRESTO_SOURCE_BYTES);
    }
    output->at += SEAM_PRESTO_SOURCE_BYTES;
    return SEAM_OK;
}

int presto_put_column(struct presto_output *output, const struct presto_plan *plan) {
    put_name(output, plan->encoding);
    switch (plan->encoding) {
    case PRESTO_DICTIONARY:
        return put_dictionary(output, plan);
    case PRESTO_RLE:
        presto_put_i32(output, plan->rows.count);
        return presto_put_column(output, &plan->children[0]);
    case PRESTO_VARIABLE_WIDTH:
        put_variable(output, plan);
        return SEAM_OK;
    case PRESTO_ARRAY:
    case PRESTO_MAP:
        return put_list(output, plan);
    case PRESTO_ROW:
        return put_row(output, plan);
    default:
        return put_fixed(output, plan);
    }
}
