#include "seam/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef SEAM_NO_RECYCLING
#include <pthread.h>
#endif

/* Blocks this large are backed by huge pages where the system has them: filling a fresh column
 * otherwise costs more in page faults than in decoding. */
enum { HUGE_BYTES = 1 << 21 };

struct seam_allocator {
    atomic_llong limit_bytes;
    atomic_llong current_bytes;
    atomic_llong peak_bytes;
    atomic_llong live_blocks;
    atomic_llong total_blocks;
    atomic_llong fail_after; /* 0 = off */
    atomic_llong references; /* the owner's plus one per live block */
};

/* Stands right before each block, so that a block alone is enough to free it. */
struct block_header {
    struct seam_allocator *allocator;
    size_t size;
    char padding[SEAM_ALIGNMENT - sizeof(void *) - sizeof(size_t)];
};
_Static_assert(sizeof(struct block_header) == SEAM_ALIGNMENT, "blocks keep the alignment");

#ifdef SEAM_POISON
enum { FRESH_BYTE = 0xA5, FREED_BYTE = 0x5A };
#endif

struct seam_allocator *seam_allocator_new(int64_t limit_bytes) {
    struct seam_allocator *allocator = calloc(1, sizeof *allocator);
    if (allocator != NULL) {
        atomic_init(&allocator->limit_bytes, limit_bytes);
        atomic_init(&allocator->references, 1);
    }
    return allocator;
}

static void drop_reference(struct seam_allocator *allocator) {
    if (atomic_fetch_sub(&allocator->references, 1) == 1) {
        free(allocator);
    }
}

void seam_allocator_release(struct seam_allocator *allocator) {
    if (allocator != NULL) {
        drop_reference(allocator);
    }
}

void seam_allocator_counters(const struct seam_allocator *allocator,
                             struct seam_memory_counters *out) {
    out->limit_bytes = atomic_load(&allocator->limit_bytes);
    out->current_bytes = atomic_load(&allocator->current_bytes);
    out->peak_bytes = atomic_load(&allocator->peak_bytes);
    out->live_blocks = atomic_load(&allocator->live_blocks);
    out->total_blocks = atomic_load(&allocator->total_blocks);
}

void seam_allocator_set_limit(struct seam_allocator *allocator, int64_t limit_bytes) {
    atomic_store(&allocator->limit_bytes, limit_bytes);
}

void seam_allocator_fail_after(struct seam_allocator *allocator, int64_t n) {
    atomic_store(&allocator->fail_after, n);
}

/* Counts `size` more bytes in, or refuses. */
static int charge(struct seam_allocator *allocator, size_t size, struct seam_error *error) {
    if (atomic_load(&allocator->fail_after) > 0 &&
        atomic_fetch_sub(&allocator->fail_after, 1) == 1) {
        return seam_fail(error, SEAM_NO_MEMORY, -1, "allocation of %zu bytes failed on request",
                         size);
    }
    if (size > (size_t)INT64_MAX / 2) {
        return seam_fail(error, SEAM_NO_MEMORY, -1, "allocation of %zu bytes is beyond any memory",
                         size);
    }
    long long now = atomic_fetch_add(&allocator->current_bytes, (long long)size) + (long long)size;
    long long limit = atomic_load(&allocator->limit_bytes);
    if (limit > 0 && now > limit) {
        atomic_fetch_sub(&allocator->current_bytes, (long long)size);
        return seam_fail(error, SEAM_NO_MEMORY, -1,
                         "memory limit of %lld bytes reached: %lld in use, %zu more wanted", limit,
                         now - (long long)size, size);
    }
    long long peak = atomic_load(&allocator->peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&allocator->peak_bytes, &peak, now)) {
    }
    return SEAM_OK;
}

#ifndef SEAM_NO_RECYCLING
/* Large blocks that were freed wait on a shelf for the next allocation of their class. Fresh memory
 * costs a page fault and a cleared page every few kilobytes, as much as merging a column does, and
 * scans ask for the same sizes again and again. */
enum { STEPS = 8, SMALLEST_POWER = 18, POWERS = 14, CLASSES = STEPS * POWERS };
static const int64_t SHELF_BYTES = INT64_C(512) << 20;

struct shelved {
    struct shelved *next;
};

static struct {
    pthread_mutex_t lock;
    struct shelved *blocks[CLASSES];
    int64_t held_bytes;
} shelf = {.lock = PTHREAD_MUTEX_INITIALIZER, .blocks = {NULL}, .held_bytes = 0};

/* The class of blocks of `*whole` bytes, which is rounded up to the size of the class: eight steps
 * between powers of two. -1 for blocks too small or too large to be kept. */
