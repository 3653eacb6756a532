#include "seam/partition.h"

#include "seam/arrow_build.h"
#include "seam/gather.h"
#include "seam/hash.h"
#include "seam/node.h"

#include <string.h>

static uint32_t xorshift32(uint32_t x) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static inline uint32_t reduced(uint32_t hash, uint32_t n, int32_t reduce) {
    if (reduce == SEAM_REDUCE_MULTIPLY) {
        return (uint32_t)((uint64_t)hash * n >> 32);
    }
    if (reduce == SEAM_REDUCE_MODULO) {
        return hash % n;
    }
    int64_t rest = (int64_t)(int32_t)hash % (int64_t)n;
    return (uint32_t)(rest < 0 ? rest + n : rest);
}

void seam_partition_parts(const uint32_t *hashes, int64_t rows, int32_t reduce, int32_t channels,
                          int32_t drivers, uint32_t *parts) {
    uint32_t n = (uint32_t)channels;
    uint32_t d = (uint32_t)drivers;
    for (int64_t row = 0; row < rows; row++) {
        parts[row] = reduced(hashes[row], n, reduce);
    }
    if (d == 1) {
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        parts[row] = parts[row] * d + reduced(xorshift32(hashes[row]), d, reduce);
    }
}

static uint64_t reversed(uint64_t word) {
    uint64_t out = 0;
    for (int i = 0; i < 64; i++) {
        out = out << 1 | (word >> i & 1);
    }
    return out;
}

/* Presto: HashGenerator.getPartition between tasks, LocalPartitionGenerator within one, where the
 * drivers are a power of two. Velox: the rest, on one level. */
static void wide_parts(const struct seam_partition_rule *rule, const uint64_t *hashes, int64_t rows,
                       uint32_t *parts) {
    uint32_t n = (uint32_t)rule->channels;
    uint32_t d = (uint32_t)rule->drivers;
    for (int64_t row = 0; row < rows; row++) {
        uint64_t hash = hashes[row];
        parts[row] = rule->function == SEAM_HASH_VELOX
                         ? (uint32_t)(hash % n)
                         : reduced((uint32_t)(hash ^ hash >> 32), n, SEAM_REDUCE_MULTIPLY);
    }
    for (int64_t row = 0; d > 1 && row < rows; row++) {
        uint64_t turned = reversed(hashes[row]);
        uint32_t driver = (uint32_t)seam_xxh64((const uint8_t *)&turned, 8) & (d - 1);
        parts[row] = parts[row] * d + driver;
    }
}

void seam_partition_sort(const uint32_t *parts, int64_t rows, int32_t n_parts,
                         int32_t *start_points, int32_t *row_indexes) {
    memset(start_points, 0, ((size_t)n_parts + 1) * sizeof *start_points);
    for (int64_t row = 0; row < rows; row++) {
        start_points[parts[row]] += 1;
    }
    for (int32_t part = 0; part < n_parts; part++) {
        start_points[part + 1] += start_points[part];
    }
    for (int64_t row = rows - 1; row >= 0; row--) { /* backwards: rows of a part stay in order */
        row_indexes[--start_points[parts[row]]] = (int32_t)row;
    }
}

/* --- partitioner --- */

struct finished {
    int32_t part;
    int64_t size_bytes;
    struct ArrowArray chunk;
};

struct seam_partitioner {
    struct seam_partition_rule rule;
    int32_t n_parts;
    struct seam_gather **gathers; /* one per part; NULL until its first row */
    int32_t *keys;
    int32_t *start_points;
    struct seam_buffer hashes;      /* uint32 per row of the batch at hand */
    struct seam_buffer parts;       /* the same */
    struct seam_buffer row_indexes; /* int32 */
    struct seam_buffer positions;   /* int32; of a batch that is split */
    struct seam_gather *whole;      /* what a split makes; NULL until the first one */
    struct seam_buffer ready;       /* struct finished */
    int64_t taken;                  /* of those that are ready */
    struct seam_allocator *allocator;
};

