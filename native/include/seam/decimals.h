/* Decimals that are stored as bytes of one length, as Arrow keeps them. */
#ifndef SEAM_DECIMALS_H
#define SEAM_DECIMALS_H

#include <stdint.h>

/* Turns `n` numbers of `width_bytes` bytes each (1 to 16, two's complement, the highest byte first)
 * into numbers of 128 bits in this machine's order, 16 bytes each. Neither buffer need be aligned.
 */
void seam_decimals_of_bytes(const uint8_t *from, int32_t width_bytes, int64_t n, uint8_t *to);

#endif
