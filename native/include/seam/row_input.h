/* Columns about to become rows, beside the types of these: an Arrow struct array, or the chain of
 * an off-heap table.
 *
 * Dictionaries and runs are read as they come, at every level. An input only borrows: types, schema
 * and array must outlive it. Any number of threads may read from one.
 */
#ifndef SEAM_ROW_INPUT_H
#define SEAM_ROW_INPUT_H

#include "seam/arrow.h"
#include "seam/engine.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/row_type.h"

#include <stdint.h>

struct seam_row_input;

/* Which rows are wanted, in the order wanted. */
struct seam_row_choice {
    const int64_t *rows; /* `count` numbers of rows, or NULL: `begin` and those that follow */
    int64_t begin;
    int64_t count;
};

/* Opens a record batch (a struct array) as rows of `root`, a struct.
 *
 * SEAM_BAD_ARGUMENT where an array's layout is not the one that its type asks for. On failure
 * `*out` is NULL. */
int seam_row_input_new(struct seam_allocator *allocator, const struct seam_row_type *root,
                       const struct ArrowSchema *schema, const struct ArrowArray *array,
                       struct seam_row_input **out, struct seam_error *error);
/* The same of an off-heap table's meta chain, read as `slots` say; the values that both keep alike
 * are read where they lie, so the chain must outlive the input. Also the codes of
 * seam_engine_open, and SEAM_BAD_INPUT for values that mean nothing. */
int seam_row_input_of_chain(struct seam_allocator *allocator, const struct seam_row_type *root,
                            const struct seam_engine_slot *slots, int64_t n_slots,
                            const struct seam_chain *chain, struct seam_row_input **out,
                            struct seam_error *error);
/* NULL is ignored. */
void seam_row_input_free(struct seam_row_input *input);
/* SEAM_BAD_ARGUMENT when a row of the choice is not one of the input's. */
int seam_row_choice_check(const struct seam_row_input *input, const struct seam_row_choice *choice,
                          struct seam_error *error);

#endif
