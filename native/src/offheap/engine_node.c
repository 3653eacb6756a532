/* Columns of the engine as views: those of Arrow, over buffers that are still the chain's. */
#include "offheap/engine_buffers.h"

/* Nodes that a column takes; the entries of a map are one of their own. */
static int64_t count_nodes(const struct seam_engine_column *column) {
    int64_t count = 1 + (column->kind == SEAM_COLUMN_MAP);
    for (int64_t i = 0; i < column->n_children; i++) {
        count += count_nodes(&column->children[i]);
    }
    return count;
}

static void fill(const struct seam_engine_column *column, struct seam_node *node,
                 struct seam_node **next);

/* The children of a node stand side by side. */
static void fill_children(const struct seam_engine_column *column, struct seam_node *node,
                          struct seam_node **next) {
    node->n_children = column->n_children;
    node->children = *next;
    *next += column->n_children;
    for (int64_t i = 0; i < column->n_children; i++) {
        fill(&column->children[i], &node->children[i], next);
    }
}

static void fill_map(const struct seam_engine_column *column, struct seam_node *node,
                     struct seam_node **next) {
    struct seam_node *entries = (*next)++;
    *entries = (struct seam_node){.kind = SEAM_NODE_STRUCT,
                                  .view = {.length = seam_engine_last_offset(column)},
                                  .name = "",
                                  .format = node->format};
    fill_children(column, entries, next);
    node->kind = SEAM_NODE_MAP;
    node->n_children = 1;
    node->children = entries;
}

static void fill(const struct seam_engine_column *column, struct seam_node *node,
                 struct seam_node **next) {
    *node = (struct seam_node){.kind = SEAM_NODE_FLAT,
                               .view = {.layout = SEAM_LAYOUT_VAR32,
                                        .length = column->rows,
                                        .validity = column->buffers[SEAM_ENGINE_NULLS],
                                        .data = column->buffers[SEAM_ENGINE_BYTES],
                                        .offsets = column->buffers[SEAM_ENGINE_OFFSETS]},
                               .name = "",
                               .format = seam_engine_kind_name(column->kind)};
    if (!seam_engine_held(column->kind) && column->kind != SEAM_COLUMN_DECIMALV2) {
        node->kind = SEAM_NODE_NULLS;
        node->view.validity = NULL;
    } else if (column->kind == SEAM_COLUMN_MAP) {
        fill_map(column, node, next);
    } else if (column->kind == SEAM_COLUMN_ARRAY) {
        node->kind = SEAM_NODE_LIST;
        fill_children(column, node, next);
    } else if (column->n_children > 0 || column->kind == SEAM_COLUMN_STRUCT) {
        node->kind = SEAM_NODE_STRUCT;
        fill_children(column, node, next);
    } else if (seam_column_width(column->kind) > 0) {
        bool bits = column->kind == SEAM_COLUMN_BOOLEAN;
        node->view.layout = bits ? SEAM_LAYOUT_BITS : SEAM_LAYOUT_FIXED;
        node->view.width_bytes = (int32_t)seam_engine_arrow_bytes(column->kind, 1);
        node->view.data = column->buffers[SEAM_ENGINE_VALUES];
    }
}

/* Views read offsets as whole numbers, which lie where a chain says. */
static int align_offsets(struct seam_engine_column *column, struct seam_error *error) {
    bool apart = (uintptr_t)column->buffers[SEAM_ENGINE_OFFSETS] % sizeof(int32_t) != 0;
    SEAM_TRY(apart ? seam_engine_own_buffer(column, SEAM_ENGINE_OFFSETS, error) : SEAM_OK);
    for (int64_t i = 0; i < column->n_children; i++) {
        SEAM_TRY(align_offsets(&column->children[i], error));
    }
    return SEAM_OK;
}

int seam_engine_view(struct seam_engine_column *column, struct seam_node **out,
                     struct seam_error *error) {
    void *block = NULL;
    *out = NULL;
    SEAM_TRY(align_offsets(column, error));
    SEAM_TRY(seam_engine_turn(column, error));
    size_t size = (size_t)count_nodes(column) * sizeof(struct seam_node);
    SEAM_TRY(seam_alloc(column->allocator, size, &block, error));
    struct seam_node *next = (struct seam_node *)block + 1;
    fill(column, block, &next);
    *out = block;
    return SEAM_OK;
}
