/* Reading views on Arrow arrays: one flat column, its physical layout worked out once. */
#ifndef SEAM_VIEW_H
#define SEAM_VIEW_H

#include "seam/arrow.h"
#include "seam/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum seam_layout {
    SEAM_LAYOUT_BITS,  /* booleans, one bit a row */
    SEAM_LAYOUT_FIXED, /* width_bytes a row */
    SEAM_LAYOUT_VAR32, /* int32 offsets and bytes */
    SEAM_LAYOUT_VAR64, /* int64 offsets and bytes */
};

/* How two values of a column compare. */
enum seam_order {
    SEAM_ORDER_SIGNED,
    SEAM_ORDER_UNSIGNED,
    SEAM_ORDER_FLOAT,
    SEAM_ORDER_BYTES,
};

struct seam_view {
    enum seam_layout layout;
    enum seam_order order;
    int32_t width_bytes; /* of SEAM_LAYOUT_FIXED: 1, 2, 4, 8, 16, or any of a fixed-size binary */
    int64_t length;
    int64_t offset;          /* in rows: row i of the view is row offset + i of the buffers */
    const uint8_t *validity; /* NULL = no nulls */
    const uint8_t *data;
    const void *offsets; /* of the VAR layouts */
};

/* Borrows the buffers of `array`; `array` must outlive the view. SEAM_UNSUPPORTED for nested,
 * dictionary and view layouts. */
int seam_view_of(const struct ArrowSchema *schema, const struct ArrowArray *array,
                 struct seam_view *out, struct seam_error *error);

/* Views on every child of a struct array (a record batch); `out` has room for `capacity` views,
 * each of which has the rows of the batch at least. The struct's own validity and offset must be
 * trivial.
 */
int seam_views_of_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch,
                        int64_t capacity, struct seam_view *out, struct seam_error *error);

static inline bool seam_bit(const uint8_t *bits, int64_t i) {
    return (bits[i >> 3] >> (i & 7)) & 1;
}

static inline bool seam_view_valid(const struct seam_view *view, int64_t row) {
    return view->validity == NULL || seam_bit(view->validity, view->offset + row);
}

/* Where the bytes of a row of a VAR layout lie. */
static inline int64_t seam_view_bytes(const struct seam_view *view, int64_t row,
                                      const uint8_t **bytes) {
    int64_t at = view->offset + row;
    int64_t begin, end;
    if (view->layout == SEAM_LAYOUT_VAR32) {
        begin = ((const int32_t *)view->offsets)[at];
        end = ((const int32_t *)view->offsets)[at + 1];
    } else {
        begin = ((const int64_t *)view->offsets)[at];
        end = ((const int64_t *)view->offsets)[at + 1];
    }
    *bytes = view->data + begin;
    return end - begin;
}

/* Where the bytes of the last row of a VAR layout end: what lies before may be read. */
static inline const uint8_t *seam_view_bytes_end(const struct seam_view *view) {
    const uint8_t *last = view->data;
    int64_t size = view->length == 0 ? 0 : seam_view_bytes(view, view->length - 1, &last);
    return last + size;
}

/* True when the two rows hold the same value; two nulls are the same. Both views must have the
 * same layout and width. Floats are compared by value, as Java's Double.compare does. */
bool seam_view_equal(const struct seam_view *a, int64_t i, const struct seam_view *b, int64_t j);

/* -1, 0 or 1; nulls come first. Strings compare byte by byte (for UTF-8: by code point). */
int seam_view_compare(const struct seam_view *a, int64_t i, const struct seam_view *b, int64_t j);

/* Mixes column values of rows [begin, begin + count) into `hashes` (count words). */
void seam_view_hash(const struct seam_view *view, int64_t begin, int64_t count, uint64_t *hashes);

#endif
