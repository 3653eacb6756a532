#include "base/recycle.h"

#ifdef SEAM_NO_RECYCLING

void *seam_recycle_take(size_t *whole) {
    (void)whole;
    return NULL;
}

bool seam_recycle_keep(void *block, size_t whole) {
    (void)block;
    (void)whole;
    return false;
}

size_t seam_recycle_held(void) {
    return 0;
}

void seam_recycle_release(void) {}

#else

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* A kept block is out of bounds but for its link: whoever still looks at one is told, where a
 * sanitizer watches. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define HIDE(block, whole) ASAN_POISON_MEMORY_REGION((block) + 1, (whole) - sizeof(struct kept))
#define SHOW(block, whole) ASAN_UNPOISON_MEMORY_REGION((block), (whole))
#else
#define HIDE(block, whole) ((void)0)
#define SHOW(block, whole) ((void)0)
#endif

/* Fresh memory costs a page fault and a cleared page every few kilobytes, as much as merging a
 * column does, and even without faults the system's allocator takes longer than copying a column of
 * a few thousand rows. Scans ask for the same sizes again and again.
 *
 * Classes: multiples of 64 bytes up to 1 KiB, then eight steps between powers of two, up to 4 GiB.
 * Small blocks are kept by the thread that frees them, without a lock; large ones, and small ones
 * that a thread has too many of (because another thread makes them), by the process. */
enum {
    UNIT = 64,
    UNIT_CLASSES = 16,
    FIRST_POWER = 10,
    LAST_POWER = 31,
    STEP_BITS = 3,
    STEPS = 1 << STEP_BITS,
    CLASSES = UNIT_CLASSES + (LAST_POWER - FIRST_POWER + 1) * STEPS,
};
static const size_t SMALL_BYTES = (size_t)256 << 10;
static const size_t KEPT_BY_THREAD_BYTES = (size_t)16 << 20;
static const size_t KEPT_BY_PROCESS_BYTES = (size_t)512 << 20;

struct kept {
    struct kept *next;
};

struct shelf {
    struct kept *blocks[CLASSES];
    size_t held_bytes;
};

static struct shelf process;
static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static atomic_size_t held_bytes; /* on all shelves */

static _Thread_local struct shelf *small; /* of this thread, made when first used */
static pthread_key_t small_key;           /* empties it when the thread ends */
static pthread_once_t small_once = PTHREAD_ONCE_INIT;
static bool small_key_made;

/* The class of blocks of `*whole` bytes, which is rounded up to the size of the class, or -1 for
 * blocks too large to be kept. */
static int class_of(size_t *whole) {
    size_t last = *whole - 1; /* nobody asks for 0 bytes: a header is always there */
    if (last < UNIT * UNIT_CLASSES) {
        int number = (int)(last / UNIT);
        *whole = (size_t)(number + 1) * UNIT;
        return number;
    }
    int power = 63 - __builtin_clzll(last);
    if (power > LAST_POWER) {
        return -1;
    }
    size_t step = (last >> (power - STEP_BITS)) + 1; /* STEPS + 1 to 2 STEPS */
    *whole = step << (power - STEP_BITS);
    return UNIT_CLASSES + (power - FIRST_POWER) * STEPS + (int)step - STEPS - 1;
}

static void lock(void) {
    pthread_mutex_lock(&process_lock);
}

static void unlock(void) {
    pthread_mutex_unlock(&process_lock);
}

/* A child that was forked while another thread held the lock would wait for ever. */
static void watch_forks(void) {
    pthread_atfork(lock, unlock, unlock);
}

static void lock_process(void) {
    pthread_once(&fork_once, watch_forks);
    lock();
}

static void *pop(struct shelf *shelf, int number, size_t whole) {
    struct kept *block = shelf->blocks[number];
    if (block != NULL) {
        shelf->blocks[number] = block->next;
        shelf->held_bytes -= whole;
        atomic_fetch_sub(&held_bytes, whole);
        SHOW(block, whole);
    }
    return block;
}

static bool push(struct shelf *shelf, int number, void *freed, size_t whole, size_t limit) {
    struct kept *block = freed;
    if (shelf->held_bytes + whole > limit) {
        return false;
    }
    block->next = shelf->blocks[number];
    shelf->blocks[number] = block;
    shelf->held_bytes += whole;
    atomic_fetch_add(&held_bytes, whole);
    HIDE(block, whole);
    return true;
}

static void empty(struct shelf *shelf) {
    for (int i = 0; i < CLASSES; i++) {
        while (shelf->blocks[i] != NULL) {
            struct kept *block = shelf->blocks[i];
            shelf->blocks[i] = block->next;
            free(block);
        }
    }
    atomic_fetch_sub(&held_bytes, shelf->held_bytes);
    shelf->held_bytes = 0;
}

static void empty_small(void *argument) {
    empty(argument);
    free(argument);
    small = NULL;
}

static void make_small_key(void) {
    small_key_made = pthread_key_create(&small_key, empty_small) == 0;
}

/* This thread's shelf, or NULL if the system has no room for one. */
static struct shelf *small_shelf(void) {
    if (small == NULL) {
        pthread_once(&small_once, make_small_key);
        struct shelf *shelf = small_key_made ? calloc(1, sizeof *shelf) : NULL;
        if (shelf != NULL && pthread_setspecific(small_key, shelf) != 0) {
            free(shelf);
            shelf = NULL;
        }
        small = shelf;
    }
    return small;
}

static void *take_from_process(int number, size_t whole) {
    lock_process();
    void *block = pop(&process, number, whole);
    unlock();
    return block;
}

void *seam_recycle_take(size_t *whole) {
    int number = class_of(whole);
    if (number < 0) {
        return NULL;
    }
    void *block = NULL;
    if (*whole <= SMALL_BYTES && small != NULL) {
        block = pop(small, number, *whole);
    }
    return block != NULL ? block : take_from_process(number, *whole);
}

bool seam_recycle_keep(void *block, size_t whole) {
    int number = class_of(&whole);
    if (number < 0) {
        return false;
    }
    if (whole <= SMALL_BYTES) {
        struct shelf *shelf = small_shelf();
        if (shelf != NULL && push(shelf, number, block, whole, KEPT_BY_THREAD_BYTES)) {
            return true;
        }
    }
    lock_process();
    bool kept = push(&process, number, block, whole, KEPT_BY_PROCESS_BYTES);
    unlock();
    return kept;
}

size_t seam_recycle_held(void) {
    return atomic_load(&held_bytes);
}

void seam_recycle_release(void) {
    if (small != NULL) {
        empty(small);
    }
    lock_process();
    empty(&process);
    unlock();
}

#endif