static int check_rule(const struct seam_partition_rule *rule, struct seam_error *error) {
    if (rule->channels < 1 || rule->drivers < 1 || rule->channels > INT32_MAX / rule->drivers / 8 ||
        rule->n_keys < 0 || rule->chunk_rows < 1) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "rows cannot go to %d channels of %d drivers in chunks of %lld rows",
                         (int)rule->channels, (int)rule->drivers, (long long)rule->chunk_rows);
    }
    if (rule->reduce < SEAM_REDUCE_MULTIPLY || rule->reduce > SEAM_REDUCE_OWN ||
        (rule->reduce == SEAM_REDUCE_OWN) != seam_hash_is_wide(rule->function)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "there is no rule %d to reduce a hash",
                         (int)rule->reduce);
    }
    if (rule->function == SEAM_HASH_VELOX && rule->drivers > 1) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "Velox deals rows on one level: one driver a channel, not %d",
                         (int)rule->drivers);
    }
    if (rule->function == SEAM_HASH_PRESTO && (rule->drivers & (rule->drivers - 1)) != 0) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "Presto deals rows within a task to a power of two, not to %d drivers",
                         (int)rule->drivers);
    }
    return SEAM_OK;
}

int seam_partitioner_new(struct seam_allocator *allocator, const struct seam_partition_rule *rule,
                         struct seam_partitioner **out, struct seam_error *error) {
    void *blocks[4];
    *out = NULL;
    SEAM_TRY(check_rule(rule, error));
    size_t n_parts = (size_t)rule->channels * (size_t)rule->drivers;
    const size_t sizes[4] = {sizeof **out, n_parts * sizeof(void *),
                             (size_t)rule->n_keys * sizeof(int32_t),
                             (n_parts + 1) * sizeof(int32_t)};
    SEAM_TRY(seam_alloc_all(allocator, sizes, 4, blocks, error));
    struct seam_partitioner *partitioner = blocks[0];
    partitioner->rule = *rule;
    partitioner->n_parts = (int32_t)n_parts;
    partitioner->gathers = blocks[1];
    partitioner->keys = blocks[2];
    partitioner->start_points = blocks[3];
    partitioner->allocator = allocator;
    if (rule->n_keys > 0) {
        memcpy(partitioner->keys, rule->keys, sizes[2]);
    }
    partitioner->rule.keys = partitioner->keys;
    seam_buffer_init(&partitioner->hashes, allocator);
    seam_buffer_init(&partitioner->parts, allocator);
    seam_buffer_init(&partitioner->row_indexes, allocator);
    seam_buffer_init(&partitioner->positions, allocator);
    seam_buffer_init(&partitioner->ready, allocator);
    *out = partitioner;
    return SEAM_OK;
}

static struct finished *ready_list(const struct seam_partitioner *partitioner) {
    return (struct finished *)(void *)partitioner->ready.data;
}

static int64_t ready_count(const struct seam_partitioner *partitioner) {
    return partitioner->ready.size_bytes / (int64_t)sizeof(struct finished);
}

void seam_partitioner_free(struct seam_partitioner *partitioner) {
    if (partitioner == NULL) {
        return;
    }
    for (int64_t i = partitioner->taken; i < ready_count(partitioner); i++) {
        seam_array_release(&ready_list(partitioner)[i].chunk);
    }
    for (int32_t part = 0; part < partitioner->n_parts; part++) {
        seam_gather_free(partitioner->gathers[part]);
    }
    seam_buffer_reset(&partitioner->hashes);
    seam_buffer_reset(&partitioner->parts);
    seam_buffer_reset(&partitioner->row_indexes);
    seam_buffer_reset(&partitioner->positions);
    seam_gather_free(partitioner->whole);
    seam_buffer_reset(&partitioner->ready);
    seam_free(partitioner->gathers);
    seam_free(partitioner->keys);
    seam_free(partitioner->start_points);
    seam_free(partitioner);
}

static int check_key(const struct seam_node *batch, int32_t key, struct seam_error *error) {
    return key >= 0 && key < batch->n_children
               ? SEAM_OK
               : seam_fail(error, SEAM_BAD_ARGUMENT, -1, "the batch has no column %d", (int)key);
}

static int hash_node(const struct seam_partition_rule *rule, const struct seam_node *batch,
                     uint32_t *hashes, struct seam_error *error) {
    uint32_t start = seam_hash_start(rule->function);
    for (int64_t row = 0; row < batch->view.length; row++) {
        hashes[row] = start;
    }
    for (int32_t i = 0; i < rule->n_keys; i++) {
        int32_t key = rule->keys[i];
        SEAM_TRY(check_key(batch, key, error));
        SEAM_TRY(seam_hash_column(rule->function, &rule->types[i], &batch->children[key], hashes,
                                  error));
    }
    return SEAM_OK;
}

