/* Whole Arrow columns into vectors, level by level. Rows are written behind the last one and
 * counted when a level is complete; if one fails, those that are complete are taken back. */
#include "offheap/vector_values.h"

#include <string.h>

static int append(struct seam_vector *vector, const struct seam_node *node,
                  const struct seam_selection *selection, struct seam_error *error);

/* --- whether types agree --- */

static int mismatch(const struct seam_vector *vector, const struct seam_node *node,
                    struct seam_error *error) {
    return seam_fail(error, SEAM_UNSUPPORTED, -1,
                     "the Arrow array '%s' of format '%s' cannot be appended to a %s column",
                     node->name, node->format, seam_column_kind_name(vector->type.kind));
}

/* The field of a struct that child `index` takes: the one in its place if it has its name, else the
 * only one that has. NULL if there is none, or more than one. */
static const struct seam_node *field_of(const struct seam_vector *vector, int32_t index,
                                        const struct seam_node *node) {
    const char *wanted = vector->children[index].type.name;
    if (wanted == NULL ||
        (index < node->n_children && strcmp(node->children[index].name, wanted) == 0)) {
        return index < node->n_children ? &node->children[index] : NULL;
    }
    const struct seam_node *found = NULL;
    for (int64_t i = 0; i < node->n_children; i++) {
        if (strcmp(node->children[i].name, wanted) == 0) {
            if (found != NULL) {
                return NULL;
            }
            found = &node->children[i];
        }
    }
    return found;
}

/* What a map's child takes: the keys or the values of the entries. */
static const struct seam_node *half_of(const struct seam_vector *map, int32_t index,
                                       const struct seam_node *node) {
    const struct seam_node *entries = &node->children[0];
    return &entries->children[index == seam_column_map_child(&map->type, 0) ? 0 : 1];
}

static int match(const struct seam_vector *vector, const struct seam_node *node,
                 struct seam_error *error);

static int match_fields(const struct seam_vector *vector, const struct seam_node *node,
                        struct seam_error *error) {
    if (node->kind != SEAM_NODE_STRUCT ||
        (vector->type.kind == SEAM_COLUMN_VARIANT && node->n_children != vector->n_children)) {
        return mismatch(vector, node, error);
    }
    for (int32_t i = 0; i < vector->n_children; i++) {
        const struct seam_vector *child = &vector->children[i];
        const struct seam_node *field = field_of(vector, i, node);
        if (child->type.kind == SEAM_COLUMN_UNKNOWN) {
            continue;
        }
        if (field == NULL) {
            return seam_fail(error, SEAM_UNSUPPORTED, -1,
                             "the Arrow struct '%s' has not one field '%s'", node->name,
                             child->type.name == NULL ? "" : child->type.name);
        }
        SEAM_TRY(match(child, field, error));
    }
    return SEAM_OK;
}

static int match_entries(const struct seam_vector *map, const struct seam_node *node,
                         struct seam_error *error) {
    if (node->kind != SEAM_NODE_MAP || node->children[0].kind != SEAM_NODE_STRUCT ||
        node->children[0].n_children != 2) {
        return mismatch(map, node, error);
    }
    for (int32_t i = 0; i < map->n_children; i++) {
        SEAM_TRY(match(&map->children[i], half_of(map, i, node), error));
    }
    return SEAM_OK;
}

static int match(const struct seam_vector *vector, const struct seam_node *node,
                 struct seam_error *error) {
    if (node->kind == SEAM_NODE_DICTIONARY) {
        return match(vector, &node->children[0], error);
    }
    if (node->kind == SEAM_NODE_RUNS) {
        return match(vector, &node->children[1], error);
    }
    int32_t kind = vector->type.kind;
    if (node->kind == SEAM_NODE_NULLS && kind != SEAM_COLUMN_UNKNOWN) {
        return SEAM_OK;
    }
    switch (kind) {
    case SEAM_COLUMN_STRUCT:
    case SEAM_COLUMN_VARIANT:
        return match_fields(vector, node, error);
    case SEAM_COLUMN_MAP:
        return match_entries(vector, node, error);
    case SEAM_COLUMN_ARRAY:
        if (node->kind != SEAM_NODE_LIST) {
            return mismatch(vector, node, error);
        }
        return vector->children[0].type.kind == SEAM_COLUMN_UNKNOWN
                   ? SEAM_OK
                   : match(&vector->children[0], &node->children[0], error);
    default:
        return node->kind == SEAM_NODE_FLAT && seam_values_fit(&vector->type, node->format)
                   ? SEAM_OK
                   : mismatch(vector, node, error);
    }
}

/* --- nulls of any type --- */

