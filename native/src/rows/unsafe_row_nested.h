/* UnsafeRow values in the tail, one at a time and of any nesting: the reader's side. */
#ifndef SEAM_UNSAFE_ROW_NESTED_H
#define SEAM_UNSAFE_ROW_NESTED_H

#include "rows/row_read.h"
#include "rows/unsafe_row_internal.h"

/* A run of bytes with a tail: a row or an array. */
struct unsafe_region {
    const uint8_t *base;
    int64_t size_bytes;
    int64_t used_bytes; /* up to where its values have been read: they lie in order */
};

/* Appends the value that a slot points to, within its row or array. */
int unsafe_read_tail(struct row_reader *reader, struct row_column *column,
                     struct unsafe_region *region, const uint8_t *slot);
/* Why no value lies where a slot says; NULL when one does. */
ROW_INLINE const char *unsafe_slot_wrong(uint64_t slot, int64_t size_bytes, int64_t used_bytes) {
    int64_t offset = (int64_t)(slot >> 32);
    int64_t size = (int64_t)(slot & UINT32_MAX);
    if (offset + size > size_bytes) {
        return "points beyond the end of its row or array";
    }
    /* An empty value may be said to lie anywhere. */
    return offset < used_bytes && size != 0 ? "overlaps what lies before it" : NULL;
}

#endif
