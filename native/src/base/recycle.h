/* Blocks that were freed and wait for the next allocation of their size. */
#ifndef SEAM_RECYCLE_H
#define SEAM_RECYCLE_H

#include <stdbool.h>
#include <stddef.h>

/* A kept block of `*whole` bytes or a little more, or NULL; `*whole` is rounded up to the size that
 * blocks of its class have, which is what a fresh block must have, too. */
void *seam_recycle_take(size_t *whole);
/* Keeps a block for which `whole` bytes were asked (the size before rounding). False if there is no
 * room for it: it then goes back to the system. */
bool seam_recycle_keep(void *block, size_t whole);
/* Bytes of all kept blocks, whichever thread keeps them. */
size_t seam_recycle_held(void);
/* Gives the blocks that the process and this thread keep back to the system. */
void seam_recycle_release(void);

#endif
