/* Hashes of columns: which bytes each type feeds, and what nulls and nesting do to the state. */
#include "seam/hash.h"

#include "base/wide.h"
#include "base/words.h"
#include "hash/hash_value.h"

#include <stdio.h>
#include <string.h>

uint32_t seam_hash_start(int32_t function) {
    switch (function) {
    case SEAM_HASH_FNV:
        return UINT32_C(0x811C9DC5);
    case SEAM_HASH_XXH3:
        return UINT32_C(0x9E3779B1);
    case SEAM_HASH_MURMUR3:
        return 42;
    default:
        return 0;
    }
}

static inline uint32_t feed(int32_t function, uint32_t state, const uint8_t *bytes,
                            int64_t size_bytes) {
    if (function == SEAM_HASH_FNV) {
        return seam_fnv1a(state, bytes, size_bytes);
    }
    if (function == SEAM_HASH_CRC32) {
        return seam_crc32(state, bytes, size_bytes);
    }
    return size_bytes == 0 ? state : (uint32_t)seam_xxh3(bytes, size_bytes, state);
}

static uint32_t feed_null(int32_t function, uint32_t state) {
    static const uint8_t ZEROS[4] = {0};
    if (function == SEAM_HASH_CRC32) {
        return seam_crc32(state, ZEROS, sizeof ZEROS);
    }
    return state ^ (UINT32_C(0x9e3779b9) + (state << 6) + (state >> 2));
}

/* --- dates and decimals as the CRC sees them --- */

/* Civil date of a day count since 1970-01-01, proleptic Gregorian. */
static void civil(int64_t days, int64_t *year, int *month, int *day) {
    int64_t shifted = days + 719468; /* since 0000-03-01 */
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t of_era = shifted - era * 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * shifted_month + 2) / 5 + 1);
    *month = (int)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

