/* Merging sorted runs: which rows are left, what is refused, and memory that runs out. */
#include "seam/merge.h"
#include "seam/runs.h"

#include "check.h"
#include "sample.h"

#include <string.h>

static struct seam_error error;

/* A batch of a key and an order, both longs. */
struct batch {
    struct sample key, order, all;
};

static void make_rows(struct batch *batch, const int64_t *keys, const int64_t *order,
                      int64_t rows) {
    make(&batch->key, "l", "column", rows, NULL, keys, NULL);
    make(&batch->order, "l", "column", rows, NULL, order, NULL);
    make_batch(&batch->all, rows, &batch->key, &batch->order);
}

static const int64_t KEYS[3][4] = {{-3, 1, 2, 9}, {1, 2, 3, 4}, {2, 4, 9, 10}};
static const int64_t ORDER[3][4] = {{0, 0, 5, 0}, {1, 1, 1, 1}, {2, 2, -1, 2}};
static const int8_t KINDS[3][4] = {{0, 0, 0, 0}, {0, 2, 0, 3}, {1, 3, 0, 0}};

/* Two batches of two rows from each run, given when they are wanted. Of key 2 the row of the base
 * is the last, of key 4 the last row is a retract, of key 9 the base's is the last. */
static int merge_last(struct seam_allocator *allocator, struct seam_error *failure) {
    static struct batch batches[3][2];
    const struct seam_runs_options options = {
        .n_runs = 3, .base = 0, .n_keys = 1, .n_order = 1, .pick = SEAM_RUNS_LAST};
    struct seam_runs *runs;
    int given[3] = {0, 0, 0};
    int32_t sources[4] = {7, 7, 7, 7};
    int64_t beside = 0, taken = 0;
    int code = seam_runs_new(allocator, &options, &runs, failure);
    while (code == SEAM_OK) {
        int32_t wanted = seam_runs_wants(runs);
        struct seam_runs_rows out = {.count = 0};
        if (wanted >= 0 && given[wanted] == 2) {
            code = seam_runs_end(runs, wanted, failure);
        } else if (wanted >= 0) {
            int at = 2 * given[wanted];
            struct batch *batch = &batches[wanted][given[wanted]++];
            make_rows(batch, KEYS[wanted] + at, ORDER[wanted] + at, 2);
            code = seam_runs_add(runs, wanted, &batch->all.schema, &batch->all.array,
                                 KINDS[wanted] + at, wanted == 0 ? sources + at : NULL, failure);
        } else {
            code = seam_runs_next(runs, 1, &out, failure);
            int over = 1;
            for (int i = 0; i < 3; i++) {
                over = over && given[i] == 2;
            }
            for (int64_t i = 0; code == SEAM_OK && i < out.count; i++) {
                beside += out.marks[i] == 0;
                taken += out.marks[i] == 1;
            }
            if (code == SEAM_OK && over && out.count == 0 && seam_runs_wants(runs) < 0 &&
                taken + beside >= 3) {
                break;
            }
        }
    }
    if (code == SEAM_OK) {
        const int32_t expected[4] = {SEAM_SOURCE_BASE, 0, SEAM_SOURCE_BASE, SEAM_SOURCE_BASE};
        CHECK(memcmp(sources, expected, sizeof expected) == 0);
        CHECK(taken == 1);  /* key 1 */
        CHECK(beside == 2); /* keys 3 and 10 */
    }
    seam_runs_free(runs);
    return code;
}

static void last_rows_are_left_and_nothing_else_when_memory_runs_out(void) {
    check_every_allocation(merge_last);
}

static void all_rows_come_out_in_order(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    const struct seam_runs_options options = {.n_runs = 2,
                                              .base = -1,
                                              .n_keys = 1,
                                              .n_order = 1,
                                              .descending = 1,
                                              .ignores_retracts = 1,
                                              .pick = SEAM_RUNS_ALL};
    static struct batch batches[2];
    struct seam_runs *runs;
    struct seam_runs_rows out;
    CHECK_OK(seam_runs_new(allocator, &options, &runs, &error));
    for (int32_t i = 0; i < 2; i++) {
        make_rows(&batches[i], KEYS[i], ORDER[i], 4);
        CHECK_OK(seam_runs_add(runs, i, &batches[i].all.schema, &batches[i].all.array, KINDS[i],
                               NULL, &error));
    }
    CHECK_OK(seam_runs_next(runs, 100, &out, &error));
    /* Keys -3, 1 (descending: the larger order is older), 2, 3; then 4, a retract, is passed over.
     */
    const int32_t of_runs[6] = {0, 1, 0, 0, 1, 1};
    const int32_t rows[6] = {0, 0, 1, 2, 1, 2};
    const uint8_t marks[6] = {1, 1, 0, 1, 0, 1};
    CHECK(out.count == 6);
    CHECK(memcmp(out.runs, of_runs, sizeof of_runs) == 0);
    CHECK(memcmp(out.rows, rows, sizeof rows) == 0);
    CHECK(memcmp(out.marks, marks, sizeof marks) == 0);
    CHECK(seam_runs_wants(runs) == 1);
    CHECK_OK(seam_runs_end(runs, 1, &error));
    CHECK_OK(seam_runs_next(runs, 100, &out, &error));
    CHECK(out.count == 1 && out.rows[0] == 3 && seam_runs_wants(runs) == 0);
    seam_runs_free(runs);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static void what_does_not_ascend_or_is_not_wanted_is_refused(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_runs_options options = {
        .n_runs = 1, .base = -1, .n_keys = 1, .n_order = 1, .pick = SEAM_RUNS_ALL};
    static struct batch batch;
    struct seam_runs *runs;
    struct seam_runs_rows out;
    const int64_t twice[2] = {2, 2}, below[1] = {1}, fine[1] = {5};
    CHECK_OK(seam_runs_new(allocator, &options, &runs, &error));
    make_rows(&batch, twice, twice, 2);
    CHECK(seam_runs_add(runs, 0, &batch.all.schema, &batch.all.array, NULL, NULL, &error) ==
          SEAM_BAD_INPUT);
    make_rows(&batch, fine, fine, 1);
    CHECK_OK(seam_runs_add(runs, 0, &batch.all.schema, &batch.all.array, NULL, NULL, &error));
    CHECK(seam_runs_add(runs, 0, &batch.all.schema, &batch.all.array, NULL, NULL, &error) ==
          SEAM_BAD_ARGUMENT);
    CHECK_OK(seam_runs_next(runs, 10, &out, &error));
    make_rows(&batch, below, below, 1);
    CHECK(seam_runs_add(runs, 0, &batch.all.schema, &batch.all.array, NULL, NULL, &error) ==
          SEAM_BAD_INPUT);
    seam_runs_free(runs);
    options.n_keys = 0;
    CHECK(seam_runs_new(allocator, &options, &runs, &error) == SEAM_BAD_ARGUMENT && runs == NULL);
    seam_allocator_release(allocator);
}

int main(void) {
    last_rows_are_left_and_nothing_else_when_memory_runs_out();
    all_rows_come_out_in_order();
    what_does_not_ascend_or_is_not_wanted_is_refused();
    return 0;
}
