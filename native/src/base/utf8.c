#include "base/utf8.h"

#include "base/wide.h"
#include "base/words.h"

#include <string.h>

enum { BLOCK = 256 };

/* Skips whole blocks of ASCII. */
SEAM_WIDE static int64_t skip_blocks(const uint8_t *bytes, int64_t position, int64_t size_bytes) {
    while (position + BLOCK <= size_bytes) {
        uint8_t all = 0;
        for (int64_t i = 0; i < BLOCK; i++) {
            all |= bytes[position + i];
        }
        if (all >= 0x80) {
            break;
        }
        position += BLOCK;
    }
    return position;
}

static int64_t skip_ascii(const uint8_t *bytes, int64_t position, int64_t size_bytes) {
    while (position + 8 <= size_bytes) {
        uint64_t word;
        memcpy(&word, bytes + position, sizeof word);
        if ((word & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
        position += 8;
    }
    while (position < size_bytes && bytes[position] < 0x80) {
        position += 1;
    }
    return position;
}

/* Length of the character that starts with a byte of 128 or more, or 0 if it is none. The second
 * byte decides about overlong forms, surrogates and the upper end. */
static int64_t character(const uint8_t *bytes, int64_t left) {
    uint8_t lead = bytes[0];
    int64_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length == 0 || length > left) {
        return 0;
    }
    uint8_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (bytes[1] < lowest || bytes[1] > highest) {
        return 0;
    }
    for (int64_t i = 2; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return length;
}

int seam_utf8_valid(const uint8_t *bytes, int64_t size_bytes, int *ascii) {
    int64_t position = skip_ascii(bytes, skip_blocks(bytes, 0, size_bytes), size_bytes);
    *ascii = position == size_bytes;
    while (position < size_bytes) {
        int64_t length = character(bytes + position, size_bytes - position);
        if (length == 0) {
            return 0;
        }
        position = skip_ascii(bytes, position + length, size_bytes);
    }
    return 1;
}

/* Texts lie behind each other: where all of them together are right, one of them is wrong only if
 * it begins or ends within a character. */
int64_t seam_utf8_first_bad(const uint8_t *bytes, const uint8_t *offsets, int64_t rows,
                            const uint8_t *validity) {
    int64_t size = seam_load32(offsets + 4 * rows);
    int ascii, whole = seam_utf8_valid(bytes, size, &ascii), begins = 1;
    for (int64_t row = whole && ascii ? rows : 0; row < rows; row++) {
        int64_t begin = seam_load32(offsets + 4 * row), end = seam_load32(offsets + 4 * (row + 1));
        int ends = end == size || (bytes[end] & 0xC0) != 0x80;
        int good = whole ? begin == end || (begins && ends)
                         : seam_utf8_valid(bytes + begin, end - begin, &ascii);
        if (!good && (validity == NULL || (validity[row >> 3] >> (row & 7) & 1) != 0)) {
            return row;
        }
        begins = ends;
    }
    return rows;
}
