/* Values of flat Arrow columns, written behind the last row of a vector. */
#ifndef SEAM_VECTOR_VALUES_H
#define SEAM_VECTOR_VALUES_H

#include "seam/node.h"
#include "seam/vector.h"

/* Rows of a node to be appended: `count` rows from `start` on, or those that `rows` lists. */
struct seam_selection {
    int64_t count;
    int64_t start;       /* counts where `rows` is NULL */
    const int64_t *rows; /* -1: a null; or NULL */
    const uint8_t *mask; /* counts where `rows` is NULL: 1 = a null, whatever the node says */
};

/* Whether arrays of this format hold the values of such a column. */
bool seam_values_fit(const struct seam_column_type *type, const char *format);

/* Writes null flags of the selection behind the last row, for which there is room; tells in
 * `*any` whether one is set. Any node but one of nulls. */
void seam_values_nulls(struct seam_vector *vector, const struct seam_node *node,
                       const struct seam_selection *selection, bool *any);

/* Writes the values, whose flags are written already; `any` as they told. The vector counts them
 * not yet. SEAM_TOO_LARGE: a value that the column cannot hold. */
int seam_values_write(struct seam_vector *vector, const struct seam_node *node,
                      const struct seam_selection *selection, bool any, struct seam_error *error);

/* SEAM_BAD_ARGUMENT: a child that is there has not `rows` rows, as the row to come takes. */
int seam_vector_check_children(const struct seam_vector *vector, int64_t rows,
                               struct seam_error *error);

#endif