static int append_nulls(struct seam_vector *vector, int64_t count, struct seam_error *error) {
    SEAM_TRY(seam_vector_reserve(vector, vector->rows + count, error));
    if (vector->type.kind == SEAM_COLUMN_UNKNOWN) {
        return SEAM_OK;
    }
    for (int32_t i = 0; vector->offsets == NULL && i < vector->n_children; i++) {
        SEAM_TRY(append_nulls(&vector->children[i], count, error));
    }
    int64_t row = vector->rows;
    memset(vector->nulls + row, 1, (size_t)count);
    if (vector->width > 0) {
        memset(vector->data + row * vector->width, 0, (size_t)(count * vector->width));
    }
    for (int64_t i = 0; vector->offsets != NULL && i < count; i++) {
        vector->offsets[row + i + 1] = vector->offsets[row];
    }
    vector->rows = row + count;
    return SEAM_OK;
}

/* --- rows that stand for others --- */

static int64_t chosen(const struct seam_selection *selection, int64_t i) {
    if (selection->rows != NULL) {
        return selection->rows[i];
    }
    return selection->mask != NULL && selection->mask[i] ? -1 : selection->start + i;
}

static int alloc_rows(struct seam_vector *vector, int64_t count, int64_t **out,
                      struct seam_error *error) {
    void *block = NULL;
    size_t size = (size_t)count * sizeof(int64_t);
    int code = seam_alloc(vector->allocator, size, &block, error);
    *out = block;
    return code;
}

/* Dictionaries and runs: appends the values that the rows stand for. */
static int append_encoded(struct seam_vector *vector, const struct seam_node *node,
                          const struct seam_selection *selection, struct seam_error *error) {
    bool runs = node->kind == SEAM_NODE_RUNS;
    const struct seam_node *values = &node->children[runs ? 1 : 0];
    int64_t *rows = NULL;
    int code = alloc_rows(vector, selection->count, &rows, error);
    for (int64_t i = 0; code == SEAM_OK && i < selection->count; i++) {
        int64_t row = chosen(selection, i);
        bool valid = row >= 0 && seam_node_valid(node, row);
        rows[i] = !valid ? -1 : runs ? seam_node_run(node, row) : seam_node_index(node, row);
    }
    if (code == SEAM_OK) {
        struct seam_selection stood_for = {.count = selection->count, .rows = rows};
        code = append(vector, values, &stood_for, error);
    }
    seam_free(rows);
    return code;
}

/* --- structs --- */

static int append_fields(struct seam_vector *vector, const struct seam_node *node,
                         const struct seam_selection *selection, struct seam_error *error) {
    for (int32_t i = 0; i < vector->n_children; i++) {
        struct seam_vector *child = &vector->children[i];
        if (child->type.kind != SEAM_COLUMN_UNKNOWN) {
            SEAM_TRY(append(child, field_of(vector, i, node), selection, error));
        }
    }
    return SEAM_OK;
}

/* A null struct has a null in each field, whatever lies there. */
static int append_structs(struct seam_vector *vector, const struct seam_node *node,
                          const struct seam_selection *selection, bool any,
                          struct seam_error *error) {
    const uint8_t *flags = vector->nulls + vector->rows;
    struct seam_selection fields = *selection;
    int64_t *rows = NULL;
    int code = SEAM_OK;
    if (selection->rows == NULL) {
        fields.mask = any ? flags : NULL;
    } else if (any) {
        code = alloc_rows(vector, selection->count, &rows, error);
        for (int64_t i = 0; code == SEAM_OK && i < selection->count; i++) {
            rows[i] = flags[i] ? -1 : selection->rows[i];
        }
        fields.rows = rows;
    }
    if (code == SEAM_OK) {
        code = append_fields(vector, node, &fields, error);
    }
    seam_free(rows);
    return code;
}

/* --- lists and maps --- */

/* Writes the offsets of the selection; tells how many entries there are, where the first lies and
 * whether they lie side by side. */
struct entries {
    int64_t count;
    int64_t first;
    bool dense;
};

static int write_offsets(struct seam_vector *vector, const struct seam_node *node,
                         const struct seam_selection *selection, struct entries *out,
                         struct seam_error *error) {
    const uint8_t *flags = vector->nulls + vector->rows;
    int32_t *offsets = vector->offsets + vector->rows;
    int64_t next = -1;
    *out = (struct entries){.count = 0, .first = 0, .dense = true};
    for (int64_t i = 0; i < selection->count; i++) {
        int64_t row = flags[i] ? -1 : chosen(selection, i);
        int64_t start = row < 0 ? 0 : seam_node_start(node, row);
        int64_t end = row < 0 ? 0 : seam_node_start(node, row + 1);
        if (end > start) {
            out->dense = out->dense && (next < 0 || next == start);
            out->first = next < 0 ? start : out->first;
            next = end;
        }
        out->count += end - start;
        if (out->count > SEAM_VECTOR_LIMIT - offsets[0]) {
            return seam_fail(error, SEAM_TOO_LARGE, -1,
                             "a %s column cannot hold more than %d entries",
                             seam_column_kind_name(vector->type.kind), SEAM_VECTOR_LIMIT);
        }
        offsets[i + 1] = (int32_t)(offsets[0] + out->count);
    }
    return SEAM_OK;
}

