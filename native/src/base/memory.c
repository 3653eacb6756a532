#include "seam/memory.h"

#include "base/keeper.h"
#include "base/recycle.h"

#include "seam/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks this large are backed by huge pages where the system has them: filling a fresh column
 * otherwise costs more in page faults than in decoding. */
enum { HUGE_BYTES = 1 << 21 };

struct seam_allocator {
    int64_t limit_bytes; /* 0 = none */
    atomic_llong current_bytes;
    atomic_llong peak_bytes;
    atomic_llong total_blocks;
    atomic_llong fail_after;     /* 0 = off */
    atomic_llong references;     /* the owner's plus one per live block */
    struct seam_backing backing; /* no functions: the system */
    struct seam_pool *pool;      /* counts the same bytes; NULL: none */
    struct seam_keeper *keeper;  /* of freed blocks; NULL: none */
};

#ifdef SEAM_POISON
enum { FRESH_BYTE = 0xA5, FREED_BYTE = 0x5A };
#endif

struct seam_allocator *seam_allocator_new(int64_t limit_bytes) {
    struct seam_allocator *allocator = calloc(1, sizeof *allocator);
    if (allocator != NULL) {
        allocator->limit_bytes = limit_bytes;
        atomic_init(&allocator->references, 1);
        if (limit_bytes > 0) {
            seam_recycle_release();
        }
    }
    return allocator;
}

struct seam_allocator *seam_allocator_new_backed(int64_t limit_bytes,
                                                 const struct seam_backing *backing) {
    struct seam_allocator *allocator = seam_allocator_new(limit_bytes);
    if (allocator != NULL) {
        allocator->backing = *backing;
    }
    return allocator;
}

int seam_allocator_new_in(struct seam_pool *pool, int64_t limit_bytes, int32_t keeps,
                          struct seam_allocator **out, struct seam_error *error) {
    struct seam_allocator *allocator = seam_allocator_new(limit_bytes);
    struct seam_keeper *keeper = keeps ? seam_keeper_new() : NULL;
    *out = NULL;
    int code = SEAM_OK;
    if (allocator == NULL || (keeps && keeper == NULL)) {
        code = seam_fail(error, SEAM_NO_MEMORY, -1, "the system has no memory for an allocator");
    }
    code = code == SEAM_OK && pool != NULL ? seam_pool_join(pool, error) : code;
    if (code != SEAM_OK) {
        seam_keeper_free(keeper);
        free(allocator);
        return code;
    }
    allocator->pool = pool;
    allocator->keeper = keeper;
    *out = allocator;
    return SEAM_OK;
}

static void drop_reference(struct seam_allocator *allocator) {
    if (atomic_fetch_sub(&allocator->references, 1) == 1) {
        if (allocator->limit_bytes > 0) {
            seam_recycle_release();
        }
        if (allocator->pool != NULL) {
            seam_pool_leave(allocator->pool);
        }
        seam_keeper_free(allocator->keeper);
        free(allocator);
    }
}

static void uncharge(struct seam_allocator *allocator, size_t size) {
    atomic_fetch_sub(&allocator->current_bytes, (long long)size);
    if (allocator->pool != NULL) {
        seam_pool_uncharge(allocator->pool, (int64_t)size);
    }
}

void seam_allocator_counters(const struct seam_allocator *allocator,
                             struct seam_memory_counters *out) {
    out->limit_bytes = allocator->limit_bytes;
    out->current_bytes = atomic_load(&allocator->current_bytes);
    out->peak_bytes = atomic_load(&allocator->peak_bytes);
    out->live_blocks = atomic_load(&allocator->references) - 1; /* the owner asks */
    out->total_blocks = atomic_load(&allocator->total_blocks);
}

void seam_allocator_fail_after(struct seam_allocator *allocator, int64_t n) {
    atomic_store(&allocator->fail_after, n);
}

/* Whether a test wants this allocation to fail. */
static int fail_on_request(struct seam_allocator *allocator, size_t size,
                           struct seam_error *error) {
    if (atomic_load(&allocator->fail_after) > 0 &&
        atomic_fetch_sub(&allocator->fail_after, 1) == 1) {
        return seam_fail(error, SEAM_NO_MEMORY, -1, "allocation of %zu bytes failed on request",
                         size);
    }
    return SEAM_OK;
}

