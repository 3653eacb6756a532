/* Planned columns into bytes. */
#ifndef SEAM_PRESTO_WRITE_H
#define SEAM_PRESTO_WRITE_H

#include "presto/presto_plan.h"

struct presto_output {
    const struct seam_presto_writer *writer;
    uint8_t *at;
    struct seam_error *error;
};

static inline void presto_put_i32(struct presto_output *output, int64_t value) {
    seam_store32(output->at, value);
    output->at += 4;
}

/* Writes a column with everything in it. SEAM_BAD_INPUT: a value that its type cannot have. */
int presto_put_column(struct presto_output *output, const struct presto_plan *plan);

#endif
