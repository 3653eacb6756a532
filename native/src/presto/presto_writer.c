/* Pages of one batch: opened, measured, written. */
#include "presto/presto_write.h"

#include "seam/presto_page.h"

int seam_presto_writer_new(struct seam_allocator *allocator,
                           const struct seam_presto_program *program,
                           const struct ArrowSchema *schema, const struct ArrowArray *batch,
                           const struct seam_presto_write_options *options,
                           struct seam_presto_writer **out, struct seam_error *error) {
    void *block;
    *out = NULL;
    SEAM_TRY(seam_alloc(allocator, sizeof **out, &block, error));
    struct seam_presto_writer *writer = block;
    *writer = (struct seam_presto_writer){.allocator = allocator,
                                          .program = program,
                                          .options = *options,
                                          .arena = {.allocator = allocator}};
    int code = seam_node_open(allocator, schema, batch, &writer->batch, error);
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
        if (writer->n_pages > 1) {
            presto_look_at_sizes(writer, &writer->batch->children[column]);
        }
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

static int take_pages(struct seam_presto_writer *writer, const struct seam_presto_rows *selections,
                      int64_t n, struct seam_error *error) {
    void *pages, *sizes;
    const int64_t plans = n * writer->program->n_columns;
    int code = presto_arena_take(&writer->arena, plans * (int64_t)sizeof(struct presto_plan),
                                 &pages, error);
    code = code == SEAM_OK
               ? presto_arena_take(&writer->arena, n * (int64_t)sizeof(int64_t), &sizes, error)
               : code;
    if (code == SEAM_OK) {
        writer->pages = pages;
        writer->sizes_bytes = sizes;
        writer->selections = selections;
        writer->n_pages = n;
    }
    return code;
}

int seam_presto_writer_measure(struct seam_presto_writer *writer,
                               const struct seam_presto_rows *selections, int64_t n,
                               int64_t *sizes_bytes, struct seam_error *error) {
    const int64_t n_columns = writer->program->n_columns;
    if (writer->pages != NULL || (presto_as_read(writer) && n != 1)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "a writer measures once, and one page only where marks are given");
    }
    for (int64_t i = 0; i < n; i++) {
        SEAM_TRY(check_rows(writer, &selections[i], error));
    }
    SEAM_TRY(take_pages(writer, selections, n, error));
    SEAM_TRY(plan_pages(writer, selections, error));
    if (presto_as_read(writer) && writer->next_mark != writer->options.n_marks) {
        return seam_fail(error, SEAM_BAD_INPUT, -1,
                         "the layout is of %lld columns, the batch has %lld of them",
                         (long long)writer->options.n_marks, (long long)writer->next_mark);
    }
    for (int64_t page = 0; page < n; page++) {
        int64_t size = SEAM_PRESTO_HEADER_BYTES + 4;
        for (int64_t column = 0; column < n_columns; column++) {
            size += writer->pages[page * n_columns + column].size_bytes;
        }
        sizes_bytes[page] = writer->sizes_bytes[page] = size;
        if (size > INT32_MAX) {
            return seam_fail(error, SEAM_TOO_LARGE, -1,
                             "a page of %lld bytes: it holds at most 2^31 - 1, write fewer rows",
                             (long long)size);
        }
    }
    return SEAM_OK;
}

/* --- writing --- */

enum { PREFETCH_BYTES = 1 << 14 };

/* Where each page stands. */
struct pages {
    struct seam_presto_writer *writer;
    struct presto_output *outputs;
    struct seam_error *error;
};

static int pages_init(struct pages *pages, struct seam_presto_writer *writer, uint8_t *out,
                      struct seam_error *error) {
    void *outputs;
    const int64_t n = writer->n_pages;
    *pages = (struct pages){.writer = writer, .error = error};
    SEAM_TRY(
        presto_arena_take(&writer->arena, n * (int64_t)sizeof *pages->outputs, &outputs, error));
    pages->outputs = outputs;
    for (int64_t page = 0; page < n; page++) {
        const int64_t size = writer->sizes_bytes[page];
        struct presto_output *output = &pages->outputs[page];
        *output = (struct presto_output){.writer = writer, .at = out, .error = error};
        presto_put_i32(output, writer->selections[page].count);
        *output->at++ = 0; /* neither compressed nor checked */
        presto_put_i32(output, size - SEAM_PRESTO_HEADER_BYTES);
        presto_put_i32(output, size - SEAM_PRESTO_HEADER_BYTES);
        memset(output->at, 0, 8);
        output->at += 8;
        presto_put_i32(output, writer->program->n_columns);
        out += size;
    }
    return SEAM_OK;
}

/* Asks for the memory that a column is about to fill. Pages of a partitioned batch lie far apart,
 * and the next column's place in each has long left the cache. */
static void prefetch(const uint8_t *at, int64_t size_bytes) {
    for (int64_t i = 0; i < size_bytes && i < PREFETCH_BYTES; i += 64) {
        __builtin_prefetch(at + i, 1);
    }
}

int seam_presto_writer_write(struct seam_presto_writer *writer, uint8_t *out,
                             struct seam_error *error) {
    const int64_t n_columns = writer->program->n_columns;
    struct pages pages;
    SEAM_TRY(pages_init(&pages, writer, out, error));
    for (int64_t column = 0; column < n_columns; column++) {
        const struct presto_plan *plans = writer->pages + column;
        for (int64_t page = 0; page < writer->n_pages; page++) {
            if (page + 1 < writer->n_pages) {
                prefetch(pages.outputs[page + 1].at, plans[(page + 1) * n_columns].size_bytes);
            }
            SEAM_TRY(presto_put_column(&pages.outputs[page], &plans[page * n_columns]));
        }
    }
    return SEAM_OK;
}
