#include "seam/gather.h"

#include "gather_column.h"

struct seam_gather {
    struct seam_gather_column root;
    int64_t capacity;
};

int seam_gather_new(struct seam_allocator *allocator, const struct seam_node *batch,
                    int64_t capacity, struct seam_gather **out, struct seam_error *error) {
    void *block;
    *out = NULL;
    if (batch->kind != SEAM_NODE_STRUCT) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "not a record batch: format '%s'",
                         batch->format);
    }
    int code = seam_alloc(allocator, sizeof(struct seam_gather), &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    struct seam_gather *gather = block;
    gather->capacity = capacity;
    code = seam_gather_column_init(&gather->root, allocator, batch, error);
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
    return seam_gather_column_append(&gather->root.children[index], &batch->children[index], rows,
                                     count, gather->capacity, error);
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

int seam_gather_finish(struct seam_gather *gather, struct ArrowArray *out,
                       struct seam_error *error) {
    return seam_gather_column_finish(&gather->root, out, error);
}
