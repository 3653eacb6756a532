/* Avro blocks made of random bytes under random schemas: the decoder may refuse them, never read
 * beyond them, never hand out an array that breaks Arrow's rules, never leak, never take long.
 *
 * Input: a byte of options, a byte that says how many fields there are, then the schema (per type a
 * kind byte and its parameters, depth first), then the number of records, then the block. */
#include "input.h"
#include "seam/arrow_build.h"
#include "seam/avro.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 48, MAX_CHILDREN = 96, MAX_COLUMNS = 64, MAX_FIELDS = 8, MAX_DEPTH = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct schema {
    struct seam_avro_node nodes[MAX_NODES];
    int32_t children[MAX_CHILDREN];
    struct seam_avro_column columns[MAX_COLUMNS];
    int32_t n_nodes;
    int32_t n_children;
    int32_t n_columns;
};

static const char *const SYMBOLS[] = {"A", "BB", "CCC", "DDDD"};

static int32_t add_type(struct schema *schema, struct input *input, int depth);

static void add_children(struct schema *schema, struct input *input, int32_t index, int32_t count,
                         int depth) {
    int32_t first = schema->n_children;
    if (first + count > MAX_CHILDREN) {
        schema->nodes[index].kind = SEAM_AVRO_NULL;
        return;
    }
    schema->n_children += count;
    schema->nodes[index].first_child = first;
    schema->nodes[index].n_children = count;
    for (int32_t i = 0; i < count; i++) {
        schema->children[first + i] = add_type(schema, input, depth + 1);
    }
}

/* Adds a type; when there is no room for more, refers to one that is there. */
static int32_t add_type(struct schema *schema, struct input *input, int depth) {
    uint8_t kind = take(input) % 16;
    if (schema->n_nodes == MAX_NODES) {
        return kind;
    }
    int32_t index = schema->n_nodes++;
    struct seam_avro_node *node = &schema->nodes[index];
    *node = (struct seam_avro_node){.kind = kind % 14, .column = -1, .name = "f"};
    if (node->kind == SEAM_AVRO_FIXED) {
        node->size = take(input) % 20;
    } else if (node->kind == SEAM_AVRO_ENUM) {
        node->size = 4;
        node->symbols = SYMBOLS;
    } else if (node->kind >= SEAM_AVRO_ARRAY) {
        if (depth > MAX_DEPTH) {
            node->kind = SEAM_AVRO_LONG;
            return index;
        }
        add_children(schema, input, index,
                     node->kind == SEAM_AVRO_UNION    ? 1 + take(input) % 4
                     : node->kind == SEAM_AVRO_RECORD ? take(input) % 4
                                                      : 1,
                     depth);
    }
    return index;
}

/* The type behind a union of one type and null, or the type itself. */
static const struct seam_avro_node *value_node(const struct schema *schema, int32_t index) {
    const struct seam_avro_node *node = &schema->nodes[index];
    const int32_t *branches = &schema->children[node->first_child];
    for (int32_t i = 0; node->kind == SEAM_AVRO_UNION && node->n_children == 2 && i < 2; i++) {
        if (schema->nodes[branches[i]].kind == SEAM_AVRO_NULL) {
            return &schema->nodes[branches[1 - i]];
        }
    }
    return node;
}

/* A column that takes the values of a type. */
static int32_t column_kind(const struct seam_avro_node *node, uint8_t choice) {
    switch (node->kind) {
    case SEAM_AVRO_UNION:
        return SEAM_AVRO_TO_TAGGED;
    case SEAM_AVRO_ARRAY:
        return SEAM_AVRO_TO_LIST;
    case SEAM_AVRO_MAP:
        return SEAM_AVRO_TO_MAP;
    case SEAM_AVRO_RECORD:
        return SEAM_AVRO_TO_STRUCT;
    case SEAM_AVRO_BOOLEAN:
        return SEAM_AVRO_TO_BOOL;
    case SEAM_AVRO_INT:
        return SEAM_AVRO_TO_INT32 + choice % 4;
    case SEAM_AVRO_LONG:
        return SEAM_AVRO_TO_INT64 + choice % 3;
    case SEAM_AVRO_FLOAT:
        return SEAM_AVRO_TO_FLOAT + choice % 2;
    case SEAM_AVRO_DOUBLE:
        return choice % 2 ? SEAM_AVRO_TO_DOUBLE : SEAM_AVRO_TO_DOUBLE_BY_TEXT;
    case SEAM_AVRO_BYTES:
        return SEAM_AVRO_TO_DECIMAL + choice % 2;
    case SEAM_AVRO_FIXED:
        return SEAM_AVRO_TO_DECIMAL + choice % 3;
    case SEAM_AVRO_STRING:
    case SEAM_AVRO_ENUM:
        return SEAM_AVRO_TO_BYTES;
    default:
        return SEAM_AVRO_TO_INT64;
    }
}

