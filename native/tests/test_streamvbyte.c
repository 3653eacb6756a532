/* Stream VByte against streams worked out by hand, and against every input that breaks it. */
#include "seam/streamvbyte.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

struct vector {
    int32_t delta;
    int64_t size_bytes;
    uint32_t words[5];
    int64_t stream_bytes;
    uint8_t stream[24];
};

/* Lengths of one to four bytes have the codes 0 to 3; the first word has the lowest bits. */
static const struct vector VECTORS[] = {
    {0, 0, {0}, 0, {0}},
    {0, 4, {0}, 2, {0x00, 0x00}},
    {0, 4, {0xFF}, 2, {0x00, 0xFF}},
    {0, 4, {0x100}, 3, {0x01, 0x00, 0x01}},
    {0, 16, {1, 0x100, 0x10000, 0x1000000}, 11, {0xE4, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1}},
    {0,
     20,
     {0xFFFFFFFF, 0, 0xFFFF, 0xFFFFFF, 7},
     13,
     {0x93, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 7}},
    /* 0, 2, 2, 300 are 0, +2, 0, +298 */
    {1, 16, {0, 2, 2, 300}, 6, {0x40, 0, 2, 0, 0x2A, 0x01}},
    /* a fall is a step forward modulo 2^32 */
    {1, 8, {5, 4}, 6, {0x0C, 5, 0xFF, 0xFF, 0xFF, 0xFF}},
    /* five bytes are two words, the second of one byte */
    {0, 5, {0x01020304, 0x09}, 6, {0x03, 4, 3, 2, 1, 9}},
    {0, 7, {0x01, 0x00010000}, 5, {0x08, 1, 0, 0, 1}},
};

static void streams_are_those_worked_out_by_hand(void) {
    for (size_t i = 0; i < sizeof VECTORS / sizeof VECTORS[0]; i++) {
        const struct vector *vector = &VECTORS[i];
        uint8_t *words = malloc((size_t)vector->size_bytes + 1);
        uint8_t *out = malloc((size_t)seam_streamvbyte_most(vector->size_bytes) + 1);
        memcpy(words, vector->words, (size_t)vector->size_bytes);
        int64_t written = seam_streamvbyte_encode(words, vector->size_bytes, vector->delta, out);
        CHECK(written == vector->stream_bytes);
        CHECK(memcmp(out, vector->stream, (size_t)written) == 0);
        memset(words, 0xAA, (size_t)vector->size_bytes);
        CHECK_OK(seam_streamvbyte_decode(vector->stream, vector->stream_bytes, 0, vector->delta,
                                         words, vector->size_bytes, &error));
        CHECK(memcmp(words, vector->words, (size_t)vector->size_bytes) == 0);
        free(words);
        free(out);
    }
}

enum { MANY = 1003 };

/* Buffers of just the size, so that the sanitizer sees a byte too many on either side. */
static void words_of_every_length_come_back(void) {
    uint32_t state = 1;
    for (int64_t size_bytes = 0; size_bytes < MANY; size_bytes += 1 + size_bytes / 8) {
        for (int32_t delta = 0; delta < 2; delta++) {
            uint8_t *words = malloc((size_t)size_bytes + 1);
            for (int64_t i = 0; i < size_bytes; i++) {
                state = state * 1664525 + 1013904223;
                words[i] = state >> 30 ? (uint8_t)(state >> 8) : 0;
            }
            uint8_t *out = malloc((size_t)seam_streamvbyte_most(size_bytes) + 1);
            int64_t written = seam_streamvbyte_encode(words, size_bytes, delta, out);
            uint8_t *stream = malloc((size_t)written + 1);
            uint8_t *back = malloc((size_t)size_bytes + 1);
            memcpy(stream + 1, out, (size_t)written); /* unaligned, and its end is the block's */
            CHECK(written >= seam_streamvbyte_least(size_bytes));
            CHECK_OK(seam_streamvbyte_decode(stream + 1, written, 0, delta, back + 1, size_bytes,
                                             &error));
            CHECK(memcmp(back + 1, words, (size_t)size_bytes) == 0);
            free(words);
            free(out);
            free(stream);
            free(back);
        }
    }
}

/* Too short, too long, or lengths that add up to something else: refused where it shows. */
static void streams_of_another_length_are_refused(void) {
    const struct vector *vector = &VECTORS[4];
    uint8_t stream[24], words[20];
    for (int64_t size = 0; size < 16; size++) {
        int code = seam_streamvbyte_decode(vector->stream, size, 0, 0, words, 16, &error);
        CHECK(code == (size == 11 ? SEAM_OK : SEAM_BAD_INPUT));
    }
    memcpy(stream, vector->stream, sizeof stream);
    stream[0] = 0xE8; /* one byte more than there is */
    CHECK(seam_streamvbyte_decode(stream, 11, 100, 0, words, 16, &error) == SEAM_BAD_INPUT);
    CHECK(error.offset == 108 && strstr(error.message, "word 3 of 4 is cut off") != NULL);
    stream[0] = 0xE0; /* one byte less */
    CHECK(seam_streamvbyte_decode(stream, 11, 100, 0, words, 16, &error) == SEAM_BAD_INPUT);
    CHECK(error.offset == 110 && strstr(error.message, "goes on for 1 bytes") != NULL);
    CHECK(seam_streamvbyte_decode(stream, INT64_MAX, 0, 0, words, 16, &error) == SEAM_BAD_INPUT);
}

int main(void) {
    streams_are_those_worked_out_by_hand();
    words_of_every_length_come_back();
    streams_of_another_length_are_refused();
    return 0;
}
