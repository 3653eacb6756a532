/* Whole numbers in groups of seven bits, the lowest first; the eighth bit says that more follow. */
#ifndef SEAM_VARINT_H
#define SEAM_VARINT_H

#include "base/words.h"

enum { SEAM_VARINT_BYTES = 10 };

/* The number at `p`, and the first byte behind it; NULL when it ends neither before `end` nor in 64
 * bits. */
const uint8_t *seam_varint_until(const uint8_t *p, const uint8_t *end, uint64_t *out);

/* The same where SEAM_VARINT_BYTES at `p` are readable. Lengths vary from row to row, so that a
 * loop would be mispredicted: the groups of up to eight bytes are moved together at once. */
static inline const uint8_t *seam_varint(const uint8_t *p, uint64_t *out) {
    uint64_t word = seam_load64(p);
    if (__builtin_expect((word & 0x80) == 0, 1)) {
        *out = word & 0x7f;
        return p + 1;
    }
    uint64_t stops = ~word & UINT64_C(0x8080808080808080);
    if (__builtin_expect(stops == 0, 0)) {
        return seam_varint_until(p, p + SEAM_VARINT_BYTES, out);
    }
    word &= stops ^ (stops - 1);
    word &= UINT64_C(0x7f7f7f7f7f7f7f7f);
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    word = (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    *out = word;
    return p + (__builtin_ctzll(stops) >> 3) + 1;
}

/* The number whose sign is the lowest bit of `word`. */
static inline int64_t seam_zigzag(uint64_t word) {
    return (int64_t)(word >> 1) ^ -(int64_t)(word & 1);
}

#endif
