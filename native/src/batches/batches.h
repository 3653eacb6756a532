/* What stands behind handles. Private. */
#ifndef SEAM_BATCHES_INTERNAL_H
#define SEAM_BATCHES_INTERNAL_H

#include "seam/batches.h"

#include <stdatomic.h>

struct form {
    struct ArrowSchema schema;
    const struct seam_engine_slot *slots;
    int64_t n_slots;
};

struct held {
    int64_t handle;
    int64_t users;          /* changes under the registry's lock */
    atomic_int_fast64_t at; /* who looks at it: all users as one, and each that reads it now */
    int32_t number;         /* of the form */
    const struct form *form;
    int64_t rows;
    struct ArrowArray array; /* or, if that was never filled, a table and its chain */
    struct ArrowArray whole; /* a copy that begins with its first row, once one was asked for */
    struct seam_table table;
    struct seam_chain chain;
    struct held *next;
};

/* What stands behind a handle, the caller's until seam_held_leave, closed or not. */
int seam_held_enter(struct seam_batches *batches, int64_t handle, struct held **out,
                    struct seam_error *error);
void seam_held_leave(struct held *held);
struct seam_allocator *seam_batches_allocator(struct seam_batches *batches);
void seam_batches_count_converter(struct seam_batches *batches, int64_t more);

#endif
