/* Arrow arrays with their schemas, over buffers of the test: nothing is owned, nothing released. */
#ifndef SEAM_TEST_SAMPLE_H
#define SEAM_TEST_SAMPLE_H

#include "seam/arrow.h"

#include <stddef.h>

struct sample {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffers[3];
    struct ArrowSchema *schemas[2];
    struct ArrowArray *arrays[2];
};

/* `first` are values or offsets, `second` the bytes of the latter. */
static inline void make(struct sample *out, const char *format, const char *name, int64_t length,
                        const void *validity, const void *first, const void *second) {
    *out = (struct sample){.schema = {.format = format, .name = name},
                           .array = {.length = length,
                                     .null_count = validity == NULL ? 0 : -1,
                                     .n_buffers = second == NULL ? (first == NULL ? 1 : 2) : 3},
                           .buffers = {validity, first, second}};
    out->array.buffers = out->buffers;
}

static inline void adopt(struct sample *parent, struct sample *child) {
    int64_t at = parent->schema.n_children++;
    parent->schemas[at] = &child->schema;
    parent->arrays[at] = &child->array;
    parent->schema.children = parent->schemas;
    parent->array.children = parent->arrays;
    parent->array.n_children = at + 1;
}

/* A batch of one column or, where `second` is not NULL, of two. */
static inline void make_batch(struct sample *out, int64_t rows, struct sample *first,
                              struct sample *second) {
    make(out, "+s", "", rows, NULL, NULL, NULL);
    adopt(out, first);
    if (second != NULL) {
        adopt(out, second);
    }
}

#endif
