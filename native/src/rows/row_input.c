#include "rows/row_internal.h"

#include "base/bits.h"

static int misfit(const struct seam_row_type *type, const struct seam_node *node,
                  struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                     "column '%s' comes in Arrow format '%s', which is not how its type lies",
                     type->name, node->format);
}

static bool fixed(const struct seam_node *node, int32_t width_bytes) {
    return node->kind == SEAM_NODE_FLAT && node->view.layout == SEAM_LAYOUT_FIXED &&
           node->view.width_bytes == width_bytes;
}

static bool calendar(const struct seam_node *node) {
    return node->kind == SEAM_NODE_STRUCT && node->n_children == 3 &&
           fixed(&node->children[0], 4) && fixed(&node->children[1], 4) &&
           fixed(&node->children[2], 8);
}

static bool flat_fits(const struct seam_row_type *type, const struct seam_node *node) {
    bool flat = node->kind == SEAM_NODE_FLAT;
    switch (type->kind) {
    case SEAM_ROW_BOOLEAN:
        return flat && node->view.layout == SEAM_LAYOUT_BITS;
    case SEAM_ROW_FIXED:
        return fixed(node, type->width_bytes);
    case SEAM_ROW_SHORT_DECIMAL:
    case SEAM_ROW_LONG_DECIMAL:
        return fixed(node, 16);
    case SEAM_ROW_STRING:
    case SEAM_ROW_BINARY:
        return flat &&
               (node->view.layout == SEAM_LAYOUT_VAR32 || node->view.layout == SEAM_LAYOUT_VAR64);
    case SEAM_ROW_CALENDAR:
        return calendar(node);
    default:
        return false; /* void: only an array of type null, which was seen before */
    }
}

static int check_fit(const struct seam_row_type *type, const struct seam_node *node,
                     struct seam_error *error) {
    const struct seam_node *parts = node->children;
    bool fits;
    switch (node->kind) {
    case SEAM_NODE_NULLS:
        return SEAM_OK;
    case SEAM_NODE_DICTIONARY:
        return check_fit(type, &parts[0], error);
    case SEAM_NODE_RUNS:
        return check_fit(type, &parts[1], error);
    case SEAM_NODE_LIST:
        return type->kind == SEAM_ROW_ARRAY ? check_fit(&type->children[0], &parts[0], error)
                                            : misfit(type, node, error);
    case SEAM_NODE_MAP:
        fits = type->kind == SEAM_ROW_MAP && parts[0].kind == SEAM_NODE_STRUCT &&
               parts[0].n_children == 2;
        parts = parts[0].children;
        break;
    case SEAM_NODE_STRUCT:
        if (type->kind == SEAM_ROW_CALENDAR) {
            return calendar(node) ? SEAM_OK : misfit(type, node, error);
        }
        fits = type->kind == SEAM_ROW_STRUCT && node->n_children == type->n_children;
        break;
    default:
        return flat_fits(type, node) ? SEAM_OK : misfit(type, node, error);
    }
    SEAM_TRY(fits ? SEAM_OK : misfit(type, node, error));
    for (int32_t i = 0; i < type->n_children; i++) {
        SEAM_TRY(check_fit(&type->children[i], &parts[i], error));
    }
    return SEAM_OK;
}

static int new_input(struct seam_allocator *allocator, const struct seam_row_type *root,
                     struct seam_row_input **out, struct seam_error *error) {
    void *block = NULL;
    *out = NULL;
    SEAM_TRY(seam_row_type_check(root, error));
    SEAM_TRY(seam_alloc(allocator, sizeof(struct seam_row_input), &block, error));
    *out = block;
    **out = (struct seam_row_input){.root = root, .node = NULL};
    seam_engine_column_init(&(*out)->columns, allocator);
    return SEAM_OK;
}

/* Looks at the tree that an input has, if it came to be; frees an input that is none. */
static int check_input(int code, struct seam_row_input **out, struct seam_error *error) {
    struct seam_row_input *input = *out;
    if (code == SEAM_OK && input->node->kind != SEAM_NODE_STRUCT) {
        code = misfit(input->root, input->node, error);
    }
    if (code == SEAM_OK) {
        code = check_fit(input->root, input->node, error);
    }
    if (code != SEAM_OK) {
        seam_row_input_free(input);
        *out = NULL;
    }
    return code;
}

int seam_row_input_new(struct seam_allocator *allocator, const struct seam_row_type *root,
                       const struct ArrowSchema *schema, const struct ArrowArray *array,
                       struct seam_row_input **out, struct seam_error *error) {
    int code = new_input(allocator, root, out, error);
    if (code == SEAM_OK) {
        code = seam_node_open(allocator, schema, array, &(*out)->node, error);
    }
    return check_input(code, out, error);
}

int seam_row_input_of_chain(struct seam_allocator *allocator, const struct seam_row_type *root,
                            const struct seam_engine_slot *slots, int64_t n_slots,
                            const struct seam_chain *chain, struct seam_row_input **out,
                            struct seam_error *error) {
    int code = new_input(allocator, root, out, error);
    if (code == SEAM_OK) {
        code = seam_engine_open(&(*out)->columns, slots, n_slots, chain, error);
    }
    if (code == SEAM_OK) {
        code = seam_engine_view(&(*out)->columns, &(*out)->node, error);
    }
    return check_input(code, out, error);
}

