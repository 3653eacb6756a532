/* Planning flat and nested columns. */
#include "presto/presto_plan.h"

#include "base/wide.h"

/* --- memory --- */

struct presto_arena_block {
    struct presto_arena_block *previous;
    int64_t capacity_bytes;
    int64_t used_bytes;
    int64_t padding; /* keeps what follows aligned to 16 bytes */
};

enum { ARENA_BLOCK_BYTES = 1 << 16 };

int presto_arena_take(struct presto_arena *arena, int64_t size_bytes, void **out,
                      struct seam_error *error) {
    struct presto_arena_block *last = arena->last;
    int64_t size = (size_bytes + 15) / 16 * 16;
    if (last == NULL || last->capacity_bytes - last->used_bytes < size) {
        void *block;
        int64_t capacity = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
        SEAM_TRY(seam_alloc(arena->allocator, sizeof *last + (size_t)capacity, &block, error));
        last = block;
        *last = (struct presto_arena_block){.previous = arena->last, .capacity_bytes = capacity};
        arena->last = last;
    }
    *out = (uint8_t *)(last + 1) + last->used_bytes;
    last->used_bytes += size;
    return SEAM_OK;
}

void presto_arena_reset(struct presto_arena *arena) {
    while (arena->last != NULL) {
        struct presto_arena_block *block = arena->last;
        arena->last = block->previous;
        seam_free(block);
    }
}

static int take_list(struct seam_presto_writer *writer, int64_t count, int32_t **out,
                     struct seam_error *error) {
    void *block;
    int code = presto_arena_take(&writer->arena, count * 4, &block, error);
    *out = code == SEAM_OK ? block : NULL;
    return code;
}

/* --- what fits --- */

static bool layout_fits(const struct presto_type *type, const struct seam_node *node) {
    enum seam_layout layout = node->view.layout;
    switch (type->kind) {
    case SEAM_PRESTO_UNKNOWN:
        return node->kind == SEAM_NODE_NULLS;
    case SEAM_PRESTO_ARRAY:
        return node->kind == SEAM_NODE_LIST;
    case SEAM_PRESTO_MAP:
        return node->kind == SEAM_NODE_MAP && node->children[0].kind == SEAM_NODE_STRUCT &&
               node->children[0].n_children == 2;
    case SEAM_PRESTO_ROW:
        return node->kind == SEAM_NODE_STRUCT && node->n_children == type->n_children;
    case SEAM_PRESTO_BOOLEAN:
        return node->kind == SEAM_NODE_FLAT && layout == SEAM_LAYOUT_BITS;
    case SEAM_PRESTO_BINARY:
    case SEAM_PRESTO_TEXT:
        return node->kind == SEAM_NODE_FLAT &&
               (layout == SEAM_LAYOUT_VAR32 || layout == SEAM_LAYOUT_VAR64);
    default:
        return node->kind == SEAM_NODE_FLAT && layout == SEAM_LAYOUT_FIXED &&
               node->view.width_bytes == type->arrow_bytes;
    }
}

int presto_check_layout(const struct presto_type *type, const struct seam_node *node,
                        struct seam_error *error) {
    while (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS) {
        node = &node->children[node->kind == SEAM_NODE_RUNS];
    }
    if (!layout_fits(type, node) || node->view.length > SEAM_PRESTO_MAX_ROWS) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "column '%s' of %s cannot be written from %lld rows of Arrow format '%s'",
                         type->name, PRESTO_NAMES[type->encoding].text,
                         (long long)node->view.length, node->format);
    }
    const struct seam_node *parent = type->kind == SEAM_PRESTO_MAP ? &node->children[0] : node;
    const struct presto_type *child = type + 1;
    for (int32_t i = 0; i < type->n_children; i++) {
        SEAM_TRY(presto_check_layout(child, &parent->children[i], error));
        child = presto_next(child);
    }
    return SEAM_OK;
}

/* --- counting --- */

static int64_t count_present(const struct seam_node *node, const struct presto_rows *rows) {
    if (node == NULL || node->kind == SEAM_NODE_NULLS) {
        return 0;
    }
    const struct seam_view *view = &node->view;
    if (view->validity == NULL && !rows->gaps) {
        return rows->count;
    }
    int64_t present = 0;
    if (rows->rows == NULL) {
        for (int64_t i = 0; i < rows->count; i += 64) {
            int64_t count = rows->count - i < 64 ? rows->count - i : 64;
            present += __builtin_popcountll(
                presto_load_bits(view->validity, view->offset + rows->begin + i, count));
        }
        return present;
    }
    for (int64_t i = 0; i < rows->count; i++) {
        present += presto_row_valid(node, rows->rows[i]);
    }
    return present;
}