static uint32_t crc_of_time(uint32_t state, int64_t days, int64_t micros, int with_clock) {
    char text[64];
    int64_t year;
    int month;
    int day;
    civil(days, &year, &month, &day);
    int size = snprintf(text, sizeof text, "%04lld-%02d-%02d", (long long)year, month, day);
    if (with_clock) {
        int64_t seconds = micros / 1000000;
        size += snprintf(text + size, sizeof text - (size_t)size, " %02d:%02d:%02d",
                         (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
        if (micros % 1000000 != 0) {
            size +=
                snprintf(text + size, sizeof text - (size_t)size, ".%06d", (int)(micros % 1000000));
        }
    }
    return seam_crc32(state, (const uint8_t *)text, size);
}

/* DECIMALV2, and a DECIMAL128 that looks like one: the whole part, then the billionths. */
static uint32_t crc_of_decimalv2(uint32_t state, const uint8_t *bytes) {
    seam_int128 value;
    memcpy(&value, bytes, sizeof value);
    int64_t whole = (int64_t)(value / 1000000000);
    int32_t fraction = (int32_t)(value % 1000000000);
    state = seam_crc32(state, (const uint8_t *)&whole, sizeof whole);
    return seam_crc32(state, (const uint8_t *)&fraction, sizeof fraction);
}

static int is_decimalv2(const struct seam_column_type *type) {
    return type->kind == SEAM_COLUMN_DECIMALV2 ||
           (type->kind == SEAM_COLUMN_DECIMAL128 && type->precision == 27 && type->scale == 9);
}

static uint32_t crc_of_flat(const struct seam_column_type *type, const struct seam_node *node,
                            int64_t row, uint32_t state) {
    struct seam_hash_value value;
    if (type->kind == SEAM_COLUMN_DATE) {
        return crc_of_time(state, seam_hash_number(type, node, row), 0, 0);
    }
    if (type->kind >= SEAM_COLUMN_DATETIME && type->kind <= SEAM_COLUMN_DATETIME_MILLIS) {
        int64_t micros = seam_hash_number(type, node, row);
        int64_t of_day = micros % SEAM_MICROS_PER_DAY;
        of_day += of_day < 0 ? SEAM_MICROS_PER_DAY : 0;
        return crc_of_time(state, (micros - of_day) / SEAM_MICROS_PER_DAY, of_day, 1);
    }
    seam_hash_value_of(type, node, row, &value);
    return is_decimalv2(type) ? crc_of_decimalv2(state, value.bytes)
                              : seam_crc32(state, value.bytes, value.size_bytes);
}

/* --- one value --- */

static uint32_t hash_value(int32_t function, const struct seam_column_type *type,
                           const struct seam_node *node, int64_t row, uint32_t state);

static uint32_t hash_list(int32_t function, const struct seam_column_type *type,
                          const struct seam_node *node, int64_t row, uint32_t state) {
    int64_t begin = seam_node_start(node, row);
    int64_t end = seam_node_start(node, row + 1);
    uint64_t length = (uint64_t)(end - begin);
    state = feed(function, state, (const uint8_t *)&length, sizeof length);
    if (node->kind == SEAM_NODE_LIST) {
        for (int64_t i = begin; i < end; i++) {
            state = hash_value(function, &type->children[0], &node->children[0], i, state);
        }
        return state;
    }
    uint32_t sum = state; /* a map: the order of its entries must not count */
    const struct seam_node *entries = &node->children[0];
    for (int64_t i = begin; i < end; i++) {
        uint32_t pair = hash_value(function, &type->children[0], &entries->children[0], i, state);
        sum += hash_value(function, &type->children[1], &entries->children[1], i, pair);
    }
    return sum;
}

static uint32_t hash_value(int32_t function, const struct seam_column_type *type,
                           const struct seam_node *node, int64_t row, uint32_t state) {
    if (node->kind == SEAM_NODE_RUNS) {
        return hash_value(function, type, &node->children[1], seam_node_run(node, row), state);
    }
    if (!seam_node_valid(node, row)) {
        return feed_null(function, state);
    }
    switch (node->kind) {
    case SEAM_NODE_DICTIONARY:
        return hash_value(function, type, &node->children[0], seam_node_index(node, row), state);
    case SEAM_NODE_LIST:
    case SEAM_NODE_MAP:
        return hash_list(function, type, node, row, state);
    case SEAM_NODE_STRUCT:
        for (int32_t i = 0; i < type->n_children; i++) {
            state = hash_value(function, &type->children[i], &node->children[i], row, state);
        }
        return state;
    default:
        break;
    }
    if (function == SEAM_HASH_CRC32) {
        return crc_of_flat(type, node, row, state);
    }
    struct seam_hash_value value;
    seam_hash_value_of(type, node, row, &value);
    return feed(function, state, value.bytes, value.size_bytes);
}

/* --- columns --- */

#define FNV_PRIME UINT32_C(0x01000193)

/* FNV-1a's steps over the low bytes of a word, so many of them; the core runs on little-endian
 * machines. */
static inline uint32_t fnv_word(uint32_t state, uint32_t word, int bytes) {
    for (int byte = 0; byte < bytes; byte++) {
        state = (state ^ (word >> 8 * byte & 0xFF)) * FNV_PRIME;
    }
    return state;
}

/* Values of one fixed width that are hashed as they lie, without a null among them: several rows
 * run side by side. */
SEAM_WIDE static void fnv_of_8(const uint8_t *data, int64_t rows, uint32_t *restrict hashes) {
    SEAM_EACH_ROW_ALONE
    for (int64_t row = 0; row < rows; row++) {
        uint64_t value;
        memcpy(&value, data + row * 8, sizeof value);
        uint32_t half = fnv_word(hashes[row], (uint32_t)value, 4);
        hashes[row] = fnv_word(half, (uint32_t)(value >> 32), 4);
    }
}

SEAM_WIDE static void fnv_of_4(const uint8_t *data, int64_t rows, uint32_t *restrict hashes) {
    SEAM_EACH_ROW_ALONE
    for (int64_t row = 0; row < rows; row++) {
        uint32_t value;
        memcpy(&value, data + row * 4, sizeof value);
        hashes[row] = fnv_word(hashes[row], value, 4);
    }
}

SEAM_WIDE static void fnv_of_2(const uint8_t *data, int64_t rows, uint32_t *restrict hashes) {
    SEAM_EACH_ROW_ALONE
    for (int64_t row = 0; row < rows; row++) {
        uint16_t value;
        memcpy(&value, data + row * 2, sizeof value);
        hashes[row] = fnv_word(hashes[row], value, 2);
    }
}

static int fnv_fast(const struct seam_column_type *type, const struct seam_node *node,
                    uint32_t *hashes) {
    const struct seam_view *view = &node->view;
    int64_t rows = view->length;
    int plain = type->kind >= SEAM_COLUMN_SHORT && type->kind <= SEAM_COLUMN_DOUBLE;
    if (node->kind != SEAM_NODE_FLAT || view->validity != NULL || !plain) {
        return 0;
    }
    const uint8_t *data = view->data + view->offset * view->width_bytes;
    if (view->width_bytes == 8) {
        fnv_of_8(data, rows, hashes);
    } else if (view->width_bytes == 4) {
        fnv_of_4(data, rows, hashes);
    } else {
        fnv_of_2(data, rows, hashes);
    }
    return 1;
}

int seam_hash_column(int32_t function, const struct seam_column_type *type,
                     const struct seam_node *column, uint32_t *hashes, struct seam_error *error) {
    if (function < SEAM_HASH_FNV || function > SEAM_HASH_MURMUR3) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "there is no hash function %d",
                         (int)function);
    }
    SEAM_TRY(seam_hash_check(type, column, error));
    if (function == SEAM_HASH_MURMUR3) {
        SEAM_TRY(seam_hash_spark_check(type, column, error));
    }
    if (function == SEAM_HASH_FNV && fnv_fast(type, column, hashes)) {
        return SEAM_OK;
    }
    for (int64_t row = 0; row < column->view.length; row++) {
        hashes[row] = function == SEAM_HASH_MURMUR3
                          ? seam_hash_spark_value(type, column, row, hashes[row])
                          : hash_value(function, type, column, row, hashes[row]);
    }
    return SEAM_OK;
}
