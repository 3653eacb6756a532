/* What threads share: one merge that all of them fork, one allocator, blocks that one thread makes
 * and another gives back. A build with ThreadSanitizer tells races; here what comes is right. */
#include "seam/assemble.h"
#include "seam/merge.h"

#include "check.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, EVENTS = 500, ROWS = 2000, ROUNDS = 40 };

struct shared {
    struct seam_allocator *allocator;
    const struct seam_merge *merge;
    struct ArrowSchema *schema; /* of keys, and of the one column that is put together */
    struct ArrowArray *log;
    pthread_mutex_t lock;
    void *handed; /* a block of another thread */
};

static int64_t keys[ROWS], changed[EVENTS];
static int32_t event_rows[EVENTS];

static struct ArrowArray column_of(const void **buffers, const int64_t *values, int64_t rows) {
    buffers[0] = NULL;
    buffers[1] = values;
    return (struct ArrowArray){.length = rows, .n_buffers = 2, .buffers = buffers};
}

/* Merges all rows by a fork of its own: row i is replaced if i is even and half of it an event. */
static void merge_rows(struct shared *shared) {
    struct seam_error error;
    const void *buffers[2];
    struct ArrowArray column = column_of(buffers, keys, ROWS), *columns[1] = {&column};
    struct ArrowArray base = {.length = ROWS, .n_children = 1, .children = columns}, out;
    struct seam_merge *fork;
    struct seam_plan *plan;
    int32_t sources[ROWS];
    CHECK_OK(seam_merge_fork(shared->allocator, shared->merge, &fork, &error));
    CHECK_OK(seam_merge_probe(fork, shared->schema, &base, NULL, NULL, sources, NULL, &error));
    for (int i = 0; i < ROWS; i++) {
        CHECK(sources[i] == (i % 2 == 0 && i / 2 < EVENTS ? i / 2 : SEAM_SOURCE_BASE));
    }
    CHECK_OK(seam_plan_new(shared->allocator, sources, ROWS, &plan, &error));
    CHECK_OK(seam_assemble(plan, shared->schema->children[0], &column, shared->log->children[0],
                           shared->allocator, &out, &error));
    const int64_t *values = out.buffers[1];
    CHECK(values[0] == 0 && values[2] == 2 && values[ROWS - 1] == ROWS - 1);
    out.release(&out);
    seam_plan_free(plan);
    seam_merge_free(fork);
}

/* Leaves a block for the next thread, and gives back the one that was left. */
static void hand_over(struct shared *shared, int number) {
    struct seam_error error;
    void *block;
    size_t size = (size_t)1 << (6 + number % 14);
    CHECK_OK(seam_alloc(shared->allocator, size, &block, &error));
    memset(block, number, size);
    pthread_mutex_lock(&shared->lock);
    void *left = shared->handed;
    shared->handed = block;
    pthread_mutex_unlock(&shared->lock);
    seam_free(left);
}

static void *work(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        merge_rows(argument);
        hand_over(argument, round);
    }
    return NULL;
}

int main(void) {
    struct seam_error error;
    struct ArrowSchema key = {.format = "l", .name = "k"}, *schemas[1] = {&key};
    struct ArrowSchema schema = {.format = "+s", .n_children = 1, .children = schemas};
    const void *buffers[2];
    for (int i = 0; i < ROWS; i++) {
        keys[i] = i;
    }
    for (int i = 0; i < EVENTS; i++) {
        changed[i] = 2 * i;
        event_rows[i] = i;
    }
    struct ArrowArray column = column_of(buffers, changed, EVENTS), *columns[1] = {&column};
    struct ArrowArray log = {.length = EVENTS, .n_children = 1, .children = columns};
    struct seam_events events = {.keys_schema = &schema, .keys = &log, .rows = event_rows};
    struct shared shared = {
        .allocator = seam_allocator_new(0), .schema = &schema, .log = &log, .handed = NULL};
    struct seam_merge *merge;
    pthread_t threads[THREADS];
    CHECK(pthread_mutex_init(&shared.lock, NULL) == 0);
    CHECK_OK(seam_merge_new(shared.allocator, &events, &merge, &error));
    shared.merge = merge;
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work, &shared) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    seam_free(shared.handed);
    seam_merge_free(merge);
    CHECK(live_blocks(shared.allocator) == 0);
    seam_allocator_release(shared.allocator);
    pthread_mutex_destroy(&shared.lock);
    return 0;
}