static int too_large(const struct presto_type *type, struct seam_error *error) {
    return seam_fail(error, SEAM_TOO_LARGE, -1,
                     "column '%s': a page holds at most 2^31 - 1 bytes and rows: write fewer rows",
                     type->name);
}

int presto_finish_plan(struct presto_plan *plan, int64_t content_bytes, struct seam_error *error) {
    int64_t size = 4 + PRESTO_NAMES[plan->encoding].size_bytes + content_bytes;
    for (int32_t i = 0; i < plan->n_children; i++) {
        size += plan->children[i].size_bytes;
    }
    plan->size_bytes = size;
    return size > INT32_MAX ? too_large(plan->type, error) : SEAM_OK;
}

static int64_t flags_bytes(const struct presto_plan *plan) {
    return 1 + (plan->flags ? presto_flag_bytes(plan->rows.count) : 0);
}

int presto_take_mark(struct seam_presto_writer *writer, uint8_t *mark, struct seam_error *error) {
    *mark = 0;
    if (!presto_as_read(writer)) {
        return SEAM_OK;
    }
    if (writer->next_mark >= writer->options.n_marks) {
        return seam_fail(error, SEAM_BAD_INPUT, -1,
                         "the layout is of %lld columns, the batch has more of them",
                         (long long)writer->options.n_marks);
    }
    *mark = writer->options.marks[writer->next_mark++];
    return SEAM_OK;
}

static int take_children(struct seam_presto_writer *writer, struct presto_plan *plan, int32_t n,
                         struct seam_error *error) {
    void *block;
    SEAM_TRY(
        presto_arena_take(&writer->arena, n * (int64_t)sizeof(struct presto_plan), &block, error));
    plan->children = memset(block, 0, (size_t)n * sizeof(struct presto_plan));
    plan->n_children = n;
    return SEAM_OK;
}

/* --- strings --- */

/* Bytes of null rows among neighbours, which lie between the others. */
static int64_t null_bytes(const struct seam_view *view, const struct presto_rows *rows) {
    const uint8_t *bytes;
    int64_t total = 0;
    for (int64_t i = 0; i < rows->count; i += 64) {
        int64_t count = rows->count - i < 64 ? rows->count - i : 64;
        int64_t first = rows->begin + i;
        uint64_t nulls = ~presto_load_bits(view->validity, view->offset + first, count);
        nulls &= count == 64 ? nulls : (UINT64_C(1) << count) - 1;
        for (; nulls != 0; nulls &= nulls - 1) {
            total += seam_view_bytes(view, first + __builtin_ctzll(nulls), &bytes);
        }
    }
    return total;
}

/* Strings of neighbours: one stretch of bytes, unless null rows own some that are left out. */
static int64_t count_stretch(const struct seam_presto_writer *writer, struct presto_plan *plan) {
    const struct seam_view *view = &plan->node->view;
    const struct presto_rows *rows = &plan->rows;
    const uint8_t *first, *last;
    if (rows->count == 0) {
        return 0;
    }
    int64_t size = seam_view_bytes(view, rows->begin + rows->count - 1, &last);
    seam_view_bytes(view, rows->begin, &first);
    bool drop = presto_any_null(plan) && !presto_flag(writer, SEAM_PRESTO_KEEP_NULL_BYTES);
    int64_t dropped = drop ? null_bytes(view, rows) : 0;
    plan->plain_bytes = dropped == 0;
    return last + size - first - dropped;
}

SEAM_WIDE static void bound_sizes(const int32_t *offsets, int64_t n, struct presto_sizes *sizes) {
    int32_t least = INT32_MAX;
    int32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        const int32_t size = offsets[i + 1] - offsets[i];
        least = size < least ? size : least;
        most = size > most ? size : most;
    }
    sizes->least_bytes = least;
    sizes->most_bytes = most;
}

void presto_look_at_sizes(struct seam_presto_writer *writer, const struct seam_node *node) {
    const struct seam_view *view = &node->view;
    writer->sizes.node = NULL;
    if (node->kind == SEAM_NODE_FLAT && view->layout == SEAM_LAYOUT_VAR32 && view->length > 0) {
        bound_sizes((const int32_t *)view->offsets + view->offset, view->length, &writer->sizes);
        writer->sizes.node = node;
    }
}

