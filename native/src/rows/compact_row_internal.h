/* What the writer and the reader of CompactRows share. */
#ifndef SEAM_COMPACT_ROW_INTERNAL_H
#define SEAM_COMPACT_ROW_INTERNAL_H

#include "rows/row_internal.h"
#include "seam/compact_row.h"

/* Strings and the three nested kinds begin at a place that depends on the values before them, and
 * take no bytes when null. */
ROW_INLINE bool compact_varies(const struct seam_row_type *type) {
    return type->kind == SEAM_ROW_STRING || type->kind == SEAM_ROW_BINARY ||
           type->kind >= SEAM_ROW_ARRAY;
}

/* Elements that an array finds through offsets. */
ROW_INLINE bool compact_nested(const struct seam_row_type *type) {
    return type->kind >= SEAM_ROW_ARRAY;
}

/* Bytes of a value that does not vary, null or not. */
ROW_INLINE int64_t compact_width(const struct seam_row_type *type) {
    switch (type->kind) {
    case SEAM_ROW_BOOLEAN:
        return 1;
    case SEAM_ROW_FIXED:
        return type->width_bytes;
    case SEAM_ROW_SHORT_DECIMAL:
        return 8;
    case SEAM_ROW_LONG_DECIMAL:
        return 16;
    default:
        return 0; /* void */
    }
}

ROW_INLINE int64_t compact_null_bytes(int64_t count) {
    return (count + 7) / 8;
}

/* Bytes of a value that is no null; `leaf` stands behind dictionaries and runs. */
int64_t compact_value_bytes(struct row_trouble *trouble, const struct seam_row_type *type,
                            const struct seam_node *leaf, int64_t row);
/* Writes such a value and returns where it ends. */
uint8_t *compact_value_write(struct row_trouble *trouble, const struct seam_row_type *type,
                             const struct seam_node *leaf, int64_t row, uint8_t *at);
/* SEAM_UNSUPPORTED for a type that CompactRow does not have, at any level. */
int compact_check(const struct seam_row_type *type, struct seam_error *error);

#endif
