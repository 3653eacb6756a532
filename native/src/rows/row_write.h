/* What the writers of both row formats do alike. A value that takes the same bytes in every row
 * lies `ahead` bytes behind a pointer for each of them: where the row begins, or how far it is
 * written.
 */
#ifndef SEAM_ROW_WRITE_H
#define SEAM_ROW_WRITE_H

#include "rows/row_internal.h"

/* Begins `count` rows that lie at `starts` of `out`: their pointers, zeros as their null bits, and
 * their lengths before them where the gap is for that. `null_bytes` is a multiple of `step_bytes`.
 */
ROW_INLINE void row_begin(const int64_t *starts, int64_t count, int64_t gap_bytes,
                          int64_t null_bytes, int32_t step_bytes, uint8_t *out, uint8_t **rows) {
    for (int64_t i = 0; i < count; i++) {
        uint8_t *row = out + starts[i];
        if (gap_bytes == SEAM_ROW_LENGTH_BYTES) {
            int64_t length = starts[i + 1] - gap_bytes - starts[i];
            seam_store32(row - SEAM_ROW_LENGTH_BYTES, __builtin_bswap32((uint32_t)length));
        }
        rows[i] = row;
    }
    /* Row by row this would be a call of memset each, for a few bytes. */
    for (int64_t byte = 0; byte < null_bytes; byte += step_bytes) {
        for (int64_t i = 0; i < count; i++) {
            row_store_fixed(rows[i] + byte, 0, step_bytes);
        }
    }
}

/* Sets the bits of a lane's nulls in rows whose null bits are zeros. */
ROW_INLINE void row_mark_nulls(const struct row_lane *lane, int64_t field, uint8_t *const *rows) {
    int64_t byte = field >> 3;
    int shift = (int)(field & 7);
    for (int64_t i = 0; i < lane->count; i++) {
        uint8_t *bits = rows[i] + byte;
        *bits = (uint8_t)(*bits | lane->null[i] << shift);
    }
}

/* Where a lane's values of `width` bytes begin: those of its first row, or of its leaf's where `at`
 * counts from. Worked out before a loop, as what a loop stores may be anything to the compiler. */
ROW_INLINE const uint8_t *row_data(const struct row_lane *lane, const int64_t *at, int64_t width) {
    const struct seam_view *view = &lane->leaf->view;
    return view->data + (view->offset + (at == NULL ? lane->begin : 0)) * width;
}

/* The value of row i, or 0 where it is null. What lies under a null of a plain column can be read;
 * behind a dictionary there may be nothing. */
ROW_INLINE uint64_t row_load_or_zero(const struct row_lane *lane, const uint8_t *data,
                                     const int64_t *at, int64_t i, int32_t width) {
    if (at != NULL && lane->null[i]) {
        return 0;
    }
    uint64_t keep = (uint64_t)lane->null[i] - 1;
    return row_load_fixed(data + (at == NULL ? i : at[i]) * width, width) & keep;
}

