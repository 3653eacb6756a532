/* The tracked allocator: counters, limit, alignment, growth, life beyond its owner. */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

static void counters_follow_blocks(void) {
    struct seam_error error;
    struct seam_memory_counters counters;
    struct seam_allocator *allocator = seam_allocator_new(0);
    void *first;
    void *second;
    CHECK_OK(seam_alloc(allocator, 100, &first, &error));
    CHECK_OK(seam_alloc(allocator, 0, &second, &error));
    CHECK((uintptr_t)first % SEAM_ALIGNMENT == 0 && (uintptr_t)second % SEAM_ALIGNMENT == 0);
    seam_allocator_counters(allocator, &counters);
    CHECK(counters.current_bytes == 100 && counters.live_blocks == 2);
    seam_free(first);
    seam_free(second);
    seam_free(NULL);
    seam_allocator_counters(allocator, &counters);
    CHECK(counters.current_bytes == 0 && counters.live_blocks == 0);
    CHECK(counters.peak_bytes == 100 && counters.total_blocks == 2);
    seam_allocator_release(allocator);
}

static void limit_refuses_and_counts_nothing(void) {
    struct seam_error error;
    struct seam_memory_counters counters;
    struct seam_allocator *allocator = seam_allocator_new(1000);
    void *block;
    CHECK_OK(seam_alloc(allocator, 1000, &block, &error));
    void *more = NULL;
    CHECK(seam_alloc(allocator, 1, &more, &error) == SEAM_NO_MEMORY);
    CHECK(strstr(error.message, "limit of 1000 bytes") != NULL);
    seam_allocator_counters(allocator, &counters);
    CHECK(counters.current_bytes == 1000 && counters.peak_bytes == 1000);
    CHECK(seam_alloc(allocator, SIZE_MAX, &more, NULL) == SEAM_NO_MEMORY);
    seam_free(block);
    CHECK_OK(seam_alloc(allocator, 1, &more, &error));
    seam_free(more);
    seam_allocator_release(allocator);
}

