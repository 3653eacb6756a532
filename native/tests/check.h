/* What the C tests share. A failed check says where and ends the program: the build with sanitizers
 * tells the rest. */
#ifndef SEAM_TEST_CHECK_H
#define SEAM_TEST_CHECK_H

#include "seam/error.h"
#include "seam/memory.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* A call that must succeed, with the `error` in scope. */
#define CHECK_OK(call)                                                                             \
    do {                                                                                           \
        if ((call) != SEAM_OK) {                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, error.message);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline int64_t live_blocks(const struct seam_allocator *allocator) {
    struct seam_memory_counters counters;
    seam_allocator_counters(allocator, &counters);
    return counters.live_blocks;
}

/* Runs `work` with the first allocation failing, then with the second, ... until it succeeds
 * untouched. Each failure must be SEAM_NO_MEMORY, and none may leave a block behind. */
static inline void check_every_allocation(int (*work)(struct seam_allocator *,
                                                      struct seam_error *)) {
    for (int64_t n = 1;; n++) {
        struct seam_error error = {.offset = -1, .message = ""};
        struct seam_allocator *allocator = seam_allocator_new(0);
        CHECK(allocator != NULL);
        seam_allocator_fail_after(allocator, n);
        int code = work(allocator, &error);
        CHECK(code == SEAM_OK || code == SEAM_NO_MEMORY);
        CHECK(live_blocks(allocator) == 0);
        seam_allocator_release(allocator);
        if (code == SEAM_OK) {
            return;
        }
    }
}

#endif
