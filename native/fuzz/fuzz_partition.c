/* Rows dealt to the parts of an exchange, against lists: every row comes out once, whole, in the
 * part of its key, behind those before it. Keys hash alike whatever Arrow holds them in, and FNV-1a
 * and the ways to reduce a hash are written out here.
 *
 * Input: three bytes of options, then the columns of each batch. */
#include "seam/hash.h"
#include "seam/partition.h"

#include "columns.h"

enum { BATCHES = 2, COLUMNS = 3, MOST_PARTS = 8 }; /* a key, the rows' numbers, anything */

static const struct seam_column_type TYPES[] = {{.kind = SEAM_COLUMN_LONG},
                                                {.kind = SEAM_COLUMN_DOUBLE},
                                                {.kind = SEAM_COLUMN_STRING},
                                                {.kind = SEAM_COLUMN_INT},
                                                {.kind = SEAM_COLUMN_FLOAT},
                                                {.kind = SEAM_COLUMN_SHORT},
                                                {.kind = SEAM_COLUMN_TINYINT},
                                                {.kind = SEAM_COLUMN_BOOLEAN},
                                                {.kind = SEAM_COLUMN_BINARY},
                                                {.kind = SEAM_COLUMN_STRING},
                                                {.kind = SEAM_COLUMN_BINARY},
                                                {.kind = SEAM_COLUMN_DATE},
                                                {.kind = SEAM_COLUMN_DECIMAL128, .precision = 38}};
static const char *const FORMATS[] = {"l", "g", "u", "i", "f",   "s",     "c",
                                      "b", "z", "U", "Z", "tdD", "d:38,0"};

static uint32_t fnv(const struct cell *cell, int is_date) {
    uint32_t state = UINT32_C(0x811C9DC5);
    struct cell fed = *cell;
    if (!cell->valid) {
        return state ^ (UINT32_C(0x9e3779b9) + (state << 6) + (state >> 2));
    }
    if (is_date) { /* a Julian day */
        uint32_t day;
        memcpy(&day, fed.bytes, 4);
        day += SEAM_JULIAN_EPOCH;
        memcpy(fed.bytes, &day, 4);
    }
    for (int i = 0; i < fed.size; i++) {
        state = (state ^ fed.bytes[i]) * UINT32_C(0x01000193);
    }
    return state;
}

/* The same values as a dictionary of all of them, the last one first. */
static struct column encoded(struct pool *pool, struct column column) {
    int rows = (int)column.array->length;
    struct cell numbers[BATCH_ROWS], values[BATCH_ROWS];
    for (int i = 0; i < rows; i++) {
        values[rows - 1 - i] = cell_at(column.schema, column.array, i);
        numbers[i] = (struct cell){1, 4, {(uint8_t)(rows - 1 - i)}};
    }
    struct column made = flat_of(pool, "i", numbers, rows, 3, 0);
    struct column words = flat_of(pool, column.schema->format, values, rows, 5, 1);
    made.schema->dictionary = words.schema;
    made.array->dictionary = words.array;
    return made;
}

static int hashes_of(struct pool *pool, const struct seam_partition_rule *rule, struct column key,
                     uint64_t *out) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct column batch = batch_of(pool, &key, 1, (int)key.array->length);
    uint32_t *narrow = keep(pool, 4 * BATCH_ROWS);
    struct seam_error error;
    int wide = seam_hash_is_wide(rule->function);
    int code =
        wide ? seam_partition_wide_hash(allocator, rule, batch.schema, batch.array, out, &error)
             : seam_partition_hash(allocator, rule, batch.schema, batch.array, narrow, &error);
    for (int i = 0; !wide && i < BATCH_ROWS; i++) {
        out[i] = narrow[i];
    }
    seam_allocator_release(allocator);
    expect(code == SEAM_OK || code == SEAM_UNSUPPORTED);
    return code;
}

/* The part of a hash with one driver. */
static int32_t part_of(const struct seam_partition_rule *rule, uint64_t hash) {
    uint64_t n = (uint64_t)rule->channels;
    int64_t rest = (int64_t)(int32_t)hash % (int64_t)n;
    switch (rule->reduce) {
    case SEAM_REDUCE_MULTIPLY:
        return (int32_t)(hash * n >> 32);
    case SEAM_REDUCE_MODULO:
        return (int32_t)(hash % n);
    case SEAM_REDUCE_SIGNED:
        return (int32_t)(rest < 0 ? rest + (int64_t)n : rest);
    default:
        return rule->function == SEAM_HASH_VELOX
                   ? (int32_t)(hash % n)
                   : (int32_t)((hash ^ hash >> 32) % (UINT64_C(1) << 32) * n >> 32);
    }
}

/* Rows [begin, end) of `out` are those of the batches that belong to a part, from the one on that
 * `at` names. */
