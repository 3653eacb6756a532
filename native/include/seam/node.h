/* Arrow arrays of any nesting and encoding, as trees of views.
 *
 * Offsets of parents are worked into the views of a struct's fields, so that row i of a node is
 * always row i of its view: nothing else has to be added.
 */
#ifndef SEAM_NODE_H
#define SEAM_NODE_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/view.h"

#include <stdint.h>

/* Deepest nesting that is followed, the column itself counted. */
#define SEAM_NODE_DEPTH 64

enum seam_node_kind {
    SEAM_NODE_FLAT,       /* `view` says all */
    SEAM_NODE_NULLS,      /* type null: no buffers, every row is null */
    SEAM_NODE_LIST,       /* child 0: the elements; the view's offsets count its rows */
    SEAM_NODE_MAP,        /* child 0: a struct of key and value; offsets as in a list */
    SEAM_NODE_STRUCT,     /* a child per field, as long as the struct */
    SEAM_NODE_DICTIONARY, /* the view holds the indexes; child 0: the values */
    SEAM_NODE_RUNS,       /* run-end encoded; child 0: the ends, child 1: the values */
};

struct seam_node {
    enum seam_node_kind kind;
    /* Validity, offset and length always count. Of lists and maps the layout is VAR32 or VAR64,
     * `data` is NULL. Of a null array `validity` is NULL though every row is null: ask
     * seam_node_valid. */
    struct seam_view view;
    int64_t n_children;
    struct seam_node *children;
    const char *name;   /* borrowed from the schema; never NULL */
    const char *format; /* borrowed from the schema */
};

/* A tree over `array`, whose buffers it borrows; `schema` and `array` must outlive it. For a record
 * batch pass the struct array. SEAM_UNSUPPORTED, naming the field: unions, views, fixed-size lists,
 * deeper nesting. SEAM_BAD_INPUT: an index, a run end or an offset that leads out of the array;
 * whoever holds a tree need not ask again. On failure `*out` is NULL. */
int seam_node_open(struct seam_allocator *allocator, const struct ArrowSchema *schema,
                   const struct ArrowArray *array, struct seam_node **out,
                   struct seam_error *error);
/* Gives the tree back; NULL is ignored. */
void seam_node_close(struct seam_node *node);

static inline bool seam_node_valid(const struct seam_node *node, int64_t row) {
    return node->kind != SEAM_NODE_NULLS && seam_view_valid(&node->view, row);
}

/* Where row `row` of a list or map begins in its child; pass row + 1 for where it ends. */
static inline int64_t seam_node_start(const struct seam_node *node, int64_t row) {
    int64_t at = node->view.offset + row;
    return node->view.layout == SEAM_LAYOUT_VAR32 ? ((const int32_t *)node->view.offsets)[at]
                                                  : ((const int64_t *)node->view.offsets)[at];
}

/* The row of child 0 that a dictionary's row stands for; the row itself must be valid. */
int64_t seam_node_index(const struct seam_node *node, int64_t row);
/* The row of child 1 that a row of runs stands for. */
int64_t seam_node_run(const struct seam_node *node, int64_t row);

#endif
