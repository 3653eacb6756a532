/* Merging sorted inputs: order, ties, what is refused, and what is left when memory runs out. */
#include "seam/arrow_build.h"
#include "seam/sorted_merge.h"

#include "check.h"
#include "sample.h"

#include <string.h>

static struct seam_error error;

/* A batch of one column of longs. */
struct batch {
    struct sample key, all;
};

static void make_rows(struct batch *batch, const int64_t *values, int64_t rows) {
    make(&batch->key, "l", "key", rows, NULL, values, NULL);
    make_batch(&batch->all, rows, &batch->key, NULL);
}

static const struct seam_order_key ORDER[] = {{.column = 0, .descending = 0, .nulls_first = 0}};
static const int64_t VALUES[3][4] = {{-5, 1, 1, 9}, {-6, 1, 2, 3}, {0, 0, 0, 10}};
static const int64_t MERGED[12] = {-6, -5, 0, 0, 0, 1, 1, 1, 2, 3, 9, 10};

/* Two batches of two rows from each of three inputs, told when they are wanted. */
static int merge_all(struct seam_allocator *allocator, struct seam_error *failure) {
    struct seam_sorted_merge *merge;
    static struct batch batches[3][2];
    int given[3] = {0, 0, 0};
    int64_t n = 0;
    int code = seam_sorted_merge_new(allocator, ORDER, 1, 3, 5, &merge, failure);
    while (code == SEAM_OK) {
        int32_t wanted = seam_sorted_merge_wants(merge);
        struct ArrowArray chunk;
        int32_t got = 0;
        if (wanted >= 0 && given[wanted] == 2) {
            code = seam_sorted_merge_end(merge, wanted, failure);
        } else if (wanted >= 0) {
            struct batch *batch = &batches[wanted][given[wanted]];
            make_rows(batch, VALUES[wanted] + 2 * given[wanted], 2);
            given[wanted] += 1;
            code = seam_sorted_merge_add(merge, wanted, &batch->all.schema, &batch->all.array,
                                         failure);
        } else {
            code = seam_sorted_merge_next(merge, &chunk, &got, failure);
            if (code == SEAM_OK && !got && seam_sorted_merge_wants(merge) < 0) {
                break;
            }
        }
        if (code == SEAM_OK && got) {
            const int64_t *keys = chunk.children[0]->buffers[1];
            for (int64_t i = 0; i < chunk.length; i++) {
                CHECK(keys[i] == MERGED[n + i]);
            }
            n += chunk.length;
            seam_array_release(&chunk);
        }
    }
    CHECK(code != SEAM_OK || n == 12);
    seam_sorted_merge_free(merge);
    return code;
}

static void rows_come_in_order_and_nothing_is_left_when_memory_runs_out(void) {
    check_every_allocation(merge_all);
}

static void what_is_not_sorted_or_wanted_is_refused(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_sorted_merge *merge;
    static struct batch batch;
    const int64_t values[2] = {2, 1};
    make_rows(&batch, values, 2);
    CHECK_OK(seam_sorted_merge_new(allocator, ORDER, 1, 1, 5, &merge, &error));
    CHECK(seam_sorted_merge_add(merge, 0, &batch.all.schema, &batch.all.array, &error) ==
          SEAM_BAD_INPUT);
    CHECK(seam_sorted_merge_end(merge, 1, &error) == SEAM_BAD_ARGUMENT);
    seam_sorted_merge_free(merge);
    CHECK(seam_sorted_merge_new(allocator, ORDER, 1, 0, 5, &merge, &error) == SEAM_BAD_ARGUMENT);
    CHECK(merge == NULL && live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Two inputs in turns, the second told by bounds alone before its last row. */
static int merge_bounded(struct seam_allocator *allocator, struct seam_error *failure) {
    struct seam_sorted_merge *merge;
    static struct batch first, bound, last;
    static const int64_t rows[4] = {1, 5, 5, 8}, bounds[3] = {2, 5, 5}, end[1] = {5};
    static const int64_t want[5] = {1, 5, 5, 5, 8};
    struct ArrowArray chunk;
    int32_t got = 0;
    make_rows(&first, rows, 4);
    int code = seam_sorted_merge_new(allocator, ORDER, 1, 2, 5, &merge, failure);
    if (code == SEAM_OK) {
        code = seam_sorted_merge_add(merge, 0, &first.all.schema, &first.all.array, failure);
    }
    for (int i = 0; code == SEAM_OK && i < 3; i++) {
        CHECK(seam_sorted_merge_wants(merge) == 1);
        make_rows(&bound, bounds + i, 1);
        code = seam_sorted_merge_bound(merge, 1, &bound.all.schema, &bound.all.array, failure);
        if (code == SEAM_OK) {
            CHECK(seam_sorted_merge_wants(merge) == -1 || i == 2);
            code = seam_sorted_merge_next(merge, &chunk, &got, failure);
            CHECK(!got);
        }
    }
    make_rows(&last, end, 1);
    if (code == SEAM_OK) {
        code = seam_sorted_merge_add(merge, 1, &last.all.schema, &last.all.array, failure);
    }
    for (int32_t i = 0; code == SEAM_OK && !got; i++) {
        int32_t wanted = seam_sorted_merge_wants(merge);
        code = wanted >= 0 ? seam_sorted_merge_end(merge, wanted, failure)
                           : seam_sorted_merge_next(merge, &chunk, &got, failure);
    }
    if (code == SEAM_OK) {
        CHECK(chunk.length == 5 && memcmp(chunk.children[0]->buffers[1], want, sizeof want) == 0);
        seam_array_release(&chunk);
    }
    seam_sorted_merge_free(merge);
    return code;
}

static void bounds_let_the_rows_of_others_go(void) {
    check_every_allocation(merge_bounded);
}

static void what_comes_before_its_bound_is_refused(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_sorted_merge *merge;
    static struct batch batch;
    const int64_t values[2] = {2, 1};
    CHECK_OK(seam_sorted_merge_new(allocator, ORDER, 1, 1, 5, &merge, &error));
    make_rows(&batch, values, 1);
    CHECK_OK(seam_sorted_merge_bound(merge, 0, &batch.all.schema, &batch.all.array, &error));
    make_rows(&batch, values + 1, 1);
    CHECK(seam_sorted_merge_add(merge, 0, &batch.all.schema, &batch.all.array, &error) ==
          SEAM_BAD_INPUT);
    CHECK(seam_sorted_merge_bound(merge, 0, &batch.all.schema, &batch.all.array, &error) ==
          SEAM_BAD_INPUT);
    make_rows(&batch, values, 2);
    CHECK(seam_sorted_merge_bound(merge, 0, &batch.all.schema, &batch.all.array, &error) ==
          SEAM_BAD_ARGUMENT);
    seam_sorted_merge_free(merge);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

int main(void) {
    rows_come_in_order_and_nothing_is_left_when_memory_runs_out();
    what_is_not_sorted_or_wanted_is_refused();
    bounds_let_the_rows_of_others_go();
    what_comes_before_its_bound_is_refused();
    return 0;
}
