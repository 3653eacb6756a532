/* Dealing rows to parts: order, counts, growth, and what is left when memory runs out. */
#include "seam/arrow_build.h"
#include "seam/hash.h"
#include "seam/partition.h"

#include "check.h"
#include "sample.h"

#include <string.h>

static struct seam_error error;

enum { ROWS = 300 };

/* A batch of a key and a text. */
struct batch {
    int64_t keys[ROWS];
    int32_t offsets[ROWS + 1];
    char text[ROWS * 8];
    struct sample key, texts, all;
};

static void make_rows(struct batch *batch) {
    batch->offsets[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        int size = i % 7;
        batch->keys[i] = i;
        memset(batch->text + batch->offsets[i], 'a' + i % 26, (size_t)size);
        batch->offsets[i + 1] = batch->offsets[i] + size;
    }
    make(&batch->key, "l", "key", ROWS, NULL, batch->keys, NULL);
    make(&batch->texts, "u", "text", ROWS, NULL, batch->offsets, batch->text);
    make_batch(&batch->all, ROWS, &batch->key, &batch->texts);
}

static const int32_t KEYS[] = {0};
static const struct seam_column_type TYPES[] = {
    {.kind = SEAM_COLUMN_LONG, .precision = 0, .scale = 0, .n_children = 0, .children = NULL}};

static struct seam_partition_rule rule_of(int32_t channels, int64_t chunk_rows) {
    return (struct seam_partition_rule){.function = SEAM_HASH_FNV,
                                        .reduce = SEAM_REDUCE_MULTIPLY,
                                        .channels = channels,
                                        .drivers = 1,
                                        .keys = KEYS,
                                        .types = TYPES,
                                        .n_keys = 1,
                                        .chunk_rows = chunk_rows};
}

/* Rows of a chunk come in order, carry their text, and belong to its part. */
static int64_t check_chunk(const struct ArrowArray *chunk, int32_t part, int32_t channels,
                           int64_t *last) {
    const int64_t *keys = chunk->children[0]->buffers[1];
    const int32_t *offsets = chunk->children[1]->buffers[1];
    const char *text = chunk->children[1]->buffers[2];
    for (int64_t i = 0; i < chunk->length; i++) {
        uint32_t hash = seam_fnv1a(seam_hash_start(SEAM_HASH_FNV), (const uint8_t *)&keys[i], 8);
        CHECK((int32_t)((uint64_t)hash * (uint64_t)channels >> 32) == part);
        CHECK(keys[i] > last[part]);
        last[part] = keys[i];
        CHECK(offsets[i + 1] - offsets[i] == keys[i] % 7);
        for (int32_t at = offsets[i]; at < offsets[i + 1]; at++) {
            CHECK(text[at] == 'a' + keys[i] % 26);
        }
    }
    return chunk->length;
}

static int deal(struct seam_allocator *allocator, struct seam_error *out) {
    static struct batch batch;
    enum { CHANNELS = 5 };
    struct seam_partition_rule rule = rule_of(CHANNELS, 20);
    struct seam_partitioner *partitioner;
    int64_t last[CHANNELS] = {-1, -1, -1, -1, -1};
    int64_t rows = 0;
    make_rows(&batch);
    int code = seam_partitioner_new(allocator, &rule, &partitioner, out);
    if (code != SEAM_OK) {
        return code;
    }
    code = seam_partitioner_append(partitioner, &batch.all.schema, &batch.all.array, out);
    if (code == SEAM_OK) {
        code = seam_partitioner_flush(partitioner, -1, out);
    }
    int32_t part;
    int64_t size_bytes = 0;
    struct ArrowArray chunk;
    while (code == SEAM_OK && seam_partitioner_next(partitioner, &part, &size_bytes, &chunk)) {
        CHECK(size_bytes > 0);
        rows += check_chunk(&chunk, part, CHANNELS, last);
        seam_array_release(&chunk);
    }
    CHECK(code != SEAM_OK || rows == ROWS);
    seam_partitioner_free(partitioner);
    return code;
}

static void rows_are_dealt_and_nothing_is_left_when_memory_runs_out(void) {
    check_every_allocation(deal);
}

