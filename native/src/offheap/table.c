#include "seam/table.h"

#include <string.h>

static int alloc_columns(struct seam_table *table, int64_t n_columns, struct seam_error *error) {
    void *columns = NULL;
    void *released = NULL;
    size_t count = (size_t)n_columns;
    int code = seam_alloc(table->allocator, count * sizeof(struct seam_vector), &columns, error);
    if (code == SEAM_OK) {
        code = seam_alloc(table->allocator, count, &released, error);
    }
    if (code != SEAM_OK) {
        seam_free(columns);
        return code;
    }
    memset(released, 0, count);
    table->columns = columns;
    table->released = released;
    return SEAM_OK;
}

int seam_table_init(struct seam_table *table, const struct seam_column_type *types,
                    int64_t n_columns, int64_t capacity, struct seam_allocator *allocator,
                    struct seam_error *error) {
    *table = (struct seam_table){.allocator = allocator};
    if (n_columns < 0 || n_columns > INT32_MAX) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a table of %lld columns cannot be",
                         (long long)n_columns);
    }
    int code = alloc_columns(table, n_columns, error);
    while (code == SEAM_OK && table->n_columns < n_columns) {
        int64_t i = table->n_columns;
        code = seam_vector_init(&table->columns[i], &types[i], capacity, allocator, error);
        table->n_columns += code == SEAM_OK;
    }
    if (code != SEAM_OK) {
        seam_table_reset(table);
    }
    return code;
}

void seam_table_reset(struct seam_table *table) {
    for (int64_t i = 0; i < table->n_columns; i++) {
        seam_vector_reset(&table->columns[i]);
    }
    seam_free(table->columns);
    seam_free(table->released);
    seam_free(table->meta);
    *table = (struct seam_table){.allocator = table->allocator};
}

struct seam_vector *seam_table_column(struct seam_table *table, int64_t index) {
    if (index < 0 || index >= table->n_columns || table->released[index]) {
        return NULL;
    }
    return &table->columns[index];
}

/* Whether the batch has what the table asks for. */
static int check_batch(const struct seam_table *table, const struct seam_node *batch,
                       struct seam_error *error) {
    int64_t wanted = 0;
    if (batch->kind != SEAM_NODE_STRUCT || batch->view.validity != NULL) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "an Arrow array of format '%s' is no batch",
                         batch->format);
    }
    for (int64_t i = 0; i < table->n_columns; i++) {
        wanted += table->columns[i].type.kind != SEAM_COLUMN_UNKNOWN;
        if (table->released[i]) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %lld is released already",
                             (long long)i);
        }
    }
    return wanted == batch->n_children
               ? SEAM_OK
               : seam_fail(error, SEAM_UNSUPPORTED, -1, "%lld columns cannot fill %lld",
                           (long long)batch->n_children, (long long)wanted);
}

static int append_columns(struct seam_table *table, const struct seam_node *batch,
                          struct seam_error *error) {
    int64_t source = 0;
    int code = check_batch(table, batch, error);
    int64_t done = 0;
    for (; done < table->n_columns && code == SEAM_OK; done++) {
        struct seam_vector *column = &table->columns[done];
        if (column->type.kind != SEAM_COLUMN_UNKNOWN) {
            code = seam_vector_append_node(column, &batch->children[source++], error);
        }
    }
    for (int64_t i = 0; i < done - 1 && code != SEAM_OK;
         i++) { /* those before the one that failed */
        struct seam_vector *column = &table->columns[i];
        if (column->type.kind != SEAM_COLUMN_UNKNOWN) {
            seam_vector_truncate(column, column->rows - batch->view.length, NULL);
        }
    }
    return code;
}

int seam_table_append_arrow(struct seam_table *table, const struct ArrowSchema *schema,
                            const struct ArrowArray *batch, struct seam_error *error) {
    struct seam_node *node = NULL;
    int code = seam_node_open(table->allocator, schema, batch, &node, error);
    if (code == SEAM_OK) {
        code = append_columns(table, node, error);
    }
    if (code == SEAM_OK) {
        table->rows += node->view.length;
    }
    seam_node_close(node);
    return code;
}

