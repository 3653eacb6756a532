#include "seam/row_frames.h"

#include "rows/row_internal.h"

int seam_row_frames_next(const struct seam_row_frames *frames, int64_t *position, int64_t *start,
                         int64_t *length, struct seam_error *error) {
    int64_t at = *position;
    if (frames->size_bytes - at < SEAM_ROW_LENGTH_BYTES) {
        return seam_fail(error, SEAM_BAD_INPUT, at,
                         "the length of a row is cut off after %lld of "
                         "its 4 bytes",
                         (long long)(frames->size_bytes - at));
    }
    *length = (int32_t)seam_load_be32(frames->data + at);
    *start = at + SEAM_ROW_LENGTH_BYTES;
    if (*length < 0 || *length > frames->size_bytes - *start) {
        return seam_fail(error, SEAM_BAD_INPUT, at,
                         "a row of %lld bytes is announced where %lld are left", (long long)*length,
                         (long long)(frames->size_bytes - *start));
    }
    *position = *start + *length;
    return SEAM_OK;
}

int seam_row_frames_count(const uint8_t *data, int64_t size_bytes, int64_t *count,
                          struct seam_error *error) {
    struct seam_row_frames frames = {.data = data, .size_bytes = size_bytes};
    int64_t position = 0;
    int64_t rows = 0;
    while (position < size_bytes) {
        int64_t start, length;
        SEAM_TRY(seam_row_frames_next(&frames, &position, &start, &length, error));
        rows += 1;
    }
    *count = rows;
    return SEAM_OK;
}

int seam_row_frames_find(const uint8_t *data, int64_t size_bytes, int64_t count, int64_t *starts,
                         int64_t *lengths, struct seam_error *error) {
    struct seam_row_frames frames = {.data = data, .size_bytes = size_bytes};
    int64_t position = 0;
    for (int64_t i = 0; i < count; i++) {
        SEAM_TRY(seam_row_frames_next(&frames, &position, &starts[i], &lengths[i], error));
    }
    return SEAM_OK;
}

int seam_row_block_next(const struct seam_row_frames *frames, struct row_cursor *cursor,
                        struct row_block *block, struct seam_error *error) {
    int64_t left = frames->count - cursor->row;
    block->first = cursor->row;
    block->count = left < ROW_BLOCK ? left : ROW_BLOCK;
    for (int64_t i = 0; i < block->count; i++) {
        int64_t start = 0, length = 0;
        if (frames->starts == NULL) {
            SEAM_TRY(seam_row_frames_next(frames, &cursor->position, &start, &length, error));
        } else {
            start = frames->starts[block->first + i];
            length = frames->lengths[block->first + i];
            if (start < 0 || length < 0 || length > frames->size_bytes ||
                start > frames->size_bytes - length) {
                return seam_fail(error, SEAM_BAD_INPUT, start,
                                 "row %lld of %lld bytes at offset %lld is not within the %lld "
                                 "bytes there are",
                                 (long long)(block->first + i), (long long)length, (long long)start,
                                 (long long)frames->size_bytes);
            }
        }
        block->row[i] = frames->data + start;
        block->length[i] = length;
    }
    cursor->row += block->count;
    return SEAM_OK;
}