static int wide_hash_node(const struct seam_partition_rule *rule, const struct seam_node *batch,
                          uint64_t *hashes, struct seam_error *error) {
    for (int64_t row = 0; rule->n_keys == 0 && row < batch->view.length; row++) {
        hashes[row] = 0;
    }
    for (int32_t i = 0; i < rule->n_keys; i++) {
        int32_t key = rule->keys[i];
        SEAM_TRY(check_key(batch, key, error));
        SEAM_TRY(seam_hash_wide_column(rule->function, i == 0, &rule->types[i],
                                       &batch->children[key], hashes, error));
    }
    return SEAM_OK;
}

int seam_partition_wide_hash(struct seam_allocator *allocator,
                             const struct seam_partition_rule *rule,
                             const struct ArrowSchema *schema, const struct ArrowArray *batch,
                             uint64_t *hashes, struct seam_error *error) {
    struct seam_node *node;
    SEAM_TRY(seam_node_open(allocator, schema, batch, &node, error));
    int code = wide_hash_node(rule, node, hashes, error);
    seam_node_close(node);
    return code;
}

int seam_partition_hash(struct seam_allocator *allocator, const struct seam_partition_rule *rule,
                        const struct ArrowSchema *schema, const struct ArrowArray *batch,
                        uint32_t *hashes, struct seam_error *error) {
    struct seam_node *node;
    SEAM_TRY(seam_node_open(allocator, schema, batch, &node, error));
    int code = hash_node(rule, node, hashes, error);
    seam_node_close(node);
    return code;
}

int seam_partition_iceberg(struct seam_allocator *allocator, const struct seam_column_type *type,
                           const struct ArrowSchema *schema, const struct ArrowArray *batch,
                           int32_t *hashes, struct seam_error *error) {
    struct seam_node *node;
    SEAM_TRY(seam_node_open(allocator, schema, batch, &node, error));
    int code = seam_hash_iceberg(type, &node->children[0], hashes, error);
    seam_node_close(node);
    return code;
}

static int resized(struct seam_buffer *buffer, int64_t size_bytes, struct seam_error *error) {
    buffer->size_bytes = 0;
    return seam_buffer_reserve(buffer, size_bytes, error);
}

static int finish_part(struct seam_partitioner *partitioner, int32_t part,
                       struct seam_error *error) {
    SEAM_TRY(seam_buffer_reserve(&partitioner->ready, sizeof(struct finished), error));
    struct finished *place = &ready_list(partitioner)[ready_count(partitioner)];
    place->part = part;
    place->size_bytes = seam_gather_bytes(partitioner->gathers[part]);
    SEAM_TRY(seam_gather_finish(partitioner->gathers[part], &place->chunk, error));
    partitioner->ready.size_bytes += (int64_t)sizeof *place;
    return SEAM_OK;
}

/* Makes a part ready for `count` more rows; a chunk that would get too many is finished first. */
static int open_part(struct seam_partitioner *partitioner, const struct seam_node *batch,
                     int32_t part, int64_t count, struct seam_error *error) {
    int64_t chunk_rows = partitioner->rule.chunk_rows;
    struct seam_gather **gather = &partitioner->gathers[part];
    if (*gather == NULL) {
        return seam_gather_new(partitioner->allocator, batch, chunk_rows, gather, error);
    }
    if (seam_gather_rows(*gather) > 0 && seam_gather_rows(*gather) + count > chunk_rows) {
        return finish_part(partitioner, part, error);
    }
    return SEAM_OK;
}

