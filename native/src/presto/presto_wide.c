#include "presto/presto_wide.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define VBMI2 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi2,popcnt")))

bool presto_wide_available(void) {
    return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}

VBMI2 static inline uint64_t ones(int64_t count) {
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

/* One vector of lanes at a time. Masks keep loads and stores to the values that are meant. */
#define SQUEEZE(name, lane, mask, lanes)                                                           \
    VBMI2 static void squeeze_##lane(uint64_t bits, const uint8_t *values, uint8_t *out) {         \
        for (int at = 0; bits != 0; at += 64) {                                                    \
            const uint64_t chosen = bits & ones(lanes);                                            \
            const int64_t count = __builtin_popcountll(chosen);                                    \
            __m512i vector = _mm512_maskz_loadu_##name((mask)chosen, values + at);                 \
            vector = _mm512_maskz_compress_##name((mask)chosen, vector);                           \
            _mm512_mask_storeu_##name(out, (mask)ones(count), vector);                             \
            out += count * (64 / (lanes));                                                         \
            bits = (lanes) == 64 ? 0 : bits >> ((lanes) & 63);                                     \
        }                                                                                          \
    }

#define EXPAND(name, lane, mask, lanes)                                                            \
    VBMI2 static void expand_##lane(uint64_t bits, int64_t rows, const uint8_t *packed,            \
                                    uint8_t *out) {                                                \
        for (; rows > 0; rows -= (lanes), out += 64) {                                             \
            const uint64_t chosen = bits & ones(lanes);                                            \
            const int64_t count = __builtin_popcountll(chosen);                                    \
            __m512i vector = _mm512_maskz_loadu_##name((mask)ones(count), packed);                 \
            vector = _mm512_maskz_expand_##name((mask)chosen, vector);                             \
            _mm512_mask_storeu_##name(out, (mask)ones(rows < (lanes) ? rows : (lanes)), vector);   \
            packed += count * (64 / (lanes));                                                      \
            bits = (lanes) == 64 ? 0 : bits >> ((lanes) & 63);                                     \
        }                                                                                          \
    }

SQUEEZE(epi8, bytes, __mmask64, 64)
SQUEEZE(epi16, words, __mmask32, 32)
SQUEEZE(epi32, doubles, __mmask16, 16)
SQUEEZE(epi64, quads, __mmask8, 8)
EXPAND(epi8, bytes, __mmask64, 64)
EXPAND(epi16, words, __mmask32, 32)
EXPAND(epi32, doubles, __mmask16, 16)
EXPAND(epi64, quads, __mmask8, 8)

/* Each bit twice: sixteen bytes are two quads. */
VBMI2 static inline uint64_t twice(uint64_t bits) {
    uint64_t spread = _pdep_u64(bits, UINT64_C(0x5555555555555555));
    return spread | (spread << 1);
}

VBMI2 void presto_wide_squeeze(int32_t width, uint64_t bits, const uint8_t *values, uint8_t *out) {
    switch (width) {
    case 1:
        squeeze_bytes(bits, values, out);
        return;
    case 2:
        squeeze_words(bits, values, out);
        return;
    case 4:
        squeeze_doubles(bits, values, out);
        return;
    case 8:
        squeeze_quads(bits, values, out);
        return;
    default:
        squeeze_quads(twice(bits & 0xFFFFFFFF), values, out);
        out += 16 * __builtin_popcountll(bits & 0xFFFFFFFF);
        squeeze_quads(twice(bits >> 32), values + 512, out);
    }
}

VBMI2 void presto_wide_expand(int32_t width, uint64_t bits, int64_t rows, const uint8_t *packed,
                              uint8_t *out) {
    switch (width) {
    case 1:
        expand_bytes(bits, rows, packed, out);
        return;
    case 2:
        expand_words(bits, rows, packed, out);
        return;
    case 4:
        expand_doubles(bits, rows, packed, out);
        return;
    case 8:
        expand_quads(bits, rows, packed, out);
        return;
    default:
        expand_quads(twice(bits & 0xFFFFFFFF), rows < 32 ? rows * 2 : 64, packed, out);
        packed += 16 * __builtin_popcountll(bits & 0xFFFFFFFF);
        expand_quads(twice(bits >> 32), (rows - 32) * 2, packed, out + 512);
    }
}

#else

bool presto_wide_available(void) {
    return false;
}

void presto_wide_squeeze(int32_t width, uint64_t bits, const uint8_t *values, uint8_t *out) {
    (void)width, (void)bits, (void)values, (void)out;
}

void presto_wide_expand(int32_t width, uint64_t bits, int64_t rows, const uint8_t *packed,
                        uint8_t *out) {
    (void)width, (void)bits, (void)rows, (void)packed, (void)out;
}

#endif