/* Strings without nulls, of 32-bit offsets: what a partitioned batch is full of. */
static int64_t count_listed(const struct seam_presto_writer *writer, struct presto_plan *plan) {
    const struct seam_view *view = &plan->node->view;
    const int32_t *offsets = (const int32_t *)view->offsets + view->offset;
    const int32_t *rows = plan->rows.rows;
    int64_t total = 0;
    if (writer->sizes.node == plan->node) {
        plan->longest = writer->sizes.most_bytes;
        plan->uniform = writer->sizes.least_bytes == writer->sizes.most_bytes;
        for (int64_t i = 0; !plan->uniform && i < plan->rows.count; i++) {
            total += offsets[rows[i] + 1] - offsets[rows[i]];
        }
        return plan->uniform ? plan->rows.count * plan->longest : total;
    }
    int32_t longest = 0;
    for (int64_t i = 0; i < plan->rows.count; i++) {
        int32_t size = offsets[rows[i] + 1] - offsets[rows[i]];
        total += size;
        longest = size > longest ? size : longest;
    }
    plan->longest = longest;
    return total;
}

/* Strings of some rows: those of null rows are left out unless they were asked for. */
static int64_t count_bytes(const struct seam_presto_writer *writer, struct presto_plan *plan) {
    const struct seam_view *view = &plan->node->view;
    const bool keep = presto_flag(writer, SEAM_PRESTO_KEEP_NULL_BYTES);
    if (plan->rows.rows == NULL) {
        return count_stretch(writer, plan);
    }
    if (!presto_any_null(plan) && view->layout == SEAM_LAYOUT_VAR32) {
        return count_listed(writer, plan);
    }
    int64_t total = 0;
    for (int64_t i = 0; i < plan->rows.count; i++) {
        const uint8_t *bytes;
        int64_t row = plan->rows.rows[i];
        if (row >= 0 && (keep || seam_view_valid(view, row))) {
            int64_t size = seam_view_bytes(view, row, &bytes);
            total += size;
            plan->longest = size > plan->longest ? size : plan->longest;
        }
    }
    return total;
}

static int plan_variable(struct seam_presto_writer *writer, struct presto_plan *plan,
                         struct seam_error *error) {
    if (plan->type->kind == SEAM_PRESTO_SLICE) {
        plan->bytes = plan->present * plan->type->arrow_bytes;
    } else {
        plan->bytes = plan->node == NULL ? 0 : count_bytes(writer, plan);
    }
    if (plan->bytes > INT32_MAX) {
        return too_large(plan->type, error);
    }
    return presto_finish_plan(plan, 4 + 4 * plan->rows.count + flags_bytes(plan) + 4 + plan->bytes,
                              error);
}

/* --- arrays and maps --- */

/* The entries of present rows, in order: one range where they follow each other, else a list. */
static int entries_of(struct seam_presto_writer *writer, const struct presto_plan *plan,
                      struct presto_rows *out, struct seam_error *error) {
    const struct seam_node *node = plan->node;
    *out = (struct presto_rows){0};
    int64_t total = 0;
    int64_t next = -1;
    bool range = true;
    if (node == NULL) {
        return SEAM_OK;
    }
    for (int64_t i = 0; i < plan->rows.count; i++) {
        int64_t row = presto_row(&plan->rows, i);
        int64_t begin = presto_row_valid(node, row) ? seam_node_start(node, row) : 0;
        int64_t end = presto_row_valid(node, row) ? seam_node_start(node, row + 1) : 0;
        if (end > begin) {
            out->begin = next < 0 ? begin : out->begin;
            range &= next < 0 || begin == next;
            next = end;
            total += end - begin;
        }
    }
    out->count = total;
    if (total > SEAM_PRESTO_MAX_ROWS) {
        return too_large(plan->type, error);
    }
    if (range) {
        return SEAM_OK;
    }
    int32_t *list;
    SEAM_TRY(take_list(writer, total, &list, error));
    for (int64_t i = 0, at = 0; i < plan->rows.count; i++) {
        int64_t row = presto_row(&plan->rows, i);
        if (presto_row_valid(node, row)) {
            int64_t end = seam_node_start(node, row + 1);
            for (int64_t entry = seam_node_start(node, row); entry < end; entry++) {
                list[at++] = (int32_t)entry;
            }
        }
    }
    out->rows = list;
    return SEAM_OK;
}

