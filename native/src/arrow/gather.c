#include "seam/gather.h"

#include "arrow/gather_column.h"

struct seam_gather {
    struct seam_gather_column root;
    int64_t capacity; /* rows of the chunk at hand, as expected */
    int64_t most;     /* rows of any chunk */
};

int seam_gather_new(struct seam_allocator *allocator, const struct seam_node *batch,
                    int64_t capacity, struct seam_gather **out, struct seam_error *error) {
    void *block;
    *out = NULL;
    if (batch->kind != SEAM_NODE_STRUCT) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "not a record batch: format '%s'",
                         batch->format);
    }
    SEAM_TRY(seam_alloc(allocator, sizeof(struct seam_gather), &block, error));
    struct seam_gather *gather = block;
    gather->capacity = capacity;
    gather->most = capacity;
    int code = seam_gather_column_init(&gather->root, allocator, batch, error);
    if (code != SEAM_OK) {
        seam_free(block);
        return code;
    }
    *out = gather;
    return SEAM_OK;
}

void seam_gather_free(struct seam_gather *gather) {
    if (gather != NULL) {
        seam_gather_column_reset(&gather->root);
        seam_free(gather);
    }
}

int seam_gather_append(struct seam_gather *gather, const struct seam_node *batch, int64_t index,
                       const int32_t *rows, int64_t count, struct seam_error *error) {
    if (batch->n_children != gather->root.n_children) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a batch of %lld columns after one of %lld",
                         (long long)batch->n_children, (long long)gather->root.n_children);
    }
    struct seam_gather_column *column = &gather->root.children[index];
    const struct seam_node *node = &batch->children[index];
    return (seam_gather_is_plain(column, node) && count > 0
                ? seam_gather_append_plain
                : seam_gather_column_append)(column, node, rows, count, gather->capacity, error);
}

int seam_gather_reorder(struct seam_gather *gather, const struct seam_node *batch, int64_t index,
                        const struct seam_gather_order *order, struct seam_error *error) {
    if (index < gather->root.n_children && index < batch->n_children && order->count > 0 &&
        seam_gather_is_plain(&gather->root.children[index], &batch->children[index])) {
        return seam_gather_scatter(&gather->root.children[index], &batch->children[index], order,
                                   error);
    }
    return seam_gather_append(gather, batch, index, order->rows, order->count, error);
}

void seam_gather_prefetch(const struct seam_node *batch, int64_t index, int64_t begin,
                          int64_t count) {
    if (index < batch->n_children) {
        seam_gather_fetch(&batch->children[index], begin, count);
    }
}

void seam_gather_advance(struct seam_gather *gather, int64_t count) {
    gather->root.rows += count;
}

int64_t seam_gather_rows(const struct seam_gather *gather) {
    return gather->root.rows;
}

int64_t seam_gather_bytes(const struct seam_gather *gather) {
    return seam_gather_column_bytes(&gather->root);
}

/* A chunk is expected to become as large as the one before it, and a bit: room that stays empty
 * costs more than it seems, since it keeps what is used apart. */
static int64_t expected_rows(int64_t before, int64_t most) {
    int64_t rows = before + before / 8 + 8;
    return rows < most ? rows : most;
}

int seam_gather_finish(struct seam_gather *gather, struct ArrowArray *out,
                       struct seam_error *error) {
    gather->capacity = expected_rows(gather->root.rows, gather->most);
    return seam_gather_column_finish(&gather->root, out, error);
}
