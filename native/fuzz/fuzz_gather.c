/* Rows of batches taken into new columns, against the same rows read one by one: flat and nested
 * columns, dictionaries and runs, in any order and in pieces; and all rows of a batch ordered by
 * part.
 *
 * Input: a byte of options, one for the counts, the columns, then a byte for each row and piece. */
#include "seam/gather.h"

#include "columns.h"

enum { COLUMNS = 2, BATCHES = 2, TAKEN = 64 };

static void check(struct pool *pool, struct seam_gather *gather, const struct column *batches,
                  const int *from, const int32_t *rows, int n) {
    struct seam_error error;
    struct ArrowArray out;
    expect(seam_gather_rows(gather) == n);
    expect(seam_gather_finish(gather, &out, &error) == SEAM_OK && out.length == n);
    struct ArrowSchema *plain = plain_schema(pool, batches[0].schema);
    for (int i = 0; i < n; i++) {
        expect_same_row(plain, &out, i, batches[from[i]].schema, batches[from[i]].array, rows[i]);
    }
    seam_array_release(&out);
}

static void reorder(struct pool *pool, struct seam_gather *gather, const struct column *batch,
                    const struct seam_node *node, struct input *input) {
    int n = (int)batch->array->length, n_parts = 1 + take(input) % 4, at = 0;
    uint32_t *parts = keep(pool, 4 * (size_t)n);
    int32_t *starts = keep(pool, 4 * (size_t)(n_parts + 1)), *rows = keep(pool, 4 * (size_t)n);
    int32_t *positions = keep(pool, 4 * (size_t)n);
    int from[MOST_ROWS] = {0};
    struct seam_error error;
    for (int i = 0; i < n; i++) {
        parts[i] = take(input) % (uint32_t)n_parts;
    }
    for (int part = 0; part < n_parts; part++) {
        starts[part] = at;
        for (int i = 0; i < n; i++) {
            if (parts[i] == (uint32_t)part) {
                positions[i] = at;
                rows[at++] = i;
            }
        }
    }
    starts[n_parts] = n;
    const struct seam_gather_order order = {parts, starts, rows, positions, n};
    for (int column = 0; column < COLUMNS; column++) {
        expect(seam_gather_reorder(gather, node, column, &order, &error) == SEAM_OK);
    }
    seam_gather_advance(gather, n);
    check(pool, gather, batch, from, rows, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct pool pool = {.n = 0};
    struct seam_error error;
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_gather *gather;
    struct column batches[BATCHES];
    struct seam_node *nodes[BATCHES];
    uint8_t options = take(&input), counts = take(&input);
    struct column columns[COLUMNS];
    int length = counts & 15;
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = random_column(&pool, &input, length, 2, 1);
    }
    for (int i = 0; i < BATCHES; i++) { /* the same columns, the second time from another row on */
        batches[i] = batch_of(&pool, columns, COLUMNS, i > 0 && length > 0 ? length - 1 : length);
        batches[i].array->offset = i > 0 && length > 0;
        expect(seam_node_open(allocator, batches[i].schema, batches[i].array, &nodes[i], &error) ==
               SEAM_OK);
    }
    expect(seam_gather_new(allocator, nodes[0], options & 15, &gather, &error) == SEAM_OK);
    for (int round = 0; round < 2; round++) {
        int from[TAKEN], n = 0;
        int32_t rows[TAKEN];
        for (int pieces = take(&input) % 4; pieces > 0; pieces--) {
            int batch = take(&input) & 1, count = take(&input) % BATCH_ROWS;
            int most = (int)batches[batch].array->length;
            count = most > 0 ? count : 0;
            for (int i = 0; i < count; i++) {
                from[n + i] = batch;
                rows[n + i] = take(&input) % most;
            }
            for (int column = 0; column < COLUMNS; column++) {
                expect(seam_gather_append(gather, nodes[batch], column, rows + n, count, &error) ==
                       SEAM_OK);
            }
            seam_gather_advance(gather, count);
            n += count;
        }
        check(&pool, gather, batches, from, rows, n);
        reorder(&pool, gather, &batches[0], nodes[0], &input);
    }
    seam_gather_free(gather);
    seam_node_close(nodes[0]);
    seam_node_close(nodes[1]);
    seam_allocator_release(allocator);
    drop(&pool);
    return 0;
}