/* Counts `size` more bytes in, or refuses. */
static int charge(struct seam_allocator *allocator, size_t size, struct seam_error *error) {
    if (size > (size_t)INT64_MAX / 2) {
        return seam_fail(error, SEAM_NO_MEMORY, -1, "allocation of %zu bytes is beyond any memory",
                         size);
    }
    long long now = atomic_fetch_add(&allocator->current_bytes, (long long)size) + (long long)size;
    long long limit = allocator->limit_bytes;
    if (limit > 0 && now > limit) {
        atomic_fetch_sub(&allocator->current_bytes, (long long)size);
        seam_recycle_release(); /* whoever set a limit is short of memory */
        return seam_fail(error, SEAM_NO_MEMORY, -1,
                         "memory limit of %lld bytes reached: %lld in use, %zu more wanted", limit,
                         now - (long long)size, size);
    }
    if (allocator->pool != NULL) {
        int code = seam_pool_charge(allocator->pool, (int64_t)size, error);
        if (code != SEAM_OK) {
            atomic_fetch_sub(&allocator->current_bytes, (long long)size);
            return code;
        }
    }
    long long peak = atomic_load(&allocator->peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&allocator->peak_bytes, &peak, now)) {
    }
    return SEAM_OK;
}

/* `size` bytes with their header, uninitialised; NULL when the system has none. */
static struct block_header *system_block(size_t size) {
    size_t whole = sizeof(struct block_header) + size;
    void *kept = seam_recycle_take(&whole);
    if (kept != NULL) {
        return kept;
    }
    size_t alignment = whole >= HUGE_BYTES ? HUGE_BYTES : SEAM_ALIGNMENT;
    whole = (whole + alignment - 1) / alignment * alignment;
    struct block_header *header = aligned_alloc(alignment, whole);
    if (header == NULL) {
        seam_recycle_release();
        header = aligned_alloc(alignment, whole);
    }
#ifdef MADV_HUGEPAGE
    if (header != NULL && alignment == HUGE_BYTES) {
        madvise(header, whole, MADV_HUGEPAGE); /* only advice: its failure does not matter */
    }
#endif
    return header;
}

/* The same from the allocator's host. */
static struct block_header *host_block(const struct seam_backing *backing, size_t size) {
    size_t room = SEAM_ALIGNMENT - 1; /* for the way to the next aligned address */
    char *start = backing->malloc(backing->context, room + sizeof(struct block_header) + size);
    if (start == NULL) {
        return NULL;
    }
    size_t skip = (size_t)(-(uintptr_t)start % SEAM_ALIGNMENT);
    struct block_header *header = (struct block_header *)(void *)(start + skip);
    header->start = start;
    return header;
}

/* Whether a block may be kept: what is kept and what is in use stay below a limit together. */
static bool may_keep(struct seam_allocator *allocator, size_t whole) {
    long long limit = allocator->limit_bytes;
    long long taken = atomic_load(&allocator->current_bytes) + (long long)seam_recycle_held();
    return limit <= 0 || taken + (long long)whole <= limit;
}

/* The way back of both. */
static void give_back(struct block_header *header) {
    const struct seam_backing *backing = &header->allocator->backing;
    size_t whole = sizeof(struct block_header) + header->size;
    if (backing->free != NULL) {
        backing->free(backing->context, header->start);
    } else if (!may_keep(header->allocator, whole) || !seam_recycle_keep(header, whole)) {
        free(header);
    }
}

void seam_allocator_release(struct seam_allocator *allocator) {
    if (allocator == NULL) {
        return;
    }
    struct block_header *kept = seam_keeper_close(allocator->keeper);
    while (kept != NULL) {
        struct block_header *next = kept->start;
        uncharge(allocator, kept->size);
        give_back(kept);
        kept = next;
    }
    drop_reference(allocator);
}

static int hand_out(struct seam_allocator *allocator, struct block_header *header, void **out) {
#ifdef SEAM_POISON
    memset(header + 1, FRESH_BYTE, header->size);
#endif
    atomic_fetch_add(&allocator->references, 1);
    *out = header + 1;
    return SEAM_OK;
}

