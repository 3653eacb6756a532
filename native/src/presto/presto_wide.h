/* Values without the gaps of nulls, and back: with vector instructions made for it, where there are
 * any. */
#ifndef SEAM_PRESTO_WIDE_H
#define SEAM_PRESTO_WIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this machine can. The functions below may be called only then. */
bool presto_wide_available(void);

/* Copies the values of the set bits among `rows` (at most 64) to `out`, one after the other.
 * `width` is 1, 2, 4, 8 or 16 bytes. Reads and writes no byte of other values. */
void presto_wide_squeeze(int32_t width, uint64_t bits, const uint8_t *values, uint8_t *out);
/* The way back: values from `packed` to the places of the set bits, zeros to the others among the
 * first `rows`. */
void presto_wide_expand(int32_t width, uint64_t bits, int64_t rows, const uint8_t *packed,
                        uint8_t *out);

#endif
