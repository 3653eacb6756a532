#include "seam/byte_stream.h"

#include "base/bits.h"

#include <string.h>

void seam_byte_output_init(struct seam_byte_output *stream, struct seam_stream_arena *arena,
                           int32_t is_bits) {
    *stream = (struct seam_byte_output){.arena = arena, .is_bits = is_bits};
}

void seam_byte_output_clear(struct seam_byte_output *stream) {
    seam_free(stream->more);
    seam_byte_output_init(stream, stream->arena, stream->is_bits);
}

enum { TINY_BYTES = 16 };

static int64_t round_up(int64_t value, int64_t step) {
    return (value + step - 1) / step * step;
}

int64_t seam_byte_output_growth(int64_t held_bytes, int64_t asked_bytes, int32_t tiny) {
    int64_t whole = held_bytes + asked_bytes;
    if (whole < 128 && tiny) {
        int64_t size = TINY_BYTES;
        while (size < asked_bytes || size < held_bytes) {
            size *= 2;
        }
        return size;
    }
    if (whole < 128) {
        return 128;
    }
    if (whole < 512) {
        return round_up(asked_bytes, 128);
    }
    if (whole < SEAM_PAGE_BYTES) {
        return round_up(asked_bytes, 512);
    }
    return round_up(asked_bytes, SEAM_PAGE_BYTES);
}

static struct seam_byte_range *ranges_of(struct seam_byte_output *stream) {
    return stream->more == NULL ? &stream->first : stream->more;
}

/* Makes room in the list for one range more. */
static int grow_list(struct seam_byte_output *stream, struct seam_error *error) {
    if (stream->n_ranges == 0 || stream->n_ranges < stream->capacity) {
        return SEAM_OK;
    }
    int32_t capacity = stream->capacity == 0 ? 4 : stream->capacity * 2;
    void *list = stream->more;
    SEAM_TRY(seam_realloc(stream->arena->runs.allocator, &list,
                          (size_t)capacity * sizeof *stream->more, error));
    if (stream->more == NULL) {
        memcpy(list, &stream->first, sizeof stream->first);
    }
    stream->more = list;
    stream->capacity = capacity;
    return SEAM_OK;
}

static int extend(struct seam_byte_output *stream, int64_t asked_bytes, struct seam_error *error) {
    struct seam_byte_range fresh;
    int64_t wanted =
        seam_byte_output_growth(stream->room_bytes, asked_bytes, stream->arena->tiny_ranges);
    SEAM_TRY(grow_list(stream, error));
    SEAM_TRY(seam_stream_arena_range(stream->arena, wanted, &fresh, error));
    stream->room_bytes += fresh.size;
    fresh.size *= stream->is_bits ? 8 : 1;
    ranges_of(stream)[stream->n_ranges++] = fresh;
    return SEAM_OK;
}

int seam_byte_output_set_aside(struct seam_byte_output *stream, int64_t size_bytes,
                               struct seam_error *error) {
    return stream->n_ranges == 0 && size_bytes > 0 ? extend(stream, size_bytes, error) : SEAM_OK;
}

/* The range to write to, with room for a byte or bit at least; `asked` (in the stream's unit) says
 * how much is still to come. */
static int writable(struct seam_byte_output *stream, int64_t asked, struct seam_byte_range **out,
                    struct seam_error *error) {
    int64_t asked_bytes = stream->is_bits ? (asked + 7) / 8 : asked;
    SEAM_TRY(stream->n_ranges == 0 ? extend(stream, asked_bytes, error) : SEAM_OK);
    struct seam_byte_range *range = &ranges_of(stream)[stream->current];
    if (range->position == range->size) {
        if (stream->current + 1 == stream->n_ranges) {
            SEAM_TRY(extend(stream, asked_bytes, error));
        }
        range = &ranges_of(stream)[stream->current]; /* the list may have moved */
        stream->before += range->size;
        stream->current++;
        range++;
        range->position = 0;
    }
    *out = range;
    return SEAM_OK;
}

/* Moves the mark over what was just written. */
static void written(struct seam_byte_output *stream, struct seam_byte_range *range, int64_t count) {
    range->position += count;
    int64_t end = stream->before + range->position;
    stream->size = end > stream->size ? end : stream->size;
}

