/* A tree of memory pools: a query's tasks, their operators, and the allocators of these.
 *
 * A pool that has children only counts what they hold; the leaves are where allocators take memory.
 * A leaf reserves in steps, at the pool that it belongs to, at that one's, and so on: 1 MiB below
 * 16 MiB, 4 MiB below 64 MiB, else 8 MiB. Where the step does not fit, just what is needed is
 * reserved. Every pool may have a limit on what is reserved in it. Source of the rules: Velox,
 * MemoryPoolImpl (snapshot 4d16851 of August 2026).
 *
 * Pools are thread-safe and reference-counted: children and allocators keep theirs alive.
 */
#ifndef SEAM_POOL_H
#define SEAM_POOL_H

#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

/* Bytes of a pool's name with the names above it ("query.task.operator"), and a zero. */
#define SEAM_POOL_NAME_BYTES 128

struct seam_pool;

struct seam_pool_counters {
    int64_t limit_bytes;    /* 0 = none */
    int64_t used_bytes;     /* of a leaf: by its allocators; else 0 */
    int64_t reserved_bytes; /* by this leaf, or by all leaves below; never less than is used */
    int64_t peak_bytes;     /* most that was reserved */
};

/* A pool below `parent`, or a root where that is NULL. SEAM_BAD_ARGUMENT: a name that is empty or,
 * with those above it, too long; an allocator takes memory from `parent` already. */
int seam_pool_new(struct seam_pool *parent, const char *name, int64_t limit_bytes,
                  struct seam_pool **out, struct seam_error *error);
/* Gives the owner's reference back; NULL is ignored. */
void seam_pool_release(struct seam_pool *pool);
/* The names from the root on, with dots between. */
const char *seam_pool_name(const struct seam_pool *pool);
void seam_pool_counters(struct seam_pool *pool, struct seam_pool_counters *out);

/* Reserves `bytes` more than are used now, for what is to come; they stay reserved until
 * seam_pool_unreserve. SEAM_NO_MEMORY: a limit, its pool is named; nothing changes then.
 * SEAM_BAD_ARGUMENT: not a leaf, or fewer than 0 bytes. */
int seam_pool_reserve(struct seam_pool *pool, int64_t bytes, struct seam_error *error);
/* Gives back what is reserved and not used, steps aside. */
void seam_pool_unreserve(struct seam_pool *pool);

/* What an allocator asks of its pool: to count bytes in or to refuse them, and to count them out.
 */
int seam_pool_charge(struct seam_pool *pool, int64_t bytes, struct seam_error *error);
void seam_pool_uncharge(struct seam_pool *pool, int64_t bytes);
/* An allocator comes to a pool, which must be a leaf, or leaves it. */
int seam_pool_join(struct seam_pool *pool, struct seam_error *error);
void seam_pool_leave(struct seam_pool *pool);

#endif