static void check_rows(const struct column *batches, int32_t parts[BATCHES][BATCH_ROWS],
                       const struct ArrowSchema *plain, const struct ArrowArray *out, int64_t begin,
                       int64_t end, int32_t part, int *at) {
    for (int64_t row = begin; row < end; row++) {
        while (parts[*at / BATCH_ROWS][*at % BATCH_ROWS] != part) {
            *at += 1;
            expect(*at < BATCHES * BATCH_ROWS);
        }
        const struct column *batch = &batches[*at / BATCH_ROWS];
        expect_same_row(plain, out, row, batch->schema, batch->array, *at % BATCH_ROWS);
        *at += 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct pool pool = {.n = 0};
    struct seam_error error;
    uint8_t options = take(&input), counts = take(&input);
    int kind = options % 13, function = take(&input) % 6, all = 0;
    int32_t key = 0, parts[BATCHES][BATCH_ROWS];
    const struct seam_partition_rule rule = {.function = function,
                                             .reduce = function >= SEAM_HASH_PRESTO
                                                           ? SEAM_REDUCE_OWN
                                                           : options >> 4 & 3 & ~(options >> 5),
                                             .channels = 1 + (counts & 7),
                                             .drivers = 1,
                                             .keys = &key,
                                             .types = &TYPES[kind],
                                             .n_keys = 1,
                                             .chunk_rows = 1 + (counts >> 3)};
    struct column batches[BATCHES];
    struct column like = random_column(&pool, &input, 2 * BATCH_ROWS, 2, 1);
    memset(parts, 0xff, sizeof parts);
    int32_t per_part[MOST_PARTS] = {0};
    for (int b = 0; b < BATCHES; b++) {
        int rows = take(&input) & 15;
        uint64_t hashes[BATCH_ROWS], again[BATCH_ROWS];
        struct cell numbers[BATCH_ROWS];
        struct column keys = random_flat(&pool, &input, FORMATS[kind], rows, 1);
        int code = hashes_of(&pool, &rule, keys, hashes);
        expect(code == hashes_of(&pool, &rule, encoded(&pool, keys), again));
        if (code != SEAM_OK) {
            drop(&pool);
            return 0;
        }
        for (int i = 0; i < rows; i++, all++) {
            struct cell cell = cell_at(keys.schema, keys.array, i);
            expect(hashes[i] == again[i]);
            expect(function != SEAM_HASH_FNV || hashes[i] == fnv(&cell, FORMATS[kind][0] == 't'));
            numbers[i] = (struct cell){1, 4, {(uint8_t)all}};
            parts[b][i] = part_of(&rule, hashes[i]);
            per_part[parts[b][i]] += 1;
        }
        struct column any = {like.schema, keep(&pool, sizeof *any.array)};
        *any.array = *like.array;
        any.array->offset += b * BATCH_ROWS;
        any.array->length = rows;
        const struct column columns[COLUMNS] = {keys, flat_of(&pool, "i", numbers, rows, b, 0),
                                                any};
        batches[b] = batch_of(&pool, columns, COLUMNS, rows);
    }
    struct ArrowSchema *plain = plain_schema(&pool, batches[0].schema);
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_partitioner *partitioner;
    struct ArrowArray out;
    int32_t starts[MOST_PARTS + 1], part;
    int at[MOST_PARTS] = {0}, found = 0;
    int64_t size_bytes;
    expect(seam_partitioner_new(allocator, &rule, &partitioner, &error) == SEAM_OK);
    for (int b = 0; b < BATCHES; b++) {
        expect(seam_partitioner_split(partitioner, batches[b].schema, batches[b].array, starts,
                                      &out, &error) == SEAM_OK);
        expect(out.length == batches[b].array->length && starts[rule.channels] == out.length);
        for (part = 0; part < rule.channels; part++) {
            int first = b * BATCH_ROWS;
            check_rows(batches, parts, plain, &out, starts[part], starts[part + 1], part, &first);
        }
        seam_array_release(&out);
        expect(seam_partitioner_append(partitioner, batches[b].schema, batches[b].array, &error) ==
               SEAM_OK);
    }
    expect(seam_partitioner_flush(partitioner, -1, &error) == SEAM_OK);
    while (seam_partitioner_next(partitioner, &part, &size_bytes, &out)) {
        expect(out.length > 0 && (out.length <= rule.chunk_rows || out.length <= BATCH_ROWS));
        check_rows(batches, parts, plain, &out, 0, out.length, part, &at[part]);
        per_part[part] -= (int32_t)out.length;
        found += (int)out.length;
        seam_array_release(&out);
    }
    expect(found == all);
    for (part = 0; part < rule.channels; part++) {
        expect(per_part[part] == 0);
    }
    seam_partitioner_free(partitioner);
    seam_allocator_release(allocator);
    drop(&pool);
    return 0;
}
