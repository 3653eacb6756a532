/* Planned columns into payloads. */
#include "presto_plan.h"

#include "seam/presto_page.h"

struct output {
    const struct seam_presto_writer *writer;
    uint8_t *at;
    struct seam_error *error;
};

static void put_i32(struct output *output, int64_t value) {
    presto_store_i32(output->at, value);
    output->at += 4;
}

static void put_name(struct output *output, enum presto_encoding encoding) {
    const struct presto_name *name = &PRESTO_NAMES[encoding];
    put_i32(output, name->size_bytes);
    memcpy(output->at, name->text, (size_t)name->size_bytes);
    output->at += name->size_bytes;
}

static void put_flags(struct output *output, const struct presto_plan *plan) {
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

static int put_fixed(struct output *output, const struct presto_plan *plan) {
    struct presto_pieces pieces;
    struct presto_rows piece;
    put_i32(output, plan->rows.count);
    put_flags(output, plan);
    if (plan->present == 0) {
        return SEAM_OK;
    }
    const struct seam_presto_writer *writer = output->writer;
    const bool one_nan = presto_flag(writer, SEAM_PRESTO_BUILDER);
    presto_pieces_init(&pieces, &plan->node->view, &plan->rows, presto_any_null(plan));
    while (presto_pieces_next(&pieces, &piece)) {
        if (!presto_encode(plan->type, &plan->node->view, &piece, one_nan, output->at)) {
            return seam_fail(output->error, SEAM_BAD_INPUT, -1,
                             "column '%s' holds a value that its type cannot have",
                             plan->type->name);
        }
        output->at += piece.count * plan->type->wire_bytes;
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
            presto_store_i32(ends + i * 4, offsets[i + 1] - offsets[0]);
        }
    } else {
        const int64_t *offsets = (const int64_t *)view->offsets + at;
        for (int64_t i = 0; i < rows->count; i++) {
            presto_store_i32(ends + i * 4, offsets[i + 1] - offsets[0]);
        }
    }
}

/* Copies a short string with moves of a fixed size, which overlap rather than loop. */
static inline void copy_short(uint8_t *to, const uint8_t *from, int64_t size) {
    uint64_t first, last;
    uint32_t low, high;
    if (size >= 8) {
        memcpy(&first, from, 8);
        memcpy(&last, from + size - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + size - 8, &last, 8);
    } else if (size >= 4) {
        memcpy(&low, from, 4);
        memcpy(&high, from + size - 4, 4);
        memcpy(to, &low, 4);
        memcpy(to + size - 4, &high, 4);
    } else if (size > 0) {
        uint8_t middle = from[size / 2], end = from[size - 1];
        to[0] = from[0];
        to[size / 2] = middle;
        to[size - 1] = end;
    }
}

static inline uint8_t *copy_string(uint8_t *to, const uint8_t *from, int64_t size) {
    if (size <= 16) {
        copy_short(to, from, size);
    } else {
        int64_t done = 0;
        for (; done + 16 <= size; done += 16) {
            memcpy(to + done, from + done, 16);
        }
        copy_short(to + size - 16, from + size - 16, 16);
    }
    return to + size;
}

/* Row by row: ends and bytes together. */
static void put_strings(const struct seam_presto_writer *writer, const struct presto_plan *plan,
                        uint8_t *ends, uint8_t *bytes) {
    const struct seam_view *view = &plan->node->view;
    const struct presto_rows *rows = &plan->rows;
    const bool some_null = presto_any_null(plan);
    const bool keep = presto_flag(writer, SEAM_PRESTO_KEEP_NULL_BYTES);
    uint8_t *at = bytes;
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = presto_row(rows, i);
        const uint8_t *from;
        if (row >= 0 && (!some_null || keep || seam_view_valid(view, row))) {
            int64_t size = seam_view_bytes(view, row, &from);
            at = copy_string(at, from, size);
        }
        presto_store_i32(ends + i * 4, at - bytes);
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
        presto_store_i32(ends + i * 4, at - bytes);
    }
}

