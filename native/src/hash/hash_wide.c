/* Hashes of 64 bits: Presto's InterpretedHashGenerator (0.296) and Velox's VectorHasher (2025). */
#include "base/words.h"
#include "hash/hash_value.h"
#include "seam/hash.h"

#include <string.h>

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)
#define MIX_FACTOR UINT64_C(0x9DDFEA08EB382D69)

static inline uint64_t rotated(uint64_t word, int by) {
    return word << by | word >> (64 - by);
}

static inline uint64_t word_at(const uint8_t *bytes, int64_t size_bytes) {
    uint64_t word = 0;
    memcpy(&word, bytes, (size_t)size_bytes);
    return word;
}

/* --- XXH64 --- */

static inline uint64_t xxh64_lane(uint64_t lane, uint64_t word) {
    return rotated(lane + word * PRIME_2, 31) * PRIME_1;
}

uint64_t seam_xxh64(const uint8_t *bytes, int64_t size_bytes) {
    int64_t at = 0;
    uint64_t hash = PRIME_5;
    if (size_bytes >= 32) {
        uint64_t lanes[4] = {PRIME_1 + PRIME_2, PRIME_2, 0, 0 - PRIME_1};
        for (; at + 32 <= size_bytes; at += 32) {
            for (int i = 0; i < 4; i++) {
                lanes[i] = xxh64_lane(lanes[i], word_at(bytes + at + 8 * i, 8));
            }
        }
        hash = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) +
               rotated(lanes[3], 18);
        for (int i = 0; i < 4; i++) {
            hash = (hash ^ xxh64_lane(0, lanes[i])) * PRIME_1 + PRIME_4;
        }
    }
    hash += (uint64_t)size_bytes;
    for (; at + 8 <= size_bytes; at += 8) {
        hash = rotated(hash ^ xxh64_lane(0, word_at(bytes + at, 8)), 27) * PRIME_1 + PRIME_4;
    }
    if (at + 4 <= size_bytes) {
        hash = rotated(hash ^ word_at(bytes + at, 4) * PRIME_1, 23) * PRIME_2 + PRIME_3;
        at += 4;
    }
    for (; at < size_bytes; at++) {
        hash = rotated(hash ^ bytes[at] * PRIME_5, 11) * PRIME_1;
    }
    hash = (hash ^ hash >> 33) * PRIME_2;
    hash = (hash ^ hash >> 29) * PRIME_3;
    return hash ^ hash >> 32;
}

static uint64_t xxh64_of_long(uint64_t value) {
    return seam_xxh64((const uint8_t *)&value, sizeof value);
}

/* --- what both look at --- */

/* The bits of a float with one NaN, and 0 for -0. */
static uint64_t float_bits(const struct seam_view *view, int64_t row) {
    const uint8_t *at = view->data + (view->offset + row) * view->width_bytes;
    uint64_t bits = word_at(at, view->width_bytes);
    uint64_t sign = UINT64_C(1) << (view->width_bytes * 8 - 1);
    uint64_t infinity = view->width_bytes == 8 ? UINT64_C(0x7FF0) << 48 : UINT64_C(0x7F800000);
    uint64_t nan = view->width_bytes == 8 ? UINT64_C(0x7FF8) << 48 : UINT64_C(0x7FC00000);
    return (bits & ~sign) > infinity ? nan : bits == sign ? 0 : bits;
}

static seam_int128 wide_at(const struct seam_view *view, int64_t row) {
    uint8_t bytes[16];
    seam_int128 value;
    memcpy(&value, seam_hash_decimal(view, row, bytes), sizeof value);
    return value;
}

static int is_wide_decimal(const struct seam_column_type *type) {
    return type->kind == SEAM_COLUMN_DECIMAL128 || type->kind == SEAM_COLUMN_DECIMALV2;
}

static int is_timestamp(const struct seam_column_type *type) {
    return type->kind >= SEAM_COLUMN_DATETIME && type->kind <= SEAM_COLUMN_DATETIME_MILLIS;
}

static int64_t timestamp_at(const struct seam_view *view, int64_t row) {
    return (int64_t)word_at(view->data + (view->offset + row) * 8, 8);
}

/* --- Presto --- */

/* AbstractLongType.hash, AbstractIntType.hash. */
static uint64_t presto_long(int64_t value) {
    return rotated((uint64_t)value * PRIME_2, 31) * PRIME_1;
}

/* LongDecimalType: XXH64 of each half of the magnitude. */
static uint64_t presto_wide(seam_int128 value) {
    seam_uint128 magnitude =
        value < 0 ? (seam_uint128)0 - (seam_uint128)value : (seam_uint128)value;
    return xxh64_of_long((uint64_t)magnitude) ^ xxh64_of_long((uint64_t)(magnitude >> 64));
}