static int plan_array(struct seam_presto_writer *writer, bool keep, struct presto_plan *plan,
                      struct seam_error *error) {
    struct presto_rows entries;
    const struct seam_node *child = plan->node == NULL ? NULL : &plan->node->children[0];
    int code = entries_of(writer, plan, &entries, error);
    code = code == SEAM_OK ? take_children(writer, plan, 1, error) : code;
    code = code == SEAM_OK ? presto_plan_column(writer, plan->type + 1, child, &entries, keep,
                                                &plan->children[0], error)
                           : code;
    return code == SEAM_OK
               ? presto_finish_plan(plan, 4 + 4 * (plan->rows.count + 1) + flags_bytes(plan), error)
               : code;
}

/* Keys are never null: not in Arrow, not in Presto. Behind a dictionary they could be. */
static int check_keys(const struct presto_plan *plan, struct seam_error *error) {
    const struct presto_plan *keys = &plan->children[0];
    if (keys->rows.count == 0) {
        return SEAM_OK; /* what a run of no rows stands for is nobody's key */
    }
    while (keys->encoding == PRESTO_DICTIONARY || keys->encoding == PRESTO_RLE) {
        keys = &keys->children[0];
    }
    return presto_any_null(keys) ? seam_fail(error, SEAM_BAD_INPUT, -1,
                                             "column '%s': a map key is null", plan->type->name)
                                 : SEAM_OK;
}

static int plan_map(struct seam_presto_writer *writer, bool keep, struct presto_plan *plan,
                    struct seam_error *error) {
    struct presto_rows entries;
    const struct presto_type *key = plan->type + 1;
    const struct seam_node *pairs = plan->node == NULL ? NULL : &plan->node->children[0];
    SEAM_TRY(entries_of(writer, plan, &entries, error));
    SEAM_TRY(take_children(writer, plan, 2, error));
    SEAM_TRY(presto_plan_column(writer, key, pairs == NULL ? NULL : &pairs->children[0], &entries,
                                keep, &plan->children[0], error));
    SEAM_TRY(presto_plan_column(writer, presto_next(key),
                                pairs == NULL ? NULL : &pairs->children[1], &entries, keep,
                                &plan->children[1], error));
    SEAM_TRY(check_keys(plan, error));
    const struct presto_plan *keys = &plan->children[0];
    if (plan->hash_table && (!key->hashed || keys->encoding != key->encoding)) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s': hash tables are known for plain keys of bigint, integer, "
                         "varchar and varbinary only: write it without one",
                         plan->type->name);
    }
    int64_t slots = plan->hash_table ? entries.count * 2 : 0;
    return presto_finish_plan(
        plan, 4 + 4 * slots + 4 + 4 * (plan->rows.count + 1) + flags_bytes(plan), error);
}

/* --- rows --- */

/* Fields are written of present rows only. */
static int present_rows(struct seam_presto_writer *writer, const struct presto_plan *plan,
                        struct presto_rows *out, struct seam_error *error) {
    *out = plan->rows;
    if (!presto_any_null(plan)) {
        return SEAM_OK;
    }
    int32_t *list;
    SEAM_TRY(take_list(writer, plan->present, &list, error));
    for (int64_t i = 0, at = 0; at < plan->present; i++) {
        int64_t row = presto_row(&plan->rows, i);
        if (presto_row_valid(plan->node, row)) {
            list[at++] = (int32_t)row;
        }
    }
    *out = (struct presto_rows){.rows = list, .count = plan->present};
    return SEAM_OK;
}

static int plan_row(struct seam_presto_writer *writer, bool keep, struct presto_plan *plan,
                    struct seam_error *error) {
    struct presto_rows present;
    const struct presto_type *child = plan->type + 1;
    int code = present_rows(writer, plan, &present, error);
    code = code == SEAM_OK ? take_children(writer, plan, plan->type->n_children, error) : code;
    for (int32_t i = 0; i < plan->n_children && code == SEAM_OK; i++, child = presto_next(child)) {
        const struct seam_node *node = plan->node == NULL ? NULL : &plan->node->children[i];
        code = presto_plan_column(writer, child, node, &present, keep, &plan->children[i], error);
    }
    int64_t offsets = presto_flag(writer, SEAM_PRESTO_NULLS_FIRST) ? 0 : 4 * (plan->rows.count + 1);
    return code == SEAM_OK ? presto_finish_plan(plan, 4 + 4 + offsets + flags_bytes(plan), error)
                           : code;
}

