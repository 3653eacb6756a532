#include "seam/node.h"

#include "arrow/node_check.h"

#include <string.h>

static int64_t count_nodes(const struct ArrowSchema *schema, int depth) {
    int64_t count = 1;
    if (depth > SEAM_NODE_DEPTH) {
        return count; /* refused when it is opened */
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        count += count_nodes(schema->children[i], depth + 1);
    }
    return count + (schema->dictionary == NULL ? 0 : count_nodes(schema->dictionary, depth + 1));
}

/* Nodes not yet used, in one block. */
struct pool {
    struct seam_node *next;
};

static struct seam_node *take(struct pool *pool, int64_t count) {
    struct seam_node *taken = pool->next;
    pool->next += count;
    return taken;
}

static int refuse(const struct seam_node *node, const char *why, struct seam_error *error) {
    return seam_fail(error, SEAM_UNSUPPORTED, -1, "column '%s' of Arrow format '%s' %s", node->name,
                     node->format, why);
}

static int has_children(const struct seam_node *node, const struct ArrowSchema *schema,
                        const struct ArrowArray *array, int64_t wanted, struct seam_error *error) {
    if (schema->n_children != array->n_children || (wanted >= 0 && schema->n_children != wanted)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "column '%s' of Arrow format '%s' has %lld children, its type %lld",
                         node->name, node->format, (long long)array->n_children,
                         (long long)schema->n_children);
    }
    return SEAM_OK;
}

/* Where the rows of a parent lie in its children. */
struct window {
    int64_t offset;
    int64_t length; /* -1: as long as the child */
};

static int open_node(struct pool *pool, const struct ArrowSchema *schema,
                     const struct ArrowArray *array, struct window window, int depth,
                     struct seam_node *out, struct seam_error *error);

static int open_children(struct pool *pool, const struct ArrowSchema *schema,
                         const struct ArrowArray *array, struct window window, int depth,
                         struct seam_node *node, struct seam_error *error) {
    node->n_children = schema->n_children;
    node->children = take(pool, node->n_children);
    for (int64_t i = 0; i < node->n_children; i++) {
        SEAM_TRY(open_node(pool, schema->children[i], array->children[i], window, depth + 1,
                           &node->children[i], error));
    }
    return SEAM_OK;
}

static const struct window WHOLE = {.offset = 0, .length = -1};

static int open_nested(struct pool *pool, const struct ArrowSchema *schema,
                       const struct ArrowArray *array, int depth, struct seam_node *node,
                       struct seam_error *error) {
    const char *format = schema->format;
    struct window window = WHOLE;
    int64_t wanted = -1;
    if (strcmp(format, "+s") == 0) {
        node->kind = SEAM_NODE_STRUCT;
        window = (struct window){.offset = node->view.offset, .length = node->view.length};
    } else if (strcmp(format, "+l") == 0 || strcmp(format, "+L") == 0 ||
               strcmp(format, "+m") == 0) {
        node->kind = format[1] == 'm' ? SEAM_NODE_MAP : SEAM_NODE_LIST;
        node->view.layout = format[1] == 'L' ? SEAM_LAYOUT_VAR64 : SEAM_LAYOUT_VAR32;
        node->view.offsets = array->buffers[1];
        wanted = 1;
    } else if (strcmp(format, "+r") == 0) {
        node->kind = SEAM_NODE_RUNS;
        wanted = 2;
    } else {
        return refuse(node, "is not supported: cast it to a list, struct, map or flat type", error);
    }
    SEAM_TRY(has_children(node, schema, array, wanted, error));
    return open_children(pool, schema, array, window, depth, node, error);
}

static int open_dictionary(struct pool *pool, const struct ArrowSchema *schema,
                           const struct ArrowArray *array, int depth, struct seam_node *node,
                           struct seam_error *error) {
    struct ArrowSchema indexes = *schema;
    indexes.dictionary = NULL;
    int code = seam_view_of(&indexes, array, &node->view, error);
    node->kind = SEAM_NODE_DICTIONARY;
    node->n_children = 1;
    node->children = take(pool, 1);
    if (code == SEAM_OK) {
        code = open_node(pool, schema->dictionary, array->dictionary, WHOLE, depth + 1,
                         node->children, error);
    }
    return code;
}

static int open_node(struct pool *pool, const struct ArrowSchema *schema,
                     const struct ArrowArray *array, struct window window, int depth,
                     struct seam_node *out, struct seam_error *error) {
    *out = (struct seam_node){.name = schema->name == NULL ? "" : schema->name,
                              .format = schema->format};
    if (depth > SEAM_NODE_DEPTH) {
        return refuse(out, "is nested too deeply", error);
    }
    /* The frame of the parent; it counts before children are opened, for theirs follows from it. */
    struct seam_view frame = {
        .offset = array->offset + window.offset,
        .length = window.length < 0 ? array->length : window.length,
        .validity = array->n_buffers > 0 && array->null_count != 0 ? array->buffers[0] : NULL};
    int code = SEAM_OK;
    if (window.offset + window.length > array->length) {
        return seam_fail(error, SEAM_BAD_INPUT, -1,
                         "the Arrow array '%s' has %lld rows, the struct around it %lld", out->name,
                         (long long)array->length, (long long)(window.offset + window.length));
    }
    out->view = frame;
    if (schema->dictionary != NULL) {
        code = open_dictionary(pool, schema, array, depth, out, error);
    } else if (strcmp(schema->format, "n") == 0) {
        out->kind = SEAM_NODE_NULLS;
    } else if (schema->format[0] == '+') {
        return open_nested(pool, schema, array, depth, out, error);
    } else {
        code = seam_view_of(schema, array, &out->view, error);
    }
    out->view.offset = frame.offset;
    out->view.length = frame.length;
    return code;
}

int seam_node_open(struct seam_allocator *allocator, const struct ArrowSchema *schema,
                   const struct ArrowArray *array, struct seam_node **out,
                   struct seam_error *error) {
    void *block = NULL;
    size_t size = (size_t)count_nodes(schema, 1) * sizeof(struct seam_node);
    *out = NULL;
    SEAM_TRY(seam_alloc(allocator, size, &block, error));
    struct pool pool = {.next = block};
    struct seam_node *root = take(&pool, 1);
    int code = open_node(&pool, schema, array, WHOLE, 1, root, error);
    if (code == SEAM_OK) {
        code = seam_node_check(root, error);
    }
    if (code != SEAM_OK) {
        seam_free(block);
        return code;
    }
    *out = root;
    return SEAM_OK;
}

void seam_node_close(struct seam_node *node) {
    seam_free(node); /* all nodes of a tree are one block */
}

/* A whole number of any width and sign. */
static int64_t whole_number(const struct seam_view *view, int64_t row) {
    int64_t value = 0;
    const uint8_t *at = view->data + (view->offset + row) * view->width_bytes;
    memcpy(&value, at, (size_t)view->width_bytes); /* little-endian: the low bytes */
    int unused = 64 - 8 * view->width_bytes;
    return view->order == SEAM_ORDER_SIGNED ? (int64_t)((uint64_t)value << unused) >> unused
                                            : value;
}

int64_t seam_node_index(const struct seam_node *node, int64_t row) {
    return whole_number(&node->view, row);
}

int64_t seam_node_run(const struct seam_node *node, int64_t row) {
    const struct seam_view *ends = &node->children[0].view;
    int64_t wanted = node->view.offset + row; /* ends count from the start of the whole array */
    int64_t low = 0;
    int64_t high = ends->length - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (whole_number(ends, middle) > wanted) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}
