/* What a tree of views believes of an array, looked at once: indexes, run ends and offsets. */
#include "arrow/node_check.h"

#include "base/offsets.h"
#include "base/wide.h"

#include <limits.h>
#include <string.h>

/* Rows of a node that are in use. */
struct range {
    int64_t begin;
    int64_t end;
};

static int bad(const struct seam_node *node, const char *what, int64_t found, int64_t most,
               struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_INPUT, -1,
                     "the Arrow array '%s' of format '%s' %s %lld of %lld", node->name,
                     node->format, what, (long long)found, (long long)most);
}

/* --- offsets --- */

/* The part of the child, or of the bytes, that rows point at; offsets never fall. */
static int check_offsets(const struct seam_node *node, struct range rows, struct range *out,
                         struct seam_error *error) {
    int64_t count = rows.end - rows.begin;
    *out = (struct range){0, 0};
    if (count == 0) {
        return SEAM_OK; /* there may be no buffer at all */
    }
    const struct seam_view *view = &node->view;
    if (view->offsets == NULL) {
        return bad(node, "has no offsets for row", rows.begin, view->length, error);
    }
    const uint8_t *offsets = view->offsets;
    int64_t at = view->offset + rows.begin;
    bool rise = view->layout == SEAM_LAYOUT_VAR32 ? seam_offsets_rise_32(offsets + 4 * at, count)
                                                  : seam_offsets_rise_64(offsets + 8 * at, count);
    out->begin = seam_node_start(node, rows.begin);
    out->end = seam_node_start(node, rows.end);
    if (!rise || out->begin < 0) {
        return seam_fail(
            error, SEAM_BAD_INPUT, -1,
            "the Arrow array '%s' of format '%s' has offsets that fall or are negative", node->name,
            node->format);
    }
    return SEAM_OK;
}

/* --- dictionaries --- */

#define DEFINE_EXTREMES(NAME, TYPE)                                                                \
    SEAM_WIDE static struct range NAME(const void *values, int64_t begin, int64_t count) {         \
        const TYPE *at = (const TYPE *)values + begin;                                             \
        TYPE least = at[0], most = at[0];                                                          \
        for (int64_t i = 1; i < count; i++) {                                                      \
            least = at[i] < least ? at[i] : least;                                                 \
            most = at[i] > most ? at[i] : most;                                                    \
        }                                                                                          \
        return (struct range){(int64_t)least, (int64_t)most};                                      \
    }

DEFINE_EXTREMES(extremes_i8, int8_t)
DEFINE_EXTREMES(extremes_u8, uint8_t)
DEFINE_EXTREMES(extremes_i16, int16_t)
DEFINE_EXTREMES(extremes_u16, uint16_t)
DEFINE_EXTREMES(extremes_i32, int32_t)
DEFINE_EXTREMES(extremes_u32, uint32_t)
DEFINE_EXTREMES(extremes_i64, int64_t)

/* Least and greatest index, those of nulls included. One beyond int64 comes out negative. */
static struct range extremes(const struct seam_view *view, struct range rows) {
    bool is_signed = view->order == SEAM_ORDER_SIGNED;
    int64_t begin = view->offset + rows.begin, count = rows.end - rows.begin;
    switch (view->width_bytes) {
    case 1:
        return (is_signed ? extremes_i8 : extremes_u8)(view->data, begin, count);
    case 2:
        return (is_signed ? extremes_i16 : extremes_u16)(view->data, begin, count);
    case 4:
        return (is_signed ? extremes_i32 : extremes_u32)(view->data, begin, count);
    default:
        return extremes_i64(view->data, begin, count);
    }
}

/* The values that rows stand for, from the first to the last; what lies under nulls is of no use.
 */
