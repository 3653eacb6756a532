/* Streams of words made of random bytes: a reader may refuse them, never read or write beyond what
 * it was told. What it accepts is written and read back as the same words.
 *
 * Input: a byte for the variant, two for the size of the words; the rest is the stream. */
#include "seam/streamvbyte.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) {
        return 0;
    }
    int32_t delta = data[0] & 1;
    int64_t words_bytes = data[1] | (data[2] & 0x0F) << 8;
    int64_t stream_bytes = (int64_t)size - 3;
    /* Copies of just the size, so that the sanitizer sees one byte too many. */
    uint8_t *stream = malloc((size_t)stream_bytes + 1);
    uint8_t *words = malloc((size_t)words_bytes + 1);
    memcpy(stream + 1, data + 3, (size_t)stream_bytes);
    if (seam_streamvbyte_decode(stream + 1, stream_bytes, 0, delta, words + 1, words_bytes, NULL) ==
        SEAM_OK) {
        uint8_t *again = malloc((size_t)seam_streamvbyte_most(words_bytes) + 1);
        uint8_t *back = malloc((size_t)words_bytes + 1);
        int64_t written = seam_streamvbyte_encode(words + 1, words_bytes, delta, again);
        /* A shorter way to write the same is the only difference there may be. */
        if (written > stream_bytes + (delta ? 3 : 0) ||
            seam_streamvbyte_decode(again, written, 0, delta, back, words_bytes, NULL) != SEAM_OK ||
            memcmp(back, words + 1, (size_t)words_bytes) != 0) {
            abort();
        }
        free(again);
        free(back);
    }
    free(stream);
    free(words);
    return 0;
}