static void add_column(struct schema *schema, struct input *input, int32_t field);

/* The columns below one: not all fields of a record are kept. */
static void add_below(struct schema *schema, struct input *input, int32_t column,
                      const struct seam_avro_node *node) {
    int32_t kind = schema->columns[column].kind;
    if (kind == SEAM_AVRO_TO_MAP && schema->n_columns < MAX_COLUMNS) {
        schema->columns[schema->n_columns++] =
            (struct seam_avro_column){.kind = SEAM_AVRO_TO_BYTES, .utf8 = take(input) & 1};
        schema->columns[column].n_children = 1;
    }
    for (int32_t i = 0; i < node->n_children; i++) {
        int32_t before = schema->n_columns;
        if (kind != SEAM_AVRO_TO_STRUCT || (take(input) & 1) != 0) {
            add_column(schema, input, schema->children[node->first_child + i]);
        }
        schema->columns[column].n_children += schema->n_columns > before;
    }
}

/* A plan that comes out wrong, for want of room or since a type stands in two places, is refused.
 */
static void add_column(struct schema *schema, struct input *input, int32_t field) {
    uint8_t choice = take(input);
    const struct seam_avro_node *node = value_node(schema, field);
    int32_t kind = column_kind(node, choice >> 3);
    int32_t index = schema->n_columns;
    if (field == 0 || index + 3 > MAX_COLUMNS || schema->nodes[field].column >= 0) {
        return;
    }
    schema->nodes[field].column = index;
    struct seam_avro_column *column = &schema->columns[schema->n_columns++];
    *column = (struct seam_avro_column){
        .kind = kind, .nullable = choice >> 1 & 1, .utf8 = choice >> 2 & 1};
    if (kind == SEAM_AVRO_TO_FIXED) {
        column->size = node->size;
    } else if (kind == SEAM_AVRO_TO_DECIMAL) {
        column->size = 1 + choice % 38;
        column->shift = choice % 5;
    } else if (kind == SEAM_AVRO_TO_INT64) {
        column->shift = choice % 4;
    } else if (kind == SEAM_AVRO_TO_TAGGED) {
        schema->columns[schema->n_columns++] =
            (struct seam_avro_column){.kind = SEAM_AVRO_TO_INT64};
        schema->columns[schema->n_columns++] =
            (struct seam_avro_column){.kind = SEAM_AVRO_TO_BYTES};
    } else if (kind >= SEAM_AVRO_TO_LIST) {
        add_below(schema, input, index, node);
    }
}

static void make_schema(struct schema *schema, struct input *input) {
    int32_t n_fields = take(input) % (MAX_FIELDS + 1);
    schema->n_nodes = 1;
    schema->n_children = n_fields;
    schema->nodes[0] =
        (struct seam_avro_node){.kind = SEAM_AVRO_RECORD, .column = -1, .n_children = n_fields};
    for (int32_t i = 0; i < n_fields; i++) {
        schema->children[i] = add_type(schema, input, 0);
    }
    for (int32_t i = 0; i < n_fields; i++) {
        if ((take(input) & 1) != 0) {
            add_column(schema, input, schema->children[i]);
        }
    }
}