static int check_indexes(const struct seam_node *node, struct range rows, struct range *out,
                         struct seam_error *error) {
    int64_t length = node->children[0].view.length;
    int64_t most = length < INT32_MAX ? length : INT32_MAX; /* rows are listed in 32 bits */
    *out = (struct range){0, 0};
    if (rows.end == rows.begin) {
        return SEAM_OK;
    }
    if (node->view.layout != SEAM_LAYOUT_FIXED || node->view.width_bytes > 8 ||
        node->view.order == SEAM_ORDER_FLOAT) {
        return bad(node, "has indexes that are no whole numbers for row", rows.begin, rows.end,
                   error);
    }
    struct range found = extremes(&node->view, rows);
    if (found.begin < 0 || found.end >= most) {
        found = (struct range){most, -1};
        for (int64_t row = rows.begin; row < rows.end; row++) {
            if (!seam_node_valid(node, row)) {
                continue;
            }
            int64_t index = seam_node_index(node, row);
            if (index < 0 || index >= most) {
                return bad(node, "points at row", index, length, error);
            }
            found.begin = index < found.begin ? index : found.begin;
            found.end = index > found.end ? index : found.end;
        }
    }
    if (found.begin <= found.end) {
        *out = (struct range){found.begin, found.end + 1};
    }
    return SEAM_OK;
}

/* --- runs --- */

/* The values of the runs that hold the rows: ends rise, and the last one reaches the last row. */
static int check_runs(const struct seam_node *node, struct range rows, struct range *out,
                      struct seam_error *error) {
    const struct seam_node *ends = &node->children[0];
    int64_t runs = ends->view.length;
    *out = (struct range){0, 0};
    if (rows.end == rows.begin) {
        return SEAM_OK;
    }
    if (ends->kind != SEAM_NODE_FLAT || ends->view.layout != SEAM_LAYOUT_FIXED ||
        ends->view.width_bytes > 8 || ends->view.order != SEAM_ORDER_SIGNED ||
        ends->view.validity != NULL) {
        return bad(node, "has run ends of no signed type, or that may be null: row", rows.begin,
                   rows.end, error);
    }
    int64_t before = 0;
    for (int64_t run = 0; run < runs; run++) {
        int64_t end = seam_node_index(ends, run);
        if (end <= before) {
            return bad(node, "has run ends that do not rise at run", run, runs, error);
        }
        before = end;
    }
    if (before < node->view.offset + rows.end) {
        return bad(node, "has runs that end at row", before, node->view.offset + rows.end, error);
    }
    *out = (struct range){seam_node_run(node, rows.begin), seam_node_run(node, rows.end - 1) + 1};
    return SEAM_OK;
}

/* --- the tree --- */

static int check(const struct seam_node *node, struct range rows, struct seam_error *error);

static int check_child(const struct seam_node *node, int64_t child, struct range rows,
                       struct seam_error *error) {
    const struct seam_node *to = &node->children[child];
    if (rows.end > to->view.length) {
        return bad(node, "points at row", rows.end - 1, to->view.length, error);
    }
    return check(to, rows, error);
}

static int check(const struct seam_node *node, struct range rows, struct seam_error *error) {
    struct range inner = rows;
    switch (node->kind) {
    case SEAM_NODE_FLAT:
        return node->view.layout == SEAM_LAYOUT_VAR32 || node->view.layout == SEAM_LAYOUT_VAR64
                   ? check_offsets(node, rows, &inner, error)
                   : SEAM_OK;
    case SEAM_NODE_LIST:
    case SEAM_NODE_MAP:
        SEAM_TRY(check_offsets(node, rows, &inner, error));
        return check_child(node, 0, inner, error);
    case SEAM_NODE_DICTIONARY:
        SEAM_TRY(check_indexes(node, rows, &inner, error));
        return check_child(node, 0, inner, error);
    case SEAM_NODE_RUNS:
        SEAM_TRY(check_runs(node, rows, &inner, error));
        return check_child(node, 1, inner, error);
    case SEAM_NODE_STRUCT:
        for (int64_t i = 0; i < node->n_children; i++) {
            SEAM_TRY(check_child(node, i, rows, error));
        }
        return SEAM_OK;
    default:
        return SEAM_OK;
    }
}

int seam_node_check(const struct seam_node *node, struct seam_error *error) {
    return check(node, (struct range){0, node->view.length}, error);
}
