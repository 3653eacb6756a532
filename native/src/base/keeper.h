/* Blocks that an allocator keeps for itself when they are freed. */
#ifndef SEAM_KEEPER_H
#define SEAM_KEEPER_H

#include "seam/memory.h"

#include <stdbool.h>
#include <stddef.h>

/* Stands right before each block, so that a block alone is enough to free it. */
struct block_header {
    struct seam_allocator *allocator;
    size_t size;
    void *start; /* of a host's block, as the host knows it; of a kept block the next one */
    char padding[SEAM_ALIGNMENT - 2 * sizeof(void *) - sizeof(size_t)];
};
_Static_assert(sizeof(struct block_header) == SEAM_ALIGNMENT, "blocks keep the alignment");

struct seam_keeper;

/* NULL when the system has no memory. */
struct seam_keeper *seam_keeper_new(void);
/* It must be closed, or have kept nothing. NULL is ignored. */
void seam_keeper_free(struct seam_keeper *keeper);
/* The size of the blocks that serve requests of `size` bytes: up to an eighth more. A second run of
 * the same requests then finds all its blocks among those of the first, whatever their order. */
size_t seam_keeper_size(size_t size);
/* A kept block of exactly `size` bytes, or NULL. */
struct block_header *seam_keeper_take(struct seam_keeper *keeper, size_t size);
/* False when it is closed. */
bool seam_keeper_keep(struct seam_keeper *keeper, struct block_header *block);
/* Keeps nothing from now on. Returns all blocks, linked by `start`; NULL for no keeper. */
struct block_header *seam_keeper_close(struct seam_keeper *keeper);

#endif
