/* Velox's CompactRow (velox/row/CompactRow.h, snapshot of August 2026): null bits, then the fields
 * one after the other without any padding. All numbers are little-endian. Nothing here keeps state;
 * the calls may run on any thread.
 */
#ifndef SEAM_COMPACT_ROW_H
#define SEAM_COMPACT_ROW_H

#include "seam/row_frames.h"
#include "seam/row_input.h"

#include <stdint.h>

/* As seam_unsafe_row_layout. SEAM_UNSUPPORTED for calendar intervals, which Velox does not have. */
int seam_compact_row_layout(const struct seam_row_input *input,
                            const struct seam_row_choice *choice, int64_t gap_bytes,
                            int64_t *starts, struct seam_error *error);
/* As seam_unsafe_row_write. */
int seam_compact_row_write(const struct seam_row_input *input, const struct seam_row_choice *choice,
                           int64_t gap_bytes, const int64_t *starts, uint8_t *out,
                           struct seam_error *error);
/* As seam_unsafe_row_read. */
int seam_compact_row_read(struct seam_allocator *allocator, const struct seam_row_type *root,
                          const struct seam_row_frames *frames, struct ArrowArray *out,
                          struct seam_error *error);

#endif