/* Deals the rows of a block that is sorted by part: a column to all parts, then the next one. */
static int deal(struct seam_partitioner *partitioner, const struct seam_node *batch, int64_t begin,
                struct seam_error *error) {
    const int32_t *starts = partitioner->start_points;
    const int32_t *rows = (const int32_t *)(const void *)partitioner->row_indexes.data;
    int code = SEAM_OK;
    for (int32_t part = 0; code == SEAM_OK && part < partitioner->n_parts; part++) {
        int64_t count = starts[part + 1] - starts[part];
        code = count > 0 ? open_part(partitioner, batch, part, count, error) : SEAM_OK;
    }
    for (int64_t column = 0; column < batch->n_children; column++) {
        seam_gather_prefetch(batch, column, begin, starts[partitioner->n_parts]);
        for (int32_t part = 0; code == SEAM_OK && part < partitioner->n_parts; part++) {
            int64_t count = starts[part + 1] - starts[part];
            if (count > 0) {
                code = seam_gather_append(partitioner->gathers[part], batch, column,
                                          rows + starts[part], count, error);
            }
        }
    }
    for (int32_t part = 0; code == SEAM_OK && part < partitioner->n_parts; part++) {
        if (starts[part + 1] > starts[part]) {
            seam_gather_advance(partitioner->gathers[part], starts[part + 1] - starts[part]);
        }
    }
    return code;
}

/* Rows that are dealt at a time: few enough for a column of them to stay in the nearest cache. */
#define BLOCK_ROWS 4096

/* Room for hashes of all rows and for what `block` of them need at a time; then the hashes. */
static int hash_batch(struct seam_partitioner *partitioner, const struct seam_node *batch,
                      int64_t block, struct seam_error *error) {
    const struct seam_partition_rule *rule = &partitioner->rule;
    int wide = seam_hash_is_wide(rule->function);
    /* One more: C forbids to move NULL even by nothing. */
    SEAM_TRY(resized(&partitioner->hashes, (batch->view.length + 1) * (wide ? 8 : 4), error));
    SEAM_TRY(resized(&partitioner->parts, block * 4, error));
    SEAM_TRY(resized(&partitioner->row_indexes, block * 4, error));
    void *hashes = partitioner->hashes.data;
    return wide ? wide_hash_node(rule, batch, hashes, error)
                : hash_node(rule, batch, hashes, error);
}

/* Sorts rows [begin, begin + count), whose hashes are there, by part. */
static void sort_block(struct seam_partitioner *partitioner, int64_t begin, int64_t count) {
    const struct seam_partition_rule *rule = &partitioner->rule;
    const uint8_t *hashes = partitioner->hashes.data;
    uint32_t *parts = (uint32_t *)(void *)partitioner->parts.data;
    int32_t *row_indexes = (int32_t *)(void *)partitioner->row_indexes.data;
    if (seam_hash_is_wide(rule->function)) {
        wide_parts(rule, (const uint64_t *)(const void *)hashes + begin, count, parts);
    } else {
        seam_partition_parts((const uint32_t *)(const void *)hashes + begin, count, rule->reduce,
                             rule->channels, rule->drivers, parts);
    }
    seam_partition_sort(parts, count, partitioner->n_parts, partitioner->start_points, row_indexes);
    for (int64_t i = 0; begin > 0 && i < count; i++) {
        row_indexes[i] += (int32_t)begin;
    }
}

/* The columns of a batch that are dealt: a view on the first of them. */
static int dealt_columns(const struct seam_partitioner *partitioner, const struct seam_node *batch,
                         struct seam_node *dealt, struct seam_error *error) {
    int32_t count = partitioner->rule.n_columns;
    if (count < 0 || count > batch->n_children) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%d columns of a batch of %lld are dealt",
                         (int)count, (long long)batch->n_children);
    }
    *dealt = *batch;
    dealt->n_children = count > 0 ? count : batch->n_children;
    return SEAM_OK;
}

static int append_node(struct seam_partitioner *partitioner, const struct seam_node *batch,
                       struct seam_error *error) {
    int64_t rows = batch->view.length;
    struct seam_node dealt;
    SEAM_TRY(dealt_columns(partitioner, batch, &dealt, error));
    SEAM_TRY(hash_batch(partitioner, batch, BLOCK_ROWS, error));
    for (int64_t begin = 0; begin < rows; begin += BLOCK_ROWS) {
        int64_t count = rows - begin < BLOCK_ROWS ? rows - begin : BLOCK_ROWS;
        sort_block(partitioner, begin, count);
        SEAM_TRY(deal(partitioner, &dealt, begin, error));
    }
    return SEAM_OK;
}

