/* Planning dictionaries and runs: kept where the engine would keep them, else written out. */
#include "presto/presto_plan.h"

/* The entry that a row of a dictionary points at, -1 for null. */
static int64_t entry_of(const struct seam_node *node, int64_t row) {
    return presto_row_valid(node, row) ? seam_node_index(node, row) : -1;
}

static int bad_entry(const struct presto_type *type, int64_t entry, int64_t entries,
                     struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                     "column '%s': index %lld in a dictionary of %lld", type->name,
                     (long long)entry, (long long)entries);
}

/* --- dictionaries --- */

/* Which entries are used, and the numbers they get. */
struct usage {
    int64_t entries;
    int32_t *ids;   /* by entry; the place behind the last is that of null. -1 = unused */
    int32_t *order; /* the used ones, -1 for null */
    int64_t used;
    bool nulls; /* null is among them */
};

static int take_usage(struct seam_presto_writer *writer, int64_t entries, int64_t rows,
                      struct usage *out, struct seam_error *error) {
    void *block;
    int64_t most = rows < entries + 1 ? rows : entries + 1;
    SEAM_TRY(presto_arena_take(&writer->arena, (entries + 1 + most) * 4, &block, error));
    *out = (struct usage){.entries = entries, .ids = block};
    out->order = out->ids + entries + 1;
    memset(out->ids, 0xFF, (size_t)(entries + 1) * 4);
    return SEAM_OK;
}

/* Numbers entries in order of first use, as Presto's DictionaryBlock.compact does. */
static int find_used(const struct presto_type *type, const struct seam_node *node,
                     const struct presto_rows *rows, struct usage *usage,
                     struct seam_error *error) {
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t entry = entry_of(node, presto_row(rows, i));
        if (entry < -1 || entry >= usage->entries) {
            return bad_entry(type, entry, usage->entries, error);
        }
        int32_t *id = &usage->ids[entry < 0 ? usage->entries : entry];
        if (*id < 0) {
            *id = (int32_t)usage->used;
            usage->order[usage->used++] = (int32_t)entry;
            usage->nulls |= entry < 0;
        }
    }
    return SEAM_OK;
}

/* Numbers them in the order in which they stand in the dictionary. */
static void keep_order(struct usage *usage) {
    int64_t next = 0;
    for (int64_t entry = 0; entry <= usage->entries; entry++) {
        if (usage->ids[entry] >= 0) {
            usage->order[next] = entry == usage->entries ? -1 : (int32_t)entry;
            usage->ids[entry] = (int32_t)next++;
        }
    }
}

/* Where Velox's batch writer would rather write values: a dictionary with nulls of its own never
 * stays; without the option to keep encodings, it must be worth it. */
static bool velox_flattens(const struct seam_presto_writer *writer, const struct presto_type *type,
                           const struct usage *usage, int64_t rows) {
    if (rows == 0 || usage->nulls) {
        return true;
    }
    if (presto_flag(writer, SEAM_PRESTO_KEEP_ENCODINGS)) {
        return false;
    }
    bool fixed = presto_is_fixed(type);
    int64_t width = type->wire_bytes;
    return (fixed && width <= 4) || (fixed && usage->used * width + 4 * rows >= rows * width) ||
           usage->used == rows;
}