static int split(struct seam_allocator *allocator, struct seam_error *out) {
    static struct batch batch;
    enum { CHANNELS = 5 };
    struct seam_partition_rule rule = rule_of(CHANNELS, 20);
    struct seam_partitioner *partitioner;
    int32_t starts[CHANNELS + 1];
    struct ArrowArray whole;
    make_rows(&batch);
    int code = seam_partitioner_new(allocator, &rule, &partitioner, out);
    for (int turn = 0; code == SEAM_OK && turn < 2; turn++) {
        code = seam_partitioner_split(partitioner, &batch.all.schema, &batch.all.array, starts,
                                      &whole, out);
        if (code == SEAM_OK) {
            int64_t last[CHANNELS] = {-1, -1, -1, -1, -1};
            const int64_t *keys = whole.children[0]->buffers[1];
            CHECK(whole.length == ROWS && starts[0] == 0 && starts[CHANNELS] == ROWS);
            for (int32_t part = 0; part < CHANNELS; part++) {
                struct ArrowArray one = whole;
                struct ArrowArray columns[2] = {*whole.children[0], *whole.children[1]};
                struct ArrowArray *children[2] = {&columns[0], &columns[1]};
                const void *key_buffers[2] = {NULL, keys + starts[part]};
                const void *text_buffers[3] = {
                    NULL, (const int32_t *)whole.children[1]->buffers[1] + starts[part],
                    whole.children[1]->buffers[2]};
                columns[0].buffers = key_buffers;
                columns[1].buffers = text_buffers;
                one.children = children;
                one.length = starts[part + 1] - starts[part];
                check_chunk(&one, part, CHANNELS, last);
            }
            seam_array_release(&whole);
        }
    }
    seam_partitioner_free(partitioner); /* NULL if there was no memory for one */
    return code;
}

static void batches_are_split_and_nothing_is_left_when_memory_runs_out(void) {
    check_every_allocation(split);
}

/* Chunks that nobody takes go with the partitioner. */
static void chunks_that_wait_are_given_back(void) {
    static struct batch batch;
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_partition_rule rule = rule_of(2, 10);
    struct seam_partitioner *partitioner;
    make_rows(&batch);
    CHECK_OK(seam_partitioner_new(allocator, &rule, &partitioner, &error));
    CHECK_OK(seam_partitioner_append(partitioner, &batch.all.schema, &batch.all.array, &error));
    CHECK_OK(seam_partitioner_append(partitioner, &batch.all.schema, &batch.all.array, &error));
    seam_partitioner_free(partitioner);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Parts of 9, 10 and 11 rows begin at 0, 9 and 19, and keep the order of their rows. */
static void parts_follow_each_other_and_keep_their_order(void) {
    uint32_t parts[30];
    int32_t starts[4], rows[30], left[3] = {9, 10, 11}, next[3] = {0, 9, 19};
    for (int32_t row = 0; row < 30; row++) {
        uint32_t part = (uint32_t)row * 7 % 3;
        while (left[part] == 0) {
            part = (part + 1) % 3;
        }
        left[part] -= 1;
        parts[row] = part;
    }
    seam_partition_sort(parts, 30, 3, starts, rows);
    CHECK(starts[0] == 0 && starts[1] == 9 && starts[2] == 19 && starts[3] == 30);
    for (int32_t row = 0; row < 30; row++) {
        CHECK(rows[next[parts[row]]++] == row);
    }
}

static void rules_that_cannot_be_are_refused(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_partition_rule rule = rule_of(0, 10);
    struct seam_partitioner *partitioner;
    CHECK(seam_partitioner_new(allocator, &rule, &partitioner, &error) == SEAM_BAD_ARGUMENT);
    rule = rule_of(2, 10);
    rule.reduce = 9;
    CHECK(seam_partitioner_new(allocator, &rule, &partitioner, &error) == SEAM_BAD_ARGUMENT);
    CHECK(partitioner == NULL && live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

int main(void) {
    rows_are_dealt_and_nothing_is_left_when_memory_runs_out();
    batches_are_split_and_nothing_is_left_when_memory_runs_out();
    chunks_that_wait_are_given_back();
    parts_follow_each_other_and_keep_their_order();
    rules_that_cannot_be_are_refused();
    return 0;
}
