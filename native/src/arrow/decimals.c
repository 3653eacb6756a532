#include "seam/decimals.h"

#include "base/words.h"

#include <string.h>

enum { WORD = 8 };

static inline void store(uint8_t *to, int64_t low, int64_t high) {
    memcpy(to, &low, WORD);
    memcpy(to + WORD, &high, WORD);
}

/* The first `width_bytes` bytes at `p`, at most eight, of which no other is read. */
static int64_t load_few(const uint8_t *p, int32_t width_bytes) {
    uint8_t bytes[WORD] = {0};
    memcpy(bytes, p, (size_t)width_bytes);
    return (int64_t)seam_load_be64(bytes) >> (8 * (WORD - width_bytes));
}

void seam_decimals_of_bytes(const uint8_t *from, int32_t width_bytes, int64_t n, uint8_t *to) {
    if (width_bytes > WORD) {
        int shift = 8 * (2 * WORD - width_bytes);
        for (int64_t i = 0; i < n; i++) {
            const uint8_t *p = from + i * width_bytes;
            store(to + 16 * i, (int64_t)seam_load_be64(p + width_bytes - WORD),
                  (int64_t)seam_load_be64(p) >> shift);
        }
        return;
    }
    /* As long as whole words may be read: the bytes of the next number are shifted out. */
    int64_t whole = (n * width_bytes - WORD) / width_bytes + 1;
    whole = n * width_bytes < WORD ? 0 : whole;
    int shift = 8 * (WORD - width_bytes);
    for (int64_t i = 0; i < whole; i++) {
        int64_t value = (int64_t)seam_load_be64(from + i * width_bytes) >> shift;
        store(to + 16 * i, value, value >> 63);
    }
    for (int64_t i = whole; i < n; i++) {
        int64_t value = load_few(from + i * width_bytes, width_bytes);
        store(to + 16 * i, value, value >> 63);
    }
}