ROW_INLINE void row_put_width(const struct row_lane *lane, const int64_t *at, int32_t width,
                              int32_t place_bytes, uint8_t *const *to, int64_t ahead) {
    const uint8_t *data = row_data(lane, at, width);
    int64_t count = lane->count;
    if (lane->any_null) {
        for (int64_t i = 0; i < count; i++) {
            row_store_fixed(to[i] + ahead, row_load_or_zero(lane, data, at, i, width), place_bytes);
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = row_load_fixed(data + (at == NULL ? i : at[i]) * width, width);
        row_store_fixed(to[i] + ahead, value, place_bytes);
    }
}

ROW_INLINE void row_put_fixed_at(const struct row_lane *lane, const int64_t *at,
                                 int32_t place_bytes, uint8_t *const *to, int64_t ahead) {
    switch (lane->type->width_bytes) {
    case 1:
        row_put_width(lane, at, 1, place_bytes == 0 ? 1 : place_bytes, to, ahead);
        break;
    case 2:
        row_put_width(lane, at, 2, place_bytes == 0 ? 2 : place_bytes, to, ahead);
        break;
    case 4:
        row_put_width(lane, at, 4, place_bytes == 0 ? 4 : place_bytes, to, ahead);
        break;
    default:
        row_put_width(lane, at, 8, 8, to, ahead);
    }
}

/* Values of 1, 2, 4 or 8 bytes, nulls as zeros, each in a place of `place_bytes`; 0: of its own. */
ROW_INLINE void row_put_fixed(const struct row_lane *lane, int32_t place_bytes, uint8_t *const *to,
                              int64_t ahead) {
    lane->at == NULL ? row_put_fixed_at(lane, NULL, place_bytes, to, ahead)
                     : row_put_fixed_at(lane, lane->at, place_bytes, to, ahead);
}

ROW_INLINE bool row_put_short_decimals_at(const struct row_lane *lane, const int64_t *at,
                                          bool any_null, uint8_t *const *to, int64_t ahead) {
    const uint8_t *data = row_data(lane, at, 16);
    int64_t count = lane->count;
    uint64_t limit = (uint64_t)seam_power_of_ten(lane->type->precision);
    uint64_t wrong = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t low = 0;
        uint64_t high = 0;
        if (!any_null || !lane->null[i]) {
            const uint8_t *from = data + (at == NULL ? i : at[i]) * 16;
            low = seam_load64(from);
            high = seam_load64(from + 8);
        }
        uint64_t sign = (uint64_t)((int64_t)low >> 63);
        wrong |= (high ^ sign) | (uint64_t)(low + limit - 1 > 2 * limit - 2);
        seam_store64(to[i] + ahead, low);
    }
    return wrong == 0;
}

/* Decimals of up to 18 digits, which fit a word as their limit does; nulls as zeros. */
ROW_INLINE void row_put_short_decimals(const struct row_lane *lane, uint8_t *const *to,
                                       int64_t ahead, struct row_trouble *trouble) {
    bool plain = lane->at == NULL && !lane->any_null;
    bool fit = plain ? row_put_short_decimals_at(lane, NULL, false, to, ahead)
               : lane->at == NULL
                   ? row_put_short_decimals_at(lane, NULL, true, to, ahead)
                   : row_put_short_decimals_at(lane, lane->at, lane->any_null, to, ahead);
    if (!fit) {
        row_blame_decimals(lane, trouble);
    }
}

/* Strings one after the other, none null. */
ROW_INLINE bool row_plain_strings(const struct row_lane *lane) {
    return lane->at == NULL && !lane->any_null;
}

/* The ends of such strings, from that before the lane's first on; NULL where the lane is of another
 * layout. */
ROW_INLINE const int32_t *row_plain_ends(const struct row_lane *lane) {
    const struct seam_view *view = &lane->leaf->view;
    bool ends = row_plain_strings(lane) && lane->leaf->kind == SEAM_NODE_FLAT &&
                view->layout == SEAM_LAYOUT_VAR32;
    return ends ? (const int32_t *)view->offsets + view->offset + lane->begin : NULL;
}

/* Says put(lane, NULL, false, words, block) for plain strings with `words` a constant: that of the
 * lane's largest string (see row_words), so that no copy asks how long its string is. */
#define ROW_PUT_PLAIN_STRINGS(put, lane, block)                                                    \
    switch (row_words(row_largest_bytes(lane))) {                                                  \
    case 1:                                                                                        \
        put(lane, NULL, false, 1, block);                                                          \
        break;                                                                                     \
    case 2:                                                                                        \
        put(lane, NULL, false, 2, block);                                                          \
        break;                                                                                     \
    case 4:                                                                                        \
        put(lane, NULL, false, 4, block);                                                          \
        break;                                                                                     \
    case 8:                                                                                        \
        put(lane, NULL, false, 8, block);                                                          \
        break;                                                                                     \
    default:                                                                                       \
        put(lane, NULL, false, 0, block);                                                          \
    }

#endif