int seam_table_set_rows(struct seam_table *table, int64_t rows, struct seam_error *error) {
    if (rows < 0 || rows > SEAM_VECTOR_LIMIT) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a table of %lld rows cannot be",
                         (long long)rows);
    }
    table->rows = rows;
    return SEAM_OK;
}

/* Whether each child has the rows that the last row of its parent tells. */
static int is_whole(const struct seam_vector *vector) {
    int64_t rows = vector->offsets == NULL ? vector->rows : vector->offsets[vector->rows];
    for (int32_t i = 0; i < vector->n_children; i++) {
        const struct seam_vector *child = &vector->children[i];
        int unknown = child->type.kind == SEAM_COLUMN_UNKNOWN;
        if (!unknown && (child->rows != rows || !is_whole(child))) {
            return 0;
        }
    }
    return 1;
}

static int check_columns(const struct seam_table *table, struct seam_error *error) {
    for (int64_t i = 0; i < table->n_columns; i++) {
        const struct seam_vector *column = &table->columns[i];
        if (table->released[i]) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %lld is released already",
                             (long long)i);
        }
        if (column->type.kind != SEAM_COLUMN_UNKNOWN && column->rows != table->rows) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                             "column %lld has %lld rows, the table states %lld", (long long)i,
                             (long long)column->rows, (long long)table->rows);
        }
        if (!is_whole(column)) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                             "column %lld has a nested row that was not finished", (long long)i);
        }
    }
    return SEAM_OK;
}

/* Words that a column takes, its children's included. */
static int64_t column_words(const struct seam_vector *column) {
    if (column->type.kind == SEAM_COLUMN_UNKNOWN) {
        return 1;
    }
    int64_t words = 1 + (column->width > 0) + (column->offsets != NULL) +
                    seam_column_has_offsets(column->type.kind);
    for (int32_t i = 0; i < column->n_children; i++) {
        words += column_words(&column->children[i]);
    }
    return words;
}

/* Where the next word goes. */
struct writer {
    int64_t *words;
    int64_t *extents;
    int64_t position;
};

static void put(struct writer *writer, const void *address, int64_t bytes) {
    writer->words[writer->position] = (int64_t)(intptr_t)address;
    writer->extents[writer->position] = bytes;
    writer->position += 1;
}

static void put_column(struct writer *writer, const struct seam_vector *column) {
    int64_t rows = column->rows;
    if (column->type.kind == SEAM_COLUMN_UNKNOWN) {
        put(writer, NULL, 0);
        return;
    }
    put(writer, column->nulls, rows);
    if (column->width > 0) {
        put(writer, column->data, rows * column->width);
    }
    if (column->offsets != NULL) {
        put(writer, column->offsets, (rows + 1) * (int64_t)sizeof(int32_t));
    }
    if (seam_column_has_offsets(column->type.kind)) {
        put(writer, column->bytes, column->offsets[rows]);
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        put_column(writer, &column->children[i]);
    }
}

int seam_table_chain(struct seam_table *table, struct seam_chain *out, struct seam_error *error) {
    SEAM_TRY(check_columns(table, error));
    int64_t n_words = 1;
    for (int64_t i = 0; i < table->n_columns; i++) {
        n_words += column_words(&table->columns[i]);
    }
    if (table->meta == NULL) {
        void *block;
        SEAM_TRY(
            seam_alloc(table->allocator, (size_t)n_words * 2 * sizeof(int64_t), &block, error));
        table->meta = block;
    }
    struct writer writer = {.words = table->meta, .extents = table->meta + n_words, .position = 1};
    writer.words[0] = table->rows;
    writer.extents[0] = 0;
    for (int64_t i = 0; i < table->n_columns; i++) {
        put_column(&writer, &table->columns[i]);
    }
    *out =
        (struct seam_chain){.words = writer.words, .n_words = n_words, .extents = writer.extents};
    return SEAM_OK;
}

int seam_table_release_column(struct seam_table *table, int64_t index, struct seam_error *error) {
    if (index < 0 || index >= table->n_columns) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "there is no column %lld", (long long)index);
    }
    seam_vector_reset(&table->columns[index]);
    table->released[index] = 1;
    return SEAM_OK;
}