static int plan_dictionary(struct seam_presto_writer *writer, const struct presto_type *type,
                           const struct seam_node *node, const struct presto_rows *rows,
                           struct presto_plan *out, bool *kept, struct seam_error *error) {
    struct usage usage;
    const struct seam_node *values = &node->children[0];
    SEAM_TRY(take_usage(writer, values->view.length, rows->count, &usage, error));
    SEAM_TRY(find_used(type, node, rows, &usage, error));
    const bool as_read = presto_as_read(writer) && !usage.nulls;
    const bool velox = presto_flag(writer, SEAM_PRESTO_VELOX);
    if (velox && !as_read && velox_flattens(writer, type, &usage, rows->count)) {
        *kept = false;
        return SEAM_OK;
    }
    struct presto_rows entries = {.rows = usage.order, .count = usage.used, .gaps = usage.nulls};
    const bool all = as_read || usage.used == usage.entries + usage.nulls;
    if (velox || all) { /* a dictionary that is used up stays as it is */
        keep_order(&usage);
    }
    if (all && !usage.nulls) {
        entries = (struct presto_rows){.count = usage.entries};
    }
    uint8_t mark;
    int code = presto_take_mark(writer, &mark, error);
    *out = (struct presto_plan){.type = type,
                                .encoding = PRESTO_DICTIONARY,
                                .node = node,
                                .rows = *rows,
                                .ids = all ? NULL : usage.ids,
                                .null_id = usage.ids[usage.entries],
                                .n_children = 1};
    const int64_t last = writer->options.n_sources - 1;
    if (code == SEAM_OK && last >= 0) {
        int64_t number = writer->next_source < last ? writer->next_source : last;
        out->source = writer->options.sources + SEAM_PRESTO_SOURCE_BYTES * number;
    }
    writer->next_source += 1;
    void *block;
    code = code == SEAM_OK ? presto_arena_take(&writer->arena, sizeof *out, &block, error) : code;
    if (code == SEAM_OK) {
        out->children = block;
        code = presto_plan_column(writer, type, values, &entries, true, out->children, error);
    }
    return code == SEAM_OK
               ? presto_finish_plan(out, 4 + 4 * rows->count + SEAM_PRESTO_SOURCE_BYTES, error)
               : code;
}

/* --- runs --- */

/* The one run that all rows belong to, or -1. */
static int64_t common_run(const struct seam_node *node, const struct presto_rows *rows) {
    int64_t runs = node->children[0].view.length;
    if (rows->count == 0 || rows->gaps) {
        return rows->gaps || runs == 0 ? -1 : 0;
    }
    int64_t run = seam_node_run(node, presto_row(rows, 0));
    if (rows->rows == NULL) {
        return seam_node_run(node, rows->begin + rows->count - 1) == run ? run : -1;
    }
    for (int64_t i = 1; runs > 1 && i < rows->count; i++) {
        if (seam_node_run(node, rows->rows[i]) != run) {
            return -1;
        }
    }
    return run;
}

static int plan_run(struct seam_presto_writer *writer, const struct presto_type *type,
                    const struct seam_node *node, const struct presto_rows *rows,
                    struct presto_plan *out, bool *kept, struct seam_error *error) {
    int64_t run = common_run(node, rows);
    const bool flat_when_empty = presto_flag(writer, SEAM_PRESTO_VELOX) && !presto_as_read(writer);
    if (run < 0 || (rows->count == 0 && flat_when_empty)) {
        *kept = false;
        return SEAM_OK;
    }
    uint8_t mark;
    void *block;
    SEAM_TRY(presto_take_mark(writer, &mark, error));
    SEAM_TRY(presto_arena_take(&writer->arena, sizeof *out, &block, error));
    const struct presto_rows one = {.begin = run, .count = 1};
    *out = (struct presto_plan){.type = type,
                                .encoding = PRESTO_RLE,
                                .node = node,
                                .rows = *rows,
                                .n_children = 1,
                                .children = block};
    SEAM_TRY(
        presto_plan_column(writer, type, &node->children[1], &one, true, out->children, error));
    return presto_finish_plan(out, 4, error);
}

int presto_plan_encoded(struct seam_presto_writer *writer, const struct presto_type *type,
                        const struct seam_node *node, const struct presto_rows *rows,
                        struct presto_plan *out, bool *kept, struct seam_error *error) {
    return node->kind == SEAM_NODE_DICTIONARY
               ? plan_dictionary(writer, type, node, rows, out, kept, error)
               : plan_run(writer, type, node, rows, out, kept, error);
}

/* --- written out --- */

int presto_unwrap(struct seam_presto_writer *writer, const struct seam_node **node,
                  struct presto_rows *rows, struct seam_error *error) {
    void *block;
    const struct seam_node *from = *node;
    const bool runs = from->kind == SEAM_NODE_RUNS;
    const struct seam_node *values = &from->children[runs];
    SEAM_TRY(presto_arena_take(&writer->arena, rows->count * 4, &block, error));
    int32_t *list = block;
    bool gaps = false;
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t row = presto_row(rows, i);
        int64_t value = row < 0 ? -1 : runs ? seam_node_run(from, row) : entry_of(from, row);
        gaps |= value < 0;
        list[i] = (int32_t)value;
    }
    *node = values;
    *rows = (struct presto_rows){.rows = list, .count = rows->count, .gaps = gaps};
    return SEAM_OK;
}
