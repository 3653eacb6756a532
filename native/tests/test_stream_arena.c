/* Page runs and the arena that cuts ranges out of them. */
#include "seam/stream_arena.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

static void pages_come_in_size_classes(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_page_runs runs;
    seam_page_runs_init(&runs, allocator);
    CHECK(seam_pages_of(0) == 0 && seam_pages_of(1) == 1);
    CHECK(seam_pages_of(4096) == 1 && seam_pages_of(4097) == 2);
    CHECK_OK(seam_page_runs_add(&runs, 256 + 256 + 64 + 2 + 1, &error));
    static const int64_t EXPECTED[] = {256, 256, 64, 2, 1};
    CHECK(runs.n_runs == 5 && runs.n_pages == 579);
    for (int i = 0; i < 5; i++) {
        CHECK(runs.runs[i].n_pages == EXPECTED[i]);
        memset(runs.runs[i].data, 1, (size_t)(EXPECTED[i] * SEAM_PAGE_BYTES));
    }
    CHECK_OK(seam_page_runs_add_contiguous(&runs, 300, &error));
    CHECK(runs.runs[5].n_pages == 300);
    seam_page_runs_reset(&runs);
    CHECK(runs.n_runs == 0 && runs.n_pages == 0 && live_blocks(allocator) == 0);
    CHECK(seam_page_runs_add_contiguous(&runs, INT64_MAX / 2, &error) == SEAM_TOO_LARGE);
    seam_allocator_release(allocator);
}

static struct seam_byte_range take(struct seam_stream_arena *arena, int64_t bytes) {
    struct seam_byte_range range;
    CHECK_OK(seam_stream_arena_range(arena, bytes, &range, &error));
    CHECK(range.position == 0);
    return range;
}

static void ranges_go_on_at_the_byte_after_the_last(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_stream_arena arena;
    seam_stream_arena_init(&arena, allocator);
    CHECK(seam_stream_arena_bytes(&arena) == 0);
    struct seam_byte_range a = take(&arena, 5);
    struct seam_byte_range b = take(&arena, 7000);
    CHECK(a.size == 5 && b.size == 7000 && b.buffer == a.buffer + 5);
    CHECK(seam_stream_arena_bytes(&arena) == SEAM_ARENA_QUANTUM_PAGES * SEAM_PAGE_BYTES);
    struct seam_byte_range c = take(&arena, 2000); /* smaller than asked: the run has no more */
    CHECK(c.size == 8192 - 7005 && c.buffer == b.buffer + 7000);
    struct seam_byte_range d = take(&arena, 3 * 4096); /* runs of 2 and 1 pages */
    CHECK(d.size == 2 * 4096);
    struct seam_byte_range e = take(&arena, 1);
    CHECK(e.size == 1 && seam_stream_arena_bytes(&arena) == 5 * 4096);
    memset(d.buffer, 1, (size_t)d.size);
    seam_stream_arena_clear(&arena);
    CHECK(live_blocks(allocator) == 0 && seam_stream_arena_bytes(&arena) == 0);
    CHECK(take(&arena, 5).size == 5); /* usable again */
    CHECK(seam_stream_arena_bytes(&arena) == 2 * 4096);
    seam_stream_arena_clear(&arena);
    seam_allocator_release(allocator);
}

static void large_requests_are_one_piece(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_stream_arena arena;
    seam_stream_arena_init(&arena, allocator);
    const int64_t largest = SEAM_LARGEST_RUN_PAGES * SEAM_PAGE_BYTES;
    struct seam_byte_range a = take(&arena, 1);
    struct seam_byte_range b = take(&arena, largest + 1);
    CHECK(b.size == largest + SEAM_PAGE_BYTES);
    CHECK(take(&arena, 1).buffer == a.buffer + 1); /* the run in use is not given up */
    memset(b.buffer, 1, (size_t)b.size);
    CHECK(seam_stream_arena_range(&arena, 0, &b, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_stream_arena_range(&arena, -1, &b, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_stream_arena_range(&arena, INT64_MAX, &b, &error) == SEAM_TOO_LARGE);
    seam_stream_arena_clear(&arena);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static int cut_many(struct seam_allocator *allocator, struct seam_error *failure) {
    struct seam_stream_arena arena;
    seam_stream_arena_init(&arena, allocator);
    int code = SEAM_OK;
    for (int64_t bytes = 1; code == SEAM_OK && bytes < 3 << 20; bytes *= 3) {
        struct seam_byte_range range;
        code = seam_stream_arena_range(&arena, bytes, &range, failure);
    }
    seam_stream_arena_clear(&arena);
    return code;
}

int main(void) {
    pages_come_in_size_classes();
    ranges_go_on_at_the_byte_after_the_last();
    large_requests_are_one_piece();
    check_every_allocation(cut_many);
    return 0;
}
