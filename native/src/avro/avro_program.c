/* The plan of an Avro decoder: checked, copied, compiled. */
#include "avro/avro_internal.h"

#include "seam/arrow_build.h"

static int copy_text(struct seam_allocator *allocator, const char *from, struct text *to,
                     struct seam_error *error) {
    size_t size = from == NULL ? 0 : strlen(from);
    void *block;
    if (size > INT32_MAX) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "a name of %zu bytes", size);
    }
    int code = seam_alloc(allocator, size + SLACK_BYTES, &block, error); /* symbols need slack */
    if (code == SEAM_OK) {
        to->bytes = block;
        to->size = (int32_t)size;
        memset(to->bytes + size, 0, SLACK_BYTES);
        if (size > 0) {
            memcpy(to->bytes, from, size);
        }
    }
    return code;
}

static int copy_node(struct seam_avro_decoder *decoder, const struct seam_avro_node *from,
                     struct node *to, struct seam_error *error) {
    to->kind = from->kind;
    to->first_child = from->first_child;
    to->n_children = from->n_children;
    to->size = from->size;
    SEAM_TRY(copy_text(decoder->allocator, from->name, &to->name, error));
    if (from->kind != SEAM_AVRO_ENUM) {
        return SEAM_OK;
    }
    void *symbols;
    SEAM_TRY(
        seam_alloc_zeros(decoder->allocator, from->size, sizeof(struct text), &symbols, error));
    to->symbols = symbols;
    for (int32_t i = 0; i < from->size; i++) {
        SEAM_TRY(copy_text(decoder->allocator, from->symbols[i], &to->symbols[i], error));
    }
    return SEAM_OK;
}

static int check_node(const struct seam_avro_node *node, int32_t index, int32_t n_nodes,
                      const int32_t *children, int32_t n_children, struct seam_error *error) {
    bool good = node->kind >= SEAM_AVRO_NULL && node->kind <= SEAM_AVRO_RECORD && node->size >= 0 &&
                node->n_children >= 0 && node->first_child >= 0 &&
                node->first_child <= n_children - node->n_children;
    bool one = node->kind == SEAM_AVRO_ARRAY || node->kind == SEAM_AVRO_MAP;
    good = good && (!one || node->n_children == 1);
    good = good && (node->kind != SEAM_AVRO_ENUM || node->size == 0 || node->symbols != NULL);
    for (int32_t i = 0; good && i < node->n_children; i++) {
        int32_t child = children[node->first_child + i];
        good = child >= 0 && child < n_nodes;
    }
    return good ? SEAM_OK : seam_fail(error, SEAM_BAD_ARGUMENT, -1, "node %d is wrong", index);
}

static int copy_nodes(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                      int32_t n_nodes, const int32_t *children, int32_t n_children,
                      struct seam_error *error) {
    void *block;
    SEAM_TRY(seam_alloc_zeros(decoder->allocator, n_nodes, sizeof(struct node), &block, error));
    decoder->nodes = block;
    decoder->n_nodes = n_nodes;
    SEAM_TRY(seam_alloc_zeros(decoder->allocator, n_children, sizeof(int32_t), &block, error));
    decoder->children = block;
    decoder->n_children = n_children;
    if (n_children > 0) {
        memcpy(decoder->children, children, (size_t)n_children * sizeof(int32_t));
    }
    for (int32_t i = 0; i < n_nodes; i++) {
        SEAM_TRY(check_node(&nodes[i], i, n_nodes, children, n_children, error));
        SEAM_TRY(copy_node(decoder, &nodes[i], &decoder->nodes[i], error));
    }
    return SEAM_OK;
}

/* Fewest bytes of a datum. Unions, arrays and maps have at least one byte, whatever they hold, so
 * only records are followed; a record that always holds itself has no end. */
