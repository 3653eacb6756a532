/* Batches whose columns fit the types of a program, and how many bytes their rows may take. */
#include "presto/presto_plan.h"
#include "stream/presto_stream.h"

int seam_presto_source_new(struct seam_allocator *allocator,
                           const struct seam_presto_program *program,
                           const struct ArrowSchema *schema, const struct ArrowArray *batch,
                           struct seam_presto_source **out, struct seam_error *error) {
    struct seam_node *root;
    void *block;
    *out = NULL;
    SEAM_TRY(seam_node_open(allocator, schema, batch, &root, error));
    int code = root->kind == SEAM_NODE_STRUCT && root->n_children == program->n_columns
                   ? SEAM_OK
                   : seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%lld columns came for %d types",
                               (long long)root->n_children, program->n_columns);
    const struct presto_type *type = program->types;
    for (int32_t i = 0; i < program->n_columns && code == SEAM_OK; i++) {
        code = presto_check_layout(type, &root->children[i], error);
        type = presto_next(type);
    }
    if (code == SEAM_OK) {
        code = seam_alloc(allocator, sizeof **out, &block, error);
    }
    if (code != SEAM_OK) {
        seam_node_close(root);
        return code;
    }
    *out = block;
    **out = (struct seam_presto_source){.program = program, .batch = root};
    return SEAM_OK;
}

void seam_presto_source_free(struct seam_presto_source *source) {
    if (source != NULL) {
        seam_node_close(source->batch);
        seam_free(source);
    }
}

/* --- estimates --- */

/* The node and row behind dictionaries and runs; false for a null. */
static bool resolve(const struct seam_node **node, int64_t *row) {
    for (;;) {
        if (*row < 0 || *row >= (*node)->view.length || !seam_node_valid(*node, *row)) {
            return false;
        }
        if ((*node)->kind == SEAM_NODE_DICTIONARY) {
            *row = seam_node_index(*node, *row);
            *node = &(*node)->children[0];
        } else if ((*node)->kind == SEAM_NODE_RUNS) {
            *row = seam_node_run(*node, *row);
            *node = &(*node)->children[1];
        } else {
            return true;
        }
    }
}

/* Bits of one row: its flag, what says where it ends, and its value. */
static int64_t bits_of(const struct presto_type *type, const struct seam_node *node, int64_t row,
                       int32_t flags) {
    bool bare_row = type->kind == SEAM_PRESTO_ROW && (flags & SEAM_PRESTO_NULLS_FIRST) != 0;
    int64_t bits = presto_is_fixed(type) || bare_row ? 1 : 33;
    if (!resolve(&node, &row)) {
        return bits;
    }
    const struct presto_type *child = type + 1;
    const uint8_t *unused;
    switch (type->encoding) {
    case PRESTO_VARIABLE_WIDTH:
        return bits + 8 * (type->kind == SEAM_PRESTO_SLICE
                               ? (int64_t)type->size
                               : seam_view_bytes(&node->view, row, &unused));
    case PRESTO_ARRAY:
        for (int64_t i = seam_node_start(node, row); i < seam_node_start(node, row + 1); i++) {
            bits += bits_of(child, &node->children[0], i, flags);
        }
        return bits;
    case PRESTO_MAP:
        for (int64_t i = seam_node_start(node, row); i < seam_node_start(node, row + 1); i++) {
            bits += bits_of(child, stream_entry(node, 0), i, flags);
            bits += bits_of(presto_next(child), stream_entry(node, 1), i, flags);
        }
        return bits;
    case PRESTO_ROW:
        for (int32_t i = 0; i < type->n_children; i++, child = presto_next(child)) {
            bits += bits_of(child, &node->children[i], row, flags);
        }
        return bits;
    default:
        return bits + 8 * (int64_t)type->wire_bytes;
    }
}

static void estimate_column(const struct presto_type *type, const struct seam_node *node,
                            const struct seam_presto_rows *selection, int32_t flags,
                            int64_t *bits) {
    const struct presto_rows rows = {
        .rows = selection->rows, .begin = selection->begin, .count = selection->count};
    bool fixed = presto_is_fixed(type) && node->kind == SEAM_NODE_FLAT;
    if (!fixed) {
        for (int64_t i = 0; i < rows.count; i++) {
            bits[i] += bits_of(type, node, presto_row(&rows, i), flags);
        }
    } else if (node->view.validity == NULL) {
        for (int64_t i = 0; i < rows.count; i++) {
            bits[i] += 8 * (int64_t)type->wire_bytes + 1;
        }
    } else {
        for (int64_t i = 0; i < rows.count; i++) {
            bool valid = seam_view_valid(&node->view, presto_row(&rows, i));
            bits[i] += (valid ? 8 * (int64_t)type->wire_bytes : 0) + 1;
        }
    }
}

int seam_presto_stream_estimate(const struct seam_presto_source *source,
                                const struct seam_presto_rows *selection, int32_t flags,
                                int64_t *sizes_bytes, struct seam_error *error) {
    SEAM_TRY(presto_rows_check(selection, source->batch->view.length, error));
    for (int64_t i = 0; i < selection->count; i++) {
        sizes_bytes[i] = 0;
    }
    const struct presto_type *type = source->program->types;
    for (int32_t c = 0; c < source->program->n_columns; c++) {
        estimate_column(type, &source->batch->children[c], selection, flags, sizes_bytes);
        type = presto_next(type);
    }
    for (int64_t i = 0; i < selection->count; i++) {
        sizes_bytes[i] = (sizes_bytes[i] + 7) / 8;
    }
    return SEAM_OK;
}
