/* Types of rows: what Spark's UnsafeRow and Velox's CompactRow hold, by how the bytes lie.
 *
 * A type text of Spark says which of these a column is; several share one layout (an int, a date, a
 * float and an interval of months are all four bytes). Rows carry no types, so every reader and
 * writer is given the tree of its columns: a struct whose fields they are.
 */
#ifndef SEAM_ROW_TYPE_H
#define SEAM_ROW_TYPE_H

#include "seam/error.h"

#include <stdint.h>

enum seam_row_kind {
    SEAM_ROW_VOID = 0,
    SEAM_ROW_BOOLEAN = 1,       /* Arrow: bits */
    SEAM_ROW_FIXED = 2,         /* 1, 2, 4 or 8 bytes */
    SEAM_ROW_SHORT_DECIMAL = 3, /* up to 18 digits; Arrow: 16 bytes */
    SEAM_ROW_LONG_DECIMAL = 4,  /* 19 to 38 digits; Arrow: 16 bytes */
    SEAM_ROW_STRING = 5,        /* UTF-8 */
    SEAM_ROW_BINARY = 6,
    SEAM_ROW_CALENDAR = 7, /* Arrow: a struct of months, days (int32) and microseconds (int64) */
    SEAM_ROW_ARRAY = 8,    /* child 0: the element */
    SEAM_ROW_MAP = 9,      /* children: key, value */
    SEAM_ROW_STRUCT = 10,  /* children: the fields */
};

#define SEAM_ROW_SHORT_DIGITS 18
#define SEAM_ROW_LONG_DIGITS 38

/* A type, a tree. `precision` counts for decimals, `width_bytes` for SEAM_ROW_FIXED. */
struct seam_row_type {
    int32_t kind;
    int32_t width_bytes;
    int32_t precision;
    int32_t nullable; /* 0: a null is an error, whether read or written */
    int32_t n_children;
    const struct seam_row_type *children; /* borrowed, or NULL */
    const char *name;                     /* of a field, for messages; borrowed, never NULL */
};

/* Checks a tree before it is used: kinds, widths, digits, children, and no deeper than
 * SEAM_NODE_DEPTH. SEAM_BAD_ARGUMENT or, for the depth, SEAM_UNSUPPORTED. */
int seam_row_type_check(const struct seam_row_type *root, struct seam_error *error);

#endif