/* --- any column --- */

/* Presto's builders of fixed-width columns leave a run where no value was added. */
static int plan_builder_run(struct seam_presto_writer *writer, struct presto_plan *plan,
                            struct seam_error *error) {
    const struct presto_rows one = {.count = 1};
    SEAM_TRY(take_children(writer, plan, 1, error));
    plan->encoding = PRESTO_RLE;
    struct presto_plan *child = &plan->children[0];
    *child = (struct presto_plan){
        .type = plan->type, .encoding = plan->type->encoding, .rows = one, .flags = true};
    SEAM_TRY(presto_finish_plan(child, 4 + flags_bytes(child), error));
    return presto_finish_plan(plan, 4, error);
}

static int plan_flat(struct seam_presto_writer *writer, bool keep, uint8_t mark,
                     struct presto_plan *plan, struct seam_error *error) {
    const struct presto_type *type = plan->type;
    const bool builder = presto_flag(writer, SEAM_PRESTO_BUILDER);
    const bool map = type->kind == SEAM_PRESTO_MAP;
    plan->present = count_present(plan->node, &plan->rows);
    plan->flags = presto_any_null(plan) || (mark & SEAM_PRESTO_MARK_FLAGS) != 0 || (builder && map);
    plan->hash_table = map && (presto_flag(writer, SEAM_PRESTO_HASH_TABLES) ||
                               (mark & SEAM_PRESTO_MARK_HASH) != 0);
    switch (type->encoding) {
    case PRESTO_VARIABLE_WIDTH:
        return plan_variable(writer, plan, error);
    case PRESTO_ARRAY:
        return plan_array(writer, keep, plan, error);
    case PRESTO_MAP:
        return plan_map(writer, keep, plan, error);
    case PRESTO_ROW:
        return plan_row(writer, keep, plan, error);
    default:
        if (builder && plan->present == 0) {
            return plan_builder_run(writer, plan, error);
        }
        return presto_finish_plan(plan, 4 + flags_bytes(plan) + plan->present * type->wire_bytes,
                                  error);
    }
}

/* Bare nulls, as a query engine sends a column of nothing but them whatever its type. */
static int plan_bare_nulls(struct presto_plan *plan, struct seam_error *error) {
    if (count_present(plan->node, &plan->rows) > 0) {
        return seam_fail(error, SEAM_BAD_INPUT, -1,
                         "column '%s': the layout has bare nulls where the batch has values",
                         plan->type->name);
    }
    plan->node = NULL;
    plan->encoding = PRESTO_BYTE_ARRAY;
    plan->flags = plan->rows.count > 0;
    return presto_finish_plan(plan, 4 + flags_bytes(plan), error);
}

int presto_plan_column(struct seam_presto_writer *writer, const struct presto_type *type,
                       const struct seam_node *node, const struct presto_rows *rows, bool keep,
                       struct presto_plan *out, struct seam_error *error) {
    struct presto_rows wanted = *rows;
    bool nested = type->kind == SEAM_PRESTO_ARRAY || type->kind == SEAM_PRESTO_MAP;
    while (node != NULL && (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS)) {
        bool kept = keep && !presto_flag(writer, SEAM_PRESTO_FLATTEN);
        if (kept) {
            SEAM_TRY(presto_plan_encoded(writer, type, node, &wanted, out, &kept, error));
        }
        if (kept) {
            return SEAM_OK;
        }
        SEAM_TRY(presto_unwrap(writer, &node, &wanted, error));
    }
    uint8_t mark;
    SEAM_TRY(presto_take_mark(writer, &mark, error));
    *out = (struct presto_plan){
        .type = type, .encoding = type->encoding, .node = node, .rows = wanted};
    if ((mark & SEAM_PRESTO_MARK_BARE) != 0) {
        return plan_bare_nulls(out, error);
    }
    /* Velox's batch writer keeps encodings at the top and in rows, not in arrays and maps. */
    bool drop = nested && presto_flag(writer, SEAM_PRESTO_VELOX) && !presto_as_read(writer);
    return plan_flat(writer, keep && !drop, mark, out, error);
}
