/* Putting a merged batch together, column by column: base rows that stay, log rows that replace.
 *
 * The plan is made once a batch from the words of seam_merge_probe and serves every column. */
#ifndef SEAM_ASSEMBLE_H
#define SEAM_ASSEMBLE_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

struct seam_plan;

/* `sources`: one word a base row (enum seam_source); copied. */
int seam_plan_new(struct seam_allocator *allocator, const int32_t *sources, int64_t base_rows,
                  struct seam_plan **out, struct seam_error *error);
void seam_plan_free(struct seam_plan *plan);

/* Rows that come out, rows that the log replaces, and base rows that are gone. */
int64_t seam_plan_rows(const struct seam_plan *plan);
int64_t seam_plan_replaced(const struct seam_plan *plan);
int64_t seam_plan_removed(const struct seam_plan *plan);

/* One output column, made in place if it can be: then `*patched` is 1 and the base column's own
 * buffer holds the result in its first seam_plan_rows rows, otherwise nothing has changed. It can
 * be done for columns without nulls whose values all have one width of at most 16 bytes: numbers,
 * and texts (32-bit offsets) of one length in base and log. The base's buffers must be writable and
 * belong to the caller alone. */
int seam_patch(const struct seam_plan *plan, const struct ArrowSchema *schema,
               const struct ArrowArray *base, const struct ArrowArray *log, int32_t *patched,
               struct seam_error *error);

/* One output column of the log's type, which `schema` gives. The base column has the same type, or
 * is texts (32-bit offsets) encoded by a dictionary with 32-bit numbers, which costs less to read
 * and is spread here. The result owns its buffers. SEAM_UNSUPPORTED for nested and view types;
 * SEAM_TOO_LARGE when a column with 32-bit offsets would pass 2 GiB; SEAM_BAD_INPUT for a number
 * that the dictionary lacks. */
int seam_assemble(const struct seam_plan *plan, const struct ArrowSchema *schema,
                  const struct ArrowArray *base, const struct ArrowArray *log,
                  struct seam_allocator *allocator, struct ArrowArray *out,
                  struct seam_error *error);

#endif
