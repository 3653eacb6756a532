#include "seam/stream_arena.h"

int64_t seam_pages_of(int64_t bytes) {
    return bytes / SEAM_PAGE_BYTES + (bytes % SEAM_PAGE_BYTES != 0);
}

void seam_page_runs_init(struct seam_page_runs *runs, struct seam_allocator *allocator) {
    *runs = (struct seam_page_runs){.allocator = allocator};
}

/* Frees the runs from number `kept` on. */
static void cut_back(struct seam_page_runs *runs, int64_t kept) {
    while (runs->n_runs > kept) {
        struct seam_page_run *last = &runs->runs[--runs->n_runs];
        runs->n_pages -= last->n_pages;
        seam_free(last->data);
    }
}

void seam_page_runs_reset(struct seam_page_runs *runs) {
    cut_back(runs, 0);
    seam_free(runs->runs);
    seam_page_runs_init(runs, runs->allocator);
}

int seam_page_runs_add_contiguous(struct seam_page_runs *runs, int64_t n_pages,
                                  struct seam_error *error) {
    if (n_pages > INT64_MAX / SEAM_PAGE_BYTES) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "a run of %lld pages is beyond any memory",
                         (long long)n_pages);
    }
    if (runs->n_runs == runs->capacity) {
        int64_t capacity = runs->capacity == 0 ? 2 : runs->capacity * 2;
        void *list = runs->runs;
        SEAM_TRY(
            seam_realloc(runs->allocator, &list, (size_t)capacity * sizeof *runs->runs, error));
        runs->runs = list;
        runs->capacity = capacity;
    }
    void *pages;
    SEAM_TRY(seam_alloc(runs->allocator, (size_t)(n_pages * SEAM_PAGE_BYTES), &pages, error));
    runs->runs[runs->n_runs++] = (struct seam_page_run){.data = pages, .n_pages = n_pages};
    runs->n_pages += n_pages;
    return SEAM_OK;
}

int seam_page_runs_add(struct seam_page_runs *runs, int64_t n_pages, struct seam_error *error) {
    int64_t kept = runs->n_runs;
    int64_t class_pages = SEAM_LARGEST_RUN_PAGES;
    while (n_pages > 0) {
        if (class_pages > n_pages) {
            class_pages /= 2;
            continue;
        }
        int code = seam_page_runs_add_contiguous(runs, class_pages, error);
        if (code != SEAM_OK) {
            cut_back(runs, kept);
            return code;
        }
        n_pages -= class_pages;
    }
    return SEAM_OK;
}

void seam_stream_arena_init(struct seam_stream_arena *arena, struct seam_allocator *allocator) {
    arena->run = 0;
    arena->run_offset_bytes = 0;
    arena->tiny_ranges = 0;
    seam_page_runs_init(&arena->runs, allocator);
    seam_page_runs_init(&arena->large, allocator);
}

void seam_stream_arena_clear(struct seam_stream_arena *arena) {
    seam_page_runs_reset(&arena->runs);
    seam_page_runs_reset(&arena->large);
    arena->run = 0;
    arena->run_offset_bytes = 0;
}

static int large_range(struct seam_stream_arena *arena, int64_t n_pages,
                       struct seam_byte_range *out, struct seam_error *error) {
    SEAM_TRY(seam_page_runs_add_contiguous(&arena->large, n_pages, error));
    *out = (struct seam_byte_range){.buffer = arena->large.runs[arena->large.n_runs - 1].data,
                                    .size = n_pages * SEAM_PAGE_BYTES};
    return SEAM_OK;
}

int seam_stream_arena_range(struct seam_stream_arena *arena, int64_t bytes,
                            struct seam_byte_range *out, struct seam_error *error) {
    if (bytes <= 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a range of %lld bytes was asked for",
                         (long long)bytes);
    }
    int64_t n_pages = seam_pages_of(bytes);
    if (n_pages > SEAM_LARGEST_RUN_PAGES) {
        return large_range(arena, n_pages, out, error);
    }
    if (arena->run == arena->runs.n_runs) {
        int64_t taken = n_pages < SEAM_ARENA_QUANTUM_PAGES ? SEAM_ARENA_QUANTUM_PAGES : n_pages;
        SEAM_TRY(seam_page_runs_add(&arena->runs, taken, error));
    }
    const struct seam_page_run *run = &arena->runs.runs[arena->run];
    int64_t left = run->n_pages * SEAM_PAGE_BYTES - arena->run_offset_bytes;
    *out = (struct seam_byte_range){.buffer = run->data + arena->run_offset_bytes,
                                    .size = bytes < left ? bytes : left};
    arena->run_offset_bytes += out->size;
    if (out->size == left) {
        arena->run++;
        arena->run_offset_bytes = 0;
    }
    return SEAM_OK;
}

int64_t seam_stream_arena_bytes(const struct seam_stream_arena *arena) {
    return (arena->runs.n_pages + arena->large.n_pages) * SEAM_PAGE_BYTES;
}