/* Lists the rows of the entries one by one. */
static int list_entries(struct seam_vector *vector, const struct seam_node *node,
                        const struct seam_selection *selection, int64_t count, int64_t **out,
                        struct seam_error *error) {
    const int32_t *offsets = vector->offsets + vector->rows;
    SEAM_TRY(alloc_rows(vector, count, out, error));
    for (int64_t i = 0; i < selection->count; i++) {
        int64_t *entry = *out + (offsets[i] - offsets[0]);
        int64_t size = offsets[i + 1] - offsets[i];
        int64_t start = size == 0 ? 0 : seam_node_start(node, chosen(selection, i));
        for (int64_t k = 0; k < size; k++) {
            entry[k] = start + k;
        }
    }
    return SEAM_OK;
}

static int append_children(struct seam_vector *vector, const struct seam_node *node,
                           const struct seam_selection *entries, struct seam_error *error) {
    bool map = vector->type.kind == SEAM_COLUMN_MAP;
    for (int32_t i = 0; i < vector->n_children; i++) {
        struct seam_vector *child = &vector->children[i];
        if (child->type.kind != SEAM_COLUMN_UNKNOWN) {
            SEAM_TRY(
                append(child, map ? half_of(vector, i, node) : &node->children[0], entries, error));
        }
    }
    return SEAM_OK;
}

static bool has_nulls(const struct seam_node *node) {
    bool found = false;
    for (int64_t i = 0; node->view.validity != NULL && i < node->view.length; i++) {
        found = found || !seam_node_valid(node, i);
    }
    return found;
}

static int append_lists(struct seam_vector *vector, const struct seam_node *node,
                        const struct seam_selection *selection, struct seam_error *error) {
    struct entries found;
    int64_t *rows = NULL;
    if (vector->type.kind == SEAM_COLUMN_MAP && has_nulls(&node->children[0])) {
        return seam_fail(error, SEAM_BAD_INPUT, -1, "the Arrow map '%s' has null entries",
                         node->name);
    }
    int code = write_offsets(vector, node, selection, &found, error);
    if (code == SEAM_OK && !found.dense) {
        code = list_entries(vector, node, selection, found.count, &rows, error);
    }
    if (code == SEAM_OK) {
        struct seam_selection entries = {.count = found.count, .start = found.first, .rows = rows};
        code = append_children(vector, node, &entries, error);
    }
    seam_free(rows);
    return code;
}

/* --- the way through --- */

/* One level, for which there is room. */
static int append_level(struct seam_vector *vector, const struct seam_node *node,
                        const struct seam_selection *selection, struct seam_error *error) {
    bool any = false;
    seam_values_nulls(vector, node, selection, &any);
    switch (vector->type.kind) {
    case SEAM_COLUMN_STRUCT:
    case SEAM_COLUMN_VARIANT:
        return append_structs(vector, node, selection, any, error);
    case SEAM_COLUMN_ARRAY:
    case SEAM_COLUMN_MAP:
        return append_lists(vector, node, selection, error);
    default:
        return seam_values_write(vector, node, selection, any, error);
    }
}

static int append(struct seam_vector *vector, const struct seam_node *node,
                  const struct seam_selection *selection, struct seam_error *error) {
    if (node->kind == SEAM_NODE_NULLS) {
        return append_nulls(vector, selection->count, error);
    }
    if (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS) {
        return append_encoded(vector, node, selection, error);
    }
    SEAM_TRY(seam_vector_reserve(vector, vector->rows + selection->count, error));
    int code = append_level(vector, node, selection, error);
    if (code == SEAM_OK) {
        vector->rows += selection->count;
    } else { /* flags behind the last row stay 0 */
        memset(vector->nulls + vector->rows, 0, (size_t)selection->count);
    }
    return code;
}

int seam_vector_append_node(struct seam_vector *vector, const struct seam_node *node,
                            struct seam_error *error) {
    int64_t rows = vector->rows;
    int code = match(vector, node, error);
    if (code == SEAM_OK) {
        struct seam_selection all = {.count = node->view.length};
        code = append(vector, node, &all, error);
    }
    if (code != SEAM_OK) { /* parts of nested rows may be there */
        seam_vector_truncate(vector, rows, NULL);
    }
    return code;
}

int seam_vector_append_arrow(struct seam_vector *vector, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, struct seam_error *error) {
    struct seam_node *node = NULL;
    int code = seam_node_open(vector->allocator, schema, array, &node, error);
    if (code == SEAM_OK) {
        code = seam_vector_append_node(vector, node, error);
    }
    seam_node_close(node);
    return code;
}
