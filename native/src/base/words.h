/* Words at any address, and whole numbers of 128 bits. */
#ifndef SEAM_WORDS_H
#define SEAM_WORDS_H

#include <stdint.h>
#include <string.h>

__extension__ typedef __int128 seam_int128;
__extension__ typedef unsigned __int128 seam_uint128;

/* Little-endian, as all buffers of ours. */
static inline uint32_t seam_load32(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t seam_load64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline void seam_store32(uint8_t *at, uint32_t word) {
    memcpy(at, &word, sizeof word);
}

static inline void seam_store64(uint8_t *at, uint64_t word) {
    memcpy(at, &word, sizeof word);
}

static inline uint32_t seam_load_be32(const uint8_t *at) {
    return __builtin_bswap32(seam_load32(at));
}

static inline uint64_t seam_load_be64(const uint8_t *at) {
    return __builtin_bswap64(seam_load64(at));
}

/* The smallest number with more than `digits` digits, at most 38. */
static inline seam_int128 seam_power_of_ten(int32_t digits) {
    seam_int128 power = 1;
    for (int32_t i = 0; i < digits; i++) {
        power *= 10;
    }
    return power;
}

#endif