int seam_alloc(struct seam_allocator *allocator, size_t size, void **out,
               struct seam_error *error) {
    SEAM_TRY(fail_on_request(allocator, size, error));
    if (allocator->keeper != NULL && size <= (size_t)INT64_MAX / 4) {
        size = seam_keeper_size(size);
        struct block_header *kept = seam_keeper_take(allocator->keeper, size);
        if (kept != NULL) {
            return hand_out(allocator, kept, out);
        }
    }
    SEAM_TRY(charge(allocator, size, error));
    bool hosted = allocator->backing.malloc != NULL;
    struct block_header *header =
        hosted ? host_block(&allocator->backing, size) : system_block(size);
    if (header == NULL) {
        uncharge(allocator, size);
        return seam_fail(error, SEAM_NO_MEMORY, -1, "the %s has no %zu bytes left",
                         hosted ? "host" : "system", size);
    }
    header->allocator = allocator;
    header->size = size;
    atomic_fetch_add(&allocator->total_blocks, 1);
    return hand_out(allocator, header, out);
}

int seam_alloc_zeros(struct seam_allocator *allocator, int64_t count, size_t size, void **out,
                     struct seam_error *error) {
    SEAM_TRY(seam_alloc(allocator, (size_t)count * size, out, error));
    memset(*out, 0, (size_t)count * size);
    return SEAM_OK;
}

int seam_alloc_all(struct seam_allocator *allocator, const size_t *sizes, int n, void **blocks,
                   struct seam_error *error) {
    for (int i = 0; i < n; i++) {
        int code = seam_alloc_zeros(allocator, 1, sizes[i], &blocks[i], error);
        if (code != SEAM_OK) {
            while (i > 0) {
                seam_free(blocks[--i]);
            }
            return code;
        }
    }
    return SEAM_OK;
}

int seam_realloc(struct seam_allocator *allocator, void **block, size_t size,
                 struct seam_error *error) {
    void *fresh = NULL;
    SEAM_TRY(seam_alloc(allocator, size, &fresh, error));
    if (*block != NULL) {
        size_t old = ((struct block_header *)*block - 1)->size;
        memcpy(fresh, *block, old < size ? old : size);
        seam_free(*block);
    }
    *block = fresh;
    return SEAM_OK;
}

void seam_free(void *block) {
    if (block == NULL) {
        return;
    }
    struct block_header *header = (struct block_header *)block - 1;
    struct seam_allocator *allocator = header->allocator;
#ifdef SEAM_POISON
    memset(block, FREED_BYTE, header->size);
#endif
    if (allocator->keeper == NULL || !seam_keeper_keep(allocator->keeper, header)) {
        uncharge(allocator, header->size);
        give_back(header);
    }
    drop_reference(allocator);
}

int64_t seam_kept_bytes(void) {
    return (int64_t)seam_recycle_held();
}

int seam_reserve(struct seam_allocator *allocator, size_t size, struct seam_error *error) {
    SEAM_TRY(fail_on_request(allocator, size, error));
    return charge(allocator, size, error);
}

void seam_unreserve(struct seam_allocator *allocator, size_t size) {
    uncharge(allocator, size);
}

void seam_buffer_init(struct seam_buffer *buffer, struct seam_allocator *allocator) {
    *buffer = (struct seam_buffer){.allocator = allocator};
}

void seam_buffer_reset(struct seam_buffer *buffer) {
    seam_free(buffer->data);
    seam_buffer_init(buffer, buffer->allocator);
}

int seam_buffer_reserve(struct seam_buffer *buffer, int64_t additional_bytes,
                        struct seam_error *error) {
    if (additional_bytes < 0 || buffer->size_bytes > INT64_MAX / 4 - additional_bytes) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "a buffer of %lld bytes cannot grow by %lld",
                         (long long)buffer->size_bytes, (long long)additional_bytes);
    }
    int64_t needed = buffer->size_bytes + additional_bytes;
    if (needed <= buffer->capacity_bytes) {
        return SEAM_OK;
    }
    int64_t doubled = buffer->capacity_bytes * 2;
    return seam_buffer_resize(buffer, doubled > needed ? doubled : needed, error);
}

int seam_buffer_resize(struct seam_buffer *buffer, int64_t capacity_bytes,
                       struct seam_error *error) {
    void *block = buffer->data;
    SEAM_TRY(seam_realloc(buffer->allocator, &block, (size_t)capacity_bytes, error));
    buffer->data = block;
    buffer->capacity_bytes = capacity_bytes;
    return SEAM_OK;
}

int seam_buffer_fill(struct seam_buffer *buffer, int64_t size_bytes, int byte,
                     struct seam_error *error) {
    int64_t had = buffer->size_bytes;
    if (size_bytes > had) {
        SEAM_TRY(seam_buffer_reserve(buffer, size_bytes - had, error));
        memset(buffer->data + had, byte, (size_t)(size_bytes - had));
        buffer->size_bytes = size_bytes;
    }
    return SEAM_OK;
}
