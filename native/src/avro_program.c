/* The plan of an Avro decoder: checked, copied, compiled. */
#include "avro_internal.h"

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

/* Zeroed memory for `count` things. */
static int new_array(struct seam_allocator *allocator, int64_t count, size_t size, void **out,
                     struct seam_error *error) {
    int code = seam_alloc(allocator, (size_t)count * size, out, error);
    if (code == SEAM_OK) {
        memset(*out, 0, (size_t)count * size);
    }
    return code;
}

static int copy_node(struct seam_avro_decoder *decoder, const struct seam_avro_node *from,
                     struct node *to, struct seam_error *error) {
    to->kind = from->kind;
    to->first_child = from->first_child;
    to->n_children = from->n_children;
    to->size = from->size;
    int code = copy_text(decoder->allocator, from->name, &to->name, error);
    if (code != SEAM_OK || from->kind != SEAM_AVRO_ENUM) {
        return code;
    }
    void *symbols;
    code = new_array(decoder->allocator, from->size, sizeof(struct text), &symbols, error);
    if (code != SEAM_OK) {
        return code;
    }
    to->symbols = symbols;
    for (int32_t i = 0; i < from->size && code == SEAM_OK; i++) {
        code = copy_text(decoder->allocator, from->symbols[i], &to->symbols[i], error);
    }
    return code;
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
    int code = new_array(decoder->allocator, n_nodes, sizeof(struct node), &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    decoder->nodes = block;
    decoder->n_nodes = n_nodes;
    code = new_array(decoder->allocator, n_children, sizeof(int32_t), &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    decoder->children = block;
    decoder->n_children = n_children;
    if (n_children > 0) {
        memcpy(decoder->children, children, (size_t)n_children * sizeof(int32_t));
    }
    for (int32_t i = 0; i < n_nodes && code == SEAM_OK; i++) {
        code = check_node(&nodes[i], i, n_nodes, children, n_children, error);
        if (code == SEAM_OK) {
            code = copy_node(decoder, &nodes[i], &decoder->nodes[i], error);
        }
    }
    return code;
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
        int code = find_min_bytes(decoder, child, depth + 1, error);
        if (code != SEAM_OK) {
            return code;
        }
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
        return kind == SEAM_AVRO_DOUBLE  ? OP_DOUBLE
               : kind == SEAM_AVRO_FLOAT ? OP_FLOAT_TO_DOUBLE
               : is_int                  ? OP_INT_TO_DOUBLE
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

static int plan_field(struct seam_avro_decoder *decoder, int32_t field, int32_t column,
                      struct op *op, struct seam_error *error) {
    *op = (struct op){.node = field, .field = field};
    if (column < 0) {
        strip_union(decoder, op);
        plan_skip(decoder, op);
        return SEAM_OK;
    }
    op->builder = &decoder->builders[column];
    int32_t to = op->builder->spec.kind;
    if (to != SEAM_AVRO_TO_TAGGED) {
        strip_union(decoder, op);
    }
    const struct node *node = &decoder->nodes[op->node];
    op->size = node->size;
    op->is_int = node->kind == SEAM_AVRO_INT;
    op->code =
        node->kind == SEAM_AVRO_NULL ? (int32_t)OP_NULL : op_for(node->kind, to, node, op->builder);
    if (op->code >= 0) {
        return SEAM_OK;
    }
    return seam_fail(error, SEAM_UNSUPPORTED, -1,
                     "field '%s': Avro type %s cannot be decoded into the column asked for",
                     decoder->nodes[field].name.bytes, kind_name(node->kind));
}

/* A TAGGED column is followed by one of int64 and one of bytes, which no other field writes. */
static int check_columns(const struct seam_avro_decoder *decoder,
                         const struct seam_avro_node *nodes, uint8_t *taken,
                         struct seam_error *error) {
    const struct node *root = &decoder->nodes[0];
    for (int32_t i = 0; i < root->n_children; i++) {
        int32_t column = nodes[decoder->children[root->first_child + i]].column;
        bool tagged = column >= 0 && column < decoder->n_columns &&
                      decoder->builders[column].spec.kind == SEAM_AVRO_TO_TAGGED;
        int32_t last = tagged ? column + 2 : column;
        if (last >= decoder->n_columns ||
            (tagged && (decoder->builders[column + 1].spec.kind != SEAM_AVRO_TO_INT64 ||
                        decoder->builders[column + 2].spec.kind != SEAM_AVRO_TO_BYTES))) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d is out of place", column);
        }
        for (int32_t k = column; k >= 0 && k <= last; k++) {
            if (taken[k]++) {
                return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d has two fields", k);
            }
        }
    }
    for (int32_t k = 0; k < decoder->n_columns; k++) {
        if (!taken[k]) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d has no field", k);
        }
    }
    return SEAM_OK;
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
        int code = find_min_bytes(decoder, i, 0, error);
        if (code != SEAM_OK) {
            return code;
        }
    }
    void *block;
    int code = new_array(decoder->allocator, decoder->n_columns, 1, &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    code = check_columns(decoder, nodes, block, error);
    seam_free(block);
    if (code != SEAM_OK) {
        return code;
    }
    code = new_array(decoder->allocator, root->n_children, sizeof(struct op), &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    decoder->ops = block;
    decoder->n_ops = root->n_children;
    for (int32_t i = 0; i < root->n_children && code == SEAM_OK; i++) {
        int32_t field = decoder->children[root->first_child + i];
        code = plan_field(decoder, field, nodes[field].column, &decoder->ops[i], error);
    }
    return code;
}

static int new_builders(struct seam_avro_decoder *decoder, const struct seam_avro_column *columns,
                        int32_t n_columns, struct seam_error *error) {
    void *block;
    int code = new_array(decoder->allocator, n_columns, sizeof(struct builder), &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    decoder->builders = block;
    for (int32_t i = 0; i < n_columns && code == SEAM_OK; i++) {
        code = seam_builder_init(&decoder->builders[i], &columns[i], i, decoder->allocator, error);
        decoder->n_columns = code == SEAM_OK ? i + 1 : i;
    }
    return code;
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
    int code = new_array(allocator, 1, sizeof(struct seam_avro_decoder), &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    struct seam_avro_decoder *decoder = block;
    decoder->allocator = allocator;
    seam_buffer_init(&decoder->scratch, allocator);
    code = copy_nodes(decoder, nodes, n_nodes, children, n_children, error);
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
    seam_free(decoder->ops);
    seam_buffer_reset(&decoder->scratch);
    seam_free(decoder);
}

int64_t seam_avro_rows(const struct seam_avro_decoder *decoder) {
    return decoder->rows;
}

static int finish_columns(struct seam_avro_decoder *decoder, struct ArrowArray *children,
                          int32_t *done, struct ArrowArray *out, struct seam_error *error) {
    for (; *done < decoder->n_columns; ++*done) {
        int code =
            seam_builder_finish(&decoder->builders[*done], decoder->rows, &children[*done], error);
        if (code != SEAM_OK) {
            return code;
        }
    }
    void *buffers[1] = {NULL};
    return seam_array_build(decoder->allocator, decoder->rows, 0, 1, buffers, decoder->n_columns,
                            children, out, error);
}

int seam_avro_finish(struct seam_avro_decoder *decoder, struct ArrowArray *out,
                     struct seam_error *error) {
    if (decoder->broken) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "this decoder failed before");
    }
    void *children;
    int code = new_array(decoder->allocator, decoder->n_columns, sizeof(struct ArrowArray),
                         &children, error);
    if (code != SEAM_OK) {
        return code;
    }
    int32_t done = 0;
    code = finish_columns(decoder, children, &done, out, error);
    for (int32_t i = 0; code != SEAM_OK && i < done; i++) {
        seam_array_release((struct ArrowArray *)children + i);
    }
    seam_free(children);
    decoder->broken = code != SEAM_OK;
    decoder->rows = 0;
    decoder->row_capacity = 0;
    return code;
}