static int find_min_bytes(struct seam_avro_decoder *decoder, int32_t index, int depth,
                          struct seam_error *error) {
    struct node *node = &decoder->nodes[index];
    static const int32_t sizes[] = {
        [SEAM_AVRO_NULL] = 0,  [SEAM_AVRO_BOOLEAN] = 1, [SEAM_AVRO_INT] = 1,
        [SEAM_AVRO_LONG] = 1,  [SEAM_AVRO_FLOAT] = 4,   [SEAM_AVRO_DOUBLE] = 8,
        [SEAM_AVRO_BYTES] = 1, [SEAM_AVRO_STRING] = 1,  [SEAM_AVRO_FIXED] = 0,
        [SEAM_AVRO_ENUM] = 1,  [SEAM_AVRO_ARRAY] = 1,   [SEAM_AVRO_MAP] = 1,
        [SEAM_AVRO_UNION] = 1, [SEAM_AVRO_RECORD] = 0,
    };
    if (depth > MAX_DEPTH) {
        return seam_fail(error, SEAM_BAD_INPUT, -1,
                         "field '%s': records are nested too deeply, or hold themselves",
                         node->name.bytes);
    }
    if (node->min_bytes >= 0) {
        return SEAM_OK;
    }
    int64_t total = node->kind == SEAM_AVRO_FIXED ? node->size : sizes[node->kind];
    for (int32_t i = 0; node->kind == SEAM_AVRO_RECORD && i < node->n_children; i++) {
        int32_t child = decoder->children[node->first_child + i];
        SEAM_TRY(find_min_bytes(decoder, child, depth + 1, error));
        total += decoder->nodes[child].min_bytes;
        total = total < INT32_MAX ? total : INT32_MAX;
    }
    node->min_bytes = (int32_t)total;
    return SEAM_OK;
}

static void plan_skip(const struct seam_avro_decoder *decoder, struct op *op) {
    const struct node *node = &decoder->nodes[op->node];
    switch (node->kind) {
    case SEAM_AVRO_NULL:
    case SEAM_AVRO_BOOLEAN:
    case SEAM_AVRO_FLOAT:
    case SEAM_AVRO_DOUBLE:
    case SEAM_AVRO_FIXED:
        op->code = OP_SKIP_FIXED;
        op->size = node->min_bytes;
        return;
    case SEAM_AVRO_INT:
    case SEAM_AVRO_LONG:
        op->code = OP_SKIP_VARINT;
        return;
    case SEAM_AVRO_BYTES:
    case SEAM_AVRO_STRING:
        op->code = OP_SKIP_BYTES;
        return;
    default:
        op->code = OP_SKIP_TREE;
        return;
    }
}

/* The op that takes values of `kind` into a column of `to`, or -1. */
static int32_t op_for(int32_t kind, int32_t to, const struct node *node,
                      const struct builder *builder) {
    bool is_int = kind == SEAM_AVRO_INT || kind == SEAM_AVRO_LONG;
    switch (to) {
    case SEAM_AVRO_TO_BOOL:
        return kind == SEAM_AVRO_BOOLEAN ? OP_BOOL : -1;
    case SEAM_AVRO_TO_INT32:
        return kind == SEAM_AVRO_INT ? OP_INT32 : -1;
    case SEAM_AVRO_TO_INT64:
        return !is_int ? -1 : builder->spec.shift > 0 ? OP_INT_SCALED : OP_LONG;
    case SEAM_AVRO_TO_FLOAT:
        return kind == SEAM_AVRO_FLOAT ? OP_FLOAT : is_int ? OP_INT_TO_FLOAT : -1;
    case SEAM_AVRO_TO_DOUBLE:
    case SEAM_AVRO_TO_DOUBLE_BY_TEXT:
        return kind == SEAM_AVRO_DOUBLE ? OP_DOUBLE
               : kind == SEAM_AVRO_FLOAT
                   ? (to == SEAM_AVRO_TO_DOUBLE ? OP_FLOAT_TO_DOUBLE : OP_FLOAT_TO_DOUBLE_BY_TEXT)
               : is_int ? OP_INT_TO_DOUBLE
                        : -1;
    case SEAM_AVRO_TO_DECIMAL:
        return kind == SEAM_AVRO_BYTES                     ? OP_DECIMAL_BYTES
               : kind == SEAM_AVRO_FIXED && node->size > 0 ? OP_DECIMAL_FIXED
                                                           : -1;
    case SEAM_AVRO_TO_BYTES:
        return kind == SEAM_AVRO_BYTES || kind == SEAM_AVRO_STRING ? OP_BYTES
               : kind == SEAM_AVRO_FIXED                           ? OP_FIXED_TO_BYTES
               : kind == SEAM_AVRO_ENUM                            ? OP_ENUM
                                                                   : -1;
    case SEAM_AVRO_TO_FIXED:
        return kind == SEAM_AVRO_FIXED && node->size == builder->spec.size ? OP_FIXED : -1;
    default:
        return kind == SEAM_AVRO_UNION ? OP_TAGGED : -1;
    }
}

