/* The tracked allocator: every byte the core hands out goes through one of these.
 *
 * An allocator counts what it has handed out and refuses to pass its limit. It is thread-safe:
 * counters are atomic. Blocks are aligned to SEAM_ALIGNMENT bytes. A block is freed through the
 * allocator that made it; the allocator must outlive its blocks (it is reference-counted: each live
 * block holds a reference, so releasing the owner's reference early is allowed).
 *
 * Blocks that were freed are kept for reuse: small ones by the thread that freed them, up to 16 MiB
 * and until it ends, large ones up to 512 MiB in the process. They count for no allocator, and
 * `seam_kept_bytes` tells how many there are. An allocator with a limit keeps a block only where
 * all that is kept and its own blocks stay below the limit together; what the process and the
 * calling thread keep goes back to the system when such an allocator is made, fails or ends, and
 * when the system has no memory. Builds with sanitizers or poisoning keep none, so that every block
 * is seen to go back.
 */
#ifndef SEAM_MEMORY_H
#define SEAM_MEMORY_H

#include "seam/error.h"

#include <stddef.h>
#include <stdint.h>

#define SEAM_ALIGNMENT 64

struct seam_allocator;

struct seam_memory_counters {
    int64_t limit_bytes; /* 0 = none */
    int64_t current_bytes;
    int64_t peak_bytes;
    int64_t live_blocks;
    int64_t total_blocks; /* ever handed out */
};

/* A new allocator that takes its memory from the system. Returns NULL when the system has none. */
struct seam_allocator *seam_allocator_new(int64_t limit_bytes);
/* Where a host engine wants its memory to come from. `malloc` returns NULL when there is none;
 * blocks may have any alignment: they are asked for with SEAM_ALIGNMENT + 63 bytes more than the
 * core needs and aligned inside. `free` gets what `malloc` returned, in the thread that frees.
 * Nothing is kept for reuse. Both must be safe to call from every thread that uses the allocator,
 * and valid, with `context`, until its last block is free. */
struct seam_backing {
    void *(*malloc)(void *context, size_t size);
    void (*free)(void *context, void *block);
    void *context;
};
/* The same, its blocks from a host. `backing` is copied. Returns NULL when the system has no memory
 * for the counters. */
struct seam_allocator *seam_allocator_new_backed(int64_t limit_bytes,
                                                 const struct seam_backing *backing);
/* An allocator whose bytes a pool counts, too (seam/pool.h; NULL: none). With `keeps` it holds on
 * to freed blocks, which it goes on counting, and hands them out again: `total_blocks` then counts
 * fresh ones alone. They go back when the owner gives its reference back. SEAM_BAD_ARGUMENT: the
 * pool is no leaf. */
struct seam_pool;
int seam_allocator_new_in(struct seam_pool *pool, int64_t limit_bytes, int32_t keeps,
                          struct seam_allocator **out, struct seam_error *error);
/* Gives the owner's reference back. The last live block frees the allocator itself. */
void seam_allocator_release(struct seam_allocator *allocator);
void seam_allocator_counters(const struct seam_allocator *allocator,
                             struct seam_memory_counters *out);
/* Test aid: the n-th allocation from now on fails once (n counts from 1; 0 switches it off). */
void seam_allocator_fail_after(struct seam_allocator *allocator, int64_t n);

/* `size` 0 is legal and yields a block. Content is undefined. */
int seam_alloc(struct seam_allocator *allocator, size_t size, void **out, struct seam_error *error);
/* Zeros for `count` things of `size` bytes. */
int seam_alloc_zeros(struct seam_allocator *allocator, int64_t count, size_t size, void **out,
                     struct seam_error *error);
/* `n` blocks of zeros, all of them or none. */
int seam_alloc_all(struct seam_allocator *allocator, const size_t *sizes, int n, void **blocks,
                   struct seam_error *error);
/* Like realloc; `*block` may be NULL. On failure `*block` is untouched. */
int seam_realloc(struct seam_allocator *allocator, void **block, size_t size,
                 struct seam_error *error);
/* NULL is ignored. */
void seam_free(void *block);
/* Bytes of freed blocks that wait for reuse, in all threads. */
int64_t seam_kept_bytes(void);
/* Counts memory that somebody else hands out, until it is given back with the same size. */
int seam_reserve(struct seam_allocator *allocator, size_t size, struct seam_error *error);
void seam_unreserve(struct seam_allocator *allocator, size_t size);

/* A growable run of bytes: the building block of every column builder. */
struct seam_buffer {
    uint8_t *data;
    int64_t size_bytes;
    int64_t capacity_bytes;
    struct seam_allocator *allocator; /* borrowed */
};

void seam_buffer_init(struct seam_buffer *buffer, struct seam_allocator *allocator);
void seam_buffer_reset(struct seam_buffer *buffer);
/* Makes room for `additional_bytes` beyond size_bytes; at least doubles when it grows. */
int seam_buffer_reserve(struct seam_buffer *buffer, int64_t additional_bytes,
                        struct seam_error *error);
/* Room for `capacity_bytes` in all, no less than it holds. */
int seam_buffer_resize(struct seam_buffer *buffer, int64_t capacity_bytes,
                       struct seam_error *error);
/* Bytes of one value up to `size_bytes`, where it holds fewer. */
int seam_buffer_fill(struct seam_buffer *buffer, int64_t size_bytes, int byte,
                     struct seam_error *error);

#endif
