/* Decimals that are stored as bytes, against their sign put before them byte by byte.
 *
 * Input: a byte for the width, then the numbers. */
#include "seam/decimals.h"

#include "columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    int width = 1 + take(&input) % 16;
    int64_t n = (int64_t)input.left / width;
    uint8_t *from = malloc((size_t)(n * width) + 1), *to = malloc((size_t)n * 16 + 1);
    memcpy(from, input.data, (size_t)(n * width));
    from = realloc(from, (size_t)(n * width) + (n == 0)); /* no byte more than is there */
    seam_decimals_of_bytes(from, width, n, to);
    for (int64_t i = 0; i < n; i++) {
        for (int byte = 0; byte < 16; byte++) {
            const uint8_t *number = from + i * width;
            uint8_t sign = number[0] & 0x80 ? 0xFF : 0;
            expect(to[16 * i + byte] == (byte < width ? number[width - 1 - byte] : sign));
        }
    }
    free(from);
    free(to);
    return 0;
}