/* Takes a union of one type and null off `op`. */
static void strip_union(const struct seam_avro_decoder *decoder, struct op *op) {
    const struct node *node = &decoder->nodes[op->node];
    if (node->kind != SEAM_AVRO_UNION || node->n_children != 2) {
        return;
    }
    const int32_t *branches = &decoder->children[node->first_child];
    int32_t null = decoder->nodes[branches[0]].kind == SEAM_AVRO_NULL ? 0 : 1;
    if (decoder->nodes[branches[null]].kind == SEAM_AVRO_NULL) {
        op->nullable = true;
        op->absent = (uint8_t)(2 * null);
        op->present = (uint8_t)(2 * (1 - null));
        op->node = branches[1 - null];
    }
}

static const char *kind_name(int32_t kind) {
    static const char *const names[] = {"null",   "boolean", "int",    "long",  "float",
                                        "double", "bytes",   "string", "fixed", "enum",
                                        "array",  "map",     "union",  "record"};
    return names[kind];
}

static int plan_ops(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                    const struct node *record, struct op *ops, struct seam_error *error);

/* The next `count` ops; there are as many as `count_ops` has found. */
static struct op *take_ops(struct seam_avro_decoder *decoder, int32_t count) {
    struct op *first = decoder->ops + decoder->used_ops;
    decoder->used_ops += count;
    return first;
}

static int refuse_type(const struct seam_avro_decoder *decoder, int32_t field, const char *why,
                       struct seam_error *error) {
    return seam_fail(error, SEAM_UNSUPPORTED, -1, "field '%s': %s",
                     decoder->nodes[field].name.bytes, why);
}

static int refuse_column(const struct seam_avro_decoder *decoder, int32_t field,
                         const struct node *node, struct seam_error *error) {
    return seam_fail(error, SEAM_UNSUPPORTED, -1,
                     "field '%s': Avro type %s cannot be decoded into the column asked for",
                     decoder->nodes[field].name.bytes, kind_name(node->kind));
}

static int plan_field(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                      int32_t field, struct op *op, struct seam_error *error);

/* What is done with every item of a list or map: a key comes first in a map. */
static int plan_items(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                      const struct node *node, struct op *op, struct seam_error *error) {
    bool map = node->kind == SEAM_AVRO_MAP;
    int32_t item = decoder->children[node->first_child];
    if (!map && decoder->nodes[item].min_bytes == 0) {
        return refuse_type(decoder, op->field, "a list of items that take no bytes", error);
    }
    op->code = map ? OP_MAP : OP_LIST;
    op->n_ops = map ? 2 : 1;
    op->ops = take_ops(decoder, op->n_ops);
    if (map) {
        op->ops[0] = (struct op){
            .code = OP_BYTES, .node = op->node, .field = op->field, .builder = op->builder + 1};
    }
    return plan_field(decoder, nodes, item, &op->ops[op->n_ops - 1], error);
}

/* The op of a field with a column, behind its union. */
static int plan_column(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                       struct op *op, struct seam_error *error) {
    const struct node *node = &decoder->nodes[op->node];
    int32_t to = op->builder->spec.kind;
    op->size = node->size;
    op->is_int = node->kind == SEAM_AVRO_INT;
    if (to >= SEAM_AVRO_TO_LIST && node->kind != SEAM_AVRO_NULL) {
        if (to == SEAM_AVRO_TO_STRUCT) {
            op->code = OP_STRUCT;
            op->n_ops = node->n_children;
            op->ops = take_ops(decoder, op->n_ops);
            return plan_ops(decoder, nodes, node, op->ops, error);
        }
        return plan_items(decoder, nodes, node, op, error);
    }
    op->code =
        node->kind == SEAM_AVRO_NULL ? (int32_t)OP_NULL : op_for(node->kind, to, node, op->builder);
    if (op->code >= 0) {
        return SEAM_OK;
    }
    return refuse_column(decoder, op->field, node, error);
}

