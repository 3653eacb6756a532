#include "seam/streamvbyte.h"

#include <string.h>

static int64_t words_of(int64_t size_bytes) {
    return size_bytes / 4 + (size_bytes % 4 != 0);
}

static int64_t keys_of(int64_t words) {
    return words / 4 + (words % 4 != 0);
}

int64_t seam_streamvbyte_most(int64_t size_bytes) {
    return keys_of(words_of(size_bytes)) + 4 * words_of(size_bytes);
}

int64_t seam_streamvbyte_least(int64_t size_bytes) {
    return keys_of(words_of(size_bytes)) + words_of(size_bytes);
}

static uint32_t load(const uint8_t *at, int64_t size_bytes) {
    uint32_t word = 0;
    memcpy(&word, at, (size_t)size_bytes); /* little-endian: what is missing is high */
    return word;
}

/* Bytes of a word, less one. */
static unsigned code_of(uint32_t word) {
    return (word > 0xFF) + (word > 0xFFFF) + (word > 0xFFFFFF);
}

int64_t seam_streamvbyte_encode(const uint8_t *words, int64_t size_bytes, int32_t delta,
                                uint8_t *out) {
    int64_t count = words_of(size_bytes);
    uint8_t *at = out + keys_of(count);
    uint32_t before = 0;
    unsigned key = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t left = size_bytes - 4 * i;
        uint32_t word = load(words + 4 * i, left < 4 ? left : 4);
        uint32_t value = delta ? word - before : word;
        unsigned code = code_of(value);
        before = word;
        memcpy(at, &value, 4); /* there is room for four, and the next word overwrites the rest */
        at += code + 1;
        key |= code << (2 * (i & 3));
        if ((i & 3) == 3 || i + 1 == count) {
            out[i / 4] = (uint8_t)key;
            key = 0;
        }
    }
    return at - out;
}

/* Where the next word begins, and how far the input goes. */
struct source {
    const uint8_t *keys;
    const uint8_t *at;
    const uint8_t *end;
};

static unsigned code_at(const struct source *source, int64_t i) {
    return (unsigned)source->keys[i / 4] >> (2 * (i & 3)) & 3;
}

/* Words from `i` on as long as four bytes can be read whatever they take; returns the next. */
static int64_t decode_quickly(struct source *source, int64_t i, int64_t count, uint32_t delta_mask,
                              uint32_t *before, uint8_t *out) {
    static const uint32_t MASKS[] = {0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF};
    const uint8_t *at = source->at;
    uint32_t last = *before;
    for (; i + 4 <= count && source->end - at >= 16; i += 4) {
        unsigned key = source->keys[i / 4];
        for (int j = 0; j < 4; j++, key >>= 2) {
            uint32_t value = load(at, 4) & MASKS[key & 3];
            at += (key & 3) + 1;
            last = value + (last & delta_mask);
            memcpy(out + 4 * (i + j), &last, 4);
        }
    }
    source->at = at;
    *before = last;
    return i;
}

int seam_streamvbyte_decode(const uint8_t *data, int64_t data_bytes, int64_t base_bytes,
                            int32_t delta, uint8_t *out, int64_t size_bytes,
                            struct seam_error *error) {
    int64_t count = words_of(size_bytes);
    if (data_bytes < seam_streamvbyte_least(size_bytes) ||
        data_bytes > seam_streamvbyte_most(size_bytes)) {
        return seam_fail(error, SEAM_BAD_INPUT, base_bytes,
                         "%lld bytes cannot be the stream of %lld words", (long long)data_bytes,
                         (long long)count);
    }
    struct source source = {.keys = data, .at = data + keys_of(count), .end = data + data_bytes};
    uint32_t delta_mask = delta ? UINT32_MAX : 0;
    uint32_t before = 0;
    int64_t i = decode_quickly(&source, 0, size_bytes / 4, delta_mask, &before, out);
    for (; i < count; i++) {
        int64_t taken = (int64_t)code_at(&source, i) + 1;
        if (taken > source.end - source.at) {
            return seam_fail(error, SEAM_BAD_INPUT, base_bytes + (source.at - data),
                             "word %lld of %lld is cut off by the end of its stream", (long long)i,
                             (long long)count);
        }
        before = load(source.at, taken) + (before & delta_mask);
        source.at += taken;
        int64_t left = size_bytes - 4 * i;
        memcpy(out + 4 * i, &before, left < 4 ? (size_t)left : 4);
    }
    return source.at == source.end
               ? SEAM_OK
               : seam_fail(error, SEAM_BAD_INPUT, base_bytes + (source.at - data),
                           "the stream of %lld words goes on for %lld bytes after the last",
                           (long long)count, (long long)(source.end - source.at));
}