int seam_byte_output_space(struct seam_byte_output *stream, int64_t wanted_bytes, uint8_t **space,
                           int64_t *room_bytes, struct seam_error *error) {
    struct seam_byte_range *range;
    if (stream->is_bits || wanted_bytes <= 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "%lld bytes of space were asked of a stream of %s",
                         (long long)wanted_bytes, stream->is_bits ? "bits" : "bytes");
    }
    SEAM_TRY(writable(stream, wanted_bytes, &range, error));
    int64_t left = range->size - range->position;
    *space = range->buffer + range->position;
    *room_bytes = wanted_bytes < left ? wanted_bytes : left;
    written(stream, range, *room_bytes);
    return SEAM_OK;
}

int seam_byte_output_append(struct seam_byte_output *stream, const void *bytes, int64_t size_bytes,
                            struct seam_error *error) {
    const uint8_t *from = bytes;
    while (size_bytes > 0) {
        uint8_t *space = NULL;
        int64_t room = 0;
        SEAM_TRY(seam_byte_output_space(stream, size_bytes, &space, &room, error));
        memcpy(space, from, (size_t)room);
        from += room;
        size_bytes -= room;
    }
    return SEAM_OK;
}

int seam_byte_output_append_bits(struct seam_byte_output *stream, const uint8_t *bits,
                                 int64_t begin, int64_t end, struct seam_error *error) {
    if (!stream->is_bits) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "bits were appended to a stream of bytes");
    }
    while (begin < end) {
        struct seam_byte_range *range;
        SEAM_TRY(writable(stream, end - begin, &range, error));
        int64_t left = range->size - range->position;
        int64_t count = end - begin < left ? end - begin : left;
        seam_copy_bits(range->buffer, range->position, bits, begin, count);
        written(stream, range, count);
        begin += count;
    }
    return SEAM_OK;
}

int seam_byte_output_append_bit(struct seam_byte_output *stream, bool bit, int64_t count,
                                struct seam_error *error) {
    uint8_t pattern[64];
    memset(pattern, bit ? 0xFF : 0, sizeof pattern);
    while (count > 0) {
        int64_t now = count < (int64_t)sizeof pattern * 8 ? count : (int64_t)sizeof pattern * 8;
        SEAM_TRY(seam_byte_output_append_bits(stream, pattern, 0, now, error));
        count -= now;
    }
    return SEAM_OK;
}

int64_t seam_byte_output_tell(const struct seam_byte_output *stream) {
    if (stream->n_ranges == 0) {
        return 0;
    }
    const struct seam_byte_range *ranges = stream->more == NULL ? &stream->first : stream->more;
    return stream->before + ranges[stream->current].position;
}

int seam_byte_output_seek(struct seam_byte_output *stream, int64_t position,
                          struct seam_error *error) {
    if (position < 0 || position > stream->size) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "position %lld is outside a stream that ends at %lld", (long long)position,
                         (long long)stream->size);
    }
    struct seam_byte_range *ranges = ranges_of(stream);
    int64_t before = 0;
    for (int32_t i = 0; i < stream->n_ranges; i++) {
        if (position - before <= ranges[i].size) {
            stream->current = i;
            stream->before = before;
            ranges[i].position = position - before;
            return SEAM_OK;
        }
        before += ranges[i].size;
    }
    return SEAM_OK; /* an empty stream has no range to go to */
}

int64_t seam_byte_output_bytes(const struct seam_byte_output *stream) {
    return stream->is_bits ? (stream->size + 7) / 8 : stream->size;
}

static void copy_reversed(uint8_t *to, const uint8_t *from, int64_t size_bytes) {
    for (int64_t i = 0; i < size_bytes; i++) {
        unsigned byte = from[i];
        byte = (byte & 0xF0U) >> 4 | (byte & 0x0FU) << 4;
        byte = (byte & 0xCCU) >> 2 | (byte & 0x33U) << 2;
        to[i] = (uint8_t)((byte & 0xAAU) >> 1 | (byte & 0x55U) << 1);
    }
}

void seam_byte_output_copy(const struct seam_byte_output *stream, uint8_t *out) {
    const struct seam_byte_range *ranges = stream->more == NULL ? &stream->first : stream->more;
    int64_t left = seam_byte_output_bytes(stream);
    uint8_t *to = out;
    for (int32_t i = 0; left > 0; i++) {
        int64_t held = stream->is_bits ? ranges[i].size / 8 : ranges[i].size;
        int64_t taken = left < held ? left : held;
        if (stream->is_bits) {
            copy_reversed(to, ranges[i].buffer, taken);
        } else {
            memcpy(to, ranges[i].buffer, (size_t)taken);
        }
        to += taken;
        left -= taken;
    }
    if (stream->is_bits && stream->size % 8 != 0) {
        to[-1] &= (uint8_t)(0xFFU << (8 - stream->size % 8)); /* never written */
    }
}