static uint64_t presto_flat(const struct seam_column_type *type, const struct seam_node *node,
                            int64_t row) {
    const struct seam_view *view = &node->view;
    const uint8_t *bytes;
    switch (type->kind) {
    case SEAM_COLUMN_BOOLEAN:
        return seam_hash_number(type, node, row) ? 1231 : 1237;
    case SEAM_COLUMN_FLOAT:
        return presto_long((int32_t)(uint32_t)float_bits(view, row));
    case SEAM_COLUMN_DOUBLE:
        return presto_long((int64_t)float_bits(view, row));
    case SEAM_COLUMN_STRING:
    case SEAM_COLUMN_BINARY: {
        int64_t size_bytes = seam_view_bytes(view, row, &bytes);
        return seam_xxh64(bytes, size_bytes);
    }
    case SEAM_COLUMN_DECIMAL32:
    case SEAM_COLUMN_DECIMAL64:
        return (uint64_t)wide_at(view, row); /* ShortDecimalType: the number itself */
    case SEAM_COLUMN_DECIMAL128:
    case SEAM_COLUMN_DECIMALV2:
        return presto_wide(wide_at(view, row));
    default: /* a timestamp counts in its own unit */
        return presto_long(is_timestamp(type) ? timestamp_at(view, row)
                                              : seam_hash_number(type, node, row));
    }
}

/* --- Velox --- */

/* hashMix, the 128 to 64 bits of CityHash. */
static uint64_t mixed(uint64_t upper, uint64_t lower) {
    uint64_t a = (lower ^ upper) * MIX_FACTOR;
    a ^= a >> 47;
    uint64_t b = (upper ^ a) * MIX_FACTOR;
    b ^= b >> 47;
    return b * MIX_FACTOR;
}

static uint64_t mixed_in_any_order(uint64_t a, uint64_t b) {
    return 3860031 + (a + b) * 2779 + a * b * 2;
}

/* Thomas Wang's mix of 64 bits. */
static uint64_t mixed_64(uint64_t key) {
    key = ~key + (key << 21);
    key ^= key >> 24;
    key *= 265;
    key ^= key >> 14;
    key *= 21;
    key ^= key >> 28;
    return key + (key << 31);
}

/* Robert Jenkins' reversible mix of 32 bits. */
static uint32_t mixed_32(uint32_t key) {
    key += key << 12;
    key ^= key >> 22;
    key += key << 4;
    key ^= key >> 9;
    key += key << 10;
    key ^= key >> 2;
    key += key << 7;
    return key + (key << 12);
}

/* One step of CRC-32C over eight bytes. */
static uint64_t crc32c(uint64_t crc, uint64_t word) {
    static const uint32_t NIBBLES[16] = {0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1,
                                         0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
                                         0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
                                         0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75};
    uint32_t state = (uint32_t)crc;
    for (int i = 0; i < 16; i++, word >>= 4) {
        state = state >> 4 ^ NIBBLES[(state ^ word) & 15];
    }
    return state;
}

/* hashBytes with seed 1: three chains of CRC-32C in turns. */
static uint64_t velox_bytes(const uint8_t *bytes, int64_t size_bytes) {
    if (size_bytes < 8) {
        uint64_t word = word_at(bytes, size_bytes);
        return crc32c(1, word) | crc32c(1, word >> 32) << 32;
    }
    uint64_t chains[3] = {1, UINT64_C(1) << 32, 0};
    int chain = 0;
    for (int64_t at = 0; at < size_bytes; at += 8, chain = (chain + 1) % 3) {
        int64_t rest = size_bytes - at;
        chains[chain] = crc32c(chains[chain], word_at(bytes + at, rest < 8 ? rest : 8));
    }
    return chains[0] ^ chains[1] * MIX_FACTOR ^ chains[2] * MIX_FACTOR;
}

/* Seconds, rounded down, and the nanoseconds of the second. */
static uint64_t velox_timestamp(int64_t value, char unit) {
    int64_t per_second = unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000;
    int64_t rest = value % per_second;
    int64_t seconds = value / per_second - (rest < 0);
    rest += rest < 0 ? per_second : 0;
    return mixed((uint64_t)seconds, (uint64_t)(rest * (1000000000 / per_second)));
}

static uint64_t velox_flat(const struct seam_column_type *type, const struct seam_node *node,
                           int64_t row) {
    const struct seam_view *view = &node->view;
    const uint8_t *bytes;
    uint64_t bits;
    switch (type->kind) {
    case SEAM_COLUMN_BOOLEAN:
        return seam_hash_number(type, node, row) ? UINT64_MAX : 0;
    case SEAM_COLUMN_FLOAT:
    case SEAM_COLUMN_DOUBLE:
        bits = float_bits(view, row);
        return bits == 0 ? 0 : mixed_64(bits);
    case SEAM_COLUMN_STRING:
    case SEAM_COLUMN_BINARY: {
        int64_t size_bytes = seam_view_bytes(view, row, &bytes);
        return velox_bytes(bytes, size_bytes);
    }
    case SEAM_COLUMN_LONG:
    case SEAM_COLUMN_TIME: /* a BIGINT of milliseconds, which Arrow counts in 32 bits */
        return mixed_64((uint64_t)seam_hash_number(type, node, row));
    case SEAM_COLUMN_DECIMAL32:
    case SEAM_COLUMN_DECIMAL64:
        return mixed_64((uint64_t)wide_at(view, row));
    default:
        break;
    }
    if (is_wide_decimal(type)) {
        seam_uint128 value = (seam_uint128)wide_at(view, row);
        return mixed((uint64_t)(value >> 64), (uint64_t)value);
    }
    return is_timestamp(type) ? velox_timestamp(timestamp_at(view, row), node->format[2])
                              : mixed_32((uint32_t)seam_hash_number(type, node, row));
}

