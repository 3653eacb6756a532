/* Hash functions on bytes. */
#include "base/words.h"
#include "hash/murmur3.h"
#include "seam/hash.h"

#include <string.h>

uint32_t seam_murmur3(uint32_t seed, const uint8_t *bytes, int64_t size_bytes) {
    uint32_t hash = seed;
    int64_t i = 0;
    for (; i + 4 <= size_bytes; i += 4) {
        hash = murmur3_mix(hash, seam_load32(bytes + i));
    }
    uint32_t tail = 0;
    for (int shift = 0; i < size_bytes; i++, shift += 8) {
        tail |= (uint32_t)bytes[i] << shift;
    }
    return murmur3_finish(hash ^ murmur3_word(tail), (uint32_t)size_bytes);
}

/* --- XXH3, 64 bits, after the specification of xxHash 0.8 --- */

#define P32_1 UINT32_C(0x9E3779B1)
#define P32_2 UINT32_C(0x85EBCA77)
#define P32_3 UINT32_C(0xC2B2AE3D)
#define P64_1 UINT64_C(0x9E3779B185EBCA87)
#define P64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P64_3 UINT64_C(0x165667B19E3779F9)
#define P64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define P64_5 UINT64_C(0x27D4EB2F165667C5)
#define SECRET_BYTES 192
#define STRIPE_BYTES 64
#define BLOCK_STRIPES ((SECRET_BYTES - STRIPE_BYTES) / 8)
#define BLOCK_BYTES (BLOCK_STRIPES * STRIPE_BYTES)

static const uint8_t SECRET[SECRET_BYTES] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static uint64_t rotate64(uint64_t value, int bits) {
    return value << bits | value >> (64 - bits);
}

static uint64_t multiply_fold(uint64_t a, uint64_t b) {
    seam_uint128 product = (seam_uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t avalanche(uint64_t hash) {
    hash = (hash ^ hash >> 37) * UINT64_C(0x165667919E3779F9);
    return hash ^ hash >> 32;
}

static uint64_t avalanche_short(uint64_t hash) {
    hash = (hash ^ hash >> 33) * P64_2;
    hash = (hash ^ hash >> 29) * P64_3;
    return hash ^ hash >> 32;
}

static uint64_t xxh3_to_16(const uint8_t *in, uint64_t size, uint64_t seed) {
    if (size > 8) {
        uint64_t first = (seam_load64(SECRET + 24) ^ seam_load64(SECRET + 32)) + seed;
        uint64_t second = (seam_load64(SECRET + 40) ^ seam_load64(SECRET + 48)) - seed;
        uint64_t low = seam_load64(in) ^ first;
        uint64_t high = seam_load64(in + size - 8) ^ second;
        return avalanche(size + __builtin_bswap64(low) + high + multiply_fold(low, high));
    }
    if (size >= 4) {
        seed ^= (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
        uint64_t flip = (seam_load64(SECRET + 8) ^ seam_load64(SECRET + 16)) - seed;
        uint64_t hash = (seam_load32(in + size - 4) + ((uint64_t)seam_load32(in) << 32)) ^ flip;
        hash ^= rotate64(hash, 49) ^ rotate64(hash, 24);
        hash *= UINT64_C(0x9FB21C651E98DF25);
        hash = (hash ^ ((hash >> 35) + size)) * UINT64_C(0x9FB21C651E98DF25);
        return hash ^ hash >> 28;
    }
    if (size > 0) {
        uint32_t combined = (uint32_t)in[0] << 16 | (uint32_t)in[size >> 1] << 24 | in[size - 1] |
                            (uint32_t)size << 8;
        uint64_t flip = (seam_load32(SECRET) ^ seam_load32(SECRET + 4)) + seed;
        return avalanche_short(combined ^ flip);
    }
    return avalanche_short(seed ^ seam_load64(SECRET + 56) ^ seam_load64(SECRET + 64));
}

static uint64_t mix16(const uint8_t *in, const uint8_t *secret, uint64_t seed) {
    return multiply_fold(seam_load64(in) ^ (seam_load64(secret) + seed),
                         seam_load64(in + 8) ^ (seam_load64(secret + 8) - seed));
}

static uint64_t xxh3_to_240(const uint8_t *in, uint64_t size, uint64_t seed) {
    uint64_t sum = size * P64_1;
    if (size <= 128) {
        for (int64_t pair = (int64_t)(size - 1) / 32; pair >= 0; pair--) {
            sum += mix16(in + 16 * pair, SECRET + 32 * pair, seed);
            sum += mix16(in + size - 16 * (pair + 1), SECRET + 32 * pair + 16, seed);
        }
        return avalanche(sum);
    }
    uint64_t rounds = size / 16;
    for (uint64_t i = 0; i < 8; i++) {
        sum += mix16(in + 16 * i, SECRET + 16 * i, seed);
    }
    sum = avalanche(sum);
    for (uint64_t i = 8; i < rounds; i++) {
        sum += mix16(in + 16 * i, SECRET + 16 * (i - 8) + 3, seed);
    }
    return avalanche(sum + mix16(in + size - 16, SECRET + 136 - 17, seed));
}

static void accumulate(uint64_t *lanes, const uint8_t *in, const uint8_t *secret) {
    for (int i = 0; i < 8; i++) {
        uint64_t word = seam_load64(in + 8 * i);
        uint64_t key = word ^ seam_load64(secret + 8 * i);
        lanes[i ^ 1] += word;
        lanes[i] += (key & UINT32_MAX) * (key >> 32);
    }
}

static void scramble(uint64_t *lanes, const uint8_t *secret) {
    for (int i = 0; i < 8; i++) {
        lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ seam_load64(secret + 8 * i)) * P32_1;
    }
}

static uint64_t xxh3_long(const uint8_t *in, uint64_t size, uint64_t seed) {
    uint8_t secret[SECRET_BYTES];
    for (int i = 0; i < SECRET_BYTES; i += 16) {
        uint64_t low = seam_load64(SECRET + i) + seed;
        uint64_t high = seam_load64(SECRET + i + 8) - seed;
        memcpy(secret + i, &low, sizeof low);
        memcpy(secret + i + 8, &high, sizeof high);
    }
    uint64_t lanes[8] = {P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1};
    uint64_t stripes = (size - 1) / STRIPE_BYTES; /* the last one is taken apart */
    for (uint64_t i = 0; i < stripes; i++) {
        accumulate(lanes, in + i * STRIPE_BYTES, secret + 8 * (i % BLOCK_STRIPES));
        if ((i + 1) % BLOCK_STRIPES == 0 && (i + 1) * STRIPE_BYTES < size) {
            scramble(lanes, secret + SECRET_BYTES - STRIPE_BYTES);
        }
    }
    accumulate(lanes, in + size - STRIPE_BYTES, secret + SECRET_BYTES - STRIPE_BYTES - 7);
    uint64_t hash = size * P64_1;
    for (int i = 0; i < 4; i++) {
        hash += multiply_fold(lanes[2 * i] ^ seam_load64(secret + 11 + 16 * i),
                              lanes[2 * i + 1] ^ seam_load64(secret + 19 + 16 * i));
    }
    return avalanche(hash);
}

uint64_t seam_xxh3(const uint8_t *bytes, int64_t size_bytes, uint64_t seed) {
    uint64_t size = (uint64_t)size_bytes;
    if (size <= 16) {
        return xxh3_to_16(bytes, size, seed);
    }
    return size <= 240 ? xxh3_to_240(bytes, size, seed) : xxh3_long(bytes, size, seed);
}
