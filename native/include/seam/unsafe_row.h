/* Spark's UnsafeRow (Spark 3.5.9: UnsafeRow, UnsafeArrayData, UnsafeMapData, UnsafeRowWriter).
 *
 * A row is a bit per field that says null, eight bytes per field, and a tail for what does not fit
 * them. All numbers are little-endian. Nothing here keeps state; the calls may run on any thread.
 */
#ifndef SEAM_UNSAFE_ROW_H
#define SEAM_UNSAFE_ROW_H

#include "seam/row_frames.h"
#include "seam/row_input.h"

#include <stdint.h>

/* Whose bytes to write. Both are read by both engines, but they differ. */
enum seam_unsafe_writer {
    /* Arrays end on a multiple of 8; long decimals and calendar intervals keep 16 bytes when
     * null. */
    SEAM_UNSAFE_SPARK = 0,
    /* Velox's UnsafeRowFast: arrays end with their last element, a map's values begin right after
     * its keys, long decimals take 8 or 16 bytes and none when null. There are no calendar
     * intervals. */
    SEAM_UNSAFE_VELOX = 1,
};

/* Where each row of the choice will lie: `starts` has room for count + 1. Row i begins at starts[i]
 * and ends `gap_bytes` before starts[i + 1]; starts[0] is `gap_bytes`.
 *
 * SEAM_TOO_LARGE when a row would need more than 2^31 - 1 bytes, SEAM_BAD_INPUT for nulls where the
 * type allows none, SEAM_UNSUPPORTED for types the writer does not know. */
int seam_unsafe_row_layout(const struct seam_row_input *input, enum seam_unsafe_writer writer,
                           const struct seam_row_choice *choice, int64_t gap_bytes, int64_t *starts,
                           struct seam_error *error);
/* Writes the rows where the layout put them, counted from `out`. Every byte of a row is written:
 * `out` need not be cleared. With a gap of SEAM_ROW_LENGTH_BYTES the length of each row is put
 * before it. SEAM_BAD_INPUT for decimals with more digits than their type has. */
int seam_unsafe_row_write(const struct seam_row_input *input, enum seam_unsafe_writer writer,
                          const struct seam_row_choice *choice, int64_t gap_bytes,
                          const int64_t *starts, uint8_t *out, struct seam_error *error);
/* Turns rows of `root` into a struct array. Reads what either writer makes, and what older releases
 * made. SEAM_BAD_INPUT with the offset of the wrong byte; SEAM_TOO_LARGE when a column would pass
 * 2^31 - 1 bytes or elements. */
int seam_unsafe_row_read(struct seam_allocator *allocator, const struct seam_row_type *root,
                         const struct seam_row_frames *frames, struct ArrowArray *out,
                         struct seam_error *error);

#endif
