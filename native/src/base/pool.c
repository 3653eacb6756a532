#include "seam/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seam_pool {
    struct seam_pool *parent;
    atomic_llong references; /* the owner's, each child's, each allocator's */
    atomic_llong reserved_bytes;
    atomic_llong peak_bytes;
    int64_t limit_bytes;
    pthread_mutex_t lock;   /* of what follows */
    int64_t n_children;     /* with one, the pool is no leaf any more */
    int64_t n_allocators;   /* with one, it can have no child */
    int64_t used_bytes;     /* of a leaf */
    int64_t promised_bytes; /* of a leaf: reserved whatever is used */
    char name[SEAM_POOL_NAME_BYTES];
};

static const int64_t MIB = INT64_C(1) << 20;

/* What a leaf reserves for what it uses. */
static int64_t stepped(int64_t bytes) {
    const int64_t step = bytes < 16 * MIB ? MIB : bytes < 64 * MIB ? 4 * MIB : 8 * MIB;
    return (bytes + step - 1) / step * step;
}

/* --- life --- */

/* One child more, where no allocator is. */
static int adopt(struct seam_pool *parent, struct seam_error *error) {
    pthread_mutex_lock(&parent->lock);
    const bool free_of_allocators = parent->n_allocators == 0;
    parent->n_children += free_of_allocators;
    pthread_mutex_unlock(&parent->lock);
    if (!free_of_allocators) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "pool '%s' gives memory out itself and can have no pools below it",
                         parent->name);
    }
    atomic_fetch_add(&parent->references, 1);
    return SEAM_OK;
}

static void orphan(struct seam_pool *parent) {
    pthread_mutex_lock(&parent->lock);
    parent->n_children--;
    pthread_mutex_unlock(&parent->lock);
    seam_pool_release(parent);
}

int seam_pool_new(struct seam_pool *parent, const char *name, int64_t limit_bytes,
                  struct seam_pool **out, struct seam_error *error) {
    *out = NULL;
    struct seam_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        return seam_fail(error, SEAM_NO_MEMORY, -1, "the system has no memory for a pool");
    }
    const int size = snprintf(pool->name, sizeof pool->name, "%s%s%s",
                              parent == NULL ? "" : parent->name, parent == NULL ? "" : ".", name);
    int code = SEAM_OK;
    if (name[0] == '\0' || size < 0 || size >= (int)sizeof pool->name || limit_bytes < 0) {
        code = seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "pool '%s': a name of 1 to %d bytes with those above it and a limit from "
                         "0 on are meant",
                         name, SEAM_POOL_NAME_BYTES - 1);
    }
    code = code == SEAM_OK && parent != NULL ? adopt(parent, error) : code;
    if (code != SEAM_OK) {
        free(pool);
        return code;
    }
    pool->parent = parent;
    pool->limit_bytes = limit_bytes;
    atomic_init(&pool->references, 1);
    pthread_mutex_init(&pool->lock, NULL);
    *out = pool;
    return SEAM_OK;
}

/* --- reservations --- */

/* Counts `bytes` more in at one pool, or refuses. */
static int reserve_at(struct seam_pool *pool, int64_t bytes, struct seam_error *error) {
    const long long now = atomic_fetch_add(&pool->reserved_bytes, bytes) + bytes;
    if (pool->limit_bytes > 0 && now > pool->limit_bytes) {
        atomic_fetch_sub(&pool->reserved_bytes, bytes);
        return seam_fail(error, SEAM_NO_MEMORY, -1,
                         "memory limit of %lld bytes of pool '%s' reached: %lld reserved, %lld "
                         "more wanted",
                         (long long)pool->limit_bytes, pool->name, now - (long long)bytes,
                         (long long)bytes);
    }
    long long peak = atomic_load(&pool->peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&pool->peak_bytes, &peak, now)) {
    }
    return SEAM_OK;
}

static void give_up(struct seam_pool *from, const struct seam_pool *end, int64_t bytes) {
    for (struct seam_pool *pool = from; pool != end; pool = pool->parent) {
        atomic_fetch_sub(&pool->reserved_bytes, bytes);
    }
}

