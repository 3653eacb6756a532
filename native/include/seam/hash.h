/* Hashes of rows, as engines use them to choose where a row goes.
 *
 * A state flows through the columns of a key from left to right: what comes out of one column goes
 * into the next. The bytes that are hashed are those of StarRocks' columns (dates as Julian days,
 * datetimes packed, decimals in the width of their kind), except for Spark's function, which sees
 * values as Spark's rows hold them. */
#ifndef SEAM_HASH_H
#define SEAM_HASH_H

#include "seam/column_type.h"
#include "seam/error.h"
#include "seam/node.h"

#include <stddef.h>
#include <stdint.h>

enum seam_hash {
    SEAM_HASH_FNV = 0,     /* FNV-1a, 32 bits (StarRocks, hash-partitioned exchange) */
    SEAM_HASH_CRC32 = 1,   /* zlib's CRC-32 (StarRocks, bucket shuffle) */
    SEAM_HASH_XXH3 = 2,    /* low half of XXH3-64 seeded with the state (StarRocks, version 1) */
    SEAM_HASH_MURMUR3 = 3, /* Murmur3_x86_32 as Spark SQL's HashPartitioning computes it */
    SEAM_HASH_PRESTO = 4,  /* 64 bits: Presto's InterpretedHashGenerator */
    SEAM_HASH_VELOX = 5,   /* 64 bits: Velox's HashPartitionFunction */
};

/* The state before the first column. */
uint32_t seam_hash_start(int32_t function);

/* Takes every row of `column` into `hashes`, one state per row. SEAM_BAD_ARGUMENT: the array is not
 * one of that type; SEAM_UNSUPPORTED: the function has no rule for the type. */
int seam_hash_column(int32_t function, const struct seam_column_type *type,
                     const struct seam_node *column, uint32_t *hashes, struct seam_error *error);

static inline int seam_hash_is_wide(int32_t function) {
    return function == SEAM_HASH_PRESTO || function == SEAM_HASH_VELOX;
}

/* The same for functions of 64 bits; `first`: the states say nothing yet. SEAM_UNSUPPORTED, too: a
 * timestamp of a unit that the engine does not have. */
int seam_hash_wide_column(int32_t function, int32_t first, const struct seam_column_type *type,
                          const struct seam_node *column, uint64_t *hashes,
                          struct seam_error *error);

/* Iceberg's bucket transform of one column, before the modulo: Murmur3_x86_32 of the value in its
 * standard form. Rows that are null get -1. */
int seam_hash_iceberg(const struct seam_column_type *type, const struct seam_node *column,
                      int32_t *hashes, struct seam_error *error);

/* The functions on bytes. */
static inline uint32_t seam_fnv1a(uint32_t state, const uint8_t *bytes, int64_t size_bytes) {
    for (int64_t i = 0; i < size_bytes; i++) {
        state = (state ^ bytes[i]) * UINT32_C(0x01000193);
    }
    return state;
}
uint32_t seam_crc32(uint32_t state, const uint8_t *bytes, int64_t size_bytes);
uint64_t seam_xxh64(const uint8_t *bytes, int64_t size_bytes);
uint64_t seam_xxh3(const uint8_t *bytes, int64_t size_bytes, uint64_t seed);
uint32_t seam_murmur3(uint32_t seed, const uint8_t *bytes, int64_t size_bytes);

#endif