void seam_row_input_free(struct seam_row_input *input) {
    if (input != NULL) {
        seam_node_close(input->node);
        seam_engine_column_reset(&input->columns);
        seam_free(input);
    }
}

int seam_row_choice_check(const struct seam_row_input *input, const struct seam_row_choice *choice,
                          struct seam_error *error) {
    int64_t length = input->node->view.length;
    int64_t wrong = -1;
    if (choice->rows == NULL) {
        wrong = choice->begin < 0 || choice->count < 0 || choice->count > length ||
                        choice->begin > length - choice->count
                    ? choice->begin
                    : -1;
        return wrong == -1 ? SEAM_OK
                           : seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                                       "%lld rows from row %lld on are not among the %lld there "
                                       "are",
                                       (long long)choice->count, (long long)choice->begin,
                                       (long long)length);
    }
    for (int64_t i = 0; i < choice->count; i++) {
        if (choice->rows[i] < 0 || choice->rows[i] >= length) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                             "row %lld was chosen where there are %lld", (long long)choice->rows[i],
                             (long long)length);
        }
    }
    return SEAM_OK;
}

int row_trouble_report(const struct row_trouble *trouble, struct seam_error *error) {
    if (trouble->what == NULL) {
        return SEAM_OK;
    }
    return seam_fail(error, trouble->code, -1, "row %lld: column '%s' %s", (long long)trouble->row,
                     trouble->type->name, trouble->what);
}

void row_blame_decimals(const struct row_lane *lane, struct row_trouble *trouble) {
    seam_int128 limit = seam_power_of_ten(lane->type->precision);
    for (int64_t i = 0; i < lane->count && trouble->what == NULL; i++) {
        int64_t high;
        uint64_t low;
        if (lane->any_null && lane->null[i]) {
            continue;
        }
        row_load_decimal(&lane->leaf->view, row_of(lane, lane->at, i), &high, &low);
        if (!row_decimal_fits(high, low, limit)) {
            row_blame(trouble, SEAM_BAD_INPUT, lane->type, "has more digits than its type");
            row_blame_row(trouble, lane, i);
        }
    }
}

int64_t row_largest_bytes(const struct row_lane *lane) {
    const struct seam_view view = lane->leaf->view;
    int64_t largest = 0;
    const uint8_t *unused;
    for (int64_t i = 0; i < lane->count; i++) {
        bool null = lane->any_null && lane->null[i];
        int64_t size = null ? 0 : seam_view_bytes(&view, row_of(lane, lane->at, i), &unused);
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* A lane whose rows have to be looked up one by one. */
static void resolve_each(struct row_lane *lane, const struct seam_node *node,
                         const struct seam_row_choice *choice, int64_t first) {
    for (int64_t i = 0; i < lane->count; i++) {
        int64_t row = row_chosen(choice, first + i);
        bool null = row_resolve(node, &row) == NULL;
        lane->null[i] = null;
        lane->any_null |= null;
        lane->rows[i] = null ? 0 : row;
    }
    lane->at = lane->rows;
}

void row_lane_open(struct row_lane *lane, const struct seam_row_input *input, int32_t column,
                   const struct seam_row_choice *choice, int64_t first, int64_t count,
                   struct row_trouble *trouble) {
    const struct seam_node *node = &input->node->children[column];
    const struct seam_node *leaf = node;
    while (leaf->kind == SEAM_NODE_DICTIONARY || leaf->kind == SEAM_NODE_RUNS) {
        leaf = &leaf->children[leaf->kind == SEAM_NODE_RUNS ? 1 : 0];
    }
    lane->type = &input->root->children[column];
    lane->leaf = leaf;
    lane->choice = choice;
    lane->first = first;
    lane->at = NULL;
    lane->begin = choice->begin + first;
    lane->count = count;
    lane->any_null = false;
    if (leaf != node || leaf->kind == SEAM_NODE_NULLS ||
        (leaf->view.validity != NULL && choice->rows != NULL)) {
        resolve_each(lane, node, choice, first);
    } else if (choice->rows != NULL) {
        lane->at = choice->rows + first;
    } else if (leaf->view.validity != NULL) {
        const struct seam_view *view = &leaf->view;
        lane->any_null =
            seam_expand(view->validity, view->offset + lane->begin, count, 1, lane->null) != 0;
    }
    for (int64_t i = 0; lane->any_null && !lane->type->nullable && i < count; i++) {
        if (lane->null[i]) {
            row_blame(trouble, SEAM_BAD_INPUT, lane->type,
                      "is null, which its type does not allow");
            row_blame_row(trouble, lane, i);
        }
    }
}

int row_place(const struct seam_row_choice *choice, int64_t first, int64_t count,
              const int64_t *sizes, int64_t gap_bytes, int64_t *position, int64_t *starts,
              struct seam_error *error) {
    int64_t at = *position;
    int64_t largest = 0;
    for (int64_t i = 0; i < count; i++) {
        starts[first + i] = at;
        at += sizes[i] + gap_bytes;
        largest = sizes[i] > largest ? sizes[i] : largest;
    }
    starts[first + count] = at;
    *position = at;
    for (int64_t i = 0; largest > INT32_MAX && i < count; i++) {
        if (sizes[i] > INT32_MAX) {
            return seam_fail(error, SEAM_TOO_LARGE, -1,
                             "row %lld would take %lld bytes, more than a row can have",
                             (long long)row_chosen(choice, first + i), (long long)sizes[i]);
        }
    }
    return SEAM_OK;
}
