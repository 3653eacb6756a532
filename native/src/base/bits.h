/* Bitmaps into bytes, eight at a time. */
#ifndef SEAM_BITS_H
#define SEAM_BITS_H

#include <stdint.h>
#include <string.h>

/* Byte i of the word is bit i of `bits`: 0 or 1. */
static inline uint64_t seam_spread(uint8_t bits) {
    uint64_t one_each = UINT64_C(0x0101010101010101);
    uint64_t picked = bits * one_each & UINT64_C(0x8040201008040201);
    return (picked + 0x7f * one_each) >> 7 & one_each;
}

/* Writes bit `offset` + i of `bits`, exclusive-or `flip` (0 or 1), as byte i of `out`. Reads no
 * byte of the bitmap in which none of the bits lies. Returns 0 if all bytes written are 0. */
static inline uint64_t seam_expand(const uint8_t *bits, int64_t offset, int64_t count, int flip,
                                   uint8_t *out) {
    uint8_t flips = flip ? 0xff : 0;
    uint64_t any = 0;
    int shift = (int)(offset & 7);
    const uint8_t *at = bits + (offset >> 3);
    int64_t i = 0;
    for (; i + 8 <= count; i += 8, at++) {
        unsigned both =
            shift == 0 ? at[0] : (unsigned)at[0] >> shift | (unsigned)at[1] << (8 - shift);
        uint64_t word = seam_spread((uint8_t)both ^ flips);
        memcpy(out + i, &word, sizeof word); /* little-endian: byte 0 is the first */
        any |= word;
    }
    for (; i < count; i++) {
        int64_t bit = offset + i;
        out[i] = (uint8_t)((bits[bit >> 3] >> (bit & 7) & 1) ^ flip);
        any |= out[i];
    }
    return any;
}

#endif
