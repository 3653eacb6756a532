/* Decimals of bytes against numbers put together byte by byte. */
#include "seam/decimals.h"

#include "check.h"

#include <string.h>

__extension__ typedef __int128 int128;

/* The number that some bytes are, by the definition of two's complement. */
static int128 number_of(const uint8_t *bytes, int32_t width) {
    int128 value = bytes[0] >= 0x80 ? -1 : 0;
    for (int32_t i = 0; i < width; i++) {
        value = value * 256 + bytes[i];
    }
    return value;
}

/* Buffers of just the size, so that the sanitizer sees a byte too many on either side. */
static void numbers_of_every_width_come_out(void) {
    for (int32_t width = 1; width <= 16; width++) {
        for (int64_t n = 0; n <= 20; n++) {
            uint8_t *from = malloc((size_t)(n * width) + (n == 0));
            uint8_t *to = malloc((size_t)(n * 16) + (n == 0));
            for (int64_t i = 0; i < n * width; i++) {
                from[i] = (uint8_t)(i * 37 + n * 11 + width); /* either sign */
            }
            seam_decimals_of_bytes(from, width, n, to);
            for (int64_t i = 0; i < n; i++) {
                int128 value;
                memcpy(&value, to + 16 * i, sizeof value);
                CHECK(value == number_of(from + i * width, width));
            }
            free(from);
            free(to);
        }
    }
}

/* The least, the greatest, and the numbers on either side of zero. */
static void ends_of_the_range_keep_their_sign(void) {
    for (int32_t width = 1; width <= 16; width++) {
        uint8_t from[4 * 16], to[4 * 16];
        memset(from, 0, sizeof from);
        memset(from + width, 0xFF, (size_t)width); /* -1 */
        from[2 * width] = 0x80;
        memset(from + 3 * width, 0xFF, (size_t)width);
        from[3 * width] = 0x7F;
        seam_decimals_of_bytes(from, width, 4, to);
        int128 values[4];
        memcpy(values, to, sizeof values);
        int128 greatest = 127;
        for (int32_t i = 1; i < width; i++) {
            greatest = greatest * 256 + 255;
        }
        CHECK(values[0] == 0 && values[1] == -1);
        CHECK(values[2] == -greatest - 1 && values[3] == greatest);
    }
}

int main(void) {
    numbers_of_every_width_come_out();
    ends_of_the_range_keep_their_sign();
    return 0;
}
