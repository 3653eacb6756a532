/* Nested rows one at a time: the entries or fields are in the children, then the row itself. */
#ifndef SEAM_TEST_NESTED_H
#define SEAM_TEST_NESTED_H

#include "seam/vector_batch.h"

static inline int append_entries(struct seam_vector *vector, int64_t n, struct seam_error *error) {
    return seam_vector_append_entries(vector, &n, NULL, 1, error);
}

static inline int append_fields(struct seam_vector *vector, struct seam_error *error) {
    return seam_vector_append_structs(vector, NULL, 1, error);
}

#endif