static int plan_field(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                      int32_t field, struct op *op, struct seam_error *error) {
    int32_t column = nodes[field].column;
    *op = (struct op){.node = field, .field = field};
    if (column < 0) {
        strip_union(decoder, op);
        plan_skip(decoder, op);
        return SEAM_OK;
    }
    op->builder = &decoder->builders[column];
    if (op->builder->spec.kind != SEAM_AVRO_TO_TAGGED) {
        strip_union(decoder, op);
    }
    return plan_column(decoder, nodes, op, error);
}

static int plan_ops(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                    const struct node *record, struct op *ops, struct seam_error *error) {
    for (int32_t i = 0; i < record->n_children; i++) {
        int32_t field = decoder->children[record->first_child + i];
        SEAM_TRY(plan_field(decoder, nodes, field, &ops[i], error));
    }
    for (int32_t i = record->n_children - 1, n_skips = 0; i >= 0; i--) {
        n_skips = ops[i].code <= OP_SKIP_FIXED ? n_skips + 1 : 0;
        ops[i].n_skips = n_skips;
    }
    return SEAM_OK;
}

/* Walks the fields that have columns: each column has one field and stands where its field does. */
struct walk {
    const struct seam_avro_decoder *decoder;
    const struct seam_avro_node *nodes;
    uint8_t *taken; /* by column */
    int64_t n_ops;  /* ops that compiling will need */
    struct seam_error *error;
};

static int take_column(struct walk *walk, int32_t column, int32_t parent) {
    const struct seam_avro_decoder *decoder = walk->decoder;
    if (column >= decoder->n_columns || decoder->builders[column].parent != parent) {
        return seam_fail(walk->error, SEAM_BAD_ARGUMENT, -1, "column %d is out of place", column);
    }
    if (walk->taken[column]++) {
        return seam_fail(walk->error, SEAM_BAD_ARGUMENT, -1, "column %d has two fields", column);
    }
    return SEAM_OK;
}

static int walk_field(struct walk *walk, int32_t field, int32_t parent);

static int walk_record(struct walk *walk, const struct node *record, int32_t parent) {
    walk->n_ops += record->n_children;
    for (int32_t i = 0; i < record->n_children; i++) {
        int32_t field = walk->decoder->children[record->first_child + i];
        SEAM_TRY(walk->nodes[field].column < 0 ? SEAM_OK : walk_field(walk, field, parent));
    }
    return SEAM_OK;
}

/* A TAGGED column is followed by one of int64 and one of bytes, which no field writes. */
static int walk_tagged(struct walk *walk, int32_t column) {
    static const int32_t kinds[] = {SEAM_AVRO_TO_INT64, SEAM_AVRO_TO_BYTES};
    for (int32_t i = 0; i < 2; i++) {
        SEAM_TRY(take_column(walk, column + 1 + i, -1));
        if (walk->decoder->builders[column + 1 + i].spec.kind != kinds[i]) {
            return seam_fail(walk->error, SEAM_BAD_ARGUMENT, -1, "column %d is out of place",
                             column + 1 + i);
        }
    }
    return SEAM_OK;
}

/* The item of a list, or a map's key, which has no node, and value. */
static int walk_items(struct walk *walk, const struct node *node, int32_t column) {
    int32_t item = walk->decoder->children[node->first_child];
    int32_t expected = column + 1;
    if (node->kind == SEAM_AVRO_MAP) {
        const struct seam_avro_column *key = &walk->decoder->builders[column + 1].spec;
        SEAM_TRY(take_column(walk, column + 1, column));
        if (key->kind != SEAM_AVRO_TO_BYTES || key->nullable) {
            return seam_fail(walk->error, SEAM_BAD_ARGUMENT, -1, "column %d is no key", column + 1);
        }
        expected++;
        walk->n_ops++;
    }
    walk->n_ops++;
    if (walk->nodes[item].column != expected) {
        return seam_fail(walk->error, SEAM_BAD_ARGUMENT, -1, "column %d has no field", expected);
    }
    return walk_field(walk, item, column);
}

