/* Avro blocks made of random bytes under random schemas: the decoder may refuse them, never read
 * beyond them, never hand out an array that breaks Arrow's rules, never leak, never take long.
 *
 * Input: a byte of options, a byte that says how many fields there are, then the schema (per type a
 * kind byte and its parameters, depth first), then the number of records, then the block. */
#include "seam/arrow_build.h"
#include "seam/avro.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 48, MAX_CHILDREN = 96, MAX_FIELDS = 8, MAX_DEPTH = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t left;
};

struct schema {
    struct seam_avro_node nodes[MAX_NODES];
    int32_t children[MAX_CHILDREN];
    struct seam_avro_column columns[3 * MAX_FIELDS];
    int32_t n_nodes;
    int32_t n_children;
    int32_t n_columns;
};

static const char *const SYMBOLS[] = {"A", "BB", "CCC", "DDDD"};

static uint8_t take(struct input *input) {
    if (input->left == 0) {
        return 0;
    }
    input->left--;
    return *input->data++;
}

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

/* A column that takes the values of a type, if there is one. */
static int32_t column_kind(const struct schema *schema, int32_t index, uint8_t choice) {
    const struct seam_avro_node *node = &schema->nodes[index];
    if (node->kind == SEAM_AVRO_UNION) {
        const int32_t *branches = &schema->children[node->first_child];
        for (int32_t i = 0; node->n_children == 2 && i < 2; i++) {
            if (schema->nodes[branches[i]].kind == SEAM_AVRO_NULL) {
                return column_kind(schema, branches[1 - i], choice);
            }
        }
        return SEAM_AVRO_TO_TAGGED;
    }
    switch (node->kind) {
    case SEAM_AVRO_BOOLEAN:
        return SEAM_AVRO_TO_BOOL;
    case SEAM_AVRO_INT:
        return SEAM_AVRO_TO_INT32 + choice % 4;
    case SEAM_AVRO_LONG:
        return SEAM_AVRO_TO_INT64 + choice % 3;
    case SEAM_AVRO_FLOAT:
        return SEAM_AVRO_TO_FLOAT + choice % 2;
    case SEAM_AVRO_DOUBLE:
        return SEAM_AVRO_TO_DOUBLE;
    case SEAM_AVRO_BYTES:
        return SEAM_AVRO_TO_DECIMAL + choice % 2;
    case SEAM_AVRO_FIXED:
        return SEAM_AVRO_TO_DECIMAL + choice % 3;
    case SEAM_AVRO_STRING:
    case SEAM_AVRO_ENUM:
        return SEAM_AVRO_TO_BYTES;
    default:
        return node->kind == SEAM_AVRO_NULL ? (int32_t)SEAM_AVRO_TO_INT64 : -1;
    }
}

static int32_t fixed_size(const struct schema *schema, int32_t index) {
    const struct seam_avro_node *node = &schema->nodes[index];
    if (node->kind == SEAM_AVRO_UNION) {
        const int32_t *branches = &schema->children[node->first_child];
        int32_t first = schema->nodes[branches[0]].size;
        return first > 0 ? first : schema->nodes[branches[node->n_children - 1]].size;
    }
    return node->size;
}

static void add_columns(struct schema *schema, int32_t field, uint8_t choice) {
    int32_t kind = column_kind(schema, field, choice >> 3);
    if (kind < 0 || (choice & 1) == 0) {
        return;
    }
    schema->nodes[field].column = schema->n_columns;
    struct seam_avro_column *column = &schema->columns[schema->n_columns++];
    *column = (struct seam_avro_column){
        .kind = kind, .nullable = choice >> 1 & 1, .utf8 = choice >> 2 & 1};
    if (kind == SEAM_AVRO_TO_FIXED) {
        column->size = fixed_size(schema, field);
    } else if (kind == SEAM_AVRO_TO_DECIMAL) {
        column->size = 1 + choice % 38;
        column->shift = choice % 5;
    } else if (kind == SEAM_AVRO_TO_INT64) {
        column->shift = choice % 4;
    } else if (kind == SEAM_AVRO_TO_TAGGED) {
        schema->columns[schema->n_columns++].kind = SEAM_AVRO_TO_INT64;
        schema->columns[schema->n_columns++].kind = SEAM_AVRO_TO_BYTES;
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
        uint8_t choice = take(input);
        if (schema->children[i] != 0 && schema->nodes[schema->children[i]].column < 0) {
            add_columns(schema, schema->children[i], choice);
        }
    }
}

/* Reads every byte that the array promises. */
static void read_array(const struct ArrowArray *array, const struct schema *schema) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < array->n_children; i++) {
        const struct ArrowArray *child = array->children[i];
        int64_t nulls = 0;
        for (int64_t row = 0; row < array->length; row++) {
            const uint8_t *valid = child->buffers[0];
            nulls += valid != NULL && !(valid[row / 8] >> (row % 8) & 1);
            if (schema->columns[i].kind == SEAM_AVRO_TO_BYTES) {
                const int32_t *offsets = child->buffers[1];
                for (int32_t at = offsets[row]; at < offsets[row + 1]; at++) {
                    sum += ((const uint8_t *)child->buffers[2])[at];
                }
                if (offsets[0] != 0 || offsets[row + 1] < offsets[row]) {
                    abort();
                }
            } else if (schema->columns[i].kind != SEAM_AVRO_TO_BOOL) {
                sum += ((const uint8_t *)child->buffers[1])[row];
            }
        }
        if (child->length != array->length || child->null_count != nulls ||
            (nulls > 0 && !schema->columns[i].nullable)) {
            abort();
        }
    }
    if (sum == UINT64_MAX) {
        abort(); /* keeps the reads */
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
    for (int i = 0; code == SEAM_OK && i <= (options & 1); i++) {
        code = options & 2
                   ? seam_avro_decode_array(decoder, block, (int64_t)input.left, 0, &error)
                   : seam_avro_decode(decoder, block, (int64_t)input.left, 0, n_records, &error);
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
