/* zlib's CRC-32, four bytes at a time. Hash keys are short: what is fastest on megabytes
 * (carry-less multiplication) would not pay here. */
#include "base/words.h"
#include "seam/hash.h"

#include <string.h>

/* TABLES[k][b]: what byte b does to the CRC when k more bytes follow it in a word. */
static uint32_t tables[4][256];

__attribute__((constructor)) static void fill_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
        }
        tables[0][byte] = crc;
    }
    for (int k = 1; k < 4; k++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t before = tables[k - 1][byte];
            tables[k][byte] = before >> 8 ^ tables[0][before & 0xFF];
        }
    }
}

uint32_t seam_crc32(uint32_t state, const uint8_t *bytes, int64_t size_bytes) {
    uint32_t crc = ~state;
    int64_t i = 0;
    for (; i + 4 <= size_bytes; i += 4) {
        uint32_t word = seam_load32(bytes + i) ^ crc;
        crc = tables[3][word & 0xFF] ^ tables[2][word >> 8 & 0xFF] ^ tables[1][word >> 16 & 0xFF] ^
              tables[0][word >> 24];
    }
    for (; i < size_bytes; i++) {
        crc = crc >> 8 ^ tables[0][(crc ^ bytes[i]) & 0xFF];
    }
    return ~crc;
}