static int walk_field(struct walk *walk, int32_t field, int32_t parent) {
    int32_t column = walk->nodes[field].column;
    SEAM_TRY(take_column(walk, column, parent));
    struct op op = {.node = field};
    strip_union(walk->decoder, &op);
    const struct node *node = &walk->decoder->nodes[op.node];
    int32_t to = walk->decoder->builders[column].spec.kind;
    if (to == SEAM_AVRO_TO_TAGGED && parent < 0) {
        return walk_tagged(walk, column);
    }
    bool fits = (to == SEAM_AVRO_TO_LIST && node->kind == SEAM_AVRO_ARRAY) ||
                (to == SEAM_AVRO_TO_MAP && node->kind == SEAM_AVRO_MAP) ||
                (to == SEAM_AVRO_TO_STRUCT && node->kind == SEAM_AVRO_RECORD);
    if (to >= SEAM_AVRO_TO_TAGGED && !fits) {
        return refuse_column(walk->decoder, field, node, walk->error);
    }
    return to < SEAM_AVRO_TO_TAGGED    ? SEAM_OK
           : to == SEAM_AVRO_TO_STRUCT ? walk_record(walk, node, column)
                                       : walk_items(walk, node, column);
}

/* Checks that columns and fields match, and makes room for the ops. */
static int match_columns(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                         struct seam_error *error) {
    void *block;
    SEAM_TRY(seam_alloc_zeros(decoder->allocator, decoder->n_columns, 1, &block, error));
    struct walk walk = {.decoder = decoder, .nodes = nodes, .taken = block, .error = error};
    int code = walk_record(&walk, &decoder->nodes[0], -1);
    for (int32_t k = 0; k < decoder->n_columns && code == SEAM_OK; k++) {
        if (!walk.taken[k]) {
            code = seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d has no field", k);
        }
    }
    seam_free(block);
    if (code == SEAM_OK) {
        code = seam_alloc_zeros(decoder->allocator, walk.n_ops, sizeof(struct op), &block, error);
    }
    if (code == SEAM_OK) {
        decoder->ops = block;
    }
    return code;
}

static int compile(struct seam_avro_decoder *decoder, const struct seam_avro_node *nodes,
                   struct seam_error *error) {
    for (int32_t i = 0; i < decoder->n_nodes; i++) {
        decoder->nodes[i].min_bytes = -1;
    }
    const struct node *root = &decoder->nodes[0];
    if (root->kind != SEAM_AVRO_RECORD) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "node 0 is no record");
    }
    for (int32_t i = 0; i < decoder->n_nodes; i++) {
        SEAM_TRY(find_min_bytes(decoder, i, 0, error));
    }
    SEAM_TRY(match_columns(decoder, nodes, error));
    decoder->n_ops = root->n_children;
    SEAM_TRY(plan_ops(decoder, nodes, root, take_ops(decoder, root->n_children), error));
    decoder->has_lanes = true;
    for (int32_t i = 0; i < decoder->n_ops; i++) {
        decoder->has_lanes &= decoder->ops[i].code < OP_TAGGED;
        decoder->n_needed = decoder->ops[i].builder != NULL ? i + 1 : decoder->n_needed;
    }
    return SEAM_OK;
}

static int check_below(const struct seam_avro_column *column, int32_t index, int depth,
                       struct seam_error *error) {
    int32_t kind = column->kind;
    int32_t n = column->n_children;
    bool good = kind == SEAM_AVRO_TO_LIST     ? n == 1
                : kind == SEAM_AVRO_TO_MAP    ? n == 2
                : kind == SEAM_AVRO_TO_STRUCT ? n >= 0
                                              : n == 0;
    if (!good) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d has %d columns below it", index,
                         n);
    }
    return depth <= MAX_DEPTH ? SEAM_OK
                              : seam_fail(error, SEAM_UNSUPPORTED, -1,
                                          "column %d: types are nested too deeply", index);
}

/* Makes the column at `n_columns`, which counts them, and all below it. */
static int new_builder(struct seam_avro_decoder *decoder, const struct seam_avro_column *columns,
                       int32_t n_columns, int32_t parent, int32_t level, int depth,
                       struct seam_error *error) {
    int32_t index = decoder->n_columns;
    if (index >= n_columns) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d has too few columns below it",
                         parent);
    }
    struct builder *builder = &decoder->builders[index];
    SEAM_TRY(seam_builder_init(builder, &columns[index], index, decoder->allocator, error));
    decoder->n_columns++;
    builder->parent = parent;
    builder->level = level;
    int code = check_below(&columns[index], index, depth, error);
    bool items = builder->spec.kind == SEAM_AVRO_TO_LIST || builder->spec.kind == SEAM_AVRO_TO_MAP;
    if (code == SEAM_OK && items) {
        level = builder->items = decoder->n_levels++;
    }
    for (int32_t i = 0; i < builder->spec.n_children && code == SEAM_OK; i++) {
        code = new_builder(decoder, columns, n_columns, index, level, depth + 1, error);
    }
    builder->n_below = decoder->n_columns - index - 1;
    return code;
}

