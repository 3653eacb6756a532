/* A tree of pools, and allocators that keep what they have. */
#include "seam/pool.h"

#include "check.h"

#include <pthread.h>
#include <string.h>

static struct seam_error error;

enum { MIB = 1 << 20 };

static struct seam_pool *new_pool(struct seam_pool *parent, const char *name, int64_t limit) {
    struct seam_pool *pool;
    CHECK_OK(seam_pool_new(parent, name, limit, &pool, &error));
    return pool;
}

static struct seam_allocator *new_allocator(struct seam_pool *pool, int32_t keeps) {
    struct seam_allocator *allocator;
    CHECK_OK(seam_allocator_new_in(pool, 0, keeps, &allocator, &error));
    return allocator;
}

static int64_t reserved(struct seam_pool *pool) {
    struct seam_pool_counters counters;
    seam_pool_counters(pool, &counters);
    return counters.reserved_bytes;
}

static void leaves_reserve_in_steps(void) {
    static const struct {
        int64_t used, reserved;
    } CASES[] = {
        {1, MIB},
        {MIB, MIB},
        {MIB + 1, 2 * MIB},
        {15 * MIB + 1, 16 * MIB},
        {16 * MIB + 1, 20 * MIB},
        {63 * MIB, 64 * MIB},
        {64 * MIB + 1, 72 * MIB},
    };
    struct seam_pool *root = new_pool(NULL, "query", 0);
    struct seam_pool *leaf = new_pool(root, "operator", 0);
    struct seam_allocator *allocator = new_allocator(leaf, 0);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        CHECK_OK(seam_reserve(allocator, (size_t)CASES[i].used, &error));
        CHECK(reserved(leaf) == CASES[i].reserved && reserved(root) == CASES[i].reserved);
        seam_unreserve(allocator, (size_t)CASES[i].used);
        CHECK(reserved(leaf) == 0 && reserved(root) == 0);
    }
    CHECK(strcmp(seam_pool_name(leaf), "query.operator") == 0);
    seam_allocator_release(allocator);
    seam_pool_release(leaf);
    seam_pool_release(root);
}

static void a_limit_above_holds_below(void) {
    struct seam_pool *root = new_pool(NULL, "query", 3 * MIB);
    struct seam_pool *task = new_pool(root, "task", 0);
    struct seam_pool *one = new_pool(task, "scan", 0);
    struct seam_pool *two = new_pool(task, "join", 2 * MIB);
    struct seam_allocator *first = new_allocator(one, 0);
    struct seam_allocator *second = new_allocator(two, 0);
    void *block;
    void *more;
    CHECK_OK(seam_alloc(first, 2 * MIB + 1, &block, &error));
    CHECK(reserved(root) == 3 * MIB);
    CHECK(seam_alloc(second, 1, &more, &error) == SEAM_NO_MEMORY);
    CHECK(strstr(error.message, "pool 'query' reached") != NULL);
    CHECK(reserved(two) == 0 && reserved(root) == 3 * MIB);
    seam_free(block);
    CHECK_OK(seam_alloc(first, 2 * MIB, &block, &error));
    CHECK(seam_alloc(second, 2 * MIB + 1, &more, &error) == SEAM_NO_MEMORY);
    CHECK(strstr(error.message, "pool 'query.task.join' reached") != NULL);
    CHECK_OK(seam_alloc(second, MIB / 2, &more, &error)); /* the step fits here */
    seam_free(more);
    seam_free(block);
    CHECK_OK(seam_alloc(first, 3 * MIB - 100, &block, &error));
    struct seam_pool_counters counters;
    seam_pool_counters(root, &counters);
    CHECK(counters.limit_bytes == 3 * MIB && counters.peak_bytes == 3 * MIB);
    seam_pool_release(root); /* whoever is below keeps it */
    seam_pool_release(task);
    seam_pool_release(one);
    seam_pool_release(two);
    seam_allocator_release(first);
    seam_allocator_release(second);
    seam_free(block);
}

static void only_what_is_needed_where_a_step_does_not_fit(void) {
    struct seam_pool *root = new_pool(NULL, "query", 1000);
    struct seam_allocator *allocator = new_allocator(root, 0);
    void *block;
    CHECK_OK(seam_alloc(allocator, 990, &block, &error));
    CHECK(reserved(root) == 990);
    void *more;
    CHECK(seam_alloc(allocator, 11, &more, &error) == SEAM_NO_MEMORY);
    CHECK(strstr(error.message, "990 reserved, 11 more wanted") != NULL);
    seam_free(block);
    seam_allocator_release(allocator);
    CHECK(reserved(root) == 0);
    seam_pool_release(root);
}

