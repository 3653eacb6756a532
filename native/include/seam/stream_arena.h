/* Memory of streams that grow in small steps: page runs, and an arena that cuts ranges out of them.
 *
 * A page is SEAM_PAGE_BYTES; runs of pages come in sizes of powers of two. A range never moves
 * while its arena lives, and all ranges of an arena go back at once. Source of the rules: Velox,
 * AllocationTraits, Allocation and StreamArena (snapshot 4d16851 of August 2026).
 *
 * One thread at a time for one arena.
 */
#ifndef SEAM_STREAM_ARENA_H
#define SEAM_STREAM_ARENA_H

#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

#define SEAM_PAGE_BYTES 4096
/* Size classes of runs: 1, 2, 4 ... 256 pages. */
#define SEAM_LARGEST_RUN_PAGES 256
/* An arena takes at least this many pages at a time. */
#define SEAM_ARENA_QUANTUM_PAGES 2

struct seam_page_run {
    uint8_t *data; /* a block of the allocator */
    int64_t n_pages;
};

/* Runs in the order in which they were added; the runs are owned. */
struct seam_page_runs {
    struct seam_allocator *allocator; /* borrowed */
    struct seam_page_run *runs;
    int64_t n_runs;
    int64_t capacity;
    int64_t n_pages; /* of all runs */
};

/* How many pages hold `bytes` bytes. */
int64_t seam_pages_of(int64_t bytes);

void seam_page_runs_init(struct seam_page_runs *runs, struct seam_allocator *allocator);
/* Frees every run; the list is as after init. */
void seam_page_runs_reset(struct seam_page_runs *runs);
/* Adds runs of falling size classes that hold `n_pages` pages together. All or nothing. */
int seam_page_runs_add(struct seam_page_runs *runs, int64_t n_pages, struct seam_error *error);
/* Adds one run of exactly `n_pages` pages, however many they are. */
int seam_page_runs_add_contiguous(struct seam_page_runs *runs, int64_t n_pages,
                                  struct seam_error *error);

/* A piece of memory with a mark. `size` and `position` count bytes, or bits in a stream of bits.
 * The memory belongs to someone else, an arena as a rule. */
struct seam_byte_range {
    uint8_t *buffer;
    int64_t size;
    int64_t position;
};

struct seam_stream_arena {
    struct seam_page_runs runs;
    struct seam_page_runs large;
    int64_t run;              /* the run that is being cut, n_runs when none is left */
    int64_t run_offset_bytes; /* what of it is given away */
    /* Streams over it begin with ranges below 128 bytes, where there are so many streams that most
     * stay short. Set it after init; clear leaves it. */
    int32_t tiny_ranges;
};

void seam_stream_arena_init(struct seam_stream_arena *arena, struct seam_allocator *allocator);
/* Frees every range at once. The arena may be used again, as after init: streams over it have to be
 * cleared before they are. */
void seam_stream_arena_clear(struct seam_stream_arena *arena);
/* Cuts off a range of min(bytes, what is left of the current run) bytes, position 0: it may be
 * smaller than asked for, so callers loop. The next call goes on at the byte after it. A request
 * larger than the largest run gets whole pages of its own. `bytes` must be positive. */
int seam_stream_arena_range(struct seam_stream_arena *arena, int64_t bytes,
                            struct seam_byte_range *out, struct seam_error *error);
/* Bytes of the pages that the arena holds, given away or not. */
int64_t seam_stream_arena_bytes(const struct seam_stream_arena *arena);

#endif