static int new_builders(struct seam_avro_decoder *decoder, const struct seam_avro_column *columns,
                        int32_t n_columns, struct seam_error *error) {
    void *block;
    SEAM_TRY(
        seam_alloc_zeros(decoder->allocator, n_columns, sizeof(struct builder), &block, error));
    decoder->builders = block;
    decoder->n_levels = 1;
    while (decoder->n_columns < n_columns) {
        SEAM_TRY(new_builder(decoder, columns, n_columns, -1, 0, 0, error));
    }
    SEAM_TRY(seam_alloc_zeros(decoder->allocator, decoder->n_levels, sizeof(struct level), &block,
                              error));
    decoder->levels = block;
    return SEAM_OK;
}

int seam_avro_new(struct seam_allocator *allocator, const struct seam_avro_node *nodes,
                  int32_t n_nodes, const int32_t *children, int32_t n_children,
                  const struct seam_avro_column *columns, int32_t n_columns,
                  struct seam_avro_decoder **out, struct seam_error *error) {
    if (n_nodes < 1 || n_children < 0 || n_columns < 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "a plan of %d nodes, %d children, %d columns", n_nodes, n_children,
                         n_columns);
    }
    void *block;
    SEAM_TRY(seam_alloc_zeros(allocator, 1, sizeof(struct seam_avro_decoder), &block, error));
    struct seam_avro_decoder *decoder = block;
    decoder->allocator = allocator;
    seam_buffer_init(&decoder->scratch, allocator);
    int code = copy_nodes(decoder, nodes, n_nodes, children, n_children, error);
    if (code == SEAM_OK) {
        code = new_builders(decoder, columns, n_columns, error);
    }
    if (code == SEAM_OK) {
        code = compile(decoder, nodes, error);
    }
    if (code != SEAM_OK) {
        seam_avro_free(decoder);
        return code;
    }
    *out = decoder;
    return SEAM_OK;
}

void seam_avro_free(struct seam_avro_decoder *decoder) {
    if (decoder == NULL) {
        return;
    }
    for (int32_t i = 0; i < decoder->n_nodes; i++) {
        struct node *node = &decoder->nodes[i];
        seam_free(node->name.bytes);
        for (int32_t k = 0; node->symbols != NULL && k < node->size; k++) {
            seam_free(node->symbols[k].bytes);
        }
        seam_free(node->symbols);
    }
    for (int32_t i = 0; i < decoder->n_columns; i++) {
        seam_builder_reset(&decoder->builders[i]);
    }
    seam_free(decoder->nodes);
    seam_free(decoder->children);
    seam_free(decoder->builders);
    seam_free(decoder->levels);
    seam_free(decoder->ops);
    seam_buffer_reset(&decoder->scratch);
    seam_free(decoder);
}

int64_t seam_avro_rows(const struct seam_avro_decoder *decoder) {
    return decoder->levels[0].rows;
}

static int finish_columns(struct seam_avro_decoder *decoder, struct ArrowArray *children,
                          struct ArrowArray *out, struct seam_error *error) {
    int32_t n = 0;
    for (int32_t i = 0; i < decoder->n_columns; i += 1 + decoder->builders[i].n_below) {
        SEAM_TRY(seam_builder_finish(decoder, &decoder->builders[i], &children[n++], error));
    }
    void *buffers[1] = {NULL};
    return seam_array_build(decoder->allocator, decoder->levels[0].rows, 0, 1, buffers, n, children,
                            out, error);
}

int seam_avro_finish(struct seam_avro_decoder *decoder, struct ArrowArray *out,
                     struct seam_error *error) {
    if (decoder->broken) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "this decoder failed before");
    }
    struct ArrowArray *children;
    int32_t n = decoder->n_columns;
    SEAM_TRY(seam_arrays_new(decoder->allocator, n, &children, error));
    int code = seam_arrays_end(children, n, finish_columns(decoder, children, out, error));
    decoder->broken = code != SEAM_OK;
    memset(decoder->levels, 0, (size_t)decoder->n_levels * sizeof(struct level));
    return code;
}