static void a_failed_realloc_keeps_the_block(void) {
    struct seam_error error;
    struct seam_allocator *allocator = seam_allocator_new(0);
    void *block = NULL;
    CHECK_OK(seam_realloc(allocator, &block, 4, &error));
    memcpy(block, "abc", 4);
    void *before = block;
    seam_allocator_fail_after(allocator, 1);
    CHECK(seam_realloc(allocator, &block, 400, &error) == SEAM_NO_MEMORY);
    CHECK(block == before && strcmp(block, "abc") == 0);
    CHECK_OK(seam_realloc(allocator, &block, 400, &error));
    CHECK(strcmp(block, "abc") == 0);
    CHECK_OK(seam_realloc(allocator, &block, 2, &error));
    CHECK(memcmp(block, "ab", 2) == 0);
    seam_free(block);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static void buffers_grow_and_refuse_the_absurd(void) {
    struct seam_error error;
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_buffer buffer;
    seam_buffer_init(&buffer, allocator);
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(seam_buffer_reserve(&buffer, 1, &error));
        buffer.data[buffer.size_bytes++] = (uint8_t)i;
    }
    for (int i = 0; i < 1000; i++) {
        CHECK(buffer.data[i] == (uint8_t)i);
    }
    CHECK(seam_buffer_reserve(&buffer, -1, &error) == SEAM_TOO_LARGE);
    CHECK(seam_buffer_reserve(&buffer, INT64_MAX, &error) == SEAM_TOO_LARGE);
    CHECK(buffer.size_bytes == 1000);
    seam_buffer_reset(&buffer);
    seam_buffer_reset(&buffer);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* The owner may go first: the last block frees the allocator (the leak checker watches). */
static void blocks_outlive_the_owner(void) {
    struct seam_error error;
    struct seam_allocator *allocator = seam_allocator_new(0);
    void *block;
    CHECK_OK(seam_alloc(allocator, 10, &block, &error));
    seam_allocator_release(allocator);
    memset(block, 1, 10);
    seam_free(block);
}

/* Whatever is kept for reuse, each block has its own memory, of the size asked for, aligned. */
static void sizes_of_all_classes_come_back(void) {
    enum { COUNT = 200 };
    struct seam_error error;
    struct seam_allocator *allocator = seam_allocator_new(0);
    for (int round = 0; round < 3; round++) {
        uint8_t *blocks[COUNT];
        size_t size = 1;
        for (int i = 0; i < COUNT; i++) {
            void *block;
            size = i % 3 == 0 ? size + size / 7 + 1 : size; /* up to 1.4 million bytes */
            CHECK_OK(seam_alloc(allocator, size, &block, &error));
            CHECK((uintptr_t)block % SEAM_ALIGNMENT == 0);
            blocks[i] = block;
            memset(block, i, size);
        }
        size = 1;
        for (int i = 0; i < COUNT; i++) {
            size = i % 3 == 0 ? size + size / 7 + 1 : size;
            CHECK(blocks[i][0] == i && blocks[i][size - 1] == i);
        }
        for (int i = 0; i < COUNT; i++) {
            seam_free(blocks[i]);
        }
        CHECK(live_blocks(allocator) == 0);
    }
    seam_allocator_release(allocator);
}

static void *keep_some(void *argument) {
    void *block;
    if (seam_alloc(argument, 5000, &block, NULL) == SEAM_OK) {
        seam_free(block);
    }
    return NULL;
}

/* What a thread kept goes when it ends; a block may be freed by another thread than its own. */
static void threads_keep_their_own(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, keep_some, allocator) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* A host that hands out ever differently aligned blocks, and no more than 40 of them. */
struct host {
    int64_t live;
    int64_t calls;
};

static void *host_malloc(void *context, size_t size) {
    struct host *host = context;
    char *start = host->calls >= 40 ? NULL : malloc(size + 128);
    if (start == NULL) {
        return NULL;
    }
    char *block = start + 8 * (1 + host->calls++ % 8);
    memcpy(block - sizeof start, &start, sizeof start);
    host->live += 1;
    return block;
}

static void host_free(void *context, void *block) {
    char *start;
    memcpy(&start, (char *)block - sizeof start, sizeof start);
    ((struct host *)context)->live -= 1;
    free(start);
}

static void a_host_may_give_the_memory(void) {
    struct host host = {.live = 0, .calls = 0};
    struct seam_backing backing = {.malloc = host_malloc, .free = host_free, .context = &host};
    struct seam_allocator *allocator = seam_allocator_new_backed(1 << 20, &backing);
    struct seam_error error;
    void *blocks[41] = {NULL};
    CHECK(allocator != NULL);
    for (int i = 0; i < 40; i++) {
        CHECK_OK(seam_alloc(allocator, (size_t)(i * 100), &blocks[i], &error));
        CHECK((uintptr_t)blocks[i] % SEAM_ALIGNMENT == 0);
        memset(blocks[i], i, (size_t)(i * 100));
        CHECK(host.live == i + 1 && live_blocks(allocator) == i + 1);
    }
    CHECK(seam_alloc(allocator, 1, &blocks[40], &error) == SEAM_NO_MEMORY);
    CHECK(strcmp(error.message, "the host has no 1 bytes left") == 0);
    CHECK(seam_alloc(allocator, 1 << 20, &blocks[40], &error) == SEAM_NO_MEMORY); /* the limit */
    CHECK(host.live == 40 && host.calls == 40);
    seam_allocator_release(allocator); /* blocks outlive the owner here, too */
    for (int i = 0; i < 40; i++) {
        seam_free(blocks[i]);
    }
    CHECK(host.live == 0);
}

int main(void) {
    a_host_may_give_the_memory();
    sizes_of_all_classes_come_back();
    threads_keep_their_own();
    counters_follow_blocks();
    limit_refuses_and_counts_nothing();
    a_failed_realloc_keeps_the_block();
    buffers_grow_and_refuse_the_absurd();
    blocks_outlive_the_owner();
    return 0;
}
