/* What the parts of the assembly share: the plan of a batch. */
#ifndef SEAM_ASSEMBLE_INTERNAL_H
#define SEAM_ASSEMBLE_INTERNAL_H

#include "seam/assemble.h"
#include "seam/view.h"

/* A run of base rows that stay, then at most one log row. Runs in order make up the output. */
struct run {
    int32_t base_begin;
    int32_t base_count;
    int32_t log_row; /* -1 = none */
};

struct seam_plan {
    struct run *runs;
    int64_t n_runs;
    int32_t *gaps; /* base rows that are gone, rising */
    int64_t base_rows;
    int64_t log_rows; /* that the log must have */
    int64_t rows;
    int64_t replaced;
    int64_t removed;
};

/* Log rows lie in the log's order, not the base's: each is a likely cache miss, so they are asked
 * for this many runs ahead. */
enum { AHEAD = 24 };

static inline int64_t log_row_ahead(const struct seam_plan *plan, int64_t i) {
    int64_t at = i + AHEAD < plan->n_runs ? i + AHEAD : i;
    int32_t row = plan->runs[at].log_row;
    return row < 0 ? 0 : row;
}

/* Offsets and bytes of a column of texts, into buffers 1 and 2. */
int seam_assemble_text(const struct seam_plan *plan, const struct seam_view *base,
                       const struct seam_view *log, struct seam_allocator *allocator,
                       void **buffers, const char *name, struct seam_error *error);

/* The same where the base column is dictionary-encoded: `base` holds 32-bit numbers of `words` in
 * its data, the log's texts stand for themselves. SEAM_BAD_INPUT for a number without a word. */
int seam_assemble_words(const struct seam_plan *plan, const struct seam_view *base,
                        const struct seam_view *words, const struct seam_view *log,
                        struct seam_allocator *allocator, void **buffers, const char *name,
                        struct seam_error *error);

#endif
