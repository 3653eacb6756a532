#include "rows/row_internal.h"

/* Bits that a number needs beside its sign. */
static int32_t magnitude_bits(int64_t high, uint64_t low) {
    uint64_t sign = (uint64_t)(high >> 63);
    uint64_t upper = (uint64_t)high ^ sign;
    uint64_t lower = low ^ sign;
    if (upper != 0) {
        return 128 - __builtin_clzll(upper);
    }
    return lower == 0 ? 0 : 64 - __builtin_clzll(lower);
}

int32_t row_decimal_bytes(int64_t high, uint64_t low) {
    return magnitude_bits(high, low) / 8 + 1;
}

int32_t row_decimal_store(uint8_t *at, int64_t high, uint64_t low) {
    int32_t size = row_decimal_bytes(high, low);
    uint8_t bytes[16];
    seam_store64(bytes, __builtin_bswap64((uint64_t)high));
    seam_store64(bytes + 8, __builtin_bswap64(low));
    memset(at, 0, (size_t)row_align8(size));
    memcpy(at, bytes + 16 - size, (size_t)size);
    return size;
}

void row_decimal_load(const uint8_t *at, int64_t size_bytes, int64_t *high, uint64_t *low) {
    uint8_t bytes[16];
    memset(bytes, (at[0] & 0x80) != 0 ? 0xFF : 0, sizeof bytes);
    memcpy(bytes + 16 - size_bytes, at, (size_t)size_bytes);
    *high = (int64_t)__builtin_bswap64(seam_load64(bytes));
    *low = __builtin_bswap64(seam_load64(bytes + 8));
}
