#include "seam/byte_stream.h"

#include <string.h>

/* Empty ranges are passed over, so that the current one has a byte unless the end is reached. */
static void settle(struct seam_byte_input *stream) {
    while (stream->current < stream->n_ranges &&
           stream->ranges[stream->current].position == stream->ranges[stream->current].size) {
        stream->current++;
        if (stream->current < stream->n_ranges) {
            stream->ranges[stream->current].position = 0;
        }
    }
}

int seam_byte_input_init(struct seam_byte_input *stream, struct seam_allocator *allocator,
                         const struct seam_byte_range *ranges, int64_t n_ranges,
                         struct seam_error *error) {
    *stream = (struct seam_byte_input){.n_ranges = n_ranges};
    /* One block: the starts, then the ranges. */
    size_t starts_bytes = (size_t)(n_ranges + 1) * sizeof(int64_t);
    void *block;
    SEAM_TRY(
        seam_alloc(allocator, starts_bytes + (size_t)n_ranges * sizeof *ranges, &block, error));
    stream->starts = block;
    stream->ranges = (void *)((uint8_t *)block + starts_bytes);
    int64_t start = 0;
    for (int64_t i = 0; i < n_ranges; i++) {
        stream->ranges[i] = ranges[i];
        stream->ranges[i].position = 0;
        stream->starts[i] = start;
        start += ranges[i].size;
    }
    stream->starts[n_ranges] = start;
    settle(stream);
    return SEAM_OK;
}

void seam_byte_input_reset(struct seam_byte_input *stream) {
    seam_free(stream->starts);
    *stream = (struct seam_byte_input){.n_ranges = 0};
}

int64_t seam_byte_input_size(const struct seam_byte_input *stream) {
    return stream->starts[stream->n_ranges];
}

int64_t seam_byte_input_tell(const struct seam_byte_input *stream) {
    return stream->current == stream->n_ranges
               ? seam_byte_input_size(stream)
               : stream->starts[stream->current] + stream->ranges[stream->current].position;
}

int64_t seam_byte_input_remaining(const struct seam_byte_input *stream) {
    return seam_byte_input_size(stream) - seam_byte_input_tell(stream);
}

static int has(const struct seam_byte_input *stream, int64_t size_bytes, struct seam_error *error) {
    int64_t remaining = seam_byte_input_remaining(stream);
    if (size_bytes >= 0 && size_bytes <= remaining) {
        return SEAM_OK;
    }
    return seam_fail(error, SEAM_BAD_INPUT, seam_byte_input_tell(stream),
                     "%lld bytes are wanted where %lld remain", (long long)size_bytes,
                     (long long)remaining);
}

int64_t seam_byte_input_view(struct seam_byte_input *stream, int64_t wanted_bytes,
                             const uint8_t **bytes) {
    if (stream->current == stream->n_ranges) {
        *bytes = NULL;
        return 0;
    }
    struct seam_byte_range *range = &stream->ranges[stream->current];
    int64_t left = range->size - range->position;
    int64_t taken = wanted_bytes < left ? wanted_bytes : left;
    *bytes = range->buffer + range->position;
    range->position += taken;
    settle(stream);
    return taken;
}

int seam_byte_input_read(struct seam_byte_input *stream, void *out, int64_t size_bytes,
                         struct seam_error *error) {
    SEAM_TRY(has(stream, size_bytes, error));
    uint8_t *to = out;
    while (size_bytes > 0) {
        const uint8_t *bytes;
        int64_t taken = seam_byte_input_view(stream, size_bytes, &bytes);
        memcpy(to, bytes, (size_t)taken);
        to += taken;
        size_bytes -= taken;
    }
    return SEAM_OK;
}

int seam_byte_input_number(struct seam_byte_input *stream, int32_t width_bytes, int64_t *out,
                           struct seam_error *error) {
    uint64_t value = 0;
    SEAM_TRY(seam_byte_input_read(stream, &value, width_bytes, error));
    int unused = 64 - 8 * width_bytes;
    *out = (int64_t)(value << unused) >> unused;
    return SEAM_OK;
}

int seam_byte_input_skip(struct seam_byte_input *stream, int64_t size_bytes,
                         struct seam_error *error) {
    int code = has(stream, size_bytes, error);
    return code == SEAM_OK
               ? seam_byte_input_seek(stream, seam_byte_input_tell(stream) + size_bytes, error)
               : code;
}

int seam_byte_input_seek(struct seam_byte_input *stream, int64_t position_bytes,
                         struct seam_error *error) {
    if (position_bytes < 0 || position_bytes > seam_byte_input_size(stream)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "position %lld is outside a stream of %lld bytes",
                         (long long)position_bytes, (long long)seam_byte_input_size(stream));
    }
    int64_t low = 0;
    int64_t high = stream->n_ranges;
    while (low < high) { /* the first range that ends after the position */
        int64_t middle = low + (high - low) / 2;
        if (stream->starts[middle + 1] > position_bytes) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    stream->current = low;
    if (low < stream->n_ranges) {
        stream->ranges[low].position = position_bytes - stream->starts[low];
    }
    return SEAM_OK;
}
