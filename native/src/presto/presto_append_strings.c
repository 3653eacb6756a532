/* Bytes of strings appended to a column's stream of values. */
#include "stream/presto_stream.h"

/* Where the bytes of a column's rows lie, and where those of its last row end. */
struct strings {
    const struct seam_view *view;
    int64_t width_bytes; /* of every row, or 0 where offsets say it */
    const uint8_t *end;
};

static int64_t string_at(const struct strings *strings, int64_t row, const uint8_t **bytes) {
    if (strings->width_bytes > 0) {
        *bytes = strings->view->data + (strings->view->offset + row) * strings->width_bytes;
        return strings->width_bytes;
    }
    return seam_view_bytes(strings->view, row, bytes);
}

static struct strings strings_of(const struct stream_column *column, const struct seam_view *view) {
    struct strings strings = {.view = view};
    strings.width_bytes = column->type->kind == SEAM_PRESTO_SLICE ? view->width_bytes : 0;
    if (view->length > 0) {
        int64_t size = string_at(&strings, view->length - 1, &strings.end);
        strings.end += size;
    }
    return strings;
}

/* Where both sides have room, whole steps are copied, of which the next string overwrites what is
 * too much: that saves a branch that nobody can predict. */
enum { STEP_BYTES = 32 };

/* Rows of one destination lie far apart: their strings are fetched before they are needed. */
enum { ROWS_AHEAD = 24 };

static inline void copy_steps(uint8_t *to, const uint8_t *from, int64_t size) {
    memcpy(to, from, STEP_BYTES);
    for (int64_t done = STEP_BYTES; done < size; done += STEP_BYTES) {
        memcpy(to + done, from + done, STEP_BYTES);
    }
}

/* Columns of which most rows lie in the caches near are not worth being asked for ahead. */
enum { NEAR_BYTES = 1 << 18 };

/* The strings that fit into `room` bytes, from number `at` on; returns the number after the last
 * of them. Those with offsets of 32 bits. */
static inline int64_t copy_fitting_var32(const struct strings *strings,
                                         const int32_t *restrict list, int64_t count, int64_t at,
                                         uint8_t **to, int64_t *room_bytes, const bool far) {
    const struct seam_view *view = strings->view;
    const int32_t *restrict offsets = (const int32_t *)view->offsets + view->offset;
    const uint8_t *data = view->data;
    const uint8_t *source_end = strings->end;
    uint8_t *out = *to;
    int64_t room = *room_bytes;
    for (; at < count; at++) {
        if (far && at + ROWS_AHEAD < count) {
            const uint8_t *ahead = data + offsets[list[at + ROWS_AHEAD]];
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + STEP_BYTES - 1);
        }
        int32_t ends[2];
        memcpy(ends, offsets + list[at], sizeof ends);
        const uint8_t *bytes = data + ends[0];
        const int64_t size = ends[1] - ends[0];
        if (size > room) {
            break;
        }
        if (room >= size + STEP_BYTES && source_end - bytes >= size + STEP_BYTES) {
            copy_steps(out, bytes, size);
        } else if (size > 0) {
            memcpy(out, bytes, (size_t)size);
        }
        out += size;
        room -= size;
    }
    *to = out;
    *room_bytes = room;
    return at;
}

/* The same for any layout. */
static int64_t copy_fitting(const struct strings *strings, const struct presto_rows *rows,
                            int64_t at, uint8_t **to, int64_t *room_bytes) {
    if (strings->width_bytes == 0 && strings->view->layout == SEAM_LAYOUT_VAR32) {
        return strings->end - strings->view->data > NEAR_BYTES
                   ? copy_fitting_var32(strings, rows->rows, rows->count, at, to, room_bytes, true)
                   : copy_fitting_var32(strings, rows->rows, rows->count, at, to, room_bytes,
                                        false);
    }
    for (; at < rows->count; at++) {
        const uint8_t *bytes;
        const int64_t size = string_at(strings, rows->rows[at], &bytes);
        if (size > *room_bytes) {
            break;
        }
        if (size > 0) {
            memcpy(*to, bytes, (size_t)size);
        }
        *to += size;
        *room_bytes -= size;
    }
    return at;
}

int presto_append_strings(struct stream_column *column, const struct seam_node *node,
                          const struct presto_rows *rows, int64_t total_bytes,
                          struct seam_error *error) {
    const struct strings strings = strings_of(column, &node->view);
    const uint8_t *bytes;
    int64_t at = 0;
    if (rows->rows == NULL) { /* neighbours lie end to end */
        string_at(&strings, rows->begin, &bytes);
        return seam_byte_output_append(&column->values, bytes, total_bytes, error);
    }
    while (total_bytes > 0) {
        uint8_t *to;
        int64_t room;
        SEAM_TRY(seam_byte_output_space(&column->values, total_bytes, &to, &room, error));
        total_bytes -= room;
        at = copy_fitting(&strings, rows, at, &to, &room);
        if (room > 0) { /* the next string straddles two ranges */
            int64_t size = string_at(&strings, rows->rows[at++], &bytes);
            memcpy(to, bytes, (size_t)room);
            total_bytes -= size - room;
            SEAM_TRY(seam_byte_output_append(&column->values, bytes + room, size - room, error));
        }
    }
    return SEAM_OK;
}