static int split_node(struct seam_partitioner *partitioner, const struct seam_node *batch,
                      struct ArrowArray *out, struct seam_error *error) {
    int64_t rows = batch->view.length;
    struct seam_node dealt;
    SEAM_TRY(dealt_columns(partitioner, batch, &dealt, error));
    SEAM_TRY(hash_batch(partitioner, batch, rows, error));
    SEAM_TRY(resized(&partitioner->positions, rows * 4, error));
    if (partitioner->whole == NULL) {
        SEAM_TRY(seam_gather_new(partitioner->allocator, &dealt, rows, &partitioner->whole, error));
    }
    sort_block(partitioner, 0, rows);
    int32_t *positions = (int32_t *)(void *)partitioner->positions.data;
    struct seam_gather_order order = {
        .parts = (const uint32_t *)(const void *)partitioner->parts.data,
        .starts = partitioner->start_points,
        .rows = (const int32_t *)(const void *)partitioner->row_indexes.data,
        .positions = positions,
        .count = rows};
    for (int64_t i = 0; i < rows; i++) {
        positions[order.rows[i]] = (int32_t)i;
    }
    for (int64_t column = 0; column < dealt.n_children; column++) {
        SEAM_TRY(seam_gather_reorder(partitioner->whole, &dealt, column, &order, error));
    }
    seam_gather_advance(partitioner->whole, rows);
    return seam_gather_finish(partitioner->whole, out, error);
}

static int too_many_rows(const struct ArrowArray *batch, struct seam_error *error) {
    return seam_fail(error, SEAM_TOO_LARGE, -1, "a batch of %lld rows; at most 2^31 - 1",
                     (long long)batch->length);
}

int seam_partitioner_append(struct seam_partitioner *partitioner, const struct ArrowSchema *schema,
                            const struct ArrowArray *batch, struct seam_error *error) {
    struct seam_node *node;
    if (batch->length > INT32_MAX) {
        return too_many_rows(batch, error);
    }
    SEAM_TRY(seam_node_open(partitioner->allocator, schema, batch, &node, error));
    int code = append_node(partitioner, node, error);
    seam_node_close(node);
    return code;
}

int seam_partitioner_split(struct seam_partitioner *partitioner, const struct ArrowSchema *schema,
                           const struct ArrowArray *batch, int32_t *start_points,
                           struct ArrowArray *out, struct seam_error *error) {
    struct seam_node *node;
    if (batch->length > INT32_MAX) {
        return too_many_rows(batch, error);
    }
    int code = seam_node_open(partitioner->allocator, schema, batch, &node, error);
    if (code == SEAM_OK) {
        code = split_node(partitioner, node, out, error);
        seam_node_close(node);
    }
    if (code == SEAM_OK) {
        memcpy(start_points, partitioner->start_points,
               ((size_t)partitioner->n_parts + 1) * sizeof *start_points);
    }
    return code;
}

int seam_partitioner_next(struct seam_partitioner *partitioner, int32_t *part, int64_t *size_bytes,
                          struct ArrowArray *out) {
    if (partitioner->taken == ready_count(partitioner)) {
        partitioner->taken = 0;
        partitioner->ready.size_bytes = 0;
        return 0;
    }
    struct finished *found = &ready_list(partitioner)[partitioner->taken];
    partitioner->taken += 1;
    *part = found->part;
    *size_bytes = found->size_bytes;
    *out = found->chunk;
    return 1;
}

int seam_partitioner_flush(struct seam_partitioner *partitioner, int32_t only,
                           struct seam_error *error) {
    for (int32_t part = 0; part < partitioner->n_parts; part++) {
        if ((only < 0 || part == only) && seam_partitioner_rows(partitioner, part) > 0) {
            SEAM_TRY(finish_part(partitioner, part, error));
        }
    }
    return SEAM_OK;
}

int64_t seam_partitioner_rows(const struct seam_partitioner *partitioner, int32_t part) {
    const struct seam_gather *gather = partitioner->gathers[part];
    return gather == NULL ? 0 : seam_gather_rows(gather);
}

int64_t seam_partitioner_bytes(const struct seam_partitioner *partitioner, int32_t part) {
    const struct seam_gather *gather = partitioner->gathers[part];
    return gather == NULL ? 0 : seam_gather_bytes(gather);
}