static int shelf_class(size_t *whole) {
    size_t base = (size_t)1 << SMALLEST_POWER;
    if (*whole < base) {
        return -1;
    }
    for (int power = 0; power < POWERS; power++, base *= 2) {
        size_t step = base / STEPS;
        if (*whole <= base * 2 - step) {
            size_t number = (*whole - base + step - 1) / step;
            *whole = base + number * step;
            return power * STEPS + (int)number;
        }
        if (*whole < base * 2) {
            *whole = base * 2; /* the next power's first class */
        }
    }
    return -1;
}

static void *from_shelf(int class_number, size_t whole) {
    pthread_mutex_lock(&shelf.lock);
    struct shelved *block = shelf.blocks[class_number];
    if (block != NULL) {
        shelf.blocks[class_number] = block->next;
        shelf.held_bytes -= (int64_t)whole;
    }
    pthread_mutex_unlock(&shelf.lock);
    return block;
}

static bool to_shelf(void *freed, int class_number, size_t whole) {
    struct shelved *block = freed;
    pthread_mutex_lock(&shelf.lock);
    bool room = shelf.held_bytes + (int64_t)whole <= SHELF_BYTES;
    if (room) {
        block->next = shelf.blocks[class_number];
        shelf.blocks[class_number] = block;
        shelf.held_bytes += (int64_t)whole;
    }
    pthread_mutex_unlock(&shelf.lock);
    return room;
}
#endif

/* `size` bytes with their header, uninitialised; NULL when the system has none. */
static struct block_header *system_block(size_t size) {
    size_t whole = sizeof(struct block_header) + size;
#ifndef SEAM_NO_RECYCLING
    int class_number = shelf_class(&whole);
    void *kept = class_number < 0 ? NULL : from_shelf(class_number, whole);
    if (kept != NULL) {
        return kept;
    }
#endif
    size_t alignment = whole >= HUGE_BYTES ? HUGE_BYTES : SEAM_ALIGNMENT;
    whole = (whole + alignment - 1) / alignment * alignment;
    struct block_header *header = aligned_alloc(alignment, whole);
#ifdef MADV_HUGEPAGE
    if (header != NULL && alignment == HUGE_BYTES) {
        madvise(header, whole, MADV_HUGEPAGE); /* only advice: its failure does not matter */
    }
#endif
    return header;
}

/* The way back of system_block. */
static void give_back(struct block_header *header, size_t size) {
#ifndef SEAM_NO_RECYCLING
    size_t whole = sizeof(struct block_header) + size;
    int class_number = shelf_class(&whole);
    if (class_number >= 0 && to_shelf(header, class_number, whole)) {
        return;
    }
#else
    (void)size;
#endif
    free(header);
}

int seam_alloc(struct seam_allocator *allocator, size_t size, void **out,
               struct seam_error *error) {
    int code = charge(allocator, size, error);
    if (code != SEAM_OK) {
        return code;
    }
    struct block_header *header = system_block(size);
    if (header == NULL) {
        atomic_fetch_sub(&allocator->current_bytes, (long long)size);
        return seam_fail(error, SEAM_NO_MEMORY, -1, "the system has no %zu bytes left", size);
    }
    header->allocator = allocator;
    header->size = size;
#ifdef SEAM_POISON
    memset(header + 1, FRESH_BYTE, size);
#endif
    atomic_fetch_add(&allocator->references, 1);
    atomic_fetch_add(&allocator->live_blocks, 1);
    atomic_fetch_add(&allocator->total_blocks, 1);
    *out = header + 1;
    return SEAM_OK;
}

int seam_realloc(struct seam_allocator *allocator, void **block, size_t size,
                 struct seam_error *error) {
    void *fresh;
    int code = seam_alloc(allocator, size, &fresh, error);
    if (code != SEAM_OK) {
        return code;
    }
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
    atomic_fetch_sub(&allocator->current_bytes, (long long)header->size);
    atomic_fetch_sub(&allocator->live_blocks, 1);
#ifdef SEAM_POISON
    memset(block, FREED_BYTE, header->size);
#endif
    give_back(header, header->size);
    drop_reference(allocator);
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
    int64_t capacity = buffer->capacity_bytes * 2 > needed ? buffer->capacity_bytes * 2 : needed;
    void *block = buffer->data;
    int code = seam_realloc(buffer->allocator, &block, (size_t)capacity, error);
    if (code != SEAM_OK) {
        return code;
    }
    buffer->data = block;
    buffer->capacity_bytes = capacity;
    return SEAM_OK;
}
