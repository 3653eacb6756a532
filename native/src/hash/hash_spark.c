/* Murmur3 as Spark SQL and Iceberg's bucket transform use it. */
#include "base/words.h"
#include "hash/hash_value.h"
#include "hash/murmur3.h"
#include "seam/hash.h"

#include <string.h>

static uint32_t spark_long(uint32_t seed, int64_t value) {
    uint32_t hash = murmur3_mix(seed, (uint32_t)value);
    return murmur3_finish(murmur3_mix(hash, (uint32_t)((uint64_t)value >> 32)), 8);
}

/* Whole words, then each byte of the rest as a signed word of its own. */
static uint32_t spark_bytes(uint32_t seed, const uint8_t *bytes, int64_t size_bytes) {
    uint32_t hash = seed;
    int64_t i = 0;
    for (; i + 4 <= size_bytes; i += 4) {
        hash = murmur3_mix(hash, seam_load32(bytes + i));
    }
    for (; i < size_bytes; i++) {
        hash = murmur3_mix(hash, (uint32_t)(int32_t)(int8_t)bytes[i]);
    }
    return murmur3_finish(hash, (uint32_t)size_bytes);
}

/* The shortest big-endian two's complement form of 16 little-endian bytes, at least one byte. */
static int64_t shortest(const uint8_t *bytes, uint8_t *out) {
    int64_t size = 16;
    while (size > 1) {
        uint8_t top = bytes[size - 1];
        int negative_below = bytes[size - 2] >> 7;
        if (!((top == 0 && !negative_below) || (top == 0xFF && negative_below))) {
            break;
        }
        size--;
    }
    for (int64_t i = 0; i < size; i++) {
        out[i] = bytes[size - 1 - i];
    }
    return size;
}

static uint32_t spark_float(const struct seam_view *view, int64_t row, uint32_t state) {
    const uint8_t *at = view->data + (view->offset + row) * view->width_bytes;
    if (view->width_bytes == 4) {
        uint32_t bits;
        memcpy(&bits, at, sizeof bits);
        int is_nan = (bits & UINT32_C(0x7FFFFFFF)) > UINT32_C(0x7F800000);
        bits = bits == UINT32_C(0x80000000) ? 0 : is_nan ? UINT32_C(0x7FC00000) : bits;
        return murmur3_finish(murmur3_mix(state, bits), 4);
    }
    uint64_t bits;
    memcpy(&bits, at, sizeof bits);
    int is_nan = (bits & (UINT64_MAX >> 1)) > UINT64_C(0x7FF0000000000000);
    bits = bits == UINT64_C(1) << 63 ? 0 : is_nan ? UINT64_C(0x7FF8000000000000) : bits;
    return spark_long(state, (int64_t)bits);
}

static uint32_t spark_flat(const struct seam_column_type *type, const struct seam_node *node,
                           int64_t row, uint32_t state) {
    struct seam_hash_value value;
    switch (type->kind) {
    case SEAM_COLUMN_FLOAT:
    case SEAM_COLUMN_DOUBLE:
        return spark_float(&node->view, row, state);
    case SEAM_COLUMN_BOOLEAN:
    case SEAM_COLUMN_TINYINT:
    case SEAM_COLUMN_SHORT:
    case SEAM_COLUMN_INT:
    case SEAM_COLUMN_DATE:
        return murmur3_finish(murmur3_mix(state, (uint32_t)seam_hash_number(type, node, row)), 4);
    case SEAM_COLUMN_STRING:
    case SEAM_COLUMN_BINARY:
        seam_hash_value_of(type, node, row, &value);
        return spark_bytes(state, value.bytes, value.size_bytes);
    case SEAM_COLUMN_DECIMALV2:
    case SEAM_COLUMN_DECIMAL128: {
        uint8_t bytes[16];
        seam_hash_value_of(type, node, row, &value);
        return spark_bytes(state, bytes, shortest(value.bytes, bytes));
    }
    default:
        return spark_long(state, seam_hash_number(type, node, row));
    }
}