/* At a leaf and every pool above it, or at none. */
static int reserve_up(struct seam_pool *leaf, int64_t bytes, struct seam_error *error) {
    for (struct seam_pool *pool = leaf; pool != NULL; pool = pool->parent) {
        int code = reserve_at(pool, bytes, error);
        if (code != SEAM_OK) {
            give_up(leaf, pool, bytes);
            return code;
        }
    }
    return SEAM_OK;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Under the leaf's lock: makes what is reserved fit what is used and promised. */
static int settle(struct seam_pool *leaf, struct seam_error *error) {
    const int64_t reserved = atomic_load(&leaf->reserved_bytes);
    const int64_t needed = most(leaf->used_bytes, leaf->promised_bytes);
    const int64_t wanted = stepped(needed);
    if (wanted < reserved) {
        give_up(leaf, NULL, reserved - wanted);
        return SEAM_OK;
    }
    if (needed <= reserved || reserve_up(leaf, wanted - reserved, error) == SEAM_OK) {
        return SEAM_OK;
    }
    return reserve_up(leaf, needed - reserved, error);
}

int seam_pool_charge(struct seam_pool *pool, int64_t bytes, struct seam_error *error) {
    pthread_mutex_lock(&pool->lock);
    pool->used_bytes += bytes;
    int code = settle(pool, error);
    if (code != SEAM_OK) {
        pool->used_bytes -= bytes;
    }
    pthread_mutex_unlock(&pool->lock);
    return code;
}

void seam_pool_uncharge(struct seam_pool *pool, int64_t bytes) {
    pthread_mutex_lock(&pool->lock);
    pool->used_bytes -= bytes;
    settle(pool, NULL); /* only gives back: what is needed became less */
    pthread_mutex_unlock(&pool->lock);
}

int seam_pool_reserve(struct seam_pool *pool, int64_t bytes, struct seam_error *error) {
    pthread_mutex_lock(&pool->lock);
    int code = SEAM_OK;
    if (pool->n_children > 0 || bytes < 0 || bytes > INT64_MAX / 4) {
        code = seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "%lld bytes cannot be reserved in pool '%s', which has %lld pools below "
                         "it",
                         (long long)bytes, pool->name, (long long)pool->n_children);
    } else {
        const int64_t before = pool->promised_bytes;
        pool->promised_bytes = most(before, pool->used_bytes + bytes);
        code = settle(pool, error);
        if (code != SEAM_OK) {
            pool->promised_bytes = before;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return code;
}

void seam_pool_unreserve(struct seam_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->promised_bytes = 0;
    settle(pool, NULL);
    pthread_mutex_unlock(&pool->lock);
}

void seam_pool_release(struct seam_pool *pool) {
    if (pool == NULL || atomic_fetch_sub(&pool->references, 1) > 1) {
        return;
    }
    struct seam_pool *parent = pool->parent;
    seam_pool_unreserve(pool); /* nobody uses it any more: only a promise may be left */
    pthread_mutex_destroy(&pool->lock);
    free(pool);
    if (parent != NULL) {
        orphan(parent);
    }
}

/* --- who is there --- */

const char *seam_pool_name(const struct seam_pool *pool) {
    return pool->name;
}

void seam_pool_counters(struct seam_pool *pool, struct seam_pool_counters *out) {
    pthread_mutex_lock(&pool->lock);
    *out = (struct seam_pool_counters){
        .limit_bytes = pool->limit_bytes,
        .used_bytes = pool->used_bytes,
        .reserved_bytes = atomic_load(&pool->reserved_bytes),
        .peak_bytes = atomic_load(&pool->peak_bytes),
    };
    pthread_mutex_unlock(&pool->lock);
}

int seam_pool_join(struct seam_pool *pool, struct seam_error *error) {
    pthread_mutex_lock(&pool->lock);
    const bool leaf = pool->n_children == 0;
    pool->n_allocators += leaf;
    pthread_mutex_unlock(&pool->lock);
    if (!leaf) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "pool '%s' has pools below it: take memory from one of those", pool->name);
    }
    atomic_fetch_add(&pool->references, 1);
    return SEAM_OK;
}

void seam_pool_leave(struct seam_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->n_allocators--;
    pthread_mutex_unlock(&pool->lock);
    seam_pool_release(pool);
}