static void what_is_promised_stays(void) {
    struct seam_pool *root = new_pool(NULL, "query", 8 * MIB);
    struct seam_pool *leaf = new_pool(root, "a", 0);
    struct seam_pool *other = new_pool(root, "b", 0);
    CHECK_OK(seam_pool_reserve(leaf, 5 * MIB, &error));
    CHECK(reserved(root) == 5 * MIB);
    CHECK(seam_pool_reserve(other, 4 * MIB, &error) == SEAM_NO_MEMORY);
    CHECK(reserved(root) == 5 * MIB && reserved(other) == 0);
    struct seam_allocator *allocator = new_allocator(leaf, 0);
    CHECK_OK(seam_reserve(allocator, 5 * MIB, &error));
    CHECK(reserved(root) == 5 * MIB);
    seam_unreserve(allocator, 5 * MIB);
    CHECK(reserved(root) == 5 * MIB);
    seam_pool_unreserve(leaf);
    CHECK(reserved(root) == 0);
    CHECK(seam_pool_reserve(root, 1, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_pool_reserve(leaf, -1, &error) == SEAM_BAD_ARGUMENT);
    CHECK_OK(seam_pool_reserve(leaf, 1, &error)); /* goes back with the leaf */
    seam_allocator_release(allocator);
    seam_pool_release(leaf);
    CHECK(reserved(root) == 0);
    seam_pool_release(other);
    seam_pool_release(root);
}

static void memory_comes_from_leaves_alone(void) {
    struct seam_pool *root = new_pool(NULL, "query", 0);
    struct seam_pool *leaf = new_pool(root, "a", 0);
    struct seam_allocator *allocator;
    struct seam_pool *below;
    CHECK(seam_allocator_new_in(root, 0, 1, &allocator, &error) == SEAM_BAD_ARGUMENT);
    allocator = new_allocator(leaf, 0);
    CHECK(seam_pool_new(leaf, "b", 0, &below, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_pool_new(root, "", 0, &below, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_pool_new(root, "b", -1, &below, &error) == SEAM_BAD_ARGUMENT);
    char name[SEAM_POOL_NAME_BYTES];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    CHECK(seam_pool_new(root, name, 0, &below, &error) == SEAM_BAD_ARGUMENT);
    seam_allocator_release(allocator);
    below = new_pool(leaf, "b", 0);
    seam_pool_release(below);
    seam_pool_release(leaf);
    allocator = new_allocator(root, 0); /* a leaf again */
    seam_allocator_release(allocator);
    seam_pool_release(root);
}

static void *take_and_give(void *argument) {
    struct seam_error failure;
    for (int i = 0; i < 20000; i++) {
        void *block;
        if (seam_alloc(argument, (size_t)(i * 37 % 3000000), &block, &failure) == SEAM_OK) {
            seam_free(block);
        }
    }
    return NULL;
}

static void threads_count_right(void) {
    struct seam_pool *root = new_pool(NULL, "query", 4 * MIB);
    pthread_t threads[4];
    struct seam_allocator *allocators[4];
    struct seam_pool *leaves[2] = {new_pool(root, "a", 0), new_pool(root, "b", 3 * MIB)};
    for (int i = 0; i < 4; i++) {
        allocators[i] = new_allocator(leaves[i / 2], i % 2);
        CHECK(pthread_create(&threads[i], NULL, take_and_give, allocators[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        seam_allocator_release(allocators[i]);
    }
    struct seam_pool_counters counters;
    seam_pool_counters(root, &counters);
    CHECK(counters.reserved_bytes == 0 && counters.peak_bytes <= 4 * MIB);
    seam_pool_release(leaves[0]);
    seam_pool_release(leaves[1]);
    seam_pool_release(root);
}

/* The same requests again, in another order of giving back. */
static void use(struct seam_allocator *allocator, int turn) {
    void *blocks[30];
    for (int i = 0; i < 30; i++) {
        CHECK_OK(seam_alloc(allocator, (size_t)(i * i * 700), &blocks[i], &error));
        memset(blocks[i], turn, (size_t)(i * i * 700));
    }
    for (int i = 0; i < 30; i++) {
        seam_free(blocks[turn % 2 ? i : 29 - i]);
    }
}

static void kept_blocks_serve_again(void) {
    struct seam_pool *pool = new_pool(NULL, "result", 0);
    struct seam_allocator *allocator = new_allocator(pool, 1);
    struct seam_memory_counters counters;
    use(allocator, 1);
    seam_allocator_counters(allocator, &counters);
    const int64_t fresh = counters.total_blocks;
    const int64_t held = counters.current_bytes;
    CHECK(fresh == 30 && held > 0 && counters.live_blocks == 0);
    use(allocator, 2);
    use(allocator, 3);
    seam_allocator_counters(allocator, &counters);
    CHECK(counters.total_blocks == fresh && counters.current_bytes == held);
    CHECK(reserved(pool) >= held);
    void *block;
    CHECK_OK(seam_alloc(allocator, 1000, &block, &error));
    seam_allocator_release(allocator); /* what was kept goes back, what is alive may live on */
    CHECK(reserved(pool) == MIB);
    seam_free(block);
    CHECK(reserved(pool) == 0);
    seam_pool_release(pool);
}

int main(void) {
    leaves_reserve_in_steps();
    a_limit_above_holds_below();
    only_what_is_needed_where_a_step_does_not_fit();
    what_is_promised_stays();
    memory_comes_from_leaves_alone();
    threads_count_right();
    kept_blocks_serve_again();
    return 0;
}
