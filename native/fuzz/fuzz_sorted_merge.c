/* Sorted inputs merged into one order, against all of their rows sorted by insertion: keys of any
 * flat type, both directions, nulls at either end, in batches of any length. What is not sorted is
 * refused.
 *
 * Input: a byte of options, one for each key and for the counts, the columns, then a byte a batch.
 */
#include "seam/sorted_merge.h"

#include "columns.h"

enum { INPUTS = 3, KEYS = 2 };

struct rows {
    struct column columns[KEYS + 1]; /* the keys, and the numbers of the rows */
    int order[BATCH_ROWS];
    int count;
    int given;
};

static int compare_rows(const struct seam_order_key *keys, int n_keys, const struct rows *a, int i,
                        const struct rows *b, int k) {
    for (int n = 0; n < n_keys; n++) {
        const struct ArrowSchema *schema = a->columns[n].schema;
        struct cell x = cell_at(schema, a->columns[n].array, i);
        struct cell y = cell_at(schema, b->columns[n].array, k);
        if (x.valid != y.valid) {
            return keys[n].nulls_first ? x.valid - y.valid : y.valid - x.valid;
        }
        int sign = x.valid ? compare_cells(schema->format, &x, &y, 0) : 0;
        if (sign != 0) {
            return keys[n].descending ? -sign : sign;
        }
    }
    return 0;
}

/* The rows of an input as it gives them: in order, but for one swap where `swaps`. */
static void sort_rows(struct pool *pool, struct rows *rows, const struct seam_order_key *keys,
                      int n_keys, int swaps) {
    for (int i = 0; i < rows->count; i++) {
        int at = i;
        for (; at > 0 && compare_rows(keys, n_keys, rows, rows->order[at - 1], rows, i) > 0; at--) {
            rows->order[at] = rows->order[at - 1];
        }
        rows->order[at] = i;
    }
    if (swaps && rows->count > 1) {
        int last = rows->order[rows->count - 1];
        rows->order[rows->count - 1] = rows->order[0];
        rows->order[0] = last;
    }
    for (int n = 0; n <= n_keys; n++) {
        struct cell cells[BATCH_ROWS];
        struct column column = rows->columns[n];
        for (int i = 0; i < rows->count; i++) {
            cells[i] = cell_at(column.schema, column.array, rows->order[i]);
        }
        rows->columns[n] = flat_of(pool, column.schema->format, cells, rows->count, 0, 0);
    }
}

/* The next rows of an input, as a batch with columns of its own. */
static struct column next_batch(struct pool *pool, struct rows *rows, int n_columns, uint8_t byte) {
    struct column columns[KEYS + 1];
    int left = rows->count - rows->given, count = 1 + byte % 4;
    count = count < left ? count : left;
    for (int n = 0; n < n_columns; n++) {
        struct cell cells[BATCH_ROWS];
        for (int i = 0; i < count; i++) {
            cells[i] = cell_at(rows->columns[n].schema, rows->columns[n].array, rows->given + i);
        }
        columns[n] =
            flat_of(pool, rows->columns[n].schema->format, cells, count, byte >> 4, byte >> 2 & 3);
    }
    rows->given += count;
    return batch_of(pool, columns, n_columns, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct pool pool = {.n = 0};
    struct seam_error error;
    struct seam_order_key order[KEYS];
    struct rows inputs[INPUTS], all[INPUTS * BATCH_ROWS];
    const char *formats[KEYS];
    uint8_t options = take(&input);
    int n_keys = 1 + (options & 1), n_inputs = 1 + (options >> 1) % 3, sorted = 1, n_all = 0;
    for (int n = 0; n < KEYS; n++) {
        uint8_t byte = take(&input);
        formats[n] = FLAT[byte & 15];
        order[n] = (struct seam_order_key){n, byte >> 4 & 1, byte >> 5 & 1};
    }
    for (int i = 0; i < n_inputs; i++) {
        uint8_t byte = take(&input);
        struct rows *rows = &inputs[i];
        *rows = (struct rows){.count = byte & 15};
        struct cell numbers[BATCH_ROWS];
        for (int row = 0; row < rows->count; row++) {
            numbers[row] = (struct cell){1, 4, {(uint8_t)row, (uint8_t)i}};
        }
        for (int n = 0; n < n_keys; n++) {
            rows->columns[n] = random_flat(&pool, &input, formats[n], rows->count, 1);
        }
        rows->columns[n_keys] = flat_of(&pool, "i", numbers, rows->count, 0, 0);
        sort_rows(&pool, rows, order, n_keys, byte >> 4 == 15);
        for (int row = 0; row < rows->count; row++) { /* behind those of earlier inputs */
            sorted &= row == 0 || compare_rows(order, n_keys, rows, row - 1, rows, row) <= 0;
            int at = n_all++;
            for (; at > 0 &&
                   compare_rows(order, n_keys, &all[at - 1], all[at - 1].given, rows, row) > 0;
                 at--) {
                all[at] = all[at - 1];
            }
            all[at] = *rows;
            all[at].given = row;
        }
    }
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_sorted_merge *merge;
    int chunk_rows = 1 + (options >> 4), at = 0, code = SEAM_OK, got = 1;
    expect(seam_sorted_merge_new(allocator, order, n_keys, n_inputs, chunk_rows, &merge, &error) ==
           SEAM_OK);
    while (code == SEAM_OK) {
        int32_t wanted = seam_sorted_merge_wants(merge);
        struct ArrowArray out;
        if (wanted >= 0 && inputs[wanted].given < inputs[wanted].count) {
            struct column batch = next_batch(&pool, &inputs[wanted], n_keys + 1, take(&input));
            code = seam_sorted_merge_add(merge, wanted, batch.schema, batch.array, &error);
            continue;
        }
        if (wanted >= 0) {
            code = seam_sorted_merge_end(merge, wanted, &error);
            continue;
        }
        code = seam_sorted_merge_next(merge, &out, &got, &error);
        if (code == SEAM_OK && got) {
            expect(out.length == (n_all - at < chunk_rows ? n_all - at : chunk_rows) || !sorted);
            for (int64_t row = 0; sorted && row < out.length; row++, at++) {
                for (int n = 0; n <= n_keys; n++) {
                    struct column column = all[at].columns[n];
                    expect_same_row(column.schema, out.children[n], row, column.schema,
                                    column.array, all[at].given);
                }
            }
            seam_array_release(&out);
        } else if (code == SEAM_OK && seam_sorted_merge_wants(merge) < 0) {
            break;
        }
    }
    expect(code == (sorted ? SEAM_OK : SEAM_BAD_INPUT));
    expect(at == n_all || !sorted);
    seam_sorted_merge_free(merge);
    seam_allocator_release(allocator);
    drop(&pool);
    return 0;
}
