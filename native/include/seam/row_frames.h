/* Where rows lie in a run of bytes.
 *
 * Either each row has its length before it, 32 bits big-endian, as Spark's shuffle writes them
 * (UnsafeRowSerializer); or offsets and lengths come beside the bytes, as a columnar-to-row
 * converter hands them out.
 */
#ifndef SEAM_ROW_FRAMES_H
#define SEAM_ROW_FRAMES_H

#include "seam/error.h"

#include <stdint.h>

#define SEAM_ROW_LENGTH_BYTES 4

struct seam_row_frames {
    const uint8_t *data; /* borrowed */
    int64_t size_bytes;
    int64_t count;          /* rows */
    const int64_t *starts;  /* of each row in `data`; NULL: the length stands before each row */
    const int64_t *lengths; /* with `starts` */
};

/* Counts the rows of a run with lengths. SEAM_BAD_INPUT when a length is negative or leads beyond
 * the end. */
int seam_row_frames_count(const uint8_t *data, int64_t size_bytes, int64_t *count,
                          struct seam_error *error);
/* Fills `starts` and `lengths` for the rows that seam_row_frames_count counted. */
int seam_row_frames_find(const uint8_t *data, int64_t size_bytes, int64_t count, int64_t *starts,
                         int64_t *lengths, struct seam_error *error);

#endif
