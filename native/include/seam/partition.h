/* Partitioning of batches among the channels of an exchange: hash, reduce, sort, append.
 *
 * The rules are those of StarRocks' Shuffler and ExchangeSinkOperator: a first level chooses the
 * channel, a second one, from the same hash turned by xorshift32, the driver behind it. A part is
 * channel * drivers + driver. */
#ifndef SEAM_PARTITION_H
#define SEAM_PARTITION_H

#include "seam/arrow.h"
#include "seam/column_type.h"
#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

enum seam_reduce {
    SEAM_REDUCE_MULTIPLY = 0, /* (hash * n) >> 32 (hash partitioning) */
    SEAM_REDUCE_MODULO = 1,   /* hash mod n (bucket shuffle) */
    SEAM_REDUCE_SIGNED = 2,   /* the non-negative rest of the hash as a signed number (Spark) */
    SEAM_REDUCE_OWN = 3,      /* of functions of 64 bits: as their engine does */
};

/* What `hashes` mean for each row: its part. */
void seam_partition_parts(const uint32_t *hashes, int64_t rows, int32_t reduce, int32_t channels,
                          int32_t drivers, uint32_t *parts);

/* A counting sort of row numbers by part: rows of part p are row_indexes[start_points[p] ..
 * start_points[p + 1]), ascending. `start_points` has n_parts + 1 entries. Parts must be below
 * n_parts. */
void seam_partition_sort(const uint32_t *parts, int64_t rows, int32_t n_parts,
                         int32_t *start_points, int32_t *row_indexes);

/* How rows find their part. Everything is copied but `types`, which must live as long as the
 * partitioner. */
struct seam_partition_rule {
    int32_t function; /* enum seam_hash */
    int32_t reduce;   /* enum seam_reduce */
    int32_t channels;
    int32_t drivers;
    const int32_t *keys;                  /* column numbers */
    const struct seam_column_type *types; /* of the keys, in their order */
    int32_t n_keys;
    /* Columns that are dealt, the first of a batch; those behind are keys alone. 0: all. */
    int32_t n_columns;
    int64_t chunk_rows; /* a chunk that would have more rows is finished first */
};

struct seam_partitioner;

int seam_partitioner_new(struct seam_allocator *allocator, const struct seam_partition_rule *rule,
                         struct seam_partitioner **out, struct seam_error *error);
void seam_partitioner_free(struct seam_partitioner *partitioner);
/* Takes the rows of a batch into the chunks of their parts; the batch is borrowed for the call.
 * After a failure the partitioner can only be freed. */
int seam_partitioner_append(struct seam_partitioner *partitioner, const struct ArrowSchema *schema,
                            const struct ArrowArray *batch, struct seam_error *error);
/* The rows of one batch, all at once and ordered by part, those of a part as they were: part p's
 * are rows start_points[p] .. start_points[p + 1) of `out` (n_parts + 1 entries), which belongs to
 * the caller. What waits in the parts has nothing to do with it. */
int seam_partitioner_split(struct seam_partitioner *partitioner, const struct ArrowSchema *schema,
                           const struct ArrowArray *batch, int32_t *start_points,
                           struct ArrowArray *out, struct seam_error *error);
/* The next chunk that is finished: 1, its bytes and the chunk in `out`, or 0. The chunk belongs to
 * the caller. */
int seam_partitioner_next(struct seam_partitioner *partitioner, int32_t *part, int64_t *size_bytes,
                          struct ArrowArray *out);
/* Finishes the chunks that have rows, of part `only`, or of all where it is negative; see
 * seam_partitioner_next. */
int seam_partitioner_flush(struct seam_partitioner *partitioner, int32_t only,
                           struct seam_error *error);
/* Rows and bytes that one part has collected and not finished. */
int64_t seam_partitioner_rows(const struct seam_partitioner *partitioner, int32_t part);
int64_t seam_partitioner_bytes(const struct seam_partitioner *partitioner, int32_t part);

/* Hashes of all rows of a batch over its key columns, as the rule says. */
int seam_partition_hash(struct seam_allocator *allocator, const struct seam_partition_rule *rule,
                        const struct ArrowSchema *schema, const struct ArrowArray *batch,
                        uint32_t *hashes, struct seam_error *error);
/* The same for functions of 64 bits. */
int seam_partition_wide_hash(struct seam_allocator *allocator,
                             const struct seam_partition_rule *rule,
                             const struct ArrowSchema *schema, const struct ArrowArray *batch,
                             uint64_t *hashes, struct seam_error *error);
/* Iceberg's hashes of the first column of a batch; see seam_hash_iceberg. */
int seam_partition_iceberg(struct seam_allocator *allocator, const struct seam_column_type *type,
                           const struct ArrowSchema *schema, const struct ArrowArray *batch,
                           int32_t *hashes, struct seam_error *error);

#endif