/* --- nesting --- */

enum { VELOX_NULL = 1 };

static uint64_t value_of(int32_t function, const struct seam_column_type *type,
                         const struct seam_node *node, int64_t row);

static uint64_t hash_list(int32_t function, const struct seam_column_type *type,
                          const struct seam_node *node, int64_t row) {
    int presto = function == SEAM_HASH_PRESTO;
    int map = node->kind == SEAM_NODE_MAP;
    const struct seam_node *child = &node->children[0];
    int64_t end = seam_node_start(node, row + 1);
    uint64_t hash = presto ? 0 : VELOX_NULL;
    for (int64_t i = seam_node_start(node, row); i < end; i++) {
        uint64_t first =
            value_of(function, &type->children[0], map ? &child->children[0] : child, i);
        if (presto) {
            hash = map ? hash + (first ^
                                 value_of(function, &type->children[1], &child->children[1], i))
                       : 31 * hash + first;
        } else {
            hash = mixed_in_any_order(hash, first);
        }
    }
    for (int64_t i = seam_node_start(node, row); !presto && map && i < end; i++) {
        hash = mixed_in_any_order(hash,
                                  value_of(function, &type->children[1], &child->children[1], i));
    }
    return hash;
}

static uint64_t hash_struct(int32_t function, const struct seam_column_type *type,
                            const struct seam_node *node, int64_t row) {
    uint64_t hash = 1; /* RowType begins at 1; a Velox row without fields is like a null */
    for (int32_t i = 0; i < type->n_children; i++) {
        uint64_t field = value_of(function, &type->children[i], &node->children[i], row);
        hash = function == SEAM_HASH_PRESTO ? 31 * hash + field
               : i == 0                     ? field
                                            : mixed(hash, field);
    }
    return hash;
}

static uint64_t value_of(int32_t function, const struct seam_column_type *type,
                         const struct seam_node *node, int64_t row) {
    while (node->kind == SEAM_NODE_RUNS) {
        row = seam_node_run(node, row);
        node = &node->children[1];
    }
    if (!seam_node_valid(node, row)) {
        return function == SEAM_HASH_PRESTO ? 0 : VELOX_NULL;
    }
    switch (node->kind) {
    case SEAM_NODE_DICTIONARY:
        return value_of(function, type, &node->children[0], seam_node_index(node, row));
    case SEAM_NODE_LIST:
    case SEAM_NODE_MAP:
        return hash_list(function, type, node, row);
    case SEAM_NODE_STRUCT:
        return hash_struct(function, type, node, row);
    default:
        return function == SEAM_HASH_PRESTO ? presto_flat(type, node, row)
                                            : velox_flat(type, node, row);
    }
}

/* Presto has timestamps of milliseconds and of microseconds, no others. */
static int check_units(const struct seam_column_type *type, const struct seam_node *node,
                       struct seam_error *error) {
    if (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS) {
        return check_units(type, &node->children[node->kind == SEAM_NODE_RUNS], error);
    }
    if (node->kind == SEAM_NODE_FLAT && is_timestamp(type) &&
        strchr("mu", node->format[2]) == NULL) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s' has timestamps of Arrow format '%s': Presto's count "
                         "milliseconds or microseconds",
                         node->name, node->format);
    }
    const struct seam_node *holder = node->kind == SEAM_NODE_MAP ? &node->children[0] : node;
    for (int32_t i = 0; i < type->n_children && i < holder->n_children; i++) {
        SEAM_TRY(check_units(&type->children[i], &holder->children[i], error));
    }
    return SEAM_OK;
}

int seam_hash_wide_column(int32_t function, int32_t first, const struct seam_column_type *type,
                          const struct seam_node *column, uint64_t *hashes,
                          struct seam_error *error) {
    if (!seam_hash_is_wide(function)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "there is no hash function %d of 64 bits",
                         (int)function);
    }
    SEAM_TRY(seam_hash_check(type, column, error));
    if (function == SEAM_HASH_PRESTO) {
        SEAM_TRY(check_units(type, column, error));
    }
    for (int64_t row = 0; row < column->view.length; row++) {
        uint64_t hash = value_of(function, type, column, row);
        hashes[row] = function == SEAM_HASH_PRESTO ? 31 * (first ? 0 : hashes[row]) + hash
                      : first                      ? hash
                                                   : mixed(hashes[row], hash);
    }
    return SEAM_OK;
}