/* Nulls leave the state as it is; so does an empty array. */
uint32_t seam_hash_spark_value(const struct seam_column_type *type, const struct seam_node *node,
                               int64_t row, uint32_t state) {
    if (node->kind == SEAM_NODE_RUNS) {
        return seam_hash_spark_value(type, &node->children[1], seam_node_run(node, row), state);
    }
    if (!seam_node_valid(node, row)) {
        return state;
    }
    switch (node->kind) {
    case SEAM_NODE_DICTIONARY:
        return seam_hash_spark_value(type, &node->children[0], seam_node_index(node, row), state);
    case SEAM_NODE_LIST:
        for (int64_t i = seam_node_start(node, row); i < seam_node_start(node, row + 1); i++) {
            state = seam_hash_spark_value(&type->children[0], &node->children[0], i, state);
        }
        return state;
    case SEAM_NODE_STRUCT:
        for (int32_t i = 0; i < type->n_children; i++) {
            state = seam_hash_spark_value(&type->children[i], &node->children[i], row, state);
        }
        return state;
    default:
        return spark_flat(type, node, row, state);
    }
}

/* A decimal of a key is hashed like a number up to 18 digits, whatever its width: maps are not. */
int seam_hash_spark_check(const struct seam_column_type *type, const struct seam_node *node,
                          struct seam_error *error) {
    if (type->kind == SEAM_COLUMN_MAP || type->kind == SEAM_COLUMN_TIME) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "column '%s': Spark does not hash a %s",
                         node->name, seam_column_kind_name(type->kind));
    }
    for (int32_t i = 0; i < type->n_children; i++) {
        SEAM_TRY(seam_hash_spark_check(&type->children[i], node, error));
    }
    return SEAM_OK;
}

static int32_t iceberg_value(const struct seam_column_type *type, const struct seam_node *node,
                             int64_t row) {
    struct seam_hash_value value;
    if (node->kind == SEAM_NODE_RUNS) {
        return iceberg_value(type, &node->children[1], seam_node_run(node, row));
    }
    if (!seam_node_valid(node, row)) {
        return -1;
    }
    if (node->kind == SEAM_NODE_DICTIONARY) {
        return iceberg_value(type, &node->children[0], seam_node_index(node, row));
    }
    uint32_t hash;
    if (type->kind == SEAM_COLUMN_STRING || type->kind == SEAM_COLUMN_BINARY) {
        seam_hash_value_of(type, node, row, &value);
        hash = seam_murmur3(0, value.bytes, value.size_bytes);
    } else if (seam_column_is_decimal(type->kind)) {
        uint8_t wide[16], bytes[16];
        const uint8_t *at = seam_hash_decimal(&node->view, row, wide);
        hash = seam_murmur3(0, bytes, shortest(at, bytes));
    } else {
        int64_t number = seam_hash_number(type, node, row);
        hash = seam_murmur3(0, (const uint8_t *)&number, sizeof number);
    }
    return (int32_t)(hash & INT32_MAX);
}

int seam_hash_iceberg(const struct seam_column_type *type, const struct seam_node *column,
                      int32_t *hashes, struct seam_error *error) {
    static const int32_t HASHED[] = {SEAM_COLUMN_INT,
                                     SEAM_COLUMN_LONG,
                                     SEAM_COLUMN_DATE,
                                     SEAM_COLUMN_DATETIME,
                                     SEAM_COLUMN_DECIMAL32,
                                     SEAM_COLUMN_DECIMAL64,
                                     SEAM_COLUMN_DECIMAL128,
                                     SEAM_COLUMN_STRING,
                                     SEAM_COLUMN_BINARY,
                                     SEAM_COLUMN_DATETIME_MICROS,
                                     SEAM_COLUMN_DATETIME_MILLIS};
    int known = 0;
    for (size_t i = 0; i < sizeof HASHED / sizeof HASHED[0]; i++) {
        known |= type->kind == HASHED[i];
    }
    if (!known) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s': Iceberg's bucket transform does not take a %s", column->name,
                         seam_column_kind_name(type->kind));
    }
    SEAM_TRY(seam_hash_check(type, column, error));
    for (int64_t row = 0; row < column->view.length; row++) {
        hashes[row] = iceberg_value(type, column, row);
    }
    return SEAM_OK;
}