static void put_variable(struct output *output, const struct presto_plan *plan) {
    const struct presto_rows *rows = &plan->rows;
    put_i32(output, rows->count);
    uint8_t *ends = output->at;
    output->at += rows->count * 4;
    put_flags(output, plan);
    put_i32(output, plan->bytes);
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

static int put_column(struct output *output, const struct presto_plan *plan);

/* Offsets in entries; null rows span nothing. */
static void put_spans(struct output *output, const struct presto_plan *plan) {
    int64_t end = 0;
    put_i32(output, plan->rows.count);
    put_i32(output, 0);
    for (int64_t i = 0; i < plan->rows.count; i++) {
        int64_t row = presto_row(&plan->rows, i);
        if (presto_row_valid(plan->node, row)) {
            end += seam_node_start(plan->node, row + 1) - seam_node_start(plan->node, row);
        }
        put_i32(output, end);
    }
}

static int put_list(struct output *output, const struct presto_plan *plan) {
    int code = SEAM_OK;
    for (int32_t i = 0; i < plan->n_children && code == SEAM_OK; i++) {
        code = put_column(output, &plan->children[i]);
    }
    if (code != SEAM_OK) {
        return code;
    }
    if (plan->encoding == PRESTO_MAP) {
        int64_t slots = plan->children[0].rows.count * 2;
        put_i32(output, plan->hash_table ? slots : -1);
        if (plan->hash_table) {
            presto_fill_hash_table(plan, output->at);
            output->at += slots * 4;
        }
    }
    put_spans(output, plan);
    put_flags(output, plan);
    return SEAM_OK;
}

static int put_row(struct output *output, const struct presto_plan *plan) {
    const bool nulls_first = presto_flag(output->writer, SEAM_PRESTO_NULLS_FIRST);
    int code = SEAM_OK;
    if (nulls_first) {
        put_i32(output, plan->rows.count);
        put_flags(output, plan);
    }
    put_i32(output, plan->n_children);
    for (int32_t i = 0; i < plan->n_children && code == SEAM_OK; i++) {
        code = put_column(output, &plan->children[i]);
    }
    if (code != SEAM_OK || nulls_first) {
        return code;
    }
    int64_t end = 0;
    put_i32(output, plan->rows.count);
    put_i32(output, 0);
    for (int64_t i = 0; i < plan->rows.count; i++) {
        end += presto_row_valid(plan->node, presto_row(&plan->rows, i));
        put_i32(output, end);
    }
    put_flags(output, plan);
    return SEAM_OK;
}

/* --- encodings around others --- */

static int put_dictionary(struct output *output, const struct presto_plan *plan) {
    put_i32(output, plan->rows.count);
    int code = put_column(output, &plan->children[0]);
    if (code != SEAM_OK) {
        return code;
    }
    for (int64_t i = 0; i < plan->rows.count; i++) {
        int64_t row = presto_row(&plan->rows, i);
        int64_t id = plan->null_id;
        if (presto_row_valid(plan->node, row)) {
            id = seam_node_index(plan->node, row);
            id = plan->ids == NULL ? id : plan->ids[id];
        }
        put_i32(output, id);
    }
    if (plan->source == NULL) {
        memset(output->at, 0, SEAM_PRESTO_SOURCE_BYTES);
    } else {
        memcpy(output->at, plan->source, SEAM_PRESTO_SOURCE_BYTES);
    }
    output->at += SEAM_PRESTO_SOURCE_BYTES;
    return SEAM_OK;
}

static int put_column(struct output *output, const struct presto_plan *plan) {
    put_name(output, plan->encoding);
    switch (plan->encoding) {
    case PRESTO_DICTIONARY:
        return put_dictionary(output, plan);
    case PRESTO_RLE:
        put_i32(output, plan->rows.count);
        return put_column(output, &plan->children[0]);
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

/* --- the writer --- */

int seam_presto_writer_new(struct seam_allocator *allocator,
                           const struct seam_presto_program *program,
                           const struct ArrowSchema *schema, const struct ArrowArray *batch,
                           const struct seam_presto_write_options *options,
                           struct seam_presto_writer **out, struct seam_error *error) {
    void *block;
    *out = NULL;
    int code = seam_alloc(allocator, sizeof **out, &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    struct seam_presto_writer *writer = block;
    *writer = (struct seam_presto_writer){.allocator = allocator,
                                          .program = program,
                                          .options = *options,
                                          .arena = {.allocator = allocator}};
    code = seam_node_open(allocator, schema, batch, &writer->batch, error);
    const struct seam_node *root = writer->batch;
    if (code == SEAM_OK && (root->kind != SEAM_NODE_STRUCT || root->view.validity != NULL ||
                            root->n_children != program->n_columns)) {
        code = seam_fail(error, SEAM_BAD_ARGUMENT, -1, "the batch has %lld columns, the schema %d",
                         (long long)root->n_children, program->n_columns);
    }
    const struct presto_type *type = program->types;
    for (int32_t i = 0; code == SEAM_OK && i < program->n_columns; i++) {
        code = presto_check_layout(type, &root->children[i], error);
        type = presto_next(type);
    }
    if (code != SEAM_OK) {
        seam_presto_writer_free(writer);
        return code;
    }
    *out = writer;
    return SEAM_OK;
}

void seam_presto_writer_free(struct seam_presto_writer *writer) {
    if (writer != NULL) {
        seam_node_close(writer->batch);
        presto_arena_reset(&writer->arena);
        seam_free(writer);
    }
}

/* Every row of a selection is one of the batch. */
static int check_rows(const struct seam_presto_writer *writer, const struct seam_presto_rows *rows,
                      struct seam_error *error) {
    const int64_t length = writer->batch->view.length;
    bool good = rows->count >= 0 && rows->count <= SEAM_PRESTO_MAX_ROWS;
    if (rows->rows == NULL) {
        good = good && rows->begin >= 0 && rows->begin <= length - rows->count;
    } else {
        uint32_t highest = 0; /* negative numbers become large ones */
        for (int64_t i = 0; good && i < rows->count; i++) {
            uint32_t row = (uint32_t)rows->rows[i];
            highest = row > highest ? row : highest;
        }
        good = good && (rows->count == 0 || highest < length);
    }
    return good ? SEAM_OK
                : seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                            "a selection of %lld rows goes beyond the %lld of the batch",
                            (long long)rows->count, (long long)length);
}

/* Column by column over all selections, so that a column's values stay in the cache. */
static int plan_pages(struct seam_presto_writer *writer, const struct seam_presto_rows *selections,
                      struct seam_error *error) {
    const int64_t n_columns = writer->program->n_columns;
    const struct presto_type *type = writer->program->types;
    int code = SEAM_OK;
    for (int64_t column = 0; column < n_columns; column++, type = presto_next(type)) {
        for (int64_t page = 0; page < writer->n_pages && code == SEAM_OK; page++) {
            struct presto_rows rows = {.rows = selections[page].rows,
                                       .begin = selections[page].begin,
                                       .count = selections[page].count};
            code = presto_plan_column(writer, type, &writer->batch->children[column], &rows, true,
                                      &writer->pages[page * n_columns + column], error);
        }
    }
    return code;
}

int seam_presto_writer_measure(struct seam_presto_writer *writer,
                               const struct seam_presto_rows *selections, int64_t n,
                               int64_t *sizes_bytes, struct seam_error *error) {
    const int64_t n_columns = writer->program->n_columns;
    void *block;
    int code = SEAM_OK;
    if (writer->pages != NULL || (writer->options.marks != NULL && n != 1)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "a writer measures once, and one page only where marks are given");
    }
    for (int64_t i = 0; i < n && code == SEAM_OK; i++) {
        code = check_rows(writer, &selections[i], error);
    }
    code = code == SEAM_OK ? presto_arena_take(&writer->arena,
                                               n * n_columns * (int64_t)sizeof(struct presto_plan),
                                               &block, error)
                           : code;
    if (code != SEAM_OK) {
        return code;
    }
    writer->pages = block;
    writer->n_pages = n;
    code = plan_pages(writer, selections, error);
    if (code == SEAM_OK && writer->options.marks != NULL &&
        writer->next_mark != writer->options.n_marks) {
        code = seam_fail(error, SEAM_BAD_INPUT, -1,
                         "the layout is of %lld columns, the batch has %lld of them",
                         (long long)writer->options.n_marks, (long long)writer->next_mark);
    }
    for (int64_t page = 0; page < n && code == SEAM_OK; page++) {
        sizes_bytes[page] = 4;
        for (int64_t column = 0; column < n_columns; column++) {
            sizes_bytes[page] += writer->pages[page * n_columns + column].size_bytes;
        }
        if (sizes_bytes[page] > INT32_MAX) {
            code = seam_fail(error, SEAM_TOO_LARGE, -1,
                             "a page of %lld bytes: it holds at most 2^31 - 1, write fewer rows",
                             (long long)sizes_bytes[page]);
        }
    }
    return code;
}

int seam_presto_writer_write(struct seam_presto_writer *writer, uint8_t *const *outs,
                             struct seam_error *error) {
    const int64_t n_columns = writer->program->n_columns;
    void *block;
    int code = presto_arena_take(&writer->arena, writer->n_pages * (int64_t)sizeof(uint8_t *),
                                 &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    uint8_t **ends = block;
    for (int64_t page = 0; page < writer->n_pages; page++) {
        struct output output = {.writer = writer, .at = outs[page], .error = error};
        put_i32(&output, n_columns);
        ends[page] = output.at;
    }
    for (int64_t column = 0; column < n_columns; column++) {
        for (int64_t page = 0; page < writer->n_pages && code == SEAM_OK; page++) {
            struct output output = {.writer = writer, .at = ends[page], .error = error};
            code = put_column(&output, &writer->pages[page * n_columns + column]);
            ends[page] = output.at;
        }
    }
    return code;
}
