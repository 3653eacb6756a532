/* Loops over null flags. */
#include "offheap/engine_buffers.h"

#include "base/bits.h"
#include "base/wide.h"
#include "base/words.h"

/* The sum of the eight bytes of a word, each at most 31. */
static int64_t sum_bytes(uint64_t word) {
    return (int64_t)((word * UINT64_C(0x0101010101010101)) >> 56);
}

SEAM_WIDE int64_t seam_flags_count(const uint8_t *flags, int64_t rows) {
    enum { WORDS = 31 }; /* sums of so many flags, byte by byte, still add up to less than 256 */
    uint64_t all = 0;
    int64_t count = 0;
    int64_t i = 0;
    for (; i + 8 * WORDS <= rows; i += 8 * WORDS) {
        uint64_t sums = 0;
        for (int64_t j = 0; j < WORDS; j++) {
            uint64_t word = seam_load64(flags + i + 8 * j);
            all |= word;
            sums += word;
        }
        count += sum_bytes(sums);
    }
    for (; i < rows; i++) {
        all |= flags[i];
        count += flags[i];
    }
    return (all & ~UINT64_C(0x0101010101010101)) == 0 ? count : -1;
}

SEAM_WIDE void seam_flags_to_validity(const uint8_t *flags, int64_t rows, uint8_t *out) {
    seam_pack(flags, rows, 1, out);
}