/* Reads every byte that a column promises, and all below it. Returns the column behind them. */
static int32_t read_column(const struct ArrowArray *array, const struct schema *schema,
                           int32_t index, uint64_t *sum) {
    const struct seam_avro_column *column = &schema->columns[index];
    const uint8_t *valid = array->buffers[0];
    const uint8_t *values = array->n_buffers > 1 ? array->buffers[1] : NULL;
    bool offsets = column->kind == SEAM_AVRO_TO_BYTES || column->kind == SEAM_AVRO_TO_LIST ||
                   column->kind == SEAM_AVRO_TO_MAP;
    int64_t nulls = 0;
    for (int64_t row = 0; row < array->length; row++) {
        nulls += valid != NULL && !(valid[row / 8] >> (row % 8) & 1);
        const int32_t *ends = (const int32_t *)values;
        if (offsets && (ends[0] != 0 || ends[row + 1] < ends[row])) {
            abort();
        }
        for (int32_t at = offsets ? ends[row] : 0; column->kind == SEAM_AVRO_TO_BYTES; at++) {
            if (at >= ends[row + 1]) {
                break;
            }
            *sum += ((const uint8_t *)array->buffers[2])[at];
        }
        if (!offsets && column->kind != SEAM_AVRO_TO_STRUCT) {
            *sum += values[column->kind == SEAM_AVRO_TO_BOOL ? row / 8 : row];
        }
    }
    if (array->null_count != nulls || (nulls > 0 && !column->nullable)) {
        abort();
    }
    int32_t next = index + 1;
    const struct ArrowArray *holder = column->kind == SEAM_AVRO_TO_MAP ? array->children[0] : array;
    for (int32_t i = 0; i < column->n_children; i++) {
        const struct ArrowArray *child = holder->children[i];
        int64_t length = offsets ? ((const int32_t *)values)[array->length] : array->length;
        if (child->length != length || holder->n_children != column->n_children) {
            abort();
        }
        next = read_column(child, schema, next, sum);
    }
    return next;
}

static void read_array(const struct ArrowArray *array, const struct schema *schema) {
    uint64_t sum = 0;
    int32_t next = 0;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->length != array->length) {
            abort();
        }
        next = read_column(array->children[i], schema, next, &sum);
    }
    if (next != schema->n_columns || sum == UINT64_MAX) {
        abort(); /* the sum keeps the reads */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct schema schema = {.n_columns = 0};
    uint8_t options = take(&input);
    make_schema(&schema, &input);
    int64_t n_records = take(&input);
    uint8_t *block = malloc(input.left > 0 ? input.left : 1);
    struct seam_allocator *allocator = seam_allocator_new(1 << 24);
    struct seam_avro_decoder *decoder = NULL;
    struct seam_error error;
    struct seam_memory_counters counters;
    if (block == NULL || allocator == NULL) {
        abort();
    }
    memcpy(block, input.data, input.left);
    int code = seam_avro_new(allocator, schema.nodes, schema.n_nodes, schema.children,
                             schema.n_children, schema.columns, schema.n_columns, &decoder, &error);
    enum seam_avro_framing framing = options & 4   ? SEAM_AVRO_PLAIN
                                     : options & 8 ? SEAM_AVRO_JUMPED
                                                   : SEAM_AVRO_FRAMED;
    uint8_t kept[32];
    memset(kept, options, sizeof kept);
    for (int i = 0; code == SEAM_OK && i <= (options & 1); i++) {
        int64_t left = (int64_t)input.left;
        code =
            options & 2 ? seam_avro_decode_array(decoder, block, left, 0, &error)
            : options & 16
                ? seam_avro_decode_kept(decoder, block, left, 0, n_records, kept, framing, &error)
                : seam_avro_decode(decoder, block, left, 0, n_records, framing, &error);
    }
    struct ArrowArray array;
    if (code == SEAM_OK && seam_avro_finish(decoder, &array, &error) == SEAM_OK) {
        read_array(&array, &schema);
        seam_array_release(&array);
    }
    seam_avro_free(decoder);
    free(block);
    seam_allocator_counters(allocator, &counters);
    if (counters.live_blocks != 0) {
        abort();
    }
    seam_allocator_release(allocator);
    return 0;
}
