/* Loops over the offsets of texts and lists. */
#ifndef SEAM_OFFSETS_H
#define SEAM_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether none of the rows + 1 offsets, of 4 or 8 bytes each, is less than the one before it. They
 * may lie at any address. */
bool seam_offsets_rise_32(const uint8_t *offsets, int64_t rows);
bool seam_offsets_rise_64(const uint8_t *offsets, int64_t rows);

#endif
