/* Bitmaps: copied, counted and turned into bytes, eight bits at a time. */
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

/* Bit 0 of each of eight bytes as one byte, the first of them lowest: no two of the partial
 * products meet. */
static inline uint8_t seam_pack8(uint64_t word) {
    return (uint8_t)((word & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56);
}

/* The way back from seam_expand: bit 0 of each byte, exclusive-or `flip`, into bits from the first
 * of `out` on, which may be `bytes` itself. Those behind the last are 0. */
static inline void seam_pack(const uint8_t *bytes, int64_t count, int flip, uint8_t *out) {
    uint64_t word, flips = flip ? ~UINT64_C(0) : 0;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        memcpy(&word, bytes + i, sizeof word);
        out[i / 8] = seam_pack8(word ^ flips);
    }
    if (i < count) {
        word = flips;
        memcpy(&word, bytes + i, (size_t)(count - i));
        out[i / 8] = seam_pack8(word ^ flips);
    }
}

/* Copies `count` bits from bit `begin` of `from` to bit `at` of `to`; other bits stay. */
static inline void seam_copy_bits(uint8_t *to, int64_t at, const uint8_t *from, int64_t begin,
                                  int64_t count) {
    if ((at & 7) == 0 && (begin & 7) == 0) {
        int64_t whole = count / 8;
        memcpy(to + at / 8, from + begin / 8, (size_t)whole);
        at += whole * 8;
        begin += whole * 8;
        count -= whole * 8;
    }
    while (count > 0) {
        int shift = (int)(at & 7);
        int64_t room = 8 - shift;
        int taken = (int)(count < room ? count : room);
        int skipped = (int)(begin & 7);
        unsigned bits = (unsigned)from[begin / 8] >> skipped;
        if (skipped + taken > 8) {
            bits |= (unsigned)from[begin / 8 + 1] << (8 - skipped);
        }
        unsigned mask = ((1U << taken) - 1) << shift;
        to[at / 8] = (uint8_t)((to[at / 8] & ~mask) | ((bits << shift) & mask));
        at += taken;
        begin += taken;
        count -= taken;
    }
}

/* Sets `count` bits from bit `at` on. */
static inline void seam_set_bits(uint8_t *to, int64_t at, int64_t count) {
    for (; count > 0 && ((at & 7) != 0 || count < 8); at++, count--) {
        to[at >> 3] = (uint8_t)(to[at >> 3] | 1 << (at & 7));
    }
    memset(to + (at >> 3), 0xff, (size_t)(count >> 3));
    at += count & ~INT64_C(7);
    for (count &= 7; count > 0; at++, count--) {
        to[at >> 3] = (uint8_t)(to[at >> 3] | 1 << (at & 7));
    }
}

/* How many bits of so many bytes are set. */
static inline int64_t seam_count_bits(const uint8_t *bits, int64_t size_bytes) {
    int64_t count = 0, i = 0;
    for (; i + 8 <= size_bytes; i += 8) {
        uint64_t word;
        memcpy(&word, bits + i, sizeof word);
        count += __builtin_popcountll(word);
    }
    for (; i < size_bytes; i++) {
        count += __builtin_popcount(bits[i]);
    }
    return count;
}

#endif
