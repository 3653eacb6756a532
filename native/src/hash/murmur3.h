/* The two steps that every user of Murmur3_x86_32 is made of; they differ in what they feed. */
#ifndef SEAM_MURMUR3_H
#define SEAM_MURMUR3_H

#include <stdint.h>

static inline uint32_t murmur3_rotate(uint32_t value, int bits) {
    return value << bits | value >> (32 - bits);
}

/* A word as it goes into the state. */
static inline uint32_t murmur3_word(uint32_t word) {
    return murmur3_rotate(word * UINT32_C(0xcc9e2d51), 15) * UINT32_C(0x1b873593);
}

/* The state after one more word. */
static inline uint32_t murmur3_mix(uint32_t hash, uint32_t word) {
    return murmur3_rotate(hash ^ murmur3_word(word), 13) * 5 + UINT32_C(0xe6546b64);
}

/* The hash of `size_bytes` bytes in all. */
static inline uint32_t murmur3_finish(uint32_t hash, uint32_t size_bytes) {
    hash ^= size_bytes;
    hash = (hash ^ hash >> 16) * UINT32_C(0x85ebca6b);
    hash = (hash ^ hash >> 13) * UINT32_C(0xc2b2ae35);
    return hash ^ hash >> 16;
}

#endif
